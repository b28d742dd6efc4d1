package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex"
)

// TestPublicTraces compares real traces of other projects with what python3's json counts in them. The files are not ours to
// ship: with STEPLINE_PUBLIC_TRACES naming a folder of them, each one found there is compared; the numbers are in
// testdata/public_traces.tsv, made by testdata/count_traces.py.
func TestPublicTraces(t *testing.T) {
	dir := os.Getenv("STEPLINE_PUBLIC_TRACES")
	if dir == "" {
		t.Skip("STEPLINE_PUBLIC_TRACES names no folder")
	}
	table, err := os.ReadFile("testdata/public_traces.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	header := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		row := strings.Split(line, "\t")
		path := filepath.Join(dir, row[0])
		if _, err := os.Stat(path); err != nil {
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			run, err := Open(context.Background(), []string{path}, Options{NoCache: true})
			if err != nil {
				t.Fatal(err)
			}
			want, got := map[string]string{}, countsOf(run.Ranks[0])
			for i, name := range header[4:] {
				want[name] = row[4+i]
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(−json +stepline)\n%s", d)
			}
			if w := run.Ranks[0].Warnings; len(w) > 0 {
				t.Logf("%v", w)
			}
		})
	}
}

func countsOf(ix *traceindex.Index) map[string]string {
	count := map[traceindex.Category]int{}
	parents := 0
	for row := range traceindex.EventID(ix.Events.Len()) {
		count[ix.Events.Category[row]]++
		if ix.Events.Category[row] == traceindex.CategoryPython {
			for p := range ix.Ancestors(row) {
				if ix.Events.Category[p] == traceindex.CategoryPython {
					parents++
					break
				}
			}
		}
	}
	var ns int64
	linked := 0
	for _, g := range ix.GPUEvents {
		ns += ix.Events.DurNs[g]
		if call := ix.Launch[g]; call != traceindex.NoEvent && ix.Events.Category[call] == traceindex.CategoryRuntime {
			linked++
		}
	}
	return map[string]string{
		"cpu_op": fmt.Sprint(count[traceindex.CategoryOp]), "python_function": fmt.Sprint(count[traceindex.CategoryPython]),
		"runtime": fmt.Sprint(count[traceindex.CategoryRuntime]), "user_annotation": fmt.Sprint(count[traceindex.CategoryAnnotation]),
		"kernel": fmt.Sprint(count[traceindex.CategoryKernel]), "gpu_memcpy": fmt.Sprint(count[traceindex.CategoryMemcpy]),
		"gpu_memset": fmt.Sprint(count[traceindex.CategoryMemset]), "gpu_ns": fmt.Sprint(ns), "linked": fmt.Sprint(linked),
		"parents": fmt.Sprint(parents),
	}
}
