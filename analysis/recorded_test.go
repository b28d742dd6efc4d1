package analysis

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordedSources loads a recording whose sources have been edited since: what ran is beside the trace, so lines follow the
// edit and a function that changed inside is told as a whole.
func TestRecordedSources(t *testing.T) {
	const lab = "../testdata/traces/lab_vit"
	root := t.TempDir()
	entries, err := os.ReadDir(lab)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(lab, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == "vit.py" {
			edited := "# one\n# two\n" + strings.Replace(string(data), "        y = y.transpose(1, 2).flatten(2)\n", "        y = y.flatten(2)\n        y = y.contiguous()\n", 1)
			data = []byte(edited)
		}
		if err := os.WriteFile(filepath.Join(root, e.Name()), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, after := loadLab(t, lab), loadLab(t, root)
	was, is := map[int]int64{}, map[int]int64{}
	for _, l := range before.Costs.Lines {
		if l.File == "vit.py" {
			was[l.Line] = l.SelfNs
		}
	}
	changed := false
	for _, l := range after.Costs.Lines {
		if l.File == "vit.py" {
			is[l.Line] = l.SelfNs
		}
	}
	moved := 0
	for line, ns := range was {
		switch {
		case ns == 0:
		case line >= 46 && line <= 51: // Attention.forward, which changed
			changed = true
		case line < 46 && is[line+2] == ns, line > 51 && is[line+3] == ns:
			moved++
		default:
			t.Errorf("line %d had %d ns; now line %d has %d and line %d %d", line, ns, line+2, is[line+2], line+3, is[line+3])
		}
	}
	if !changed || moved < 10 {
		t.Errorf("%d lines moved, changed function ran: %v", moved, changed)
	}
	warned := false
	for _, w := range after.Attribution.Warnings {
		warned = warned || w.Code == "changed-since-recording"
	}
	if !warned {
		t.Errorf("no warning about the changed function: %v", after.Attribution.Warnings)
	}
}

func loadLab(t *testing.T, root string) *Loaded {
	t.Helper()
	w, err := Open(context.Background(), root, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := w.LoadTrace(context.Background(), []string{"vit.trace.json.gz"}, LoadOptions{NoCache: true, CostsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}
