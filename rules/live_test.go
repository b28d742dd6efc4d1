package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// editedFiles are the shipped training scripts and the rules' fixtures.
func editedFiles(t *testing.T) []string {
	scripts, err := filepath.Glob("../testdata/traces/*/*.py")
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := filepath.Glob("*/testdata/*.py")
	if err != nil {
		t.Fatal(err)
	}
	if len(scripts) < 5 || len(fixtures) < 50 {
		t.Fatalf("%d scripts, %d fixtures", len(scripts), len(fixtures))
	}
	return append(scripts, fixtures...)
}

// liveFile is a file alone in its project, linted.
type liveFile struct {
	name string
	base *pyscan.File
	live *rules.Live
}

func openLive(t *rapid.T, name string) liveFile {
	base := pyscan.Parse("train.py", script(t, name))
	_, live := rules.RunLive(catalog.All(), rules.Target{File: base, Project: rules.NewProject([]*pyscan.File{base})}, rules.Config{})
	return liveFile{name, base, live}
}

// statementPlace draws a place before a statement of a function, "" in files without one.
func (f liveFile) statementPlace(t *rapid.T) (offset int, ok bool) {
	var places []int
	for _, fn := range f.base.Functions[1:] {
		rules.EachStmt(&pyscan.BadStmt{Stmts: fn.Body}, func(s pyscan.Stmt) bool {
			if _, whole := s.(*pyscan.BadStmt); !whole {
				places = append(places, s.Range().Start)
			}
			return true
		})
	}
	if len(places) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(places).Draw(t, "statement"), true
}

func runFresh(text string) rules.Result {
	file := pyscan.Parse("train.py", text)
	return rules.Run(catalog.All(), rules.Target{File: file, Project: rules.NewProject([]*pyscan.File{file})}, rules.Config{})
}

// TestEditedIsRun: after an edit of a function that changes nothing for other code, Edited finds what Run finds in the whole file.
func TestEditedIsRun(t *testing.T) {
	files := editedFiles(t)
	rapid.Check(t, func(t *rapid.T) {
		f := openLive(t, rapid.SampledFrom(files).Draw(t, "file"))
		at, ok := f.statementPlace(t)
		if !ok {
			return
		}
		typed := rapid.SampledFrom([]string{"# what it does\n", "\n"}).Draw(t, "typed")
		next := f.base.Text[:at] + typed + strings.Repeat(" ", f.base.Column(at)) + f.base.Text[at:]
		patch, ok := f.base.Patch(next)
		if !ok {
			return // not inside a definition alone
		}
		found, ok := f.live.Edited(patch)
		if !ok {
			t.Fatal("the edit could not be linted")
		}
		want, got := withoutFixes(runFresh(next).Findings), withoutFixes(found.Findings)
		if diff := cmp.Diff(described(rules.Result{Findings: want}), described(rules.Result{Findings: got})); diff != "" {
			t.Fatalf("%s: %q at %d (-Run +Edited):\n%s", f.name, typed, at, diff)
		}
	})
}

// TestEditedIsRunOrNothing: whatever is typed or deleted in a function, Edited finds what Run finds, or says that it cannot tell.
func TestEditedIsRunOrNothing(t *testing.T) {
	files := editedFiles(t)
	edits, told, parts := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f := openLive(t, rapid.SampledFrom(files).Draw(t, "file"))
		var patch *pyscan.Patch // the edits so far
		for text := f.base.Text; ; {
			at, ok := f.statementPlace(t)
			if !ok {
				return
			}
			if patch != nil {
				at, _ = patch.ToNew(at)
			}
			end := at
			if rapid.Bool().Draw(t, "deletes") {
				end += strings.IndexAny(text[at:]+"\n", "\r\n")
			}
			text = text[:at] + rapid.SampledFrom(append([]string{"x = x.cuda(", "loss.item()", "loss.backward()", "self.x = torch.zeros(3)", "return", "unheard_of = 3\n", "# why\n"}, typed...)).Draw(t, "typed") + text[end:]
			if patch != nil {
				patch, ok = patch.Then(text)
			} else {
				patch, ok = f.base.Patch(text)
			}
			if !ok {
				return
			}
			edits++
			found, ok := f.live.Edited(patch)
			if !ok {
				return
			}
			told++
			parts = max(parts, len(patch.Parts))
			for _, finding := range found.Findings {
				checkPlaces(t, patch.File, finding)
			}
			if found.Provisional != (found.Provisional && len(pyscan.Parse("train.py", text).SyntaxErrors) > 0) {
				t.Fatalf("%s parses, and what is found in it is called provisional", f.name)
			}
			want, got := withoutFixes(runFresh(text).Findings), withoutFixes(found.Findings)
			if diff := cmp.Diff(described(rules.Result{Findings: want}), described(rules.Result{Findings: got})); diff != "" && !found.Provisional {
				t.Fatalf("%s with %d parts edited (-Run +Edited):\n%s", f.name, len(patch.Parts), diff)
			}
			if rapid.IntRange(0, 2).Draw(t, "stops") == 0 {
				return
			}
		}
	})
	if told*5 < edits || parts < 2 {
		t.Errorf("of %d edits only %d could be told about, in at most %d parts", edits, told, parts)
	}
}

// TestRulesTakeWhatIsTyped: no rule fails on code that is being typed.
func TestRulesTakeWhatIsTyped(t *testing.T) {
	files := editedFiles(t)
	rapid.Check(t, func(t *rapid.T) {
		text := script(t, rapid.SampledFrom(files).Draw(t, "file"))
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			end := min(len(text), at+rapid.SampledFrom([]int{0, 0, 1, 3, 30}).Draw(t, "cut"))
			text = text[:at] + rapid.SampledFrom(append([]string{":", ",", "[", "=", "@", "\"", "lambda", "for x in y:\n", "with x:\n", "else:\n"}, typed...)).Draw(t, "typed") + text[end:]
		}
		for _, finding := range runFresh(text).Findings {
			checkPlaces(t, finding.File, finding)
		}
	})
}

// checkPlaces requires that all a finding names of the file lies in it.
func checkPlaces(t *rapid.T, file *pyscan.File, f rules.Finding) {
	whole := pyscan.Span{Start: 0, End: len(file.Text)}
	spans := []pyscan.Span{f.Span}
	for _, r := range f.Related {
		spans = append(spans, r.Span)
	}
	for _, fix := range f.Fixes {
		for _, e := range fix.Edits {
			spans = append(spans, e.Span)
		}
	}
	for _, s := range spans {
		if !whole.Covers(s) || s.Len() < 0 {
			t.Fatalf("%s %v: %v lies outside the file", f.Rule.ID, f.Span, s)
		}
	}
	if f.File != file || strings.Contains(f.Message, "failed on this file") {
		t.Fatalf("%s in %s: %s", f.Rule.ID, f.File.Path, f.Message)
	}
}

// TestEditedKeepsFixes: a fix that Edited still offers does what the one of a whole run does.
func TestEditedKeepsFixes(t *testing.T) {
	text, err := os.ReadFile("../testdata/traces/vision/train.py")
	if err != nil {
		t.Fatal(err)
	}
	base := pyscan.Parse("train.py", string(text))
	_, live := rules.RunLive(catalog.All(), rules.Target{File: base, Project: rules.NewProject([]*pyscan.File{base})}, rules.Config{})
	offered := 0
	for _, fn := range base.Functions[1:] {
		if fn.Comprehension != nil || fn.Value != nil {
			continue
		}
		at := fn.Body[0].Range().Start
		next := base.Text[:at] + "pass\n" + strings.Repeat(" ", base.Column(at)) + base.Text[at:]
		patch, ok := base.Patch(next)
		if !ok {
			t.Fatalf("%s is not patched", fn.QualName)
		}
		found, ok := live.Edited(patch)
		if !ok {
			t.Fatalf("%s is not linted", fn.QualName)
		}
		whole := map[string][]string{}
		for _, f := range runFresh(next).Findings {
			for _, fix := range f.Fixes {
				key := f.Rule.ID + base.Path + f.Message + fix.Title
				whole[key] = append(whole[key], rules.ApplyFixes([]rules.Fix{fix}).Texts[f.File])
			}
		}
		for _, f := range found.Findings {
			for _, fix := range f.Fixes {
				offered++
				key := f.Rule.ID + base.Path + f.Message + fix.Title
				if !slices.Contains(whole[key], rules.ApplyEdits(next, fix.Edits)) {
					t.Errorf("%s: %s %v: %s makes\n%s", fn.QualName, f.Rule.ID, f.Span, fix.Title, rules.ApplyEdits(next, fix.Edits))
				}
			}
		}
	}
	if offered < 5 {
		t.Errorf("%d fixes were offered", offered)
	}
}

// withoutFixes are findings without their fixes: Edited leaves out those that reach beyond the edited definitions.
func withoutFixes(findings []rules.Finding) []rules.Finding {
	out := slices.Clone(findings)
	for i := range out {
		out[i].Fixes = nil
	}
	return out
}

// TestEditedCallersKeepTheirOrder: of two callers that are as good a reason, the first in the file is named, also where it was edited
// with the function that both call.
func TestEditedCallersKeepTheirOrder(t *testing.T) {
	caller := func(name string) string {
		return "def " + name + "(loader, model, opt):\n    for x in loader:\n        loss = model(x.cuda()).sum()\n        loss.backward()\n        opt.step()\n        log(loss)\n\n\n"
	}
	source := "import torch\n\n\n" + caller("first") + "def log(t):\n    print(t.item())\n\n\n" + caller("second") + caller("third")
	base := pyscan.Parse("train.py", source)
	_, live := rules.RunLive(catalog.All(), rules.Target{File: base, Project: rules.NewProject([]*pyscan.File{base})}, rules.Config{})
	for _, edited := range [][]string{{"first"}, {"log", "first"}, {"log", "second"}, {"log", "third", "second"}, {"log", "first", "second", "third"}} {
		text := source
		var patch *pyscan.Patch
		for _, name := range edited {
			at := strings.Index(text, "def "+name)
			at += strings.Index(text[at:], ":\n") + len(":\n")
			text = text[:at] + "    # edited\n" + text[at:]
			ok := false
			if patch != nil {
				patch, ok = patch.Then(text)
			} else {
				patch, ok = base.Patch(text)
			}
			if !ok {
				t.Fatalf("%v: no patch", edited)
			}
		}
		found, ok := live.Edited(patch)
		if !ok {
			t.Fatalf("%v: not told", edited)
		}
		want, got := withoutFixes(runFresh(text).Findings), withoutFixes(found.Findings)
		if diff := cmp.Diff(described(rules.Result{Findings: want}), described(rules.Result{Findings: got})); diff != "" {
			t.Errorf("%v (-Run +Edited):\n%s", edited, diff)
		}
	}
}
