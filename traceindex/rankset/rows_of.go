package rankset

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/compare"
	"stepline/traceindex/diagnose"
)

// Indexed is one rank in memory: a run of that rank alone, attributed, summed and diagnosed (diagnose.Everything).
type Indexed struct {
	Attribution *attribute.Attribution
	Costs       *traceindex.Costs
	Diagnosis   *diagnose.Diagnosis
	// Source returns a line of a file that ran, "" if there is none.
	Source func(file string, line int) string
	// Warnings are those of reading and attributing.
	Warnings []traceindex.Warning
}

// RowsOf writes a rank down as tables. RunID, Host and the lint's findings are the caller's to add.
func RowsOf(in Indexed) *Rank {
	ix := in.Attribution.Run.Ranks[0]
	r := &Rank{Number: ix.Meta.Rank}
	r.addInfo(in, ix)
	r.addSteps(in.Diagnosis)
	r.addLines(in)
	r.addGPU(in, ix)
	r.addTimeline(in.Attribution, ix)
	for i := range in.Diagnosis.Findings {
		r.Findings = append(r.Findings, traceFinding(&in.Diagnosis.Findings[i]))
	}
	for _, q := range in.Diagnosis.Quality {
		r.Notes = append(r.Notes, Note{Kind: NoteQuality, Code: q.Code, Message: q.Message, File: filepath.Base(q.File)})
	}
	for _, w := range in.Warnings {
		r.Notes = append(r.Notes, Note{Kind: NoteWarning, Code: w.Code, Message: w.Message, File: filepath.Base(cmp.Or(w.File, ix.Meta.File))})
	}
	return r
}

func (r *Rank) addInfo(in Indexed, ix *traceindex.Index) {
	span, s := ix.StepsSpan(), in.Costs.Summary
	r.Info = Info{
		WorldSize: int64(ix.Meta.WorldSize), Device: ix.Meta.Device, Backend: ix.Meta.Backend, Producer: ix.Meta.Producer,
		Trace: filepath.Base(ix.Meta.File), BaseUnixNs: ix.Meta.BaseUnixNs, StepCount: int64(len(ix.Steps)),
		SpanStartNs: span.StartNs, SpanEndNs: span.EndNs, GPUTotalNs: s.GPUTotalNs, GPUBusyNs: s.GPUBusyNs,
		GPUIdleNs: s.GPUIdleNs, GPUIdleNoLineNs: s.GPUIdleNoLineNs, CallLines: s.CallLines,
	}
	if loader, ok := diagnose.LoaderOf(in.Attribution, 0); ok {
		r.Info.LoaderFile, r.Info.LoaderLine, r.Info.LoaderFunction = loader.File, int64(loader.Line), loader.Function
	}
}

func (r *Rank) addSteps(d *diagnose.Diagnosis) {
	for i := range d.Steps {
		s := &d.Steps[i]
		number, idle := int64(s.Number), s.Idle()
		r.Steps = append(r.Steps, Step{
			Number: number, Source: s.Source, StartNs: s.StartNs, DurationNs: s.DurNs(), BusyNs: s.BusyNs,
			ComputeNs: s.ComputeNs, CopyNs: s.CopyNs, ExposedCommunicationNs: s.ExposedCommunicationNs, GapCount: int64(len(s.Gaps)),
			IdleUnknownNs: idle[diagnose.CauseUnknown], IdleLoaderNs: idle[diagnose.CauseLoader], IdleSyncNs: idle[diagnose.CauseSync],
			IdleLaunchNs: idle[diagnose.CauseLaunch], IdleCopyNs: idle[diagnose.CauseCopy], IdleCollectiveNs: idle[diagnose.CauseCollective],
			IdleAllocatorNs: idle[diagnose.CauseAllocator], IdlePythonNs: idle[diagnose.CausePython], IdleProfilerNs: idle[diagnose.CauseProfiler],
		})
		for _, p := range s.Phases {
			r.Phases = append(r.Phases, Phase{number, p.Op, p.StartNs, p.DurNs(), p.GPUBusyNs, p.DependsOn, p.Note})
		}
		r.addGaps(number, s.Gaps)
	}
}

func (r *Rank) addGaps(step int64, gaps []diagnose.Gap) {
	sums := map[Idle]int{} // without numbers → position
	for i := range gaps {
		g := &gaps[i]
		row := Gap{Step: step, StartNs: g.StartNs, DurationNs: g.DurNs(), Cause: g.Cause.String(), Known: g.Known, Doing: g.Doing}
		if g.Known {
			row.File, row.LineNumber, row.Function = g.Place.File, int64(g.Place.Line), g.Place.Function
		}
		r.Gaps = append(r.Gaps, row)
		key := Idle{Step: step, Cause: row.Cause, Known: row.Known, File: row.File, LineNumber: row.LineNumber, Function: row.Function, Doing: row.Doing}
		at, ok := sums[key]
		if !ok {
			at = len(r.Idle)
			sums[key] = at
			r.Idle = append(r.Idle, key)
		}
		r.Idle[at].DurationNs += row.DurationNs
		r.Idle[at].GapCount++
	}
}

func (r *Rank) addLines(in Indexed) {
	for i := range in.Costs.Lines {
		l := &in.Costs.Lines[i]
		source := ""
		if in.Source != nil {
			source = strings.TrimSpace(in.Source(l.File, l.Line))
		}
		r.Lines = append(r.Lines, Line{
			File: l.File, Number: int64(l.Line), Function: l.Function, Source: source, Calls: l.Calls, ForwardNs: l.SelfNs, BackwardNs: l.BackwardNs,
			Kernels: l.Kernels, CPUNs: l.CPUNs, GPUIdleNs: l.GPUIdleNs, SyncNs: l.SyncNs, BubbleNs: l.BubbleNs, CopyNs: l.CopyNs, CopyBytes: l.CopyBytes,
			PageableNs: l.PageableNs, PageableBytes: l.PageableBytes, CompiledNs: l.CompiledNs,
			ExactNs: l.ByConfidence[traceindex.ConfidenceExact], LikelyNs: l.ByConfidence[traceindex.ConfidenceLikely],
			FunctionNs: l.ByConfidence[traceindex.ConfidenceFunction], Confidence: l.Confidence.String(),
		})
	}
}

// addGPU sums the GPU events, and lists the collectives among them.
func (r *Rank) addGPU(in Indexed, ix *traceindex.Index) {
	steps := slices.Clone(in.Diagnosis.Steps)
	slices.SortStableFunc(steps, func(x, y diagnose.Step) int { return cmp.Compare(x.StartNs, y.StartNs) })
	sums := map[GPU]int{}
	occurrences := map[Collective]int64{} // of those without a sequence number, by what joins them
	for _, g := range in.Attribution.GPU(0) {
		start, ns := ix.Events.StartNs[g.Event], ix.GPUDurNs(g.Event)
		key := GPU{
			Step: stepAt(steps, start), InSpan: start >= r.Info.SpanStartNs && start < r.Info.SpanEndNs, Kernel: ix.Name(g.Event), Kind: gpuKind(ix.Events.Category[g.Event]),
			Op: compare.OutermostOp(ix, g.Call), Backward: g.Backward, Reason: fmt.Sprint(g.Reason),
		}
		// What hangs at no file (a range, an op) still has a name.
		place, _ := in.Attribution.PlaceOf(g)
		key.File, key.LineNumber, key.Function, key.Candidates = place.File, int64(place.Line), place.Function, lineList(place.Candidates)
		kernel, collective := ix.CollectiveKernelOf(g.Event)
		key.Collective = collective
		at, ok := sums[key]
		if !ok {
			at = len(r.GPU)
			sums[key] = at
			r.GPU = append(r.GPU, key)
		}
		row := &r.GPU[at]
		row.Events++
		row.DurationNs += ns
		row.LongestNs = max(row.LongestNs, ns)
		if collective {
			r.addCollective(ix, kernel, key, occurrences)
		}
	}
}

func (r *Rank) addCollective(ix *traceindex.Index, k traceindex.CollectiveKernel, in GPU, occurrences map[Collective]int64) {
	row := Collective{
		Name: k.Name, Group: k.Group, Ranks: k.Ranks, Sequence: k.Sequence, StartUnixNs: k.StartUnixNs, DurationNs: k.DurNs, InSpan: in.InSpan,
		File: in.File, LineNumber: in.LineNumber, Function: in.Function,
	}
	if k.Sequence < 0 {
		key := Collective{Name: k.Name, Group: k.Group, Ranks: k.Ranks}
		row.Order = occurrences[key]
		occurrences[key]++
	}
	if c, ok := ix.CollectiveOf(k.Event); ok {
		row.Type, row.InElements, row.OutElements = c.Type, c.InElements, c.OutElements
	}
	r.Collectives = append(r.Collectives, row)
}

// stepAt is the number of the step that a moment lies in, NoStep if none; steps are in order of start.
func stepAt(steps []diagnose.Step, ns int64) int64 {
	i := sort.Search(len(steps), func(i int) bool { return steps[i].EndNs > ns })
	if i == len(steps) || steps[i].StartNs > ns {
		return NoStep
	}
	return int64(steps[i].Number)
}

func gpuKind(c traceindex.Category) string {
	switch c {
	case traceindex.CategoryMemcpy:
		return "memcpy"
	case traceindex.CategoryMemset:
		return "memset"
	}
	return "kernel"
}

func lineList(lines []int) string {
	words := make([]string, len(lines))
	for i, line := range lines {
		words[i] = strconv.Itoa(line)
	}
	return strings.Join(words, ",")
}

// addTimeline keeps the training thread's statements within the steps' span, neighbours of one line joined.
func (r *Rank) addTimeline(a *attribute.Attribution, ix *traceindex.Index) {
	for _, s := range a.Split(0, ix.StepsSpan()) {
		if !s.Known || s.Place.Line <= 0 || s.DurNs() <= 0 {
			continue
		}
		line := int64(s.Place.Line)
		if n := len(r.Timeline); n > 0 {
			last := &r.Timeline[n-1]
			if last.StartNs+last.DurationNs == s.StartNs && last.File == s.Place.File && last.LineNumber == line {
				last.DurationNs += s.DurNs()
				continue
			}
		}
		r.Timeline = append(r.Timeline, Span{s.StartNs, s.DurNs(), s.Place.File, line, s.Place.Function})
	}
}

func traceFinding(f *diagnose.Finding) Finding {
	row := Finding{Kind: KindTrace, Rule: f.Rule, Name: f.Name, Severity: "warning", Verdict: "confirmed", Message: f.Message, HighNs: f.NsPerStep, Share: f.Share, Safety: "none"}
	if f.Info {
		row.Severity = "info"
	}
	if f.Known {
		row.File, row.LineNumber, row.Function = f.Place.File, int64(f.Place.Line), f.Place.Function
	}
	return row
}
