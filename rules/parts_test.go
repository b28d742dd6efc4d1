package rules

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stepline/pyscan"
)

// TestTreeParts: the short ways through a tree give what a walk over all its sites gives.
func TestTreeParts(t *testing.T) {
	text, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
	if err != nil {
		t.Fatal(err)
	}
	source := string(text) + "\nf = lambda a, *b: [a if c else b for c in b if (d := c)]\n@dec(1)\nclass A(B[int], k=1):\n    x: int = 1\n    y = f\"{x!r:>{y}}\"\n"
	tree := NewTree(pyscan.Parse("train.py", source))
	filter := func(keep func(*Site) bool) (out []*Site) {
		for _, s := range tree.Sites {
			if keep(s) {
				out = append(out, s)
			}
		}
		return out
	}
	same := func(what string, got, want []*Site) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d sites, a walk finds %d", what, len(got), len(want))
		}
	}
	for _, s := range tree.Sites {
		if tree.Site(s.Node) != s {
			t.Fatalf("Site does not find the %T at byte %d", s.Node, s.Range().Start)
		}
		same("below", tree.below(s), filter(func(o *Site) bool { return o.Under(s) }))
	}
	for _, fn := range tree.File.Functions {
		in := func(s *Site) bool { return s.Def() == fn }
		isCall := func(s *Site) bool { _, ok := s.Node.(*pyscan.Call); return ok }
		same("in "+fn.QualName, tree.in(fn), filter(in))
		same("callsIn "+fn.QualName, tree.callsIn(fn), filter(func(s *Site) bool { return in(s) && isCall(s) }))
	}
	for _, name := range []string{"x", "self", "torch", "loss", "nowhere"} {
		same("named "+name, tree.named(name), filter(func(s *Site) bool { n, ok := s.Node.(*pyscan.Name); return ok && n.ID == name }))
	}
	for i, c := range tree.Calls {
		if tree.callees[i].Node != pyscan.Node(c.Call().Func) || tree.calleeAfter(tree.callees[i]) != i+1 {
			t.Fatalf("the callee of call %d is not in its place", i)
		}
	}
	if tree.Site(&pyscan.Name{ID: "x"}) != nil {
		t.Error("Site finds a node of no file")
	}
}

// TestFindAfterEdits: what is known of a text after edits is what a search of the new text finds.
func TestFindAfterEdits(t *testing.T) {
	asked := []string{"a", "ab", "aba", "bb", "abc", "cab", "aaaa"}
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 90, -1)
		text := letters.Draw(t, "text")
		x := newFileIndex(pyscan.Parse("a.py", text), nil)
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			x.mentions(rapid.SampledFrom(asked).Draw(t, "asked before"))
			start := rapid.IntRange(0, len(text)).Draw(t, "start")
			end := rapid.IntRange(start, len(text)).Draw(t, "end")
			text = text[:start] + letters.Draw(t, "typed") + text[end:]
			x = newFileIndex(pyscan.Parse("a.py", text), x)
			for _, word := range asked {
				at := x.find(word)
				if (at >= 0) != strings.Contains(text, word) || at >= 0 && !strings.HasPrefix(text[at:], word) {
					t.Fatalf("%q in %q: found at %d", word, text, at)
				}
			}
		}
	})
}
