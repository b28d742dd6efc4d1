package lsp

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shown is all that an editor shows of a document: what is pushed, and the answers to what it asks.
type shown struct {
	Version     int
	Diagnostics []diagnostic
	Costs       any
	Hints       any
	Lenses      any
	Hovers      []any
}

func (c *fakeClient) shown(uri string, lines int) shown {
	c.t.Helper()
	var s shown
	s.Version, s.Diagnostics = c.published(uri)
	for i := range s.Diagnostics {
		s.Diagnostics[i].Data = nil
	}
	doc := object{"uri": uri}
	c.must("stepline/lineCosts", object{"textDocument": doc}, &s.Costs)
	c.must("textDocument/inlayHint", object{"textDocument": doc, "range": span(0, 0, lines, 0)}, &s.Hints)
	c.must("textDocument/codeLens", object{"textDocument": doc}, &s.Lenses)
	for line := range lines {
		var hover any
		c.must("textDocument/hover", object{"textDocument": doc, "position": at(line, 8)}, &hover)
		s.Hovers = append(s.Hovers, hover)
	}
	return s
}

// TestQuickChecksShowWhatWholeOnesDo: what an editor shows right after an edit is what it shows after the whole file was checked.
func TestQuickChecksShowWhatWholeOnesDo(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py", "trace.json.gz": "@traces/gpt/trace.json.gz"})
	source := readText(t, filepath.Join(dir, "gpt.py"))
	uri := pathURI(filepath.Join(dir, "gpt.py"))
	edits := []struct{ name, before, typed string }{
		{"a comment", "        self.qkv = ", "# what it is\n        "},
		{"a blank line", "        logits = ", "\n        "},
		{"a statement", "        b, t, c = x.shape", "scale = 1.0 / math.sqrt(q.size(-1))\n        "},
		{"a finding", "                (loss / accum).backward()\n", "                print(loss.item())\n"},
		{"a name to be", "        logits = ", "scal\n        "},
		{"lines between two functions", "\n    def forward(self, x):\n        return self.down", "\n\n"},
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, source)
		if err := c.loadTrace("trace.json.gz"); err != nil {
			t.Fatal(err)
		}
		version := 1
		for _, e := range edits {
			place := strings.Index(source, e.before)
			if place < 0 {
				t.Fatalf("%s: %q is not in the source", e.name, e.before)
			}
			if body := strings.TrimLeft(e.before, " "); !strings.HasPrefix(e.typed, " ") {
				place += len(e.before) - len(body)
			}
			time.Sleep(2 * laterTime)
			line, start := strings.Count(source[:place], "\n"), place-strings.LastIndex(source[:place], "\n")-1
			lines := strings.Count(source+e.typed, "\n")
			version++
			c.change(uri, version, object{"range": span(line, start, line, start), "text": e.typed})
			pushes := len(c.received("textDocument/publishDiagnostics"))
			quick := c.shown(uri, lines)
			time.Sleep(2 * laterTime)
			whole := c.shown(uri, lines)
			if quick.Version != version {
				t.Errorf("%s: the diagnostics are of version %d, want %d", e.name, quick.Version, version)
			}
			if diff := cmp.Diff(whole, quick); diff != "" {
				t.Errorf("%s (-whole +quick):\n%s", e.name, diff)
			}
			if again := len(c.received("textDocument/publishDiagnostics")) - pushes; again != 0 {
				t.Errorf("%s: what was the same was pushed %d times more", e.name, again)
			}
			version++
			c.change(uri, version, object{"text": source})
		}
	})
}

// TestWhatIsHalfTypedShakesNothingElse: while a call is typed that does not parse yet, the findings of other functions stay; when
// nobody types any more, what the text says counts.
func TestWhatIsHalfTypedShakesNothingElse(t *testing.T) {
	source := "import torch\n\nmodel = torch.nn.Linear(3, 4).cuda()\nopt = torch.optim.SGD(model.parameters(), lr=1)\n\n\ndef log(t):\n    print(t.item())\n\n\n" +
		"def train(loader):\n    for x, y in loader:\n        loss = model(x.cuda()).sum()\n        loss.backward()\n        opt.step()\n        log(loss)\n"
	dir := workspaceOf(t, map[string]string{"train.py": source})
	uri := pathURI(filepath.Join(dir, "train.py"))
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		c.open(uri, source)
		time.Sleep(time.Second)
		reads := func() (found bool) {
			_, list := c.published(uri)
			for _, d := range list {
				found = found || d.Range.Start.Line == 7
			}
			return found
		}
		if !reads() {
			t.Fatal("the read in log is not found")
		}
		// The call reads on in the next line, so that as it stands nothing calls log.
		c.change(uri, 2, object{"range": span(14, 18, 14, 18), "text": "\n        scale = min(q."})
		if v, _ := c.published(uri); v != 2 || !reads() {
			t.Errorf("version %d: the read in log is gone while something else is typed", v)
		}
		time.Sleep(2 * laterTime)
		if v, _ := c.published(uri); v != 2 || reads() {
			t.Errorf("version %d: nobody types any more, and the read in log, which nothing calls, still stands", v)
		}
		c.change(uri, 3, object{"text": source})
		time.Sleep(2 * laterTime)
		c.change(uri, 4, object{"range": span(14, 18, 14, 18), "text": "\n        scale = min(q."})
		var pulled struct{ Items []diagnostic }
		c.must("textDocument/diagnostic", object{"textDocument": object{"uri": uri}}, &pulled)
		if slices.ContainsFunc(pulled.Items, func(d diagnostic) bool { return d.Range.Start.Line == 7 }) {
			t.Error("a pull was answered before the whole check")
		}
	})
}

// TestHugeTextsAreTold: who runs the server learns of a text that is too large for quick checks, and of no other.
func TestHugeTextsAreTold(t *testing.T) {
	for size, want := range map[int]int{maxLiveSize / 2: 0, maxLiveSize + 10: 1} {
		told := 0
		session(t, Options{HugeText: func() { told++ }}, func(t *testing.T, c *fakeClient) {
			c.initialize("", fullCapabilities(), nil)
			c.open("untitled:a.py", strings.Repeat("x = 1 + 2\n", size/10+1))
			c.published("untitled:a.py")
			if told != want {
				t.Errorf("%d bytes: told %d times, want %d", size, told, want)
			}
		})
	}
}
