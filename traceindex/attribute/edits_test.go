package attribute_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/load"
)

// project writes files to a folder of their own.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(tracesFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// costsIn attributes the gpt trace to a project.
func costsIn(t *testing.T, root string, mappings ...attribute.PathMapping) *traceindex.Costs {
	t.Helper()
	run, err := load.Open(context.Background(), []string{filepath.Join(tracesFolder, "gpt/trace.json.gz")}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := attribute.Directory(root, mappings)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	costs, err := attribute.Run(context.Background(), run, src)
	if err != nil {
		t.Fatal(err)
	}
	checkAccounted(t, costs, nil)
	return costs
}

func selfNs(costs *traceindex.Costs, file string, line int) int64 {
	for _, l := range costs.Lines {
		if l.File == file && l.Line == line {
			return l.SelfNs
		}
	}
	return 0
}

func TestEdits(t *testing.T) {
	script := readText(t, "gpt/gpt.py")
	const mlp = 63 // return self.down(F.gelu(self.up(x)))
	want := selfNs(costsIn(t, project(t, map[string]string{"gpt.py": script})), "gpt.py", mlp)
	if want == 0 {
		t.Fatal("line 63 has no time")
	}
	for _, c := range []struct {
		name, file, text string
		line             int
	}{
		{"moved into a folder", "src/deep/gpt.py", script, mlp},
		{"CRLF", "gpt.py", strings.ReplaceAll(script, "\n", "\r\n"), mlp},
		{"byte order mark", "gpt.py", "\ufeff" + script, mlp},
		{"lines inserted above", "gpt.py", "# one\n# two\n\n" + script, mlp + 3},
		{"lines inserted between functions", "gpt.py", strings.Replace(script, "class MLP(", "# a comment\n\n\nclass MLP(", 1), mlp + 3},
		{"lines removed above", "gpt.py", strings.Replace(script, "import math\nimport sys\n\n", "import math, sys\n", 1), mlp - 2},
		{"statement split over lines", "gpt.py", strings.Replace(script, "return self.down(F.gelu(self.up(x)))", "return self.down(\n            F.gelu(\n                self.up(x)))", 1), mlp},
		{"edited inside another function", "gpt.py", strings.Replace(script, "        return self.proj(y)\n\n\nclass FlashAttention", "        y = y + 1\n        return self.proj(y)\n\n\nclass FlashAttention", 1), mlp + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			costs := costsIn(t, project(t, map[string]string{c.file: c.text}))
			if got := selfNs(costs, c.file, c.line); got != want {
				t.Errorf("%s:%d has %d ns, want %d; warnings %v", c.file, c.line, got, want, costs.Warnings)
			}
		})
	}
	t.Run("function rewritten", func(t *testing.T) {
		text := strings.Replace(script, "return self.down(F.gelu(self.up(x)))", "return other(thing, more).nothing[alike]", 1)
		costs := costsIn(t, project(t, map[string]string{"gpt.py": text}))
		for _, l := range costs.Lines {
			if l.Function == "MLP.forward" && l.ByConfidence[traceindex.ConfidenceExact] > 0 {
				t.Errorf("line %d of a rewritten function is told as exact: %+v", l.Line, l)
			}
		}
	})
	t.Run("function renamed", func(t *testing.T) {
		text := strings.Replace(script, "def get_batch(", "def fetch(", 1)
		costs := costsIn(t, project(t, map[string]string{"gpt.py": text}))
		for _, u := range costs.Unattributed {
			if u.Function == "get_batch" && u.Reason == "function not in the source" {
				return
			}
		}
		t.Errorf("the time of a function that is gone is not accounted for: %+v", costs.Unattributed)
	})
}

func TestPaths(t *testing.T) {
	script := readText(t, "gpt/gpt.py")
	t.Run("two files of one name", func(t *testing.T) {
		costs := costsIn(t, project(t, map[string]string{"a/gpt.py": script, "b/gpt.py": script}))
		if len(costs.Lines) != 0 {
			t.Errorf("a tie was attributed: %+v", costs.Lines[0])
		}
		if len(costs.Warnings) == 0 || costs.Warnings[0].Code != "ambiguous-path" || !strings.Contains(costs.Warnings[0].Message, "a/gpt.py, b/gpt.py") {
			t.Errorf("warnings %v", costs.Warnings)
		}
	})
	t.Run("two files, one another's", func(t *testing.T) {
		costs := costsIn(t, project(t, map[string]string{"a/gpt.py": script, "b/gpt.py": "def forward(x):\n    return x\n"}))
		if len(costs.Lines) == 0 || costs.Lines[0].File != "a/gpt.py" {
			t.Errorf("%d lines, warnings %v", len(costs.Lines), costs.Warnings)
		}
	})
	t.Run("mapping decides a tie", func(t *testing.T) {
		costs := costsIn(t, project(t, map[string]string{"a/gpt.py": script, "b/gpt.py": script}), attribute.PathMapping{From: "gpt.py", To: "b/gpt.py"})
		if len(costs.Lines) == 0 || costs.Lines[0].File != "b/gpt.py" {
			t.Errorf("%d lines, warnings %v", len(costs.Lines), costs.Warnings)
		}
	})
	t.Run("mapping out of the workspace", func(t *testing.T) {
		outside := project(t, map[string]string{"gpt.py": script})
		root := project(t, map[string]string{"other.py": "x = 1\n"})
		rel, err := filepath.Rel(root, outside)
		if err != nil {
			t.Fatal(err)
		}
		costs := costsIn(t, root, attribute.PathMapping{From: "gpt.py", To: filepath.ToSlash(rel) + "/gpt.py"})
		if len(costs.Lines) != 0 {
			t.Errorf("a file outside the root was read: %+v", costs.Lines[0])
		}
	})
	t.Run("link out of the workspace", func(t *testing.T) {
		outside := project(t, map[string]string{"gpt.py": script})
		root := project(t, map[string]string{"other.py": "x = 1\n"})
		if err := os.Symlink(filepath.Join(outside, "gpt.py"), filepath.Join(root, "gpt.py")); err != nil {
			t.Skip("no symbolic links here")
		}
		if costs := costsIn(t, root); len(costs.Lines) != 0 {
			t.Errorf("a file outside the root was read: %+v", costs.Lines[0])
		}
	})
	t.Run("another project", func(t *testing.T) {
		costs := costsIn(t, project(t, map[string]string{"main.py": "def run():\n    pass\n"}))
		if len(costs.Lines) != 0 || len(costs.Warnings) == 0 || costs.Warnings[0].Code != "no-source" {
			t.Errorf("%d lines, warnings %v", len(costs.Lines), costs.Warnings)
		}
	})
	// torch/nn/modules/module.py and linear.py are in every trace: the workspace's files that are called alike are others, also
	// where their folder is and where a function of theirs stands at the very line.
	padded := strings.Repeat("\n", 128) + "class LoRA:\n    def forward(self, x):\n        return self.base(x)\n" // torch's is at 130
	for name, other := range map[string]string{
		"module.py":                "class Module:\n    def _call_impl(self):\n        pass\n",
		"modules/linear.py":        padded,
		"models/nn/linear.py":      padded,
		"src/nn/modules/linear.py": "class LoRA:\n    def forward(self, x):\n        return self.base(x)\n",
	} {
		t.Run("library file called like "+name, func(t *testing.T) {
			costs := costsIn(t, project(t, map[string]string{"gpt.py": script, name: other}))
			for _, l := range costs.Lines {
				if l.File != "gpt.py" {
					t.Errorf("time on %s:%d", l.File, l.Line)
				}
			}
		})
	}
}

// TestMove attributes to the text that was recorded and brings the result to an edited one.
func TestMove(t *testing.T) {
	script := readText(t, "gpt/gpt.py")
	edited := "# inserted\n" + strings.Replace(script, "        return self.down(F.gelu(self.up(x)))", "        x = self.up(x)\n        return self.down(F.relu(x))", 1)
	edited = strings.Replace(edited, "def grad_norm(model):", "def norm_of(model):", 1)
	root := project(t, map[string]string{"gpt.py": edited})
	run, err := load.Open(context.Background(), []string{filepath.Join(tracesFolder, "gpt/trace.json.gz")}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := attribute.Directory(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	src.Recorded = func(recorded string) (string, bool) { return script, recorded == "gpt.py" }
	a, err := attribute.Attribute(context.Background(), run, src)
	if err != nil {
		t.Fatal(err)
	}
	before := a.Costs()
	// Lines above MLP.forward's body moved by one, those below by two; MLP.forward (62–63) changed, grad_norm (107–112) is gone.
	a.Move("gpt.py", src.File("gpt.py"), func(old int) (int, bool) {
		switch {
		case old >= 107 && old <= 112:
			return 0, false
		case old == 62 || old == 63:
			return old + 1, false
		case old > 63:
			return old + 2, true
		}
		return old + 1, true
	})
	after := a.Costs()
	checkAccounted(t, after, nil)
	for _, line := range []int{19, 23, 45, 95, 136} {
		now := line + 1
		if line > 63 {
			now++
		}
		if was, is := selfNs(before, "gpt.py", line), selfNs(after, "gpt.py", now); was != is || was == 0 {
			t.Errorf("line %d had %d ns, line %d has %d", line, was, now, is)
		}
	}
	for _, l := range after.Lines {
		if l.Function == "MLP.forward" && l.GPUNs() > 0 && (l.Line != 63 || l.Confidence != traceindex.ConfidenceFunction) {
			t.Errorf("changed function: %+v", l)
		}
	}
	gone := false
	for _, u := range after.Unattributed {
		gone = gone || u.Function == "grad_norm" && u.Reason == "function not in the source" && u.Ns == selfNs(before, "gpt.py", 111)
	}
	warned := false
	for _, w := range after.Warnings {
		warned = warned || w.Code == "changed-since-recording" && strings.Contains(w.Message, "MLP.forward")
	}
	if !gone || !warned {
		t.Errorf("gone function accounted for: %v, changed function warned of: %v; %+v %v", gone, warned, after.Unattributed, after.Warnings)
	}
}

// TestStatementsGoneSince changes single statements of a function after the recording: the calls of a statement that is gone fit no
// line, and none may be claimed for them as exact.
func TestStatementsGoneSince(t *testing.T) {
	script := readText(t, "gpt/gpt.py")
	before := costsIn(t, project(t, map[string]string{"gpt.py": script}))
	exactOf := func(costs *traceindex.Costs, text, line string) int64 {
		at := 1 + strings.Count(text[:strings.Index(text, line)], "\n")
		for _, l := range costs.Lines {
			if l.File == "gpt.py" && l.Line == at {
				return l.ByConfidence[traceindex.ConfidenceExact]
			}
		}
		return 0
	}
	const unrelated = "z = compute_other(y_other).view(3).sum()"
	for _, test := range []struct{ name, statement, now, suspect string }{
		{"embeddings deleted", "        x = self.tok(idx) + self.pos(pos)\n", "", "x = layer(x)"},
		{"head deleted", "        logits = self.head(self.norm(x))\n", "", "x = layer(x)"},
		{"optimizer's step deleted", "            opt.step()\n", "", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"},
		{"softmax replaced", "att = F.softmax(att, dim=-1)", unrelated, unrelated},
		{"projection replaced", "return self.proj(y)\n", unrelated + "\n", unrelated},
		{"head replaced", "logits = self.head(self.norm(x))", unrelated, unrelated},
		{"step replaced", "opt.step()", unrelated, unrelated},
		{"residual replaced", "x = x + self.mlp(self.norm2(x))", unrelated, unrelated},
	} {
		now := strings.Replace(script, test.statement, test.now, 1)
		if now == script {
			t.Fatalf("%s: no such statement", test.name)
		}
		most := int64(0)
		if strings.Contains(script, test.suspect) {
			most = exactOf(before, script, test.suspect)
		}
		if claimed := exactOf(costsIn(t, project(t, map[string]string{"gpt.py": now})), now, test.suspect); claimed > most {
			t.Errorf("%s: %d ns claimed as exact on %q, which ran %d", test.name, claimed, test.suspect, most)
		}
	}
}
