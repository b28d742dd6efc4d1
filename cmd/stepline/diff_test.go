package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffOfWorkers compares the run without loader workers to the one with them, as a user would before a pull request.
func TestDiffOfWorkers(t *testing.T) {
	folder := testdata(t, "traces", "vision")
	workers := filepath.Join("..", "vision_workers", "trace.json.gz")
	text := stepline(t, folder, "", nil, "diff", "trace.json.gz", "--with", workers)
	if text.code != 0 {
		t.Fatalf("exit %d: %s", text.code, text.errout)
	}
	for _, want := range []string{"faster by 2", "it was data stall", "gap: loader", "DAT001 at train.py:45 promised", "delivered", "data.py:"} {
		if !strings.Contains(text.out, want) {
			t.Errorf("the comparison does not say %q:\n%s", want, text.out)
		}
	}
	json := stepline(t, folder, "", nil, "diff", "trace.json.gz", "--with", workers, "--format", "json")
	document := fitsSchema(t, "diff", json.out)
	if delta := document["step"].(map[string]any)["delta_us"].(float64); delta > -200e3 {
		t.Errorf("the step changed by %.0f µs", delta)
	}
	markdown := stepline(t, folder, "", nil, "diff", "trace.json.gz", "--with", workers, "--format", "markdown")
	if !strings.HasPrefix(markdown.out, "### Step time") || strings.Contains(markdown.out, "NaN") || strings.Contains(markdown.out, "Inf") {
		t.Errorf("Markdown:\n%s", markdown.out)
	}
}

// TestDiffGate: exit 1 when the mean step grew by more than the gate and beyond noise, 0 otherwise, 2 for wrong usage.
func TestDiffGate(t *testing.T) {
	folder := testdata(t, "traces", "vision")
	workers := filepath.Join("..", "vision_workers", "trace.json.gz")
	for _, c := range []struct {
		name      string
		arguments []string
		code      int
		errout    string
	}{
		{"slower", []string{workers, "--with", "trace.json.gz", "--fail-above", "3%"}, exitFindings, ""},
		{"slower, large allowance", []string{workers, "--with", "trace.json.gz", "--fail-above", "2000%"}, 0, ""},
		{"faster", []string{"trace.json.gz", "--with", workers, "--fail-above", "0.03"}, 0, ""},
		{"the same run", []string{workers, "--with", workers, "--fail-above", "0%"}, 0, ""},
		{"no new run", []string{"trace.json.gz"}, exitUsage, "--with"},
		{"no percent", []string{"trace.json.gz", "--with", workers, "--fail-above", "3"}, exitUsage, "write 3%"},
		{"no number", []string{"trace.json.gz", "--with", workers, "--fail-above", "much"}, exitUsage, "3%"},
		{"no such trace", []string{"trace.json.gz", "--with", "nowhere.json"}, exitUsage, "nowhere.json"},
		{"no such format", []string{"trace.json.gz", "--with", workers, "--format", "pdf"}, exitUsage, "markdown"},
	} {
		got := stepline(t, folder, "", nil, append([]string{"diff"}, c.arguments...)...)
		if got.code != c.code || !strings.Contains(got.errout, c.errout) {
			t.Errorf("%s: exit %d, want %d; %s", c.name, got.code, c.code, got.errout)
		}
	}
}

// TestDiffOfOtherPrograms: what another program does not have was not mended in it.
func TestDiffOfOtherPrograms(t *testing.T) {
	root := testdata(t, "traces")
	got := stepline(t, root, "", nil, "diff", filepath.Join("gpt", "trace.json.gz"), "--with", filepath.Join("vision_workers", "trace.json.gz"), "--format", "json")
	if got.code != 0 {
		t.Fatalf("exit %d: %s", got.code, got.errout)
	}
	if predictions := fitsSchema(t, "diff", got.out)["predictions"].([]any); len(predictions) != 0 {
		t.Errorf("%d findings count as mended: %v", len(predictions), predictions)
	}
}
