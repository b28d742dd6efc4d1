package pyscan

import (
	"strings"
	"testing"
)

// brokenSources are sources as they look while being typed, and what must still be known of each.
var brokenSources = []struct {
	name, text string
	functions  []string // qualified names that must be there
	calls      []string // callees that must be there, as written
	errors     int      // exactly so many syntax errors
}{
	{"open call before a statement", "def f():\n    x = foo(\n    y = g(1)\n    return y\n\ndef h():\n    k()\n", []string{"f", "h"}, []string{"foo", "g", "k"}, 1},
	{"open call before a def", "x = foo(a,\ndef h():\n    k()\n", []string{"h"}, []string{"foo", "k"}, 1},
	{"open bracket before an if", "x = [a\nif x:\n    k()\n", nil, []string{"k"}, 1},
	{"attribute being typed", "def f(model):\n    model.\n    model.step()\n", []string{"f"}, []string{"model.step"}, 1},
	{"missing colon", "def f()\n    k()\nfor x in g()\n    h(x)\n", []string{"f"}, []string{"k", "g", "h"}, 2},
	{"no body", "def f():\n\ndef g():\n    k()\n", []string{"f", "g"}, []string{"k"}, 1},
	{"string not closed", "x = 'abc\ny = k()\n", nil, []string{"k"}, 1},
	{"two operands", "x = a b\ny = k()\n", nil, []string{"k"}, 1},
	{"lost else", "else:\n    k()\ny = g()\n", nil, []string{"k", "g"}, 1},
	{"unexpected indent", "x = 1\n    y = k()\nz = g()\n", nil, []string{"k", "g"}, 1},
	{"unmatched dedent", "if x:\n        k()\n    g()\nh()\n", nil, []string{"k", "g", "h"}, 1},
	{"print statement", "print 'a', f(x)\ny = k()\n", nil, []string{"f", "k"}, 1},
	{"try without handler", "try:\n    k()\ny = g()\n", nil, []string{"k", "g"}, 1},
	{"decorator without def", "@d(1)\nx = k()\n", nil, []string{"d", "k"}, 1},
	{"empty replacement", "x = f'{}'\ny = k()\n", nil, []string{"k"}, 1},
	{"wrong bracket", "x = [f(a]\ny = k()\n", nil, []string{"f", "k"}, 1},
	{"stray closing bracket", "x = a)\ny = k()\n", nil, []string{"k"}, 1},
	{"import being typed", "from torch import\nimport\ny = k()\n", nil, []string{"k"}, 2},
	{"keyword as a value", "x = f(class, 2)\ny = k()\n", nil, []string{"f", "k"}, 1},
	{"match without case", "match x:\n    y = k()\n", nil, []string{"k"}, 1},
	{"only a bracket", "(", nil, nil, 1},
	{"only a keyword", "def", nil, nil, 1},
	{"lambda being typed", "x = map(lambda\ny = k()\n", nil, []string{"map"}, 1},
	{"async alone", "async x\ny = k()\n", nil, []string{"k"}, 1},
	{"merge conflict", "<<<<<<< HEAD\nx = f()\n=======\nx = g()\n>>>>>>> other\ny = k()\n", nil, []string{"f", "g", "k"}, 3},
	{"NUL and control bytes", "x = k()\x00\n\x01y = g()\n", nil, []string{"k", "g"}, 1},
}

func TestBrokenSources(t *testing.T) {
	for _, test := range brokenSources {
		t.Run(test.name, func(t *testing.T) {
			file := Parse("broken.py", test.text)
			checkModel(t, file)
			var functions, calls []string
			for _, fn := range file.Functions {
				functions = append(functions, fn.QualName)
			}
			Walk(file.Module, func(node Node) bool {
				if call, ok := node.(*Call); ok {
					calls = append(calls, file.Source(call.Func))
				}
				return true
			})
			requireAll(t, "functions", functions, test.functions)
			requireAll(t, "calls", calls, test.calls)
			if len(file.SyntaxErrors) != test.errors {
				t.Errorf("syntax errors %q, want %d", describe(file), test.errors)
			}
		})
	}
}

func requireAll(t *testing.T, what string, got, want []string) {
	t.Helper()
	have := "\n" + strings.Join(got, "\n") + "\n"
	for _, one := range want {
		if !strings.Contains(have, "\n"+one+"\n") {
			t.Errorf("%s %q: %q is missing", what, got, one)
		}
	}
}

func TestDeepNesting(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses":  strings.Repeat("(", 100_000) + "x" + strings.Repeat(")", 100_000),
		"lists":        "x = " + strings.Repeat("[", 50_000),
		"sums":         "x = 1" + strings.Repeat(" + 1", 100_000),
		"attributes":   "x" + strings.Repeat(".a", 100_000),
		"calls":        "x" + strings.Repeat("()", 100_000),
		"nots":         "x = " + strings.Repeat("not ", 100_000) + "y",
		"minuses":      "x = " + strings.Repeat("-", 100_000) + "y",
		"lambdas":      "x = " + strings.Repeat("lambda: ", 100_000) + "y",
		"conditionals": "x = a" + strings.Repeat(" if b else c", 100_000),
		"powers":       "x = a" + strings.Repeat(" ** a", 100_000),
		"elifs":        "if a: pass\n" + strings.Repeat("elif b: pass\n", 50_000),
		"subscripts":   "x = " + strings.Repeat("a[", 50_000),
		"leftmost":     "x = " + strings.Repeat("(", 1_000) + "a" + strings.Repeat(strings.Repeat("+a", 1_000)+")", 1_000),
		"formatted":    "x = " + strings.Repeat("f'{", 2_000),
		"patterns":     "match x:\n case " + strings.Repeat("[", 50_000) + ": pass",
		"blocks":       nestedBlocks(3_000),
	} {
		t.Run(name, func(t *testing.T) {
			file := Parse("deep.py", text+"\ny = k()\n")
			checkModel(t, file)
			if len(file.SyntaxErrors) == 0 {
				t.Error("no syntax error is noted")
			}
			last := file.Module.Body[len(file.Module.Body)-1]
			open := name == "lists" || name == "subscripts" || name == "formatted" || name == "patterns" || name == "blocks"
			if got := file.Source(last); !open && got != "y = k()" {
				t.Errorf("the statement after it is %.40q", got)
			}
		})
	}
}

func nestedBlocks(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "if a:\n")
	}
	b.WriteString(strings.Repeat(" ", depth) + "pass\n")
	return b.String()
}

func TestHugeFile(t *testing.T) {
	file := Parse("huge.py", strings.Repeat("x = 1\n", MaxFileSize/6+1))
	if len(file.SyntaxErrors) != 1 || len(file.Module.Body) != 0 {
		t.Fatalf("a file above the limit: %d errors, %d statements", len(file.SyntaxErrors), len(file.Module.Body))
	}
}

// TestHostileSources are sources that must not take quadratic time: at a megabyte that would be minutes.
func TestHostileSources(t *testing.T) {
	for name, text := range map[string]string{
		"wrong closings":    strings.Repeat("(", 500_000) + strings.Repeat("]", 500_000),
		"open f-strings":    strings.Repeat("f'''{(\n", 130_000),
		"open strings":      strings.Repeat("x = 'abc\n", 100_000),
		"open brackets":     strings.Repeat("x = f(\nreturn\n", 70_000),
		"decorators":        strings.Repeat("@a\n", 300_000),
		"generators":        strings.Repeat("(x for x in ", 80_000),
		"errors":            strings.Repeat("a b c\n", 150_000),
		"statements":        strings.Repeat("a;", 500_000),
		"backslashes":       strings.Repeat("\\\n", 300_000),
		"dedents":           strings.Repeat("if a:\n    if b:\n        c\n", 40_000),
		"nested f-strings":  strings.Repeat("f\"{f'{", 100_000),
		"names of anything": strings.Repeat("é", 500_000),
	} {
		t.Run(name, func(t *testing.T) {
			file := Parse("hostile.py", text)
			if len(file.SyntaxErrors) > maxSyntaxErrors {
				t.Errorf("%d syntax errors", len(file.SyntaxErrors))
			}
		})
	}
}
