package analysis

import (
	"context"
	"path/filepath"
	"strings"

	"stepline/report"
	"stepline/rules"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
	"stepline/traceindex/rankset"
)

// IndexRank writes one rank of a loaded run (by its place in the run) down as tables: what a report says of it, the lint's
// findings with this rank's prices included. RunID and Host are left to the caller.
func (w *Workspace) IndexRank(ctx context.Context, l *Loaded, place int) (*rankset.Rank, error) {
	only, err := l.only(ctx, place)
	if err != nil {
		return nil, err
	}
	ix := only.Run.Ranks[0]
	warnings := make([]traceindex.Warning, 0, len(ix.Warnings)+len(l.Costs.Warnings))
	for _, warning := range append(append(warnings, ix.Warnings...), l.Costs.Warnings...) {
		warning.Message = strings.ReplaceAll(warning.Message, filepath.Dir(ix.Meta.File)+string(filepath.Separator), "")
		warnings = append(warnings, warning)
	}
	rank := rankset.RowsOf(rankset.Indexed{
		Attribution: only.Attribution, Costs: only.Costs, Diagnosis: only.Diagnosis, Warnings: warnings,
		Source: func(file string, line int) string {
			if f := only.Attribution.Files[file]; f != nil {
				return lineText(f, line)
			}
			return ""
		},
	})
	checked, err := w.CheckRun(ctx, only)
	if err != nil {
		return nil, err
	}
	locate := report.LocateIn(checked.Notebooks)
	for i := range checked.Findings {
		rank.Findings = append(rank.Findings, lintFinding(&checked.Findings[i], locate))
	}
	return rank, nil
}

// only is one rank of the run as a run of its own, diagnosed down to the smallest finding.
func (l *Loaded) only(ctx context.Context, place int) (*Loaded, error) {
	a := l.Attribution.Only(place)
	d, err := diagnose.Run(ctx, a, diagnose.Everything)
	if err != nil {
		return nil, err
	}
	only := &Loaded{Run: a.Run, Attribution: a, Costs: a.Costs(), Diagnosis: d, Sources: l.Sources, LoadedAt: l.LoadedAt}
	only.costs = newTraceCosts(only)
	return only, nil
}

func lintFinding(f *rules.Finding, locate report.Locate) rankset.Finding {
	start, end := locate(f.File, f.Span.Start), locate(f.File, f.Span.End)
	row := rankset.Finding{
		Kind: rankset.KindLint, Rule: f.Rule.ID, Name: f.Rule.Name, Severity: f.Severity.String(), Verdict: f.Verdict.String(), Message: f.Message,
		File: f.File.Path, LineNumber: int64(start.Line), Column: int64(start.Column), EndLine: int64(end.Line), EndColumn: int64(end.Column),
		LowNs: f.Cost.LowNs, HighNs: max(f.Cost.LowNs, f.Cost.HighNs), WaitNs: f.Cost.WaitNs, Share: f.Cost.Share, Evidence: f.Cost.Evidence, Price: f.Rule.Price.String(), Safety: rules.NoFix.String(),
	}
	if fix := f.Fix(); fix != nil {
		row.Fix, row.Safety = fix.Title, fix.Safety.String()
	}
	return row
}

// Indexed is a loaded run put together from its ranks as a set is: what compares with one.
func (w *Workspace) Indexed(ctx context.Context, l *Loaded) (*rankset.Run, error) {
	heads := make(rankset.Heads, len(l.Run.Ranks))
	for i := range heads {
		rank, err := w.IndexRank(ctx, l, i)
		if err != nil {
			return nil, err
		}
		heads[i] = rank
	}
	heads.Sort()
	merge := rankset.NewMerge(heads, heads.Detailed())
	for i, rank := range heads {
		merge.Add(i, rank)
	}
	return merge.Run(func(rank int, v traceindex.Interval) []attribute.Share { return rankset.Split(heads[rank].Timeline, v) }), nil
}
