package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"stepline/bench/process"
	"stepline/traceindex/rankset"
	"stepline/traceindex/rankset/parquet"
)

// change is how one generated run differs from another.
type change struct {
	// slowFile:slowLine takes slowFactor times the GPU time.
	slowFile   string
	slowLine   int64
	slowFactor float64
}

// lateRank starts every collective lateNs after the others.
const (
	lateRank = 17
	lateNs   = 200_000
)

// generate writes a run of ranks made from a few recorded ones into dir. The same arguments give the same numbers.
func generate(ctx context.Context, dir string, seeds []*rankset.Rank, ranks int, of change) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0) * 4) // writing waits for the disk
	for n := range ranks {
		group.Go(func() error {
			if err := parquet.Write(ctx, dir, vary(seeds[n%len(seeds)], n, ranks, of), "bench"); err != nil {
				return fmt.Errorf("rank %d: %w", n, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// vary is a recorded rank as rank n: all of a step's times stretched by the rank's own factor, collectives where all ranks have
// them, each with a little jitter of the start.
func vary(seed *rankset.Rank, n, ranks int, of change) *rankset.Rank {
	random := rand.New(rand.NewPCG(uint64(n), 1024))
	r := *seed
	r.Number = n
	r.Info.WorldSize, r.Info.Host, r.Info.RunID = int64(ranks), fmt.Sprintf("node%03d", n/8), "bench"
	stretch := 1 + 0.02*random.Float64()
	long := func(ns *int64) { *ns = int64(float64(*ns) * stretch) }
	r.Steps = slices.Clone(seed.Steps)
	for i := range r.Steps {
		s := &r.Steps[i]
		before := s.DurationNs
		long(&s.DurationNs)
		s.ComputeNs, s.BusyNs = s.ComputeNs+s.DurationNs-before, s.BusyNs+s.DurationNs-before
	}
	r.Collectives = slices.Clone(seed.Collectives)
	for i := range r.Collectives {
		c := &r.Collectives[i]
		c.Ranks = fmt.Sprintf("[0 … %d]", ranks-1)
		// The two recorded ranks are late by turns: here all start together but for a jitter, and the late one.
		c.StartUnixNs = seed.Info.BaseUnixNs + seed.Steps[0].StartNs + int64(i)*1_000_000 + random.Int64N(20_000)
		c.DurationNs = lateNs + 100_000
		if n == lateRank {
			c.StartUnixNs += lateNs
			c.DurationNs = 100_000
		}
	}
	slow := func(file string, line int64, ns *int64) {
		long(ns)
		if file == of.slowFile && line == of.slowLine {
			*ns = int64(float64(*ns) * of.slowFactor)
		}
	}
	r.GPU = slices.Clone(seed.GPU)
	for i := range r.GPU {
		slow(r.GPU[i].File, r.GPU[i].LineNumber, &r.GPU[i].DurationNs)
	}
	r.Lines = slices.Clone(seed.Lines)
	for i := range r.Lines {
		slow(r.Lines[i].File, r.Lines[i].Number, &r.Lines[i].ForwardNs)
	}
	return &r
}

// recorded indexes the shipped DDP run, each rank on its own, and reads the ranks.
func recorded(ctx context.Context, stepline, dir string) ([]*rankset.Rank, error) {
	var seeds []*rankset.Rank
	for n := range 2 {
		trace := filepath.Join("testdata", "traces", "ddp", fmt.Sprintf("ddp.rank%d.trace.json.gz", n))
		if _, _, err := process.Run(exec.CommandContext(ctx, stepline, "index", "--parquet", dir, "--root", filepath.Dir(trace), trace)); err != nil {
			return nil, err
		}
		rank, err := parquet.Read(dir, n)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, rank)
	}
	return seeds, nil
}

// twoRuns are the folders of a base and a new run of as many ranks, made if they are not there.
func twoRuns(ctx context.Context, stepline string, ranks int) (base, next string, err error) {
	folder := filepath.Join(".cache", "bench", fmt.Sprintf("ranks-%d", ranks))
	base, next = filepath.Join(folder, "base"), filepath.Join(folder, "new")
	done := filepath.Join(folder, fmt.Sprintf("made-%d", rankset.Schema))
	if _, err := os.Stat(done); err == nil {
		return base, next, nil
	}
	seeds, err := recorded(ctx, stepline, filepath.Join(folder, "recorded"))
	if err != nil {
		return "", "", err
	}
	if err := generate(ctx, base, seeds, ranks, change{}); err != nil {
		return "", "", err
	}
	if err := generate(ctx, next, seeds, ranks, change{slowFile: "ddp.py", slowLine: 20, slowFactor: 1.25}); err != nil {
		return "", "", err
	}
	return base, next, os.WriteFile(done, nil, 0o644)
}
