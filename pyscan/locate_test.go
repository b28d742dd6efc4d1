package pyscan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const locateSource = `import a

@deco(lambda: 1)
class C(Base):
    x = [i for i in
         range(3)]

    @prop
    @cached(
        n=1)
    def method(self, y=lambda z: z):
        if y: return 1; y = 2
        elif self:
            # nothing
            pass
        else:
            for k in y:
                f(k,
                  g(k))
        return {k: v
                for k in y}

async def last(): pass
`

func TestLocate(t *testing.T) {
	file := Parse("locate.py", locateSource)
	if len(file.SyntaxErrors) > 0 {
		t.Fatal(describe(file))
	}
	for _, test := range []struct {
		at                            string // the place is where this starts
		function, runsIn, class, stmt string // stmt is how the statement starts
	}{
		{"import a", "<module>", "<module>", "", "import a"},
		{"1)\nclass", "<lambda>", "<lambda>", "C", "@deco"},
		{"deco(", "<module>", "<module>", "C", "@deco"},
		{"range(3)", "C.<listcomp>", "<module>", "C", "x = ["},
		{"i for i", "C.<listcomp>", "C.<listcomp>", "C", "x = ["},
		{"cached", "C.method", "<module>", "C", "@prop"},
		{"z: z", "C.<lambda>", "<module>", "C", "@prop"},
		{"z)", "C.<lambda>", "C.<lambda>", "C", "@prop"},
		{"y: return", "C.method", "C.method", "C", "if y"},
		{"y = 2", "C.method", "C.method", "C", "y = 2"},
		{"self:", "C.method", "C.method", "C", "elif self"},
		{"# nothing", "C.method", "C.method", "C", "elif self"},
		{"else:", "C.method", "C.method", "C", "elif self"},
		{"g(k)", "C.method", "C.method", "C", "f(k"},
		{"k in y}", "C.method.<dictcomp>", "C.method.<dictcomp>", "C", "return {k"},
		{"y}", "C.method.<dictcomp>", "C.method", "C", "return {k"},
		{"\nasync", "<module>", "<module>", "", ""},
		{"pass\n\n", "last", "last", "", "pass"},
	} {
		offset := strings.LastIndex(locateSource, test.at)
		if test.at == "pass\n\n" {
			offset = strings.LastIndex(locateSource, "pass")
		}
		if got := file.FunctionAt(offset).QualName; got != test.function && file.FunctionAt(offset).Name != test.function {
			t.Errorf("%q: FunctionAt is %s, want %s", test.at, got, test.function)
		}
		if got := file.RunsIn(offset).QualName; got != test.runsIn && file.RunsIn(offset).Name != test.runsIn {
			t.Errorf("%q: RunsIn is %s, want %s", test.at, got, test.runsIn)
		}
		class := ""
		if found := file.ClassAt(offset); found != nil {
			class = found.QualName
		}
		if class != test.class {
			t.Errorf("%q: ClassAt is %q, want %q", test.at, class, test.class)
		}
		stmt := file.StatementAt(offset)
		if test.stmt == "" && stmt != nil || test.stmt != "" && (stmt == nil || !strings.HasPrefix(file.Source(stmt), test.stmt)) {
			t.Errorf("%q: StatementAt is %T %v, want %q", test.at, stmt, stmt, test.stmt)
		}
	}
}

func TestStatementsAtLine(t *testing.T) {
	file := Parse("locate.py", locateSource)
	first := func(line int) []string {
		var out []string
		for _, stmt := range file.StatementsAtLine(line) {
			source, _, _ := strings.Cut(file.Source(stmt), "\n")
			out = append(out, source)
		}
		return out
	}
	for line, want := range map[int][]string{
		1: {"import a"}, 2: nil, 3: {"@deco(lambda: 1)"}, 6: {"x = [i for i in"},
		10: {"@prop"}, 11: {"@prop"}, 12: {"if y: return 1; y = 2", "return 1", "y = 2"},
		13: {"elif self:"}, 14: nil, 15: {"pass"}, 16: nil, 19: {"f(k,"}, 21: {"return {k: v"}, 24: nil, 99: nil, 0: nil,
	} {
		if diff := cmp.Diff(want, first(line)); diff != "" {
			t.Errorf("line %d: %s", line, diff)
		}
	}
}

func TestFirstLines(t *testing.T) {
	file := Parse("locate.py", locateSource)
	got := map[string][3]int{}
	for _, fn := range file.Functions {
		got[fn.QualName+fn.Name[:1]] = [3]int{fn.FirstLine, fn.DefLine, fn.LastLine}
	}
	for name, want := range map[string][3]int{
		"C.methodm": {8, 11, 21}, "lastl": {23, 23, 23}, "C.<listcomp><": {5, 5, 6}, "C.method.<dictcomp><": {20, 20, 21},
	} {
		if got[name] != want {
			t.Errorf("%s is on lines %v, want %v", name, got[name], want)
		}
	}
	method := file.Classes[0].Methods[0]
	if file.StatementLine(&FunctionDef{Span: method.Span, Function: method}) != 11 {
		t.Error("a decorated def's line is that of def")
	}
}

func TestLineTable(t *testing.T) {
	table := NewLineTable("a\nbc\r\nd\re\n")
	for offset, want := range map[int]int{0: 1, 1: 1, 2: 2, 5: 2, 6: 3, 7: 3, 8: 4, 9: 4, 10: 5, 99: 5, -1: 1} {
		if got := table.Line(offset); got != want {
			t.Errorf("offset %d is on line %d, want %d", offset, got, want)
		}
	}
	if table.Count() != 5 {
		t.Errorf("%d lines, want 5", table.Count())
	}
	if span := table.Span(2); span != (Span{2, 6}) {
		t.Errorf("line 2 is %v", span)
	}
	file := Parse("lines.py", "a\nbc\r\nd")
	if file.LineText(2) != "bc" || file.LineText(3) != "d" || file.Column(3) != 1 {
		t.Errorf("line 2 is %q, line 3 %q, column %d", file.LineText(2), file.LineText(3), file.Column(3))
	}
}

func TestLineTableProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a\r\n]{0,40}`).Draw(t, "text")
		table := NewLineTable(text)
		for line := 1; line <= table.Count(); line++ {
			span := table.Span(line)
			for offset := span.Start; offset < span.End; offset++ {
				if table.Line(offset) != line {
					t.Fatalf("%q: offset %d is on line %d, not %d", text, offset, table.Line(offset), line)
				}
			}
		}
	})
}
