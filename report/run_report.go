package report

import (
	"cmp"
	"fmt"
	"slices"

	"stepline/rules"
	"stepline/traceindex"
	"stepline/traceindex/diagnose"
)

// Run is everything `stepline report` says about a run, finished: the writers below only choose and write down.
type Run struct {
	Costs     *traceindex.Costs
	Diagnosis *diagnose.Diagnosis
	// RankNumbers are the ranks' own numbers by place in the run; a missing one is its place.
	RankNumbers []int
	// Findings are the lint findings of the files that ran, priced with this run.
	Findings *Findings
	Warnings []traceindex.Warning
	// Beside is what inputs other than traces say; nil without any.
	Beside *Beside
	// Source returns a line of a workspace file (from 1), "" if there is none.
	Source func(file string, line int) string
	// Set is what a run of indexed ranks is made of; nil for traces.
	Set *Set
	// Version is stepline's own.
	Version string
}

// rank is the number of the rank at a place in the run.
func (r *Run) rank(place int) int {
	if place < len(r.RankNumbers) && r.RankNumbers[place] >= 0 {
		return r.RankNumbers[place]
	}
	return place
}

func (r *Run) source(file string, line int) string {
	if r.Source == nil || line < 1 {
		return ""
	}
	return r.Source(file, line)
}

// classWords say what a class is, for people.
var classWords = map[diagnose.Class]struct{ name, meaning string }{
	diagnose.DataStall:          {"data stall", "the GPU waits for the next batch"},
	diagnose.CommunicationStall: {"communication stall", "the GPU waits in communication that no compute hides"},
	diagnose.SyncBound:          {"sync bound", "the GPU runs dry because the host waits for it"},
	diagnose.LaunchBound:        {"launch bound", "the GPU waits for the host to launch work"},
	diagnose.ComputeBound:       {"compute bound", "the GPU computes most of the step"},
	diagnose.MemoryBound:        {"memory bound", "memory traffic takes most of the step"},
	diagnose.Balanced:           {"balanced", "no single cost dominates the step"},
	diagnose.Unknown:            {"unknown", "the trace says nothing of the GPU"},
}

// ClassName is a class in plain words: "launch bound".
func ClassName(class diagnose.Class) string {
	if words, ok := classWords[class]; ok {
		return words.name
	}
	return string(class)
}

// causeWords say why the GPU was idle, for people.
var causeWords = map[diagnose.Cause]string{
	diagnose.CauseLoader:     "waiting for the loader",
	diagnose.CauseSync:       "after a synchronisation",
	diagnose.CauseLaunch:     "waiting for a launch",
	diagnose.CauseCopy:       "after a blocking copy",
	diagnose.CauseCollective: "in a collective",
	diagnose.CauseAllocator:  "allocating GPU memory",
	diagnose.CausePython:     "Python and CPU work",
	diagnose.CauseProfiler:   "the profiler itself",
	diagnose.CauseUnknown:    "unknown",
}

// shareRow is one part of the step.
type shareRow struct {
	Key, Name string
	Share     float64
}

// shareRows are the parts of the step in the contract's order.
func shareRows(s diagnose.Shares) []shareRow {
	return []shareRow{
		{"data", "data", s.Data},
		{"communication", "communication", s.Communication},
		{"sync", "sync", s.Sync},
		{"launch", "launch and Python", s.Launch},
		{"copy", "copies", s.Copy},
		{"compute", "compute", s.Compute},
		{"other", "other", s.Other},
	}
}

// pricedFinding is a finding of the lint or of the trace alone, as the reports rank them.
type pricedFinding struct {
	Rule, Name, Message string
	Severity            rules.Severity
	File                string
	Line                int
	Verdict             rules.Verdict
	// LowNs to HighNs a step is what mending is expected to save.
	LowNs, HighNs int64
	Share         float64
	Evidence, Fix string
	Safety        rules.Safety
}

// pricedFindings merges both kinds: confirmed ones by what they cost, then what has no price, then refuted ones.
func (r *Run) pricedFindings() []pricedFinding {
	var list []pricedFinding
	if r.Findings != nil {
		for i := range r.Findings.Findings {
			f := &r.Findings.Findings[i]
			at := r.Findings.locate(f.File, f.Span.Start)
			row := pricedFinding{
				Rule: f.Rule.ID, Name: f.Rule.Name, Message: f.Message, Severity: f.Severity, File: f.File.Path, Line: at.Line,
				Verdict: f.Verdict, LowNs: f.Cost.LowNs, HighNs: max(f.Cost.LowNs, f.Cost.HighNs), Share: f.Cost.Share, Evidence: f.Cost.Evidence,
			}
			if fix := f.Fix(); fix != nil {
				row.Fix, row.Safety = fix.Title, fix.Safety
			}
			list = append(list, row)
		}
	}
	list = append(list, r.indexedFindings()...)
	for i := range r.Diagnosis.Findings {
		f := &r.Diagnosis.Findings[i]
		row := pricedFinding{
			Rule: f.Rule, Name: f.Name, Message: f.Message, Severity: rules.Warning, Verdict: rules.Confirmed,
			HighNs: f.NsPerStep, // what of it can be removed the trace alone does not say: from nothing to all
		}
		if f.Info {
			row.Severity = rules.Info
		}
		if f.Known {
			row.File, row.Line = f.Place.File, f.Place.Line
		}
		list = append(list, row)
	}
	slices.SortStableFunc(list, func(a, b pricedFinding) int {
		return cmp.Or(
			cmp.Compare(verdictRank(a), verdictRank(b)),
			cmp.Compare(b.LowNs, a.LowNs), cmp.Compare(b.HighNs, a.HighNs),
			cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}

func verdictRank(f pricedFinding) int {
	switch {
	case f.Verdict == rules.Confirmed && f.LowNs > 0:
		return 0
	case f.Verdict == rules.Refuted:
		return 3
	case f.HighNs > 0:
		return 1
	default:
		return 2
	}
}

// place is "gpt.py:24", "" where it is not known.
func (f *pricedFinding) place() string {
	if f.File == "" {
		return ""
	}
	if f.Line <= 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// share is what mending is expected to save of the step at least, "" where that is nothing.
func (f *pricedFinding) share() string {
	if f.LowNs == 0 {
		return ""
	}
	return Percent(f.Share)
}

// saving is what mending is expected to save a step, for people.
func (f *pricedFinding) saving() string {
	low, high := Duration(float64(f.LowNs)), Duration(float64(f.HighNs))
	switch {
	case f.LowNs == 0:
		return "0 to " + high
	case low == high:
		return "at least " + low
	default:
		return low + " to " + high
	}
}

// middleStep is the step of median length, the one tables show; nil without steps.
func (r *Run) middleStep() *diagnose.Step {
	if len(r.Diagnosis.Steps) == 0 {
		return nil
	}
	order := make([]*diagnose.Step, len(r.Diagnosis.Steps))
	for i := range r.Diagnosis.Steps {
		order[i] = &r.Diagnosis.Steps[i]
	}
	slices.SortStableFunc(order, func(a, b *diagnose.Step) int { return cmp.Compare(a.DurNs(), b.DurNs()) })
	return order[(len(order)-1)/2]
}

// causeTotal is the idle time of one cause over all steps, per step.
type causeTotal struct {
	Cause     diagnose.Cause
	NsPerStep int64
	Gaps      int
}

// causeTotals sums the gaps by cause, largest first.
func (r *Run) causeTotals() []causeTotal {
	sums := map[diagnose.Cause]*causeTotal{}
	for idle := range r.Diagnosis.EachIdle() {
		if sums[idle.Cause] == nil {
			sums[idle.Cause] = &causeTotal{Cause: idle.Cause}
		}
		sums[idle.Cause].NsPerStep += idle.Ns
		sums[idle.Cause].Gaps += idle.Gaps
	}
	var list []causeTotal
	for _, sum := range sums {
		sum.NsPerStep /= int64(max(1, len(r.Diagnosis.Steps)))
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b causeTotal) int {
		return cmp.Or(cmp.Compare(b.NsPerStep, a.NsPerStep), cmp.Compare(a.Cause, b.Cause))
	})
	return list
}

// rankRow is one rank's mean step.
type rankRow struct {
	Rank, Steps               int
	MeanNs, BusyNs, ExposedNs int64
}

// rankRows are the ranks side by side, by number.
func (r *Run) rankRows() []rankRow {
	byRank := map[int]*rankRow{}
	for i := range r.Diagnosis.Steps {
		step := &r.Diagnosis.Steps[i]
		row := byRank[step.Rank]
		if row == nil {
			row = &rankRow{Rank: r.rank(step.Rank)}
			byRank[step.Rank] = row
		}
		row.Steps++
		row.MeanNs += step.DurNs()
		row.BusyNs += step.BusyNs
		row.ExposedNs += step.ExposedCommunicationNs
	}
	var list []rankRow
	for _, row := range byRank {
		steps := int64(row.Steps)
		row.MeanNs, row.BusyNs, row.ExposedNs = row.MeanNs/steps, row.BusyNs/steps, row.ExposedNs/steps
		list = append(list, *row)
	}
	slices.SortFunc(list, func(a, b rankRow) int { return cmp.Compare(a.Rank, b.Rank) })
	return list
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// gapNote says what the host did in a gap: "MLP.forward: aten::addmm".
func gapNote(gap *diagnose.Gap) string {
	switch {
	case gap.Known && gap.Doing != "":
		return gap.Place.Function + ": " + gap.Doing
	case gap.Known:
		return gap.Place.Function
	default:
		return gap.Doing
	}
}

// idleLines sums the gaps by line and cause, largest first, at most count.
func (r *Run) idleLines(count int) []idleLine {
	type key struct {
		file  string
		line  int
		cause diagnose.Cause
	}
	sums := map[key]*idleLine{}
	for idle := range r.Diagnosis.EachIdle() {
		file, line := placeOf(idle.Place, idle.Known)
		k := key{file, line, idle.Cause}
		if sums[k] == nil {
			sums[k] = &idleLine{File: file, Line: line, Function: idle.Place.Function, Cause: idle.Cause}
		}
		sums[k].NsPerStep += idle.Ns
		sums[k].Gaps += idle.Gaps
	}
	list := make([]idleLine, 0, len(sums))
	for _, sum := range sums {
		sum.NsPerStep /= int64(max(1, len(r.Diagnosis.Steps)))
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b idleLine) int {
		return cmp.Or(cmp.Compare(b.NsPerStep, a.NsPerStep), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Cause, b.Cause))
	})
	return list[:min(count, len(list))]
}

// gpuKnown says whether the trace tells anything of the GPU. Of one that does not, no share, phase, gap or cost is shown; the JSON
// document keeps its members, and its class says "unknown".
func (r *Run) gpuKnown() bool { return r.Diagnosis.Class != diagnose.Unknown }
