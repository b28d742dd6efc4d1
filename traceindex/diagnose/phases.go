package diagnose

import (
	"sort"
	"strings"

	"stepline/traceindex"
)

// Phase is a part of a step as the training thread went through it.
type Phase struct {
	traceindex.Interval
	// Op is what ran: "data loading", "forward GPT", "backward", "optimizer AdamW.step", "zero_grad", "other".
	Op string
	// GPUBusyNs is the part of the phase in which something ran on the GPU.
	GPUBusyNs int64
	// DependsOn names what the phase waits for: the phase before it, or the GPU where it holds a waiting call. Note says what its
	// largest gap is, "" without one.
	DependsOn, Note string
}

// phases cuts a step at the calls that a training step is known by.
func (g *gapFinder) phases(s *Step) []Phase {
	var marks, around []Phase
	first, end := g.ix.RowsOf(g.ix.TrainingThread)
	row := traceindex.EventID(sort.Search(int(end-first), func(i int) bool {
		return g.ix.Events.StartNs[first+traceindex.EventID(i)] >= s.StartNs
	})) + first
	covered := s.StartNs
	for ; row < end && g.ix.Events.StartNs[row] < s.EndNs; row++ {
		start := g.ix.Events.StartNs[row]
		if start < covered {
			continue
		}
		op := g.phaseOf(row)
		if op == "" {
			continue
		}
		stop := min(g.ix.EndNs(row), s.EndNs)
		if g.ix.Events.Category[row] == traceindex.CategoryAnnotation {
			stop = min(g.ix.Events.EndNs(row), s.EndNs)
			if g.holdsPhase(row, end, stop) {
				// A closure runs forward and backward inside the optimizer's step (Lightning, L-BFGS): these are the phases.
				around = append(around, Phase{Interval: traceindex.Interval{StartNs: start, EndNs: stop}, Op: op})
				continue
			}
		}
		marks = append(marks, Phase{Interval: traceindex.Interval{StartNs: start, EndNs: stop}, Op: op})
		covered = stop
	}
	return g.fill(s, marks, around)
}

// holdsPhase reports whether a forward or backward pass runs after a row until stop.
func (g *gapFinder) holdsPhase(row, end traceindex.EventID, stop int64) bool {
	for row++; row < end && g.ix.Events.StartNs[row] < stop; row++ {
		if op := g.phaseOf(row); op == "backward" || strings.HasPrefix(op, "forward ") {
			return true
		}
	}
	return false
}

// phaseOf names the phase that an event of the training thread is, "" if it is none.
func (g *gapFinder) phaseOf(row traceindex.EventID) string {
	name := g.ix.Name(row)
	switch g.ix.Events.Category[row] {
	case traceindex.CategoryAnnotation:
		switch {
		case strings.HasPrefix(name, LoaderRangePrefix):
			return "data loading"
		case strings.HasPrefix(name, "Optimizer.step#"):
			return "optimizer " + strings.TrimPrefix(name, "Optimizer.step#")
		case strings.HasPrefix(name, "Optimizer.zero_grad#"):
			return "zero_grad"
		}
	case traceindex.CategoryPython:
		if module, ok := strings.CutPrefix(name, "nn.Module: "); ok {
			if i := strings.LastIndexByte(module, '_'); i > 0 {
				module = module[:i]
			}
			return "forward " + module
		}
		if l, ok := g.ix.LocationOf(row); ok {
			switch {
			case l.Function == "backward" && (strings.HasSuffix(l.File, "torch/_tensor.py") || strings.HasSuffix(l.File, "torch/autograd/__init__.py")):
				return "backward"
			case isLoaderFrame(l):
				return "data loading"
			}
		}
	}
	return ""
}

// fill puts "other" between the marks, joins phases of one op that follow each other closely, and adds what each phase did.
func (g *gapFinder) fill(s *Step, marks, around []Phase) []Phase {
	const splitBelow = 200 // an "other" shorter than 1/200 of the step is no row of its own: it joins the phase before it
	var out []Phase
	add := func(p Phase) {
		n := len(out)
		switch {
		case p.DurNs() <= 0:
		case n > 0 && (out[n-1].Op == p.Op || p.Op == "other" && p.DurNs() < s.DurNs()/splitBelow):
			out[n-1].EndNs = p.EndNs
		default:
			out = append(out, p)
		}
	}
	rest := func(from, to int64) {
		for _, o := range around {
			if o.StartNs < to && from < o.EndNs {
				add(Phase{Interval: traceindex.Interval{StartNs: from, EndNs: max(from, o.StartNs)}, Op: "other"})
				add(Phase{Interval: traceindex.Interval{StartNs: max(from, o.StartNs), EndNs: min(to, o.EndNs)}, Op: o.Op})
				from = min(to, o.EndNs)
			}
		}
		add(Phase{Interval: traceindex.Interval{StartNs: from, EndNs: to}, Op: "other"})
	}
	at := s.StartNs
	for _, m := range marks {
		rest(at, m.StartNs)
		add(m)
		at = m.EndNs
	}
	rest(at, s.EndNs)
	for i := range out {
		g.describe(s, out, i)
	}
	return out
}

func (g *gapFinder) describe(s *Step, phases []Phase, i int) {
	p := &phases[i]
	p.GPUBusyNs = total(g.busyWithin(p.Interval))
	p.DependsOn = "the step before"
	if i > 0 {
		p.DependsOn = phases[i-1].Op
	}
	var worst Gap
	byCause := [causeCount]int64{}
	for _, gap := range s.Gaps {
		ns := min(gap.EndNs, p.EndNs) - max(gap.StartNs, p.StartNs)
		if ns <= 0 {
			continue
		}
		byCause[gap.Cause] += ns
		if ns > worst.DurNs() {
			worst = gap
		}
	}
	cause := CauseUnknown
	for c, ns := range byCause {
		if ns > byCause[cause] {
			cause = Cause(c)
		}
	}
	if byCause[CauseSync] > 0 && byCause[CauseSync] >= byCause[cause] {
		p.DependsOn = "the GPU (synchronisation)"
	}
	if byCause[cause] > 0 {
		p.Note = "GPU idle " + Duration(p.DurNs()-p.GPUBusyNs) + ", most of it: " + causeText[cause]
		if worst.Known && worst.Place.Line > 0 {
			p.Note += " (" + at(worst.Place) + ")"
		}
	}
}

// causeText is a cause in words.
var causeText = [...]string{
	CauseUnknown: "no cause seen", CauseLoader: "waiting for the loader", CauseSync: "after a synchronisation", CauseLaunch: "launching work",
	CauseCopy: "a blocking copy", CauseCollective: "a collective on the host", CauseAllocator: "allocating GPU memory",
	CausePython: "Python and CPU work", CauseProfiler: "the profiler",
}
