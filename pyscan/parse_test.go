package pyscan

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// checkModel fails the test if a guarantee of the model does not hold: spans in range, children inside
// their parents and in source order, functions in order with right indices.
func checkModel(t *testing.T, file *File) {
	t.Helper()
	size := len(file.Text)
	for i, fn := range file.Functions {
		if fn.Index != i {
			t.Fatalf("function %s has index %d at %d", fn.QualName, fn.Index, i)
		}
		if i > 0 && fn.Start < file.Functions[i-1].Start {
			t.Fatalf("function %s starts before its predecessor %s", fn.QualName, file.Functions[i-1].QualName)
		}
	}
	var check func(node Node)
	check = func(node Node) {
		span := node.Range()
		if span.Start < 0 || span.Start > span.End || span.End > size {
			t.Fatalf("%T has the span %v of a text of %d bytes", node, span, size)
		}
		for _, child := range Children(node) {
			if isNil(child) {
				t.Fatalf("%T has a nil child", node)
			}
			if !span.Covers(child.Range()) {
				t.Fatalf("%T %v is outside its parent %T %v: %.80q", child, child.Range(), node, span, file.Text[span.Start:span.End])
			}
			check(child)
		}
	}
	check(file.Module)
}

const everySyntax = "testdata/syntax.py"

func TestParseEverySyntax(t *testing.T) {
	text, err := os.ReadFile(everySyntax)
	if err != nil {
		t.Fatal(err)
	}
	file := Parse(everySyntax, string(text))
	checkModel(t, file)
	for _, e := range file.SyntaxErrors {
		t.Errorf("line %d: %s", file.Line(e.Start), e.Message)
	}
}

// generated5000 is a training-like source of about 5,000 lines.
func generated5000() string {
	var b strings.Builder
	for i := 0; b.Len() < 180_000; i++ {
		fmt.Fprintf(&b, `
class Block%d(nn.Module):
    """One block."""
    def __init__(self, config):
        super().__init__()
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x, mask=None):
        # project
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        q = q.view(b, t, self.n_head, c // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if mask is not None:
            att = att.masked_fill(mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.drop(y.transpose(1, 2).contiguous().view(b, t, c))

def train%d(model, loader, optimizer):
    total = 0.0
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        total += loss.item()
        print(f"step {step}: {total / (step + 1):.3f}")
    return [p.grad.norm() for p in model.parameters() if p.grad is not None]
`, i, i)
	}
	return b.String()
}

func BenchmarkParse5000(b *testing.B) {
	text := generated5000()
	b.SetBytes(int64(len(text)))
	b.ReportMetric(float64(strings.Count(text, "\n")), "lines")
	b.ReportAllocs()
	for b.Loop() {
		Parse("bench.py", text)
	}
}
