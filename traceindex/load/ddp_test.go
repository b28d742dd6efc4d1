package load

import (
	"context"
	"path/filepath"
	"testing"

	"stepline/traceindex"
)

// Real ranks of one run, whose kernels carry a group but no sequence number: the n-th all-reduce meets the n-th.
func TestRealRanksMeet(t *testing.T) {
	run, err := Open(context.Background(), []string{"../../testdata/traces/ddp"}, Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Ranks) != 2 || len(run.Warnings) > 0 || filepath.Base(run.Files[1]) != "ddp.rank1.trace.json.gz" {
		t.Fatalf("%d ranks, %v, %v", len(run.Ranks), run.Files, run.Warnings)
	}
	joined, unmatched := run.Rendezvouses()
	kernels := 0
	for _, ix := range run.Ranks {
		for _, g := range ix.GPUEvents {
			if traceindex.IsCollective(ix.Name(g)) {
				kernels++
			}
		}
	}
	var wait [2]int64
	for _, v := range joined {
		if len(v.Parts) != 2 || v.Name == "" {
			t.Errorf("%+v", v)
		}
		// All parts end together, within what two hosts' clocks differ by.
		a, b := v.Parts[0], v.Parts[1]
		x, y := run.Ranks[a.Rank], run.Ranks[b.Rank]
		if off := x.Meta.BaseUnixNs + x.EndNs(a.Event) - y.Meta.BaseUnixNs - y.EndNs(b.Event); off > 200_000 || off < -200_000 {
			t.Errorf("%s %d: the ends are %d ns apart", v.Name, v.Sequence, off)
		}
		for _, p := range v.Parts {
			wait[p.Rank] += p.WaitNs
		}
	}
	if kernels == 0 || 2*len(joined)+len(unmatched[0])+len(unmatched[1]) != kernels || len(unmatched[0])+len(unmatched[1]) > 0 {
		t.Errorf("%d kernels, %d joined, %d and %d unmatched", kernels, len(joined), len(unmatched[0]), len(unmatched[1]))
	}
	// Rank 1 has twice the work, so rank 0 waits for it.
	if wait[0] < 10*wait[1] {
		t.Errorf("rank 0 waits %d ns, rank 1 %d ns", wait[0], wait[1])
	}
	steps := run.JoinedSteps()
	if len(steps) != 3 || len(steps[0]) != 2 || steps[0][0].Number != steps[0][1].Number {
		t.Errorf("steps %v", steps)
	}
}
