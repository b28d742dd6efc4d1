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

// samples are a side's quantities step by step. A step of a run of several ranks is one sample: the mean over the ranks.
type samples struct {
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
}

// newSamples reads a side. Ranks that ran the same step numbers are averaged per number.
func newSamples(a *attribute.Attribution, d *diagnose.Diagnosis) *samples {
	s := &samples{lines: map[Line][]float64{}, idle: map[Line][]float64{}, kernels: map[string][]float64{}, ops: map[string][]float64{}, causes: map[diagnose.Cause][]float64{}}
	slots := s.slots(a, d)
	weights := make([]float64, s.steps)
	for i := range d.Steps {
		weights[slots[i]]++
	}
	s.stepNs, s.busyNs = make([]float64, s.steps), make([]float64, s.steps)
	s.compute, s.copies, s.comm = make([]float64, s.steps), make([]float64, s.steps), make([]float64, s.steps)
	byRank := map[int][]int{} // rank → indices in d.Steps
	for i := range d.Steps {
		step, slot := &d.Steps[i], slots[i]
		w := 1 / weights[slot]
		s.stepNs[slot] += w * float64(step.DurNs())
		s.busyNs[slot] += w * float64(step.BusyNs)
		s.compute[slot] += w * float64(step.ComputeNs)
		s.copies[slot] += w * float64(step.CopyNs)
		s.comm[slot] += w * float64(step.ExposedCommunicationNs)
		for _, g := range step.Gaps {
			add(s.causes, g.Cause, s.steps, slot, w*float64(g.DurNs()))
			if g.Known {
				add(s.idle, lineOf(g.Place), s.steps, slot, w*float64(g.DurNs()))
			}
		}
		byRank[step.Rank] = append(byRank[step.Rank], i)
	}
	for rank, ix := range a.Run.Ranks {
		s.addGPU(a, rank, ix, d, byRank[rank], slots, weights)
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

// slots gives every step its sample: by number where the ranks are told apart, each its own where several traces are of one rank
// (repeated runs).
func (s *samples) slots(a *attribute.Attribution, d *diagnose.Diagnosis) []int {
	distinct := map[int]bool{}
	for _, ix := range a.Run.Ranks {
		distinct[ix.Meta.Rank] = true
	}
	joined := len(distinct) == len(a.Run.Ranks)
	type key struct{ rank, number int }
	found := map[key]int{}
	slots := make([]int, len(d.Steps))
	for i := range d.Steps {
		k := key{0, d.Steps[i].Number}
		if !joined {
			k.rank = d.Steps[i].Rank
		}
		slot, ok := found[k]
		if !ok {
			slot = len(found)
			found[k] = slot
		}
		slots[i] = slot
	}
	s.steps = len(found)
	return slots
}

// addGPU puts GPU events into the step in which they start.
func (s *samples) addGPU(a *attribute.Attribution, rank int, ix *traceindex.Index, d *diagnose.Diagnosis, steps, slots []int, weights []float64) {
	sort.Slice(steps, func(i, j int) bool { return d.Steps[steps[i]].StartNs < d.Steps[steps[j]].StartNs })
	for _, g := range a.GPU(rank) {
		start := ix.Events.StartNs[g.Event]
		i := sort.Search(len(steps), func(i int) bool { return d.Steps[steps[i]].EndNs > start })
		if i == len(steps) || d.Steps[steps[i]].StartNs > start {
			continue
		}
		slot := slots[steps[i]]
		v := float64(ix.GPUDurNs(g.Event)) / weights[slot]
		add(s.kernels, ix.Name(g.Event), s.steps, slot, v)
		if op := outermostOp(ix, g.Call); op != "" {
			add(s.ops, op, s.steps, slot, v)
		}
		if p, ok := a.OnLine(g); ok {
			add(s.lines, lineOf(p), s.steps, slot, v)
		}
	}
}

// outermostOp is the name of the outermost framework op around a runtime call, "" if there is none.
func outermostOp(ix *traceindex.Index, call traceindex.EventID) string {
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
