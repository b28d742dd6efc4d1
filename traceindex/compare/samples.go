package compare

import (
	"sort"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
)

// Line is a source line.
type Line struct {
	File     string
	Line     int
	Function string
}

// StepSamples are a side's quantities step by step. A step of a run of several ranks is one sample: the mean over the ranks.
type StepSamples struct {
	steps   int
	stepNs  []float64
	busyNs  []float64
	lines   map[Line][]float64 // GPU time, forward and backward
	idle    map[Line][]float64
	kernels map[string][]float64
	ops     map[string][]float64 // GPU time under the outermost framework op
	causes  map[diagnose.Cause][]float64
	compute []float64
	copies  []float64
	comm    []float64

	slots   []int // sample of each step given to NewStepSamples
	weights []float64
}

// NewStepSamples begins a side with its steps: their lengths, busy and idle time. rankNumbers are the ranks' own numbers by place;
// ranks that ran the same step numbers are averaged per number. AddIdle and AddGPU add what is told apart further.
func NewStepSamples(steps []diagnose.Step, rankNumbers []int) *StepSamples {
	s := &StepSamples{lines: map[Line][]float64{}, idle: map[Line][]float64{}, kernels: map[string][]float64{}, ops: map[string][]float64{}, causes: map[diagnose.Cause][]float64{}}
	s.slots, s.steps = slotsOf(steps, rankNumbers)
	s.weights = make([]float64, s.steps)
	for i := range steps {
		s.weights[s.slots[i]]++
	}
	s.stepNs, s.busyNs = make([]float64, s.steps), make([]float64, s.steps)
	s.compute, s.copies, s.comm = make([]float64, s.steps), make([]float64, s.steps), make([]float64, s.steps)
	for i := range steps {
		step, slot := &steps[i], s.slots[i]
		w := 1 / s.weights[slot]
		s.stepNs[slot] += w * float64(step.DurNs())
		s.busyNs[slot] += w * float64(step.BusyNs)
		s.compute[slot] += w * float64(step.ComputeNs)
		s.copies[slot] += w * float64(step.CopyNs)
		s.comm[slot] += w * float64(step.ExposedCommunicationNs)
		for cause, ns := range step.Idle() {
			if ns > 0 {
				add(s.causes, diagnose.Cause(cause), s.steps, slot, w*float64(ns))
			}
		}
	}
	return s
}

// AddIdle adds idle time of the GPU on a line in a step (its position among NewStepSamples' steps).
func (s *StepSamples) AddIdle(step int, line Line, ns int64) {
	slot := s.slots[step]
	add(s.idle, line, s.steps, slot, float64(ns)/s.weights[slot])
}

// GPUTime is what ran on the GPU in a step: under which kernel's name, which outermost framework op ("" without one), on which
// line (OnLine is false for time on none).
type GPUTime struct {
	Kernel, Op string
	Line       Line
	OnLine     bool
	Ns         int64
}

// AddGPU adds GPU time to a step.
func (s *StepSamples) AddGPU(step int, g GPUTime) {
	slot := s.slots[step]
	v := float64(g.Ns) / s.weights[slot]
	add(s.kernels, g.Kernel, s.steps, slot, v)
	if g.Op != "" {
		add(s.ops, g.Op, s.steps, slot, v)
	}
	if g.OnLine {
		add(s.lines, g.Line, s.steps, slot, v)
	}
}

// samplesOf reads a side in memory.
func samplesOf(a *attribute.Attribution, d *diagnose.Diagnosis) *StepSamples {
	numbers := make([]int, len(a.Run.Ranks))
	for i, ix := range a.Run.Ranks {
		numbers[i] = ix.Meta.Rank
	}
	s := NewStepSamples(d.Steps, numbers)
	byRank := map[int][]int{} // rank → indices in d.Steps
	for i := range d.Steps {
		for _, g := range d.Steps[i].Gaps {
			if g.Known {
				s.AddIdle(i, lineOf(g.Place), g.DurNs())
			}
		}
		byRank[d.Steps[i].Rank] = append(byRank[d.Steps[i].Rank], i)
	}
	for rank, ix := range a.Run.Ranks {
		s.addRank(a, rank, ix, d, byRank[rank])
	}
	return s
}

func lineOf(p attribute.Place) Line { return Line{p.File, p.Line, p.Function} }

func add[K comparable](m map[K][]float64, key K, steps, slot int, v float64) {
	if m[key] == nil {
		m[key] = make([]float64, steps)
	}
	m[key][slot] += v
}

// slotsOf gives every step its sample: by number where the ranks are told apart, each its own where several traces are of one
// rank (repeated runs).
func slotsOf(steps []diagnose.Step, rankNumbers []int) (slots []int, count int) {
	distinct := map[int]bool{}
	for _, number := range rankNumbers {
		distinct[number] = true
	}
	joined := len(distinct) == len(rankNumbers)
	type key struct{ rank, number int }
	found := map[key]int{}
	slots = make([]int, len(steps))
	for i := range steps {
		k := key{0, steps[i].Number}
		if !joined {
			k.rank = steps[i].Rank
		}
		slot, ok := found[k]
		if !ok {
			slot = len(found)
			found[k] = slot
		}
		slots[i] = slot
	}
	return slots, len(found)
}

// addRank puts a rank's GPU events into the step in which they start.
func (s *StepSamples) addRank(a *attribute.Attribution, rank int, ix *traceindex.Index, d *diagnose.Diagnosis, steps []int) {
	sort.Slice(steps, func(i, j int) bool { return d.Steps[steps[i]].StartNs < d.Steps[steps[j]].StartNs })
	for _, g := range a.GPU(rank) {
		start := ix.Events.StartNs[g.Event]
		i := sort.Search(len(steps), func(i int) bool { return d.Steps[steps[i]].EndNs > start })
		if i == len(steps) || d.Steps[steps[i]].StartNs > start {
			continue
		}
		time := GPUTime{Kernel: ix.Name(g.Event), Op: OutermostOp(ix, g.Call), Ns: ix.GPUDurNs(g.Event)}
		if p, ok := a.OnLine(g); ok {
			time.Line, time.OnLine = lineOf(p), true
		}
		s.AddGPU(steps[i], time)
	}
}

// OutermostOp is the name of the outermost framework op around a runtime call, "" if there is none.
func OutermostOp(ix *traceindex.Index, call traceindex.EventID) string {
	if call == traceindex.NoEvent {
		return ""
	}
	name := ""
	for e := range ix.Ancestors(call) {
		if ix.Events.Category[e] == traceindex.CategoryOp {
			name = ix.Name(e)
		}
	}
	return name
}
