package pyscan

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// typedPieces are what the random edits insert: code, and beginnings of what must be closed later.
var typedPieces = []string{
	"0", "\n", "    ", "#", "x", "(", ")", "[", "{", "}", "'", "\"", "\"\"\"", "f\"{", ":", "@", "\\\n", "\\", ".item()", "\n    def f(self):\n        return 1\n",
	"\ndef g():\n    pass\n", "    return x\n", "else:\n", "\nclass C:\n    pass\n", "if x:\n", "import torch\n", "yield x", "lambda y: y", "[i for i in x]", "\r\n", "\t", "def ", "async ", "ü",
}

// TestPatchIsParse: where an edit can be patched in, base with the patch is what Parse makes of the whole text.
func TestPatchIsParse(t *testing.T) {
	scripts, err := filepath.Glob("../testdata/traces/*/*.py")
	if err != nil || len(scripts) < 5 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	patched, tried, most := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		data, err := os.ReadFile(rapid.SampledFrom(scripts).Draw(t, "script"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		base := Parse("a.py", text)
		var patch *Patch // the last one of base
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			start := rapid.IntRange(0, len(text)).Draw(t, "start")
			end := min(len(text), start+rapid.SampledFrom([]int{0, 0, 0, 1, 5, 80}).Draw(t, "cut"))
			next := text[:start] + rapid.SampledFrom(typedPieces).Draw(t, "typed") + text[end:]
			tried++
			var ok bool
			if patch != nil {
				patch, ok = patch.Then(next)
			} else {
				patch, ok = base.Patch(next)
			}
			text = next
			if !ok {
				patch, base = nil, Parse("a.py", text)
				continue
			}
			patched++
			want := Parse("a.py", next)
			if diff := cmp.Diff(want.lines, patch.File.lines, cmp.AllowUnexported(LineTable{})); diff != "" {
				t.Fatalf("lines (-Parse +Patch):\n%s", diff)
			}
			if diff := cmp.Diff(outline(want, nil), outline(base, patch)); diff != "" {
				t.Fatalf("%d parts (-Parse +Patch):\n%s", len(patch.Parts), diff)
			}
			most = max(most, len(patch.Parts))
			from := rapid.IntRange(0, len(base.Text)).Draw(t, "from")
			kept := base.Text[from:min(len(base.Text), from+rapid.IntRange(0, 200).Draw(t, "size"))]
			if moved, ok := patch.Moved(Span{from, from + len(kept)}); ok && !strings.HasPrefix(next[moved:], kept) {
				t.Fatalf("%q is %q", kept, next[moved:min(len(next), moved+len(kept))])
			}
		}
	})
	if patched*10 < tried || most < 2 {
		t.Errorf("only %d of %d edits were patched in, at most %d at a time", patched, tried, most)
	}
}

// outline lists the nodes of a model, with a patch put in where there is one.
func outline(file *File, patch *Patch) []string {
	var out []string
	for _, stmt := range file.Module.Body {
		Walk(stmt, func(n Node) bool {
			span := n.Range()
			if patch != nil {
				if stmt, ok := n.(Stmt); ok && slices.ContainsFunc(patch.Parts, func(p Part) bool { return slices.Contains(p.Before, stmt) }) {
					return false
				}
				span = movedSpan(patch, span)
			}
			out = append(out, nodeLine(n, span))
			return true
		})
	}
	if patch != nil {
		for _, part := range patch.Parts {
			for _, stmt := range part.After {
				Walk(stmt, func(n Node) bool {
					out = append(out, nodeLine(n, n.Range()))
					return true
				})
			}
		}
	}
	slices.Sort(out)
	return out
}

func movedSpan(patch *Patch, s Span) Span {
	start, _ := patch.ToNew(s.Start)
	end, _ := patch.ToNew(s.End)
	for _, part := range patch.Parts {
		if s.Start < part.Old.Start && s.End >= part.Old.Start { // it holds an edit, or ends where that begins
			end = 0
		}
	}
	return Span{start, end}
}

func nodeLine(n Node, span Span) string {
	kind := reflect.TypeOf(n).Elem().Name()
	switch n := n.(type) {
	case *Function:
		class, parent := "", ""
		if n.Class != nil {
			class = n.Class.QualName
		}
		if n.Parent != nil {
			parent = n.Parent.QualName
		}
		return fmt.Sprintf("%s %d %s of %s in %s, lines %d, async %v, generator %v, %d parameters", kind, span.Start, n.QualName, class, parent, n.DefLine-n.FirstLine, n.Async, n.Generator, len(n.Params))
	case *Class:
		outer := ""
		if n.Outer != nil {
			outer = n.Outer.QualName
		}
		return fmt.Sprintf("%s %d %s in %s", kind, span.Start, n.QualName, outer)
	case *FunctionDef, *ClassDef:
		return fmt.Sprintf("%s %d", kind, span.Start)
	case *Name:
		return fmt.Sprintf("%s %d-%d %s", kind, span.Start, span.End, n.ID)
	}
	return fmt.Sprintf("%s %d-%d", kind, span.Start, span.End)
}

// BenchmarkPatch is one letter typed into a method in the middle of 5,000 lines, with Parse beside it.
func BenchmarkPatch(b *testing.B) {
	data, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(data), 5000/strings.Count(string(data), "\n"))
	base := Parse("a.py", text)
	at := strings.Index(text[len(text)/2:], "return") + len(text)/2
	next := text[:at] + "x" + text[at:]
	b.Run("Patch", func(b *testing.B) {
		for b.Loop() {
			if _, ok := base.Patch(next); !ok {
				b.Fatal("not patched")
			}
		}
	})
	b.Run("Parse", func(b *testing.B) {
		for b.Loop() {
			Parse("a.py", next)
		}
	})
}
