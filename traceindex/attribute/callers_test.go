package attribute_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/load"
)

// callRow is one row of a recorded sidecar: a call with the line that made it.
type callRow struct {
	name, file string
	startNs    int64
	line       int
}

func readCalls(t *testing.T, name string) []callRow {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var raw [][]json.RawMessage
	if err := json.NewDecoder(z).Decode(&raw); err != nil {
		t.Fatal(err)
	}
	var rows []callRow
	for _, r := range raw {
		var row callRow
		for i, into := range []any{&row.name, &row.startNs, &row.file, &row.line} {
			if err := json.Unmarshal(r[i], into); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// TestCallLines compares the line of every call with the profiler's own: with the sidecar they must all agree, without it the
// alignment alone must find 99.5 %.
func TestCallLines(t *testing.T) {
	rows := readCalls(t, filepath.Join(tracesFolder, "gpt_callers", "trace.callers.json.gz"))
	trace := filepath.Join(tracesFolder, "gpt_callers", "trace.json.gz")
	for _, c := range []struct {
		name, trace string
		recorded    bool
		bar         float64
	}{
		{"with call lines", trace, true, 1},
		{"without", withoutSidecar(t, trace), false, 0.995},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, err := load.Open(context.Background(), []string{c.trace}, load.Options{})
			if err != nil {
				t.Fatal(err)
			}
			src, err := attribute.Directory(filepath.Join(tracesFolder, "gpt"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			a, err := attribute.Attribute(context.Background(), run, src)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Costs().Summary.CallLines; got != c.recorded {
				t.Fatalf("call lines used: %v", got)
			}
			compareCalls(t, a, rows, c.recorded, c.bar)
		})
	}
}

func compareCalls(t *testing.T, a *attribute.Attribution, rows []callRow, recorded bool, bar float64) {
	t.Helper()
	ix := a.Run.Ranks[0]
	file := a.Files["gpt.py"]
	byStart := map[int64][]traceindex.EventID{}
	for e := range traceindex.EventID(ix.Events.Len()) {
		if ix.Events.Category[e] == traceindex.CategoryPython {
			byStart[ix.Events.StartNs[e]+ix.Meta.BaseUnixNs] = append(byStart[ix.Events.StartNs[e]+ix.Meta.BaseUnixNs], e)
		}
	}
	right, n := 0, 0
	for _, r := range rows {
		if r.file != "gpt.py" && !strings.HasSuffix(r.file, "/gpt.py") {
			continue
		}
		var event = traceindex.NoEvent
		for _, e := range byStart[r.startNs] {
			if ix.Name(e) == r.name {
				event = e
			}
		}
		if event == traceindex.NoEvent {
			continue
		}
		n++
		p, ok := a.Host(0, event)
		if ok && p.Line == file.LineOfStatement(r.line) {
			right++
			if recorded && p.Confidence != traceindex.ConfidenceExact {
				t.Errorf("%s from line %d: %v, though recorded", r.name, r.line, p.Confidence)
			}
		} else if recorded {
			t.Errorf("%s from line %d: told %+v", r.name, r.line, p)
		}
	}
	if n < 300 {
		t.Fatalf("only %d calls compared", n)
	}
	t.Logf("%d of %d calls right", right, n)
	if float64(right) < bar*float64(n) {
		t.Errorf("%d of %d calls right, want %.1f %%", right, n, 100*bar)
	}
}
