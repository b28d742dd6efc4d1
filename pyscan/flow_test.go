package pyscan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/pyscan"
)

var siteNames = map[pyscan.SiteKind]string{
	pyscan.SiteCall: "call", pyscan.SiteAttribute: "load", pyscan.SiteSetAttribute: "store", pyscan.SiteBinary: "binary", pyscan.SiteUnary: "unary",
	pyscan.SiteCompare: "compare", pyscan.SiteIndex: "index", pyscan.SiteSubscript: "subscript", pyscan.SiteStorePart: "part", pyscan.SiteSetSubscript: "set",
	pyscan.SiteTruth: "truth", pyscan.SiteIterate: "iter", pyscan.SiteNext: "next", pyscan.SiteUnpack: "unpack", pyscan.SiteEnter: "enter", pyscan.SiteExit: "exit",
	pyscan.SiteFormat: "format", pyscan.SiteGenerator: "generator", pyscan.SiteCallback: "callback", pyscan.SiteConsume: "consume", pyscan.SiteAwait: "await", pyscan.SiteImport: "import",
}

func sitesOf(flow *pyscan.Flow) []string {
	var out []string
	for _, s := range flow.Sites {
		if s.Kind == pyscan.SiteConstruct {
			continue
		}
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s", siteNames[s.Kind], s.Name), " "))
	}
	return out
}

// TestFlowOrder checks the order of evaluation that CPython's language reference gives (6.16 Evaluation order; 7, 8 for statements).
func TestFlowOrder(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"f(g(a), k=h(b))", "call g, call h, call f"},
		{"a.b(c.d)", "load b, load d, call b"},
		{"x = f(a) + g(b) @ h(c)", "call f, call g, call h, binary @, binary +"},
		{"x[f(a)] = g(b)", "call g, call f, part, set"},
		{"x[i, 1:j, None]", "index, index, index, subscript"},
		{"x[i] += f(a)", "index, subscript, call f, binary +, part, set"},
		{"a.b = a.c", "load c, store b"},
		{"a < f(b) < c", "call f, compare <, compare <"},
		{"x = -a ** b", "binary **, unary -"},
		{"y = f(a) if g(b) else h(c)", "call g, truth, call f, call h"},
		{"a, b = f(c)", "call f, next f, unpack"},
		{"a, b = map(lambda x: x, c)", "call map, iter map, callback, callback"},
		{"a, b = c, f(d)", "call f"},
		{"f(*a, **b)", "iter a, next a, iter b, next b, call f"},
		{"for x in f(a):\n        g(x)", "call f, iter f, next f, call g"},
		{"for i, x in enumerate(p.items()):\n        pass", "load items, call items, call enumerate, iter enumerate, next items, iter enumerate, next items, unpack"},
		{"while f(a):\n        g(b)", "call f, truth, call g"},
		{"with f(a) as b, g(c):\n        h(d)", "call f, enter f, call g, enter g, call h, exit g, exit f, exit g, exit f"},
		{"x = [f(y) for y in g(z) if h(y)]", "call g, iter g, next g, call h, truth, call f"},
		{"x = sum(f(y) for y in z)", "iter z, call sum, generator <genexpr>"},
		{"x = f'{a} {g(b)}'", "format, call g, format"},
		{"x = (lambda q=f(a): g(q))", "call f"},
		{"assert f(a), g(b)", "call f, truth, call g"},
		{"del a[f(b)], c.d", "call f, part, set, store d"},
		{"raise F(a) from b", "call F"},
		{"if a is None:\n        f(b)", "compare is, truth, call f"},
		{"match f(a):\n        case [1, x] if g(x):\n            h(x)", "call f, compare ==, call g, truth, call h"},
		{"import a.b", "import"},
		{"(y := f(a)).b(y)", "call f, load b, call b"},
		{"f(a)(b)", "call f, call"},
	} {
		t.Run(c.source, func(t *testing.T) {
			file := pyscan.Parse("x.py", "def fn():\n    "+c.source+"\n")
			if len(file.SyntaxErrors) > 0 {
				t.Fatalf("%v", file.SyntaxErrors)
			}
			got := sitesOf(file.Flow(file.Functions[1], pyscan.FlowOptions{}))
			if diff := cmp.Diff(strings.Split(c.want, ", "), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestFlowBranches checks that short-circuit tests jump to where they are decided.
func TestFlowBranches(t *testing.T) {
	file := pyscan.Parse("x.py", "def fn(a, b, c):\n    if a and (b or not c):\n        f()\n    else:\n        g()\n")
	flow := file.Flow(file.Functions[1], pyscan.FlowOptions{})
	if len(flow.Branches) != 3 {
		t.Fatalf("%d branches", len(flow.Branches))
	}
	calls := map[string]pyscan.Point{}
	for _, s := range flow.Sites {
		if s.Kind == pyscan.SiteCall {
			calls[s.Name] = s.From
		}
	}
	a, b, c := flow.Branches[0], flow.Branches[1], flow.Branches[2]
	for _, w := range []struct {
		name     string
		from, to pyscan.Point
		want     bool
	}{
		{"a fails: else", a.No, calls["g"], true}, {"a fails: body", a.No, calls["f"], false},
		{"b holds: body", b.Yes, calls["f"], true}, {"b holds: else", b.Yes, calls["g"], false},
		{"c holds: else", c.Yes, calls["g"], true}, {"c fails: body", c.No, calls["f"], true},
	} {
		if got := reaches(flow, w.from, w.to); got != w.want {
			t.Errorf("%s: %v", w.name, got)
		}
	}
}

// reaches follows edges and sites.
func reaches(flow *pyscan.Flow, from, to pyscan.Point) bool {
	seen := map[pyscan.Point]bool{from: true}
	for todo := []pyscan.Point{from}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == to {
			return true
		}
		step := func(next pyscan.Point) {
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
		for _, e := range flow.Edges {
			if e.From == at && e.Kind != pyscan.EdgeExcept {
				step(e.To)
			}
		}
		for _, s := range flow.Sites {
			if s.From == at {
				step(s.To)
			}
		}
	}
	return false
}

// TestFlowOfFiles builds the flow of every function of the sources at hand and checks its bounds.
func TestFlowOfFiles(t *testing.T) {
	names, err := filepath.Glob("../testdata/traces/*/*.py")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		checkFlows(t, string(text))
	}
}

func FuzzFlow(f *testing.F) {
	f.Add("def f():\n    try:\n        with a: return b\n    except* E as e: raise\n    finally:\n        for x in y: break\n        else: yield x\n")
	f.Add("async def f():\n    async for x in y:\n        await x\n    async with a as b: pass\n    return [i async for i in z]\n")
	f.Add("while 1:\n  continue\n  while x: break\nelse: f(*a)\n")
	f.Fuzz(func(t *testing.T, text string) { checkFlows(t, text) })
}

func checkFlows(t *testing.T, text string) {
	file := pyscan.Parse("x.py", text)
	for _, fn := range file.Functions {
		for _, scopes := range []bool{false, true} {
			flow := file.Flow(fn, pyscan.FlowOptions{ComprehensionScopes: scopes})
			n := pyscan.Point(len(flow.Lines))
			in := func(p pyscan.Point) bool { return 0 <= p && p < n }
			for _, s := range flow.Sites {
				if !in(s.From) || !in(s.To) || s.Line < 1 || s.Line > file.LineCount() {
					t.Fatalf("%s: site %+v of %d points", fn.QualName, s, n)
				}
			}
			for _, e := range flow.Edges {
				if !in(e.From) || !in(e.To) {
					t.Fatalf("%s: edge %+v of %d points", fn.QualName, e, n)
				}
			}
			for _, b := range flow.Branches {
				if !in(b.After) || !in(b.Yes) || !in(b.No) {
					t.Fatalf("%s: branch %+v of %d points", fn.QualName, b, n)
				}
			}
			if !in(flow.Entry) || !in(flow.Exit) {
				t.Fatalf("%s: entry %d, exit %d of %d points", fn.QualName, flow.Entry, flow.Exit, n)
			}
		}
	}
}
