package analysis

import (
	"context"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex/compare"
)

// Compared is two loaded runs told apart.
type Compared struct {
	*compare.Comparison
	// Predictions are the findings of the base that the new run no longer has, with what their prices promised.
	Predictions []Prediction
}

// Prediction is a finding that was mended between two runs, and its promise. Whether it was kept shows in the step: promises of
// several findings can be about the same time.
type Prediction struct {
	Finding rules.Finding
	// SavedNs is how much shorter the mean step became, negative if longer.
	SavedNs float64
	// Delivered tells that the step became shorter by at least the promise's lower end, less noise.
	Delivered bool
}

// Compare tells two runs apart: per line across the edits between their sources, per op, kernel and cause, and whether what was
// mended delivered what its price promised. Each run is linted in its own workspace; both may be the same one.
func Compare(ctx context.Context, baseWorkspace, newWorkspace *Workspace, base, new *Loaded) (*Compared, error) {
	out := &Compared{Comparison: compare.Run(compare.Side{Attribution: base.Attribution, Diagnosis: base.Diagnosis}, compare.Side{Attribution: new.Attribution, Diagnosis: new.Diagnosis}, followSources(base, new))}
	before, err := baseWorkspace.CheckRun(ctx, base)
	if err != nil {
		return nil, err
	}
	after, err := newWorkspace.CheckRun(ctx, new)
	if err != nil {
		return nil, err
	}
	type key struct {
		rule, text, file string
	}
	left := map[key]int{}
	keyOf := func(f rules.Finding) key {
		return key{f.Rule.ID, f.File.Text[f.Span.Start:f.Span.End], f.File.Path}
	}
	for _, f := range after.Findings {
		left[keyOf(f)]++
	}
	for _, f := range before.Findings {
		if f.Verdict != rules.Confirmed || f.Cost.LowNs <= 0 || new.Attribution.Files[f.File.Path] == nil {
			continue // of a file that did not run in the new run nothing was mended
		}
		if k := keyOf(f); left[k] > 0 {
			left[k]--
			continue
		}
		saved := -out.Step.DeltaNs
		out.Predictions = append(out.Predictions, Prediction{Finding: f, SavedNs: saved, Delivered: saved > 0 && saved+out.Step.NoiseNs >= float64(f.Cost.LowNs)})
	}
	return out, nil
}

// followSources maps lines of the base's sources to the new run's. A line of a function that changed is followed where its
// text stayed the same.
func followSources(base, new *Loaded) compare.Follow {
	maps := map[string]*LineMap{}
	return func(file string, line int) (int, bool) {
		older, newer := base.Attribution.Files[file], new.Attribution.Files[file]
		if older == nil || newer == nil {
			return line, newer == nil && older == nil
		}
		m := maps[file]
		if m == nil {
			m = FollowLines(older, newer)
			maps[file] = m
		}
		to, fresh := m.Line(line)
		if to == 0 {
			return 0, false
		}
		return to, fresh || lineText(older, line) == lineText(newer, to)
	}
}

func lineText(f *pyscan.File, line int) string {
	if line < 1 || line > f.LineCount() {
		return ""
	}
	return strings.TrimSpace(f.LineText(line))
}
