package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"stepline/analysis"
	"stepline/report"
	"stepline/traceindex"
	"stepline/traceindex/compare"
	"stepline/traceindex/rankset"
	"stepline/traceindex/rankset/parquet"
)

// setFolders are the inputs as folders of indexed ranks; none if they are traces. The two do not mix.
func setFolders(inputs []string) ([]string, error) {
	var sets []string
	other := ""
	for _, input := range inputs {
		expanded := []string{input}
		if _, err := os.Stat(input); err != nil {
			if found, err := filepath.Glob(input); err == nil && len(found) > 0 {
				expanded = found
			}
		}
		for _, path := range expanded {
			if parquet.IsSet(path) {
				sets = append(sets, path)
			} else {
				other = path
			}
		}
	}
	if len(sets) > 0 && other != "" {
		return nil, usageError("%s is a folder of indexed ranks and %s is not: name traces or indexed ranks, not both", sets[0], other)
	}
	return sets, nil
}

// openedSet is a set ready to print.
type openedSet struct {
	*rankset.Run
	folders  []string
	leftOut  int
	warnings []traceindex.Warning
}

// readSet opens and merges a set with a progress bar; rank picks one of its ranks, −1 all.
func readSet(ctx context.Context, io streams, folders []string, want parquet.Want, rank int) (*openedSet, error) {
	// Thousands of small files are read and dropped over a heap of a few megabytes: without room it would be collected all the time.
	collectAt(commandGCPercent)
	set, err := parquet.Open(ctx, folders)
	if err != nil {
		return nil, err
	}
	if rank >= 0 && !set.Only(rank) {
		return nil, usageError("--rank: the set has no rank %d", rank)
	}
	bar := newProgress(io)
	defer bar.close()
	run, err := set.Merge(ctx, want, func(done, total int) { bar.update("ranks", int64(done), int64(total)) })
	if err != nil {
		return nil, err
	}
	opened := &openedSet{Run: run, folders: folders, leftOut: set.LeftOut, warnings: slices.Concat(set.Warnings, run.Warnings)}
	opened.Costs.Summary.Files = folders
	opened.Costs.Warnings = opened.warnings
	return opened, nil
}

// reportOfSet brings together what the writers of a report need.
func reportOfSet(s *openedSet) *report.Run {
	members := &report.Set{Folders: s.folders, LeftOut: s.leftOut, Detailed: s.Detailed, Findings: s.Findings, RunIDs: []string{}}
	for _, info := range s.Infos {
		members.HostOf = append(members.HostOf, info.Host)
		if !slices.Contains(members.RunIDs, info.RunID) {
			members.RunIDs = append(members.RunIDs, info.RunID)
		}
	}
	members.Hosts = slices.Compact(slices.Sorted(slices.Values(members.HostOf)))
	slices.Sort(members.RunIDs)
	return &report.Run{
		Costs: s.Costs, Diagnosis: s.Diagnosis, RankNumbers: s.Numbers, Warnings: s.warnings, Source: s.Source, Version: steplineVersion(), Set: members,
	}
}

// linesOfSet prints what each line costs over the ranks of a set, or on one of them.
func linesOfSet(ctx context.Context, io streams, folders []string, rank int, format string, view report.LinesView) error {
	set, err := readSet(ctx, io, folders, parquet.Want{}, rank)
	if err != nil {
		return err
	}
	ranked := report.RankLines(set.Costs.Lines, view.Order, view.Top)
	switch format {
	case "json":
		err = report.WriteJSON(io.out, report.NewLinesDocument(set.Costs, ranked))
	case "csv":
		err = report.WriteLinesCSV(io.out, ranked)
	default:
		view.Source = set.Source
		err = report.WriteLinesText(io.out, set.Costs, view)
	}
	if err != nil {
		return err
	}
	printWarnings(io, set.warnings)
	return nil
}

// setDiff compares two runs of which at least one is a set; the other may be traces, which are indexed in memory.
func setDiff(ctx context.Context, io streams, base, next side, failAbove float64) (*report.Diff, error) {
	b, err := base.open(ctx, io)
	if err != nil {
		return nil, err
	}
	n, err := next.open(ctx, io)
	if err != nil {
		return nil, err
	}
	comparison := compare.Run(compare.Side{Diagnosis: b.Diagnosis, Samples: b.Samples}, compare.Side{Diagnosis: n.Diagnosis, Samples: n.Samples}, rankset.Follow(b.Run, n.Run))
	diff := &report.Diff{
		BaseFiles: b.folders, NewFiles: n.folders, Comparison: comparison, FailAbove: failAbove, Failed: failAbove >= 0 && comparison.Exceeds(failAbove),
		Warnings: slices.Concat(b.warnings, n.warnings), Source: n.Source,
	}
	for _, f := range rankset.Mended(b.Run, n.Run) {
		saved := -comparison.Step.DeltaNs
		diff.Predictions = append(diff.Predictions, report.DiffPrediction{Indexed: &f, SavedNs: saved, Delivered: saved > 0 && saved+comparison.Step.NoiseNs >= float64(f.LowNs)})
	}
	return diff, nil
}

// side is one run of a comparison: folders of indexed ranks, or traces.
type side struct {
	folders, traces []string
	workspace       *analysis.Workspace
}

func (s side) open(ctx context.Context, io streams) (*openedSet, error) {
	if len(s.folders) > 0 {
		return readSet(ctx, io, s.folders, parquet.Want{Diagnosis: true}, -1)
	}
	trace, unusable := loadTrace(ctx, io, s.workspace, s.traces, analysis.LoadOptions{})
	if unusable != nil {
		return nil, unusable
	}
	run, err := s.workspace.Indexed(ctx, trace.Loaded)
	if err != nil {
		return nil, err
	}
	return &openedSet{Run: run, folders: trace.Costs.Summary.Files, warnings: trace.warnings}, nil
}
