package rules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// corpus is every fixture and planted script, and the Python files of the folder STEPLINE_CORPUS names, if any.
func corpus(t *testing.T) []*pyscan.File {
	t.Helper()
	roots := []string{".", "../testdata"}
	if extra := os.Getenv("STEPLINE_CORPUS"); extra != "" {
		roots = append(roots, extra)
	}
	var files []*pyscan.File
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && len(text) < 200_000 {
				files = append(files, pyscan.Parse(filepath.ToSlash(path), string(text)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func findings(file *pyscan.File) []rules.Finding {
	return rules.Run(catalog.All(), rules.Target{File: file}, rules.Config{}).Findings
}

// TestSafeFixesTogether: the safe fixes of a file combine without conflict in a few rounds, the result parses, no safe fix is
// left, and running again changes nothing.
func TestSafeFixesTogether(t *testing.T) {
	for _, file := range corpus(t) {
		fixed := fixAll(t, file, rules.Safe)
		if len(fixed.SyntaxErrors) > len(file.SyntaxErrors) {
			t.Errorf("%s: no longer parses after the safe fixes: %v", file.Path, fixed.SyntaxErrors)
		}
		for _, f := range findings(fixed) {
			if fix := f.Fix(); fix != nil && fix.Safety == rules.Safe {
				t.Errorf("%s:%d: %s is left after all safe fixes", file.Path, fixed.Line(f.Span.Start), f.Rule.ID)
			}
		}
		if again := fixAll(t, fixed, rules.Safe); again.Text != fixed.Text {
			t.Errorf("%s: fixing again changes the file", file.Path)
		}
	}
}

// fixAll applies preferred fixes until nothing changes; fixes of one round that overlap wait for the next.
func fixAll(t *testing.T, file *pyscan.File, least rules.Safety) *pyscan.File {
	t.Helper()
	for range 20 {
		var fixes []rules.Fix
		for _, f := range findings(file) {
			if fix := f.Fix(); fix != nil && fix.Safety >= least {
				fixes = append(fixes, *fix)
			}
		}
		applied := rules.ApplyFixes(fixes)
		text, changed := applied.Texts[file]
		if !changed || text == file.Text {
			return file
		}
		file = pyscan.Parse(file.Path, text)
	}
	t.Errorf("%s: fixes go round in circles", file.Path)
	return file
}

// TestAnyFixAlone: whatever finding of whatever file is mended, in files cut and changed at random too, the file parses as before
// and that finding is gone.
func TestAnyFixAlone(t *testing.T) {
	files := corpus(t)
	rapid.Check(t, func(rt *rapid.T) {
		file := rapid.SampledFrom(files).Draw(rt, "file")
		if rapid.Bool().Draw(rt, "changed") {
			file = pyscan.Parse(file.Path, change(rt, file.Text))
		}
		found := findings(file)
		var mendable []rules.Finding
		for _, f := range found {
			if len(f.Fixes) > 0 {
				mendable = append(mendable, f)
			}
		}
		if len(mendable) == 0 {
			return
		}
		f := rapid.SampledFrom(mendable).Draw(rt, "finding")
		fix := rapid.SampledFrom(f.Fixes).Draw(rt, "fix")
		applied := rules.ApplyFixes([]rules.Fix{fix})
		if !applied.Taken[0] {
			if len(file.SyntaxErrors) == 0 {
				rt.Fatalf("%s:%d %s: %q cannot be applied", file.Path, file.Line(f.Span.Start), f.Rule.ID, fix.Title)
			}
			return
		}
		for changed, text := range applied.Texts {
			after := pyscan.Parse(changed.Path, text)
			if len(after.SyntaxErrors) > len(changed.SyntaxErrors) {
				rt.Fatalf("%s:%d %s: does not parse after %q: %v", file.Path, file.Line(f.Span.Start), f.Rule.ID, fix.Title, after.SyntaxErrors)
			}
			if changed.Path == file.Path && count(findings(after), f) >= count(found, f) {
				rt.Fatalf("%s:%d %s: still there after %q", file.Path, file.Line(f.Span.Start), f.Rule.ID, fix.Title)
			}
		}
	})
}

// count counts the findings of a rule that are at least as loud as f.
func count(list []rules.Finding, f rules.Finding) int {
	n := 0
	for _, g := range list {
		if g.Rule == f.Rule && g.Severity >= f.Severity {
			n++
		}
	}
	return n
}

// change cuts a file, drops or doubles a line, or changes its line endings or indentation.
func change(rt *rapid.T, text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := rapid.IntRange(0, len(lines)-1).Draw(rt, "line")
	switch rapid.IntRange(0, 4).Draw(rt, "change") {
	case 0:
		return strings.Join(lines[:at], "")
	case 1:
		return strings.Join(append(append([]string(nil), lines[:at]...), lines[at+1:]...), "")
	case 2:
		return strings.ReplaceAll(text, "\n", "\r\n")
	case 3:
		return strings.ReplaceAll(text, "    ", "\t")
	}
	return strings.Join(lines[:at], "") + lines[at] + strings.Join(lines[at:], "")
}
