package rankset

import (
	"cmp"
	"slices"
	"sort"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/compare"
	"stepline/traceindex/diagnose"
)

// topKernels is how many kernels a line lists, as attribute has it.
const topKernels = 8

// Run is a merged set. It is immutable.
type Run struct {
	Costs     *traceindex.Costs
	Diagnosis *diagnose.Diagnosis
	// Samples are the steps' quantities, for compare; Follow's texts are Sources.
	Samples *compare.StepSamples
	// Numbers and Infos are the ranks' own by position; Detailed tells whose steps have their gaps.
	Numbers  []int
	Infos    []Info
	Detailed map[int]bool
	// Findings are the lint's, as the ranks were indexed with them.
	Findings []MergedFinding
	// Warnings are those the ranks' traces were read with, each kind once.
	Warnings []traceindex.Warning

	sources map[place]string
}

// Source is a line's text as it ran, "" if the set has none.
func (r *Run) Source(file string, line int) string { return r.sources[place{file, line}] }

// Run ends the merge. split cuts an interval of a rank (by position) by the statement its training thread was in; it is asked
// about stragglers only.
func (m *Merge) Run(split func(rank int, v traceindex.Interval) []attribute.Share) *Run {
	run := &Run{Samples: m.samples, Detailed: m.detailed, sources: map[place]string{}}
	for _, r := range m.heads {
		run.Numbers, run.Infos = append(run.Numbers, r.Number), append(run.Infos, r.Info)
	}
	for key, l := range m.lines {
		if l.source != "" {
			run.sources[key] = l.source
		}
	}
	run.Costs = m.costs()
	stepMean := int64(0)
	for i := range m.steps {
		stepMean += m.steps[i].DurNs()
	}
	stepMean /= int64(max(1, len(m.steps)))
	findings := m.mergedFindings(stepMean)
	parts := &diagnose.Parts{
		Ranks: m.parts, Steps: m.steps, Split: split, Findings: traceFindings(findings, len(m.heads)), Quality: m.mergedNotes(NoteQuality),
	}
	for i := range m.steps { // a detailed step's gaps speak for it
		if m.steps[i].Gaps != nil {
			m.steps[i].IdleNs = nil
		}
	}
	for _, sum := range m.idle {
		parts.Idle = append(parts.Idle, *sum)
	}
	slices.SortFunc(parts.Idle, func(x, y diagnose.IdleSum) int {
		return cmp.Or(cmp.Compare(x.Cause, y.Cause), cmp.Compare(x.Place.File, y.Place.File), cmp.Compare(x.Place.Line, y.Place.Line), cmp.Compare(x.Place.Function, y.Place.Function), cmp.Compare(x.Doing, y.Doing), cmp.Compare(y.Ns, x.Ns))
	})
	for _, k := range m.byKernel {
		parts.Kernels = append(parts.Kernels, *k)
	}
	slices.SortFunc(parts.Kernels, func(x, y diagnose.KernelTime) int { return cmp.Compare(x.Name, y.Name) })
	m.placeLoader(parts)
	m.placeExposed(parts)
	run.Diagnosis = diagnose.FromParts(parts, diagnose.Settings{})
	run.Findings = lintFindings(findings, len(m.heads))
	run.Warnings = m.mergedNotes(NoteWarning)
	return run
}

func (m *Merge) placeLoader(parts *diagnose.Parts) {
	for _, r := range m.heads {
		if r.Info.LoaderFile != "" {
			parts.Loader = attribute.Place{File: r.Info.LoaderFile, Line: int(r.Info.LoaderLine), Function: r.Info.LoaderFunction}
			parts.LoaderKnown = true
			return
		}
	}
}

func (m *Merge) placeExposed(parts *diagnose.Parts) {
	var best place
	for key, t := range m.exposed {
		if b := m.exposed[best]; b == nil || cmp.Or(cmp.Compare(b.ns, t.ns), cmp.Compare(key.file, best.file), cmp.Compare(key.line, best.line)) < 0 {
			best = key
		}
	}
	if t := m.exposed[best]; t != nil {
		parts.Exposed, parts.ExposedKnown = attribute.Place{File: best.file, Line: best.line, Function: t.function}, true
	}
}

// costs sums the lines as attribute does for a run in memory.
func (m *Merge) costs() *traceindex.Costs {
	costs := &traceindex.Costs{}
	s := &costs.Summary
	s.Ranks = len(m.heads)
	var stepNs, steps int64
	for _, r := range m.heads {
		i := &r.Info
		s.Device = cmp.Or(s.Device, i.Device)
		s.Steps = max(s.Steps, int(i.StepCount))
		s.GPUTotalNs, s.GPUBusyNs = s.GPUTotalNs+i.GPUTotalNs, s.GPUBusyNs+i.GPUBusyNs
		s.GPUIdleNs, s.GPUIdleNoLineNs = s.GPUIdleNs+i.GPUIdleNs, s.GPUIdleNoLineNs+i.GPUIdleNoLineNs
		s.CallLines = s.CallLines || i.CallLines
		if i.StepCount == 0 {
			continue // its one row of steps is the whole trace
		}
		for j := range r.Steps {
			stepNs += r.Steps[j].DurationNs
			steps++
		}
	}
	if steps > 0 {
		s.StepMeanNs = stepNs / steps
	}
	byLine := map[place][]traceindex.KernelCost{}
	for key, k := range m.kernels {
		byLine[key.place] = append(byLine[key.place], *k)
	}
	for key, l := range m.lines {
		most := int64(0)
		l.Confidence = l.fallback
		for c := traceindex.ConfidenceFunction; c <= traceindex.ConfidenceExact; c++ {
			if ns := l.ByConfidence[c]; ns > most {
				most, l.Confidence = ns, c
			}
		}
		l.TopKernels = byLine[key]
		slices.SortFunc(l.TopKernels, func(a, b traceindex.KernelCost) int {
			forwardFirst := 0
			if a.Backward != b.Backward {
				forwardFirst = 1
				if b.Backward {
					forwardFirst = -1
				}
			}
			return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Name, b.Name), forwardFirst)
		})
		l.TopKernels = l.TopKernels[:min(topKernels, len(l.TopKernels))]
		costs.Lines = append(costs.Lines, l.LineCost)
	}
	slices.SortFunc(costs.Lines, func(a, b traceindex.LineCost) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	for _, u := range m.none {
		costs.Unattributed = append(costs.Unattributed, *u)
	}
	slices.SortFunc(costs.Unattributed, func(a, b traceindex.Unattributed) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function), slices.Compare(a.Candidates, b.Candidates))
	})
	return costs
}

// Split cuts an interval by the statements of a timeline; time in none is left out.
func Split(timeline []Span, v traceindex.Interval) []attribute.Share {
	i := sort.Search(len(timeline), func(i int) bool { return timeline[i].StartNs+timeline[i].DurationNs > v.StartNs })
	var shares []attribute.Share
	for ; i < len(timeline) && timeline[i].StartNs < v.EndNs; i++ {
		s := &timeline[i]
		shares = append(shares, attribute.Share{
			Interval: traceindex.Interval{StartNs: max(s.StartNs, v.StartNs), EndNs: min(s.StartNs+s.DurationNs, v.EndNs)}, Known: true,
			Place: attribute.Place{File: s.File, Line: int(s.LineNumber), Function: s.Function},
		})
	}
	return shares
}
