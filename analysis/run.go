package analysis

import (
	"context"
	"maps"
	"slices"
)

// CheckRun lints the files that ran in a trace, as they were at load, priced with it.
func (w *Workspace) CheckRun(ctx context.Context, loaded *Loaded) (*Checked, error) {
	if err := w.Index(ctx, true); err != nil {
		return nil, err
	}
	var sources []Source
	for _, path := range slices.Sorted(maps.Keys(loaded.Sources)) {
		if loaded.Attribution.Files[path] == nil {
			continue // it is known by a log or a snapshot alone
		}
		sources = append(sources, Source{path, loaded.Sources[path]})
	}
	return w.CheckSources(ctx, sources, loaded.RuleCosts())
}

// RankNumbers are the ranks' own numbers by place in the run, −1 where a trace tells none.
func (l *Loaded) RankNumbers() []int {
	numbers := make([]int, len(l.Run.Ranks))
	for i, index := range l.Run.Ranks {
		numbers[i] = index.Meta.Rank
	}
	return numbers
}
