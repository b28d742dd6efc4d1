package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputPlaces: a folder and a place in no folder are told before any work, a link stays a link, a device is no file to replace.
func TestOutputPlaces(t *testing.T) {
	folder, trace := t.TempDir(), filepath.Join(testdata(t, "traces", "gpt"), "trace.json.gz")
	file, link := filepath.Join(folder, "run1.md"), filepath.Join(folder, "newest.md")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run1.md", link); err != nil {
		t.Fatal(err)
	}
	report := func(output string) outcome {
		t.Helper()
		return stepline(t, folder, "", nil, "report", trace, "--root", filepath.Dir(trace), "--format", "markdown", "--output", output)
	}
	for output, says := range map[string]string{
		folder:                                  "it is a folder; name a file in it",
		filepath.Join(folder, "none", "run.md"): "there is no folder",
		filepath.Join(file, "run.md"):           "--output",
	} {
		if got := report(output); got.code != exitUsage || strings.Contains(got.errout, ".stepline-") {
			t.Errorf("%s: exit %d", output, got.code)
		} else {
			oneLine(t, got.errout, "--output "+output, says)
		}
	}
	if got := report(link); got.code != exitFine {
		t.Fatalf("exit %d: %s", got.code, got.errout)
	}
	if target, err := os.Readlink(link); err != nil || target != "run1.md" {
		t.Errorf("the link leads to %q: %v", target, err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "Bottleneck type") {
		t.Errorf("%v; the file behind the link has %q", err, text)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".stepline-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if place, err := findOutput(os.DevNull); err != nil || !place.straight {
		t.Errorf("%s is to be written straight: %+v, %v", os.DevNull, place, err)
	}
}
