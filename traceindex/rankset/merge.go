package rankset

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/compare"
	"stepline/traceindex/diagnose"
)

// Heads are the ranks' Number, Info and Steps, read before anything else: they decide which ranks' gaps are worth keeping.
type Heads []*Rank

// Sort orders ranks by number.
func (h Heads) Sort() {
	slices.SortFunc(h, func(x, y *Rank) int { return cmp.Compare(x.Number, y.Number) })
}

// detailedGaps is how many gaps a run may have in all for every rank to be told gap by gap; beyond, only the ranks of Detailed are.
const detailedGaps = 100_000

// Detailed are the ranks, by position, that are told gap by gap: all of a small run; of a large one the slowest, the fastest, the
// one of the median step, and the two that communicate most and least.
func (h Heads) Detailed() map[int]bool {
	gaps := int64(0)
	type mean struct {
		rank              int
		stepNs, exposedNs int64
	}
	type oneStep struct {
		rank             int
		number, lengthNs int64
	}
	var means []mean
	var steps []oneStep
	for i, r := range h {
		m := mean{rank: i}
		for j := range r.Steps {
			gaps += r.Steps[j].GapCount
			m.stepNs += r.Steps[j].DurationNs
			m.exposedNs += r.Steps[j].ExposedCommunicationNs + r.Steps[j].IdleCollectiveNs
			steps = append(steps, oneStep{i, r.Steps[j].Number, r.Steps[j].DurationNs})
		}
		if n := int64(len(r.Steps)); n > 0 {
			m.stepNs, m.exposedNs = m.stepNs/n, m.exposedNs/n
			means = append(means, m)
		}
	}
	out := map[int]bool{}
	if gaps <= detailedGaps {
		for i := range h {
			out[i] = true
		}
		return out
	}
	slices.SortStableFunc(means, func(x, y mean) int { return cmp.Compare(x.stepNs, y.stepNs) })
	out[means[0].rank], out[means[len(means)-1].rank] = true, true
	slices.SortStableFunc(means, func(x, y mean) int { return cmp.Compare(x.exposedNs, y.exposedNs) })
	out[means[0].rank], out[means[len(means)-1].rank] = true, true
	// The report shows the step of median length among all steps in order of number, then rank (report.middleStep).
	slices.SortStableFunc(steps, func(x, y oneStep) int {
		return cmp.Or(cmp.Compare(x.lengthNs, y.lengthNs), cmp.Compare(x.number, y.number), cmp.Compare(x.rank, y.rank))
	})
	out[steps[(len(steps)-1)/2].rank] = true
	return out
}

// Merge puts ranks together: Add takes them one by one, in order, and keeps sums only; Run ends it. It is used by one
// goroutine.
type Merge struct {
	heads    Heads
	detailed map[int]bool
	steps    []diagnose.Step
	stepOf   []map[int64]int // per rank: step number → position in steps
	samples  *compare.StepSamples

	lines    map[place]*mergedLine
	kernels  map[kernelOnLine]*traceindex.KernelCost
	none     map[GPU]*traceindex.Unattributed
	idle     map[idleKey]*diagnose.IdleSum
	byKernel map[string]*diagnose.KernelTime
	exposed  map[place]*exposedTime
	findings map[findingKey]*MergedFinding
	notes    map[noteKey]*mergedNote
	parts    []diagnose.RankPart
}

type place struct {
	file string
	line int
}

type mergedLine struct {
	traceindex.LineCost
	source   string
	fallback traceindex.Confidence
}

type kernelOnLine struct {
	place
	kernel   string
	backward bool
}

// idleKey tells idle sums apart over ranks and steps.
type idleKey struct {
	cause          diagnose.Cause
	known          bool
	file, function string
	line           int64
	doing          string
}

type exposedTime struct {
	function string
	ns       int64
}

// NewMerge begins with the sorted heads of all ranks that will be added.
func NewMerge(heads Heads, detailed map[int]bool) *Merge {
	m := &Merge{
		heads: heads, detailed: detailed, lines: map[place]*mergedLine{}, kernels: map[kernelOnLine]*traceindex.KernelCost{}, none: map[GPU]*traceindex.Unattributed{},
		idle: map[idleKey]*diagnose.IdleSum{}, byKernel: map[string]*diagnose.KernelTime{}, exposed: map[place]*exposedTime{},
		findings: map[findingKey]*MergedFinding{}, notes: map[noteKey]*mergedNote{}, parts: make([]diagnose.RankPart, len(heads)), stepOf: make([]map[int64]int, len(heads)),
	}
	numbers := make([]int, len(heads))
	for i, r := range heads {
		numbers[i] = r.Number
		for j := range r.Steps {
			m.steps = append(m.steps, r.Steps[j].diagnosed(i))
		}
		m.parts[i] = diagnose.RankPart{
			Number: r.Number, BaseUnixNs: r.Info.BaseUnixNs, StepCount: int(r.Info.StepCount),
			Span: traceindex.Interval{StartNs: r.Info.SpanStartNs, EndNs: r.Info.SpanEndNs},
		}
	}
	slices.SortStableFunc(m.steps, func(x, y diagnose.Step) int { // as the diagnosis has them
		return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(x.Rank, y.Rank))
	})
	for i := range m.stepOf {
		m.stepOf[i] = map[int64]int{}
	}
	for i := range m.steps {
		m.stepOf[m.steps[i].Rank][int64(m.steps[i].Number)] = i
	}
	m.samples = compare.NewStepSamples(m.steps, numbers)
	return m
}

// diagnosed is a step of the rank at a position as the diagnosis knows it, in sums.
func (s *Step) diagnosed(rank int) diagnose.Step {
	idle := diagnose.IdleByCause{}
	idle[diagnose.CauseUnknown], idle[diagnose.CauseLoader], idle[diagnose.CauseSync] = s.IdleUnknownNs, s.IdleLoaderNs, s.IdleSyncNs
	idle[diagnose.CauseLaunch], idle[diagnose.CauseCopy], idle[diagnose.CauseCollective] = s.IdleLaunchNs, s.IdleCopyNs, s.IdleCollectiveNs
	idle[diagnose.CauseAllocator], idle[diagnose.CausePython], idle[diagnose.CauseProfiler] = s.IdleAllocatorNs, s.IdlePythonNs, s.IdleProfilerNs
	return diagnose.Step{
		Rank: rank, Step: traceindex.Step{Number: int(s.Number), StartNs: s.StartNs, EndNs: s.StartNs + s.DurationNs, Source: s.Source},
		BusyNs: s.BusyNs, ComputeNs: s.ComputeNs, CopyNs: s.CopyNs, ExposedCommunicationNs: s.ExposedCommunicationNs, IdleNs: &idle,
	}
}

// Add takes the tables of the rank at a position of the heads; r is not kept.
func (m *Merge) Add(rank int, r *Rank) {
	for i := range r.Lines {
		m.addLine(rank, &r.Lines[i])
	}
	for i := range r.GPU {
		m.addGPU(rank, &r.GPU[i])
	}
	for i := range r.Idle {
		m.addIdle(rank, &r.Idle[i])
	}
	m.addCollectives(rank, r.Collectives)
	for i := range r.Findings {
		m.addFinding(rank, &r.Findings[i])
	}
	for _, n := range r.Notes {
		m.addNote(rank, n)
	}
	if m.detailed[rank] {
		m.addDetails(rank, r)
	}
}

func (m *Merge) addLine(rank int, l *Line) {
	key := place{l.File, int(l.Number)}
	row := m.lines[key]
	if row == nil {
		row = &mergedLine{LineCost: traceindex.LineCost{File: l.File, Line: int(l.Number), Function: l.Function, ByConfidence: map[traceindex.Confidence]int64{}}, source: l.Source}
		row.fallback = parseConfidence(l.Confidence)
		m.lines[key] = row
	}
	row.source = cmp.Or(row.source, l.Source)
	row.Calls += l.Calls
	row.SelfNs, row.BackwardNs, row.Kernels = row.SelfNs+l.ForwardNs, row.BackwardNs+l.BackwardNs, row.Kernels+l.Kernels
	row.CPUNs, row.GPUIdleNs, row.SyncNs, row.BubbleNs = row.CPUNs+l.CPUNs, row.GPUIdleNs+l.GPUIdleNs, row.SyncNs+l.SyncNs, row.BubbleNs+l.BubbleNs
	row.CopyNs, row.CopyBytes = row.CopyNs+l.CopyNs, row.CopyBytes+l.CopyBytes
	row.PageableNs, row.PageableBytes, row.CompiledNs = row.PageableNs+l.PageableNs, row.PageableBytes+l.PageableBytes, row.CompiledNs+l.CompiledNs
	for c, ns := range map[traceindex.Confidence]int64{traceindex.ConfidenceExact: l.ExactNs, traceindex.ConfidenceLikely: l.LikelyNs, traceindex.ConfidenceFunction: l.FunctionNs} {
		if ns > 0 {
			row.ByConfidence[c] += ns
		}
	}
	if len(m.heads) > 1 && l.Kernels > 0 {
		if row.PerRankNs == nil {
			row.PerRankNs = make([]int64, len(m.heads))
		}
		row.PerRankNs[rank] += l.ForwardNs + l.BackwardNs
	}
}

func parseConfidence(word string) traceindex.Confidence {
	for c := traceindex.ConfidenceFunction; c <= traceindex.ConfidenceExact; c++ {
		if c.String() == word {
			return c
		}
	}
	return traceindex.ConfidenceFunction
}

func (m *Merge) addGPU(rank int, g *GPU) {
	if step, ok := m.stepOf[rank][g.Step]; ok {
		m.samples.AddGPU(step, compare.GPUTime{Kernel: g.Kernel, Op: g.Op, Line: compare.Line{File: g.File, Line: int(g.LineNumber), Function: g.Function}, OnLine: g.Reason == "", Ns: g.DurationNs})
	}
	if g.InSpan && g.Kind == "kernel" {
		k := m.byKernel[g.Kernel]
		if k == nil {
			k = &diagnose.KernelTime{Name: g.Kernel}
			m.byKernel[g.Kernel] = k
		}
		k.Ns, k.Count, k.LongestNs = k.Ns+g.DurationNs, k.Count+int(g.Events), max(k.LongestNs, g.LongestNs)
	}
	if g.InSpan && g.Collective && g.File != "" && g.LineNumber > 0 {
		key := place{g.File, int(g.LineNumber)}
		if m.exposed[key] == nil {
			m.exposed[key] = &exposedTime{function: g.Function}
		}
		m.exposed[key].ns += g.DurationNs
	}
	if g.Reason != "" {
		key := GPU{Reason: g.Reason, File: g.File, LineNumber: g.LineNumber, Function: g.Function, Candidates: g.Candidates}
		u := m.none[key]
		if u == nil {
			u = &traceindex.Unattributed{Reason: g.Reason, File: g.File, Line: int(g.LineNumber), Function: g.Function, Candidates: parseLines(g.Candidates)}
			m.none[key] = u
		}
		u.Ns, u.Kernels = u.Ns+g.DurationNs, u.Kernels+g.Events
		return
	}
	key := kernelOnLine{place{g.File, int(g.LineNumber)}, g.Kernel, g.Backward}
	k := m.kernels[key]
	if k == nil {
		k = &traceindex.KernelCost{Name: g.Kernel, Backward: g.Backward}
		m.kernels[key] = k
	}
	k.Count, k.Ns = k.Count+g.Events, k.Ns+g.DurationNs
}

func (m *Merge) addIdle(rank int, v *Idle) {
	cause, _ := diagnose.ParseCause(v.Cause) // a cause this version does not know is "unknown"
	key := idleKey{cause, v.Known, v.File, v.Function, v.LineNumber, v.Doing}
	sum := m.idle[key]
	if sum == nil {
		sum = &diagnose.IdleSum{Cause: cause, Known: v.Known, Doing: v.Doing, Place: attribute.Place{File: v.File, Line: int(v.LineNumber), Function: v.Function}}
		m.idle[key] = sum
	}
	sum.Ns, sum.Gaps = sum.Ns+v.DurationNs, sum.Gaps+int(v.GapCount)
	if step, ok := m.stepOf[rank][v.Step]; ok && v.Known {
		m.samples.AddIdle(step, compare.Line{File: v.File, Line: int(v.LineNumber), Function: v.Function}, v.DurationNs)
	}
}

func (m *Merge) addCollectives(rank int, rows []Collective) {
	kernels := make([]traceindex.CollectiveKernel, len(rows))
	for i := range rows {
		c := &rows[i]
		kernels[i] = traceindex.CollectiveKernel{Event: traceindex.EventID(i), Name: c.Name, Group: c.Group, Ranks: c.Ranks, Sequence: c.Sequence, StartUnixNs: c.StartUnixNs, DurNs: c.DurationNs}
	}
	m.parts[rank].Collectives = kernels
}

// addDetails gives a rank's steps their gaps and phases.
func (m *Merge) addDetails(rank int, r *Rank) {
	for i := range r.Gaps {
		g := &r.Gaps[i]
		at, ok := m.stepOf[rank][g.Step]
		if !ok {
			continue
		}
		cause, _ := diagnose.ParseCause(g.Cause)
		m.steps[at].Gaps = append(m.steps[at].Gaps, diagnose.Gap{
			Interval: traceindex.Interval{StartNs: g.StartNs, EndNs: g.StartNs + g.DurationNs}, Cause: cause, Known: g.Known, Doing: g.Doing, Call: traceindex.NoEvent,
			Place: attribute.Place{File: g.File, Line: int(g.LineNumber), Function: g.Function},
		})
	}
	for i := range r.Phases {
		p := &r.Phases[i]
		if at, ok := m.stepOf[rank][p.Step]; ok {
			m.steps[at].Phases = append(m.steps[at].Phases, diagnose.Phase{
				Interval: traceindex.Interval{StartNs: p.StartNs, EndNs: p.StartNs + p.DurationNs}, Op: p.Op, GPUBusyNs: p.BusyNs, DependsOn: p.DependsOn, Note: p.Note,
			})
		}
	}
}

// parseLines reads "75,76"; what is no number is left out.
func parseLines(list string) []int {
	var lines []int
	for word := range strings.SplitSeq(list, ",") {
		if line, err := strconv.Atoi(word); err == nil {
			lines = append(lines, line)
		}
	}
	return lines
}
