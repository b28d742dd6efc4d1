package rules_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stepline/pyscan"
	"stepline/rules"
)

// maxRealFile bounds the files taken from Python's library, so that the test's time is bounded too.
const maxRealFile = 60_000

// realFiles are Python files that this machine's python3 has: its standard library and what is installed beside it. The test that
// wants them is skipped where there is no python3.
func realFiles(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Skipf("no python3 to take files from: %v", err)
	}
	var paths []string
	err = filepath.WalkDir(strings.TrimSpace(string(out)), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".py") {
			return nil // a folder that cannot be read has no files for this test
		}
		if info, err := d.Info(); err == nil && info.Size() < maxRealFile {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Skipf("python3 has no library to take files from: %v", err)
	}
	return paths
}

// TestFixesInRealFiles grafts a fixture into a real file, at the end or below the file's first lines, in its own line endings, and
// holds every rule to what it promises there: none panics; any fix alone parses, takes its finding away and does not come back; the
// safe ones together leave none behind and change nothing when done again.
func TestFixesInRealFiles(t *testing.T) {
	paths := realFiles(t)
	var fixtures []*pyscan.File
	for _, f := range corpus(t) {
		if strings.Contains(f.Path, "testdata") && len(f.Text) < 20_000 {
			fixtures = append(fixtures, f)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text, err := os.ReadFile(rapid.SampledFrom(paths).Draw(rt, "real"))
		if err != nil {
			return // gone, or not for us to read
		}
		fixture := rapid.SampledFrom(fixtures).Draw(rt, "fixture")
		file := pyscan.Parse("graft.py", graft(rt, string(text), fixture.Text))
		found := findings(file)
		var mendable []rules.Finding
		for _, f := range found {
			if strings.Contains(f.Message, "failed on this file") {
				rt.Fatalf("%s: %s", fixture.Path, f.Message)
			}
			if len(f.Fixes) > 0 {
				mendable = append(mendable, f)
			}
		}
		if len(mendable) == 0 || len(file.SyntaxErrors) > 0 {
			return
		}
		f := rapid.SampledFrom(mendable).Draw(rt, "finding")
		fix := rapid.SampledFrom(f.Fixes).Draw(rt, "fix")
		applied := rules.ApplyFixes([]rules.Fix{fix})
		if !applied.Taken[0] {
			rt.Fatalf("%s: %s: %q cannot be applied", fixture.Path, f.Rule.ID, fix.Title)
		}
		after := pyscan.Parse(file.Path, applied.Texts[file])
		if len(after.SyntaxErrors) > 0 {
			rt.Fatalf("%s: %s: does not parse after %q: %v", fixture.Path, f.Rule.ID, fix.Title, after.SyntaxErrors)
		}
		if left := findings(after); count(left, f) >= count(found, f) {
			rt.Fatalf("%s: %s: still there after %q", fixture.Path, f.Rule.ID, fix.Title)
		}
		fixed := fixAll(t, file, rules.Safe)
		if again := fixAll(t, fixed, rules.Safe); again.Text != fixed.Text || len(fixed.SyntaxErrors) > 0 {
			rt.Fatalf("%s: the safe fixes together: parse %v, or change the file again", fixture.Path, fixed.SyntaxErrors)
		}
	})
}

// graft puts a fixture behind a real file's text, or into a branch behind it, with LF or CRLF throughout.
func graft(rt *rapid.T, real, fixture string) string {
	if rapid.Bool().Draw(rt, "in a branch") {
		unit := rapid.SampledFrom([]string{"  ", "    ", "\t"}).Draw(rt, "indent")
		var indented strings.Builder
		indented.WriteString("if __name__:\n")
		for line := range strings.Lines(fixture) {
			if strings.TrimSpace(line) != "" {
				indented.WriteString(unit)
			}
			indented.WriteString(line)
		}
		fixture = indented.String()
	}
	text := strings.ReplaceAll(strings.TrimRight(real, "\n")+"\n"+fixture, "\r\n", "\n")
	if rapid.Bool().Draw(rt, "CRLF") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}
