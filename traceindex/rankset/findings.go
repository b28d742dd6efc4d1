package rankset

import (
	"cmp"
	"fmt"
	"slices"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
)

// MergedFinding is one finding over the ranks that have it.
type MergedFinding struct {
	// Finding is that of the rank on which it costs most; its costs are those a step of the run has, on the mean.
	Finding
	// Ranks is how many ranks have it, WorstRank the number of the one it is quoted from, WorstNs what it costs there.
	Ranks, WorstRank int
	WorstNs          int64
	low, high, wait  float64 // ns over all steps
	least, most      int64   // of any rank, ns a step
}

// PricedByCollectives is the Price of findings about communication.
const PricedByCollectives = "P-comm"

type findingKey struct {
	kind, rule, file string
	line, column     int64
}

func (m *Merge) addFinding(rank int, f *Finding) {
	key := findingKey{f.Kind, f.Rule, f.File, f.LineNumber, f.Column}
	if f.Kind == KindTrace && f.HighNs == 0 { // what is said about the trace: as many findings as sentences
		key.kind = f.Message
	}
	steps := float64(max(1, len(m.heads[rank].Steps)))
	merged := m.findings[key]
	if merged == nil {
		merged = &MergedFinding{Finding: *f, WorstRank: m.heads[rank].Number, WorstNs: f.HighNs, least: f.LowNs}
		m.findings[key] = merged
	}
	if f.HighNs > merged.WorstNs || f.HighNs == merged.WorstNs && m.heads[rank].Number < merged.WorstRank {
		merged.Finding, merged.WorstRank, merged.WorstNs = *f, m.heads[rank].Number, f.HighNs
	}
	merged.Ranks++
	merged.least, merged.most = min(merged.least, f.LowNs), max(merged.most, f.HighNs)
	merged.low, merged.high, merged.wait = merged.low+steps*float64(f.LowNs), merged.high+steps*float64(f.HighNs), merged.wait+steps*float64(f.WaitNs)
}

// mergedFindings are the findings with their cost a step of the run.
func (m *Merge) mergedFindings(stepMeanNs int64) []MergedFinding {
	steps := float64(max(1, len(m.steps)))
	out := make([]MergedFinding, 0, len(m.findings))
	for _, f := range m.findings {
		f.LowNs, f.HighNs, f.WaitNs = int64(f.low/steps), int64(f.high/steps), int64(f.wait/steps)
		if f.Price == PricedByCollectives { // a collective takes long where others are waited for: see diagnose.Prices.Communication
			f.LowNs, f.HighNs = f.least, f.most
		}
		f.Share = 0
		if stepMeanNs > 0 {
			f.Share = float64(f.LowNs) / float64(stepMeanNs)
		}
		out = append(out, *f)
	}
	slices.SortFunc(out, func(x, y MergedFinding) int {
		return cmp.Or(cmp.Compare(y.LowNs, x.LowNs), cmp.Compare(y.HighNs, x.HighNs), cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.File, y.File), cmp.Compare(x.LineNumber, y.LineNumber), cmp.Compare(x.Column, y.Column), cmp.Compare(x.Message, y.Message))
	})
	return out
}

// sentence is the finding's message, with whose numbers it has where several ranks have it.
func (f *MergedFinding) sentence(ranks int) string {
	if ranks < 2 || f.HighNs == 0 && f.Ranks == ranks {
		return f.Message
	}
	if f.Ranks == 1 {
		return fmt.Sprintf("on rank %d: %s", f.WorstRank, f.Message)
	}
	return fmt.Sprintf("on %d of %d ranks; on rank %d, the worst: %s", f.Ranks, ranks, f.WorstRank, f.Message)
}

// traceFindings are those of the trace alone, for the diagnosis.
func traceFindings(merged []MergedFinding, ranks int) []diagnose.Finding {
	var out []diagnose.Finding
	for i := range merged {
		f := &merged[i]
		if f.Kind != KindTrace {
			continue
		}
		out = append(out, diagnose.Finding{
			Rule: f.Rule, Name: f.Name, Message: f.sentence(ranks), NsPerStep: f.HighNs, Info: f.Severity == "info",
			Place: attribute.Place{File: f.File, Line: int(f.LineNumber), Function: f.Function}, Known: f.File != "",
		})
	}
	return out
}

// lintFindings are those on the source, with the sentence they are told in.
func lintFindings(merged []MergedFinding, ranks int) []MergedFinding {
	var out []MergedFinding
	for _, f := range merged {
		if f.Kind == KindLint {
			if f.HighNs > 0 && f.Ranks < ranks {
				f.Message = f.sentence(ranks)
			}
			out = append(out, f)
		}
	}
	return out
}

type noteKey struct{ kind, code string }

type mergedNote struct {
	Note
	rank, ranks, times int // the last rank that has it, how many have it, how often
}

func (m *Merge) addNote(rank int, n Note) {
	key := noteKey{n.Kind, n.Code}
	merged := m.notes[key]
	if merged == nil {
		merged = &mergedNote{Note: n, rank: -1}
		m.notes[key] = merged
	}
	if merged.rank != rank {
		merged.ranks++
		merged.rank = rank
	}
	merged.times++
}

// mergedNotes tells each kind of note once, with the first rank's words; it lists them by code.
func (m *Merge) mergedNotes(kind string) []traceindex.Warning {
	var list []*mergedNote
	for _, n := range m.notes {
		if n.Kind == kind {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(x, y *mergedNote) int { return cmp.Compare(x.Code, y.Code) })
	var out []traceindex.Warning
	for _, n := range list {
		message := n.Message
		if n.times > 1 {
			message = fmt.Sprintf("on %d of %d ranks, as in %s: %s", n.ranks, len(m.heads), n.File, n.Message)
		}
		out = append(out, traceindex.Warning{Code: n.Code, Message: message, File: n.File})
	}
	return out
}
