package attribute_test

import (
	"path/filepath"
	"strings"
	"testing"

	"stepline/traceindex"
)

// TestCompiledRegions attributes traces of torch.compile on an H200 (torch 2.11): a whole model, and its blocks one by one, with a
// compiled function and one that breaks its graph. A graph's time is on the line that called the compiled code, backward included,
// and never on a statement inside it.
func TestCompiledRegions(t *testing.T) {
	for _, c := range []struct {
		trace           string
		forward, inside []string // lines, by their text, with and without time
	}{
		{"whole.trace.json.gz", []string{"y = net(x)", "loss = smooth(loss, x)", "loss = loss + fn(x).mean()", "opt.step()"},
			[]string{"x = self.stem(x)", "x = block(x)", "h = self.norm(x)", "y = torch.tanh(x) * 2", "y = torch.sin(x) + 1", "return torch.cos(y) * 3"}},
		{"blocks.trace.json.gz", []string{"x = self.stem(x)", "x = block(x)", "return self.head(x)", "loss = smooth(loss, x)", "loss = loss + fn(x).mean()"},
			[]string{"y = net(x)", "h = self.norm(x)", "return x + self.down(h)", "return torch.cos(y) * 3"}},
	} {
		t.Run(c.trace, func(t *testing.T) {
			costs := attributeTrace(t, filepath.Join(tracesFolder, "lab_compiled", c.trace), "lab_compiled").Costs()
			checkAccounted(t, costs, nil)
			text := strings.Split(readText(t, "lab_compiled/comp.py"), "\n")
			byText := map[string]*traceindex.LineCost{}
			for i := range costs.Lines {
				byText[strings.TrimSpace(text[costs.Lines[i].Line-1])] = &costs.Lines[i]
			}
			for _, line := range c.forward {
				if l := byText[line]; l == nil || l.SelfNs == 0 || l.Confidence != traceindex.ConfidenceExact {
					t.Errorf("%q: %+v", line, l)
				}
			}
			for _, line := range c.inside {
				if l := byText[line]; l != nil && l.GPUNs() > 0 {
					t.Errorf("%q has time: %+v", line, l)
				}
			}
			if l := byText["loss = smooth(loss, x)"]; l != nil && l.CompiledNs != l.GPUNs() {
				t.Errorf("of %d ns of a compiled function, %d are told as compiled", l.GPUNs(), l.CompiledNs)
			}
			if l := byText[c.forward[0]]; l == nil || l.BackwardNs == 0 {
				t.Errorf("%q has no backward time", c.forward[0])
			}
			for _, u := range costs.Unattributed {
				t.Errorf("unattributed: %+v", u)
			}
		})
	}
}
