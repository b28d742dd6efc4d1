package main

import (
	"context"
	"testing"

	"stepline/traceindex/rankset"
	"stepline/traceindex/rankset/parquet"
)

// TestGeneratedRunIsSound: what is measured is a run as ranks would have written it: complete, with the late rank found and the
// slow line slower.
func TestGeneratedRunIsSound(t *testing.T) {
	seed := &rankset.Rank{
		Info:        rankset.Info{BaseUnixNs: 1_000_000_000, StepCount: 1, SpanEndNs: 30_000_000},
		Steps:       []rankset.Step{{Source: "ProfilerStep", DurationNs: 30_000_000, BusyNs: 20_000_000, ComputeNs: 20_000_000, IdleLaunchNs: 10_000_000}},
		Lines:       []rankset.Line{{File: "a.py", Number: 3, Function: "f", ForwardNs: 1000, Kernels: 1, ExactNs: 1000, Confidence: "exact"}},
		GPU:         []rankset.GPU{{InSpan: true, Kernel: "gemm", Kind: "kernel", File: "a.py", LineNumber: 3, Events: 1, DurationNs: 1000}},
		Collectives: []rankset.Collective{{Name: "allreduce", Group: "0", Sequence: 1, InSpan: true}, {Name: "allreduce", Group: "0", Sequence: 2, InSpan: true}},
	}
	const ranks = lateRank + 3
	sums := map[float64]int64{}
	for _, factor := range []float64{1, 2} {
		dir := t.TempDir()
		if err := generate(context.Background(), dir, []*rankset.Rank{seed}, ranks, change{"a.py", 3, factor}); err != nil {
			t.Fatal(err)
		}
		set, err := parquet.Open(context.Background(), []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		run, err := set.Merge(context.Background(), parquet.Want{Diagnosis: true, Gaps: true}, nil)
		if err != nil || len(set.Warnings) > 0 || len(run.Numbers) != ranks {
			t.Fatalf("%d ranks, warnings %v, error %v", len(run.Numbers), set.Warnings, err)
		}
		late := run.Diagnosis.Stragglers
		if len(late) != 1 || late[0].Rank != lateRank || late[0].Collectives != 2 || late[0].WaitNs < 2*lateNs {
			t.Errorf("stragglers: %+v", late)
		}
		sums[factor] = run.Costs.Lines[0].SelfNs
	}
	if sums[2] < sums[1]*19/10 {
		t.Errorf("the line takes %d ns, slowed %d ns", sums[1], sums[2])
	}
}
