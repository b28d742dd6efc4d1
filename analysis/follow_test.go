package analysis

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stepline/pyscan"
)

func TestFollowLines(t *testing.T) {
	older := `import torch

def helper(x):
    y = x + 1
    return y

class Net:
    def forward(self, x):
        a = self.one(x)
        b = self.two(a)
        return a + b

for step in range(3):
    loss = net(x)
    loss.backward()
`
	tests := []struct {
		name, old, new string
		statement      string // of the older text
		want           string // the line's text in the newer one, "" for gone
		fresh          bool
	}{
		{"nothing", "", "", "b = self.two(a)", "b = self.two(a)", true},
		{"lines above", "import torch\n", "import torch\nimport os\n\n\n", "b = self.two(a)", "b = self.two(a)", true},
		{"an import above the module's own loop", "import torch\n", "import torch\nimport os\n", "loss.backward()", "loss.backward()", true},
		{"a function above the module's own loop", "for step", "def other():\n    pass\n\nfor step", "loss.backward()", "loss.backward()", true},
		{"comment and blank lines inside", "        b = self", "        # why\n\n        b = self", "return a + b", "return a + b", true},
		{"a trailing comment", "b = self.two(a)", "b = self.two(a)  # two", "b = self.two(a)", "b = self.two(a)  # two", true},
		{"the statement itself", "self.two(a)", "self.three(a)", "b = self.two(a)", "b = self.three(a)", false},
		{"another statement of the function", "self.two(a)", "self.three(a)", "return a + b", "return a + b", false},
		{"another function", "x + 1", "x + 2", "return a + b", "return a + b", true},
		{"a statement inserted", "        return a", "        print(a)\n        return a", "return a + b", "return a + b", false},
		{"the function renamed", "def forward", "def run", "return a + b", "return a + b", true},
		{"the class renamed", "class Net", "class Model", "return a + b", "return a + b", true},
		{"the function gone", "def helper(x):\n    y = x + 1\n    return y\n", "", "return y", "", false},
		{"line breaks inside a statement", "a = self.one(x)", "a = self.one(\n            x)", "return a + b", "return a + b", false},
		{"other line ends", "\n", "\r\n", "return a + b", "return a + b", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			newer := older
			if test.old != "" {
				newer = strings.ReplaceAll(older, test.old, test.new)
			}
			o, n := pyscan.Parse("x.py", older), pyscan.Parse("x.py", newer)
			m := FollowLines(o, n)
			line, fresh := m.Line(lineWith(t, o, test.statement))
			got := ""
			if line > 0 {
				got = strings.TrimSpace(n.LineText(line))
			}
			if got != test.want || fresh != test.fresh {
				t.Errorf("line %d %q fresh %v, want %q fresh %v", line, got, fresh, test.want, test.fresh)
			}
			if line > 0 {
				if back, _ := m.OldLine(line); back != lineWith(t, o, test.statement) {
					t.Errorf("line %d maps back to %d", line, back)
				}
			}
		})
	}
}

func lineWith(t *testing.T, f *pyscan.File, text string) int {
	t.Helper()
	for line := 1; line <= f.LineCount(); line++ {
		if strings.Contains(f.LineText(line), text) {
			return line
		}
	}
	t.Fatalf("no line with %q", text)
	return 0
}

// TestFollowedLinesAreNeverWrong edits at random: a line that is said to be fresh holds the very statement it held.
func TestFollowedLinesAreNeverWrong(t *testing.T) {
	statement := rapid.SampledFrom([]string{"a = f(x)", "b = g(a)", "a = f(x)", "return a", "for i in r:\n    h(i)", "def k(z):\n    q(z)\n    return z", "class C:\n    def m(self):\n        w(self)\n        v(self)", "# note", ""})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(statement, 1, 12).Draw(t, "older")
		older := strings.Join(lines, "\n") + "\n"
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			i := rapid.IntRange(0, len(lines)).Draw(t, "at")
			gone := rapid.IntRange(0, min(2, len(lines)-i)).Draw(t, "gone")
			added := rapid.SliceOfN(statement, 0, 2).Draw(t, "added")
			lines = append(append(append([]string{}, lines[:i]...), added...), lines[i+gone:]...)
		}
		o, n := pyscan.Parse("x.py", older), pyscan.Parse("x.py", strings.Join(lines, "\n")+"\n")
		m := FollowLines(o, n)
		for line := 1; line <= o.LineCount(); line++ {
			now, fresh := m.Line(line)
			if fresh && o.Text != n.Text && strings.TrimSpace(o.LineText(line)) != strings.TrimSpace(n.LineText(now)) {
				t.Fatalf("line %d %q is said to be line %d %q\n%s\n---\n%s", line, o.LineText(line), now, n.LineText(now), o.Text, n.Text)
			}
		}
	})
}
