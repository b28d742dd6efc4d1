package diagnose

import (
	"cmp"
	"slices"
	"sort"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// gapFinder explains one rank's idle time, step after step in order of time.
type gapFinder struct {
	a        *attribute.Attribution
	rank     int
	ix       *traceindex.Index
	busy     []traceindex.Interval
	hostings map[traceindex.ThreadID]*hosting
	overhead []traceindex.Interval
	debt     *debt
	owed     map[traceindex.EventID]int64
	work     workIntervals
	gaps     []Gap // of the step at hand, so far: a run has millions
}

func newGapFinder(a *attribute.Attribution, rank int, ix *traceindex.Index) *gapFinder {
	d := newDebt(ix, a.Syncs(rank))
	return &gapFinder{a: a, rank: rank, ix: ix, busy: ix.BusyIntervals(), hostings: map[traceindex.ThreadID]*hosting{},
		overhead: overheadIntervals(ix), debt: d, owed: d.owed, work: newWorkIntervals(ix)}
}

func (g *gapFinder) hosting(t traceindex.ThreadID) *hosting {
	h := g.hostings[t]
	if h == nil {
		h = newHosting(g.ix, t)
		g.hostings[t] = h
	}
	return h
}

// step takes one step apart.
func (g *gapFinder) step(s traceindex.Step) Step {
	out := Step{Rank: g.rank, Step: s}
	span := traceindex.Interval{StartNs: s.StartNs, EndNs: s.EndNs}
	if len(g.ix.GPUEvents) == 0 {
		// Not a word of the GPU: nothing is known of when it was idle, or why.
		out.Gaps = []Gap{{Interval: span, Call: traceindex.NoEvent, Doing: "the trace holds no GPU events"}}
		out.Phases = g.phases(&out)
		return out
	}
	idle := traceindex.Complement(g.busyWithin(span), span)
	out.BusyNs = span.DurNs()
	g.gaps = g.gaps[:0]
	for _, v := range idle {
		out.BusyNs -= v.DurNs()
		g.explain(v)
	}
	out.Gaps = slices.Clone(g.gaps)
	out.ComputeNs, out.CopyNs, out.ExposedCommunicationNs = g.work.within(span)
	out.Phases = g.phases(&out)
	return out
}

// busyWithin are the busy intervals cut to a span.
func (g *gapFinder) busyWithin(span traceindex.Interval) []traceindex.Interval {
	return clip(g.busy, span)
}

// clip cuts ordered disjoint intervals to a span.
func clip(all []traceindex.Interval, span traceindex.Interval) []traceindex.Interval {
	i := sort.Search(len(all), func(i int) bool { return all[i].EndNs > span.StartNs })
	var out []traceindex.Interval
	for ; i < len(all) && all[i].StartNs < span.EndNs; i++ {
		v := traceindex.Interval{StartNs: max(all[i].StartNs, span.StartNs), EndNs: min(all[i].EndNs, span.EndNs)}
		if v.DurNs() > 0 {
			out = append(out, v)
		}
	}
	return out
}

// explain cuts one idle interval into gaps. Until the next GPU event's launch call began the host had not asked for work: what
// the host did is the cause. From the call on it is the launch (or copy) itself.
func (g *gapFinder) explain(v traceindex.Interval) {
	first := len(g.gaps)
	call, thread := g.nextLaunch(v.EndNs)
	asked := v.EndNs
	if call != traceindex.NoEvent {
		asked = min(max(g.ix.Events.StartNs[call], v.StartNs), v.EndNs)
	}
	if asked > v.StartNs {
		g.hostGaps(traceindex.Interval{StartNs: v.StartNs, EndNs: asked}, thread)
	}
	if asked < v.EndNs {
		cause := CauseLaunch
		if g.ix.CallKind(call) == traceindex.CallCopy {
			cause = CauseCopy
		}
		g.placed(traceindex.Interval{StartNs: asked, EndNs: v.EndNs}, cause, call, g.ix.Name(call))
	}
	g.gaps = g.gaps[:first+len(merge(g.gaps[first:]))]
}

// nextLaunch is the call that launched the GPU event starting at ns, with its thread; the training thread if there is none.
func (g *gapFinder) nextLaunch(ns int64) (traceindex.EventID, traceindex.ThreadID) {
	i := sort.Search(len(g.ix.GPUEvents), func(i int) bool { return g.ix.Events.StartNs[g.ix.GPUEvents[i]] >= ns })
	if i == len(g.ix.GPUEvents) {
		return traceindex.NoEvent, g.ix.TrainingThread
	}
	call := g.ix.Launch[g.ix.GPUEvents[i]]
	if call == traceindex.NoEvent {
		return traceindex.NoEvent, g.ix.TrainingThread
	}
	return call, g.ix.Events.Thread[call]
}

// hostGaps explains idle time by what a thread did in it; where it did nothing recorded, by the training thread.
func (g *gapFinder) hostGaps(v traceindex.Interval, thread traceindex.ThreadID) {
	h := g.hosting(thread)
	at := v.StartNs
	for i := h.find(at); at < v.EndNs; i++ {
		if i >= len(h.starts) || h.starts[i] >= v.EndNs {
			g.unseen(traceindex.Interval{StartNs: at, EndNs: v.EndNs}, thread)
			break
		}
		if h.starts[i] > at {
			g.unseen(traceindex.Interval{StartNs: at, EndNs: h.starts[i]}, thread)
			at = h.starts[i]
		}
		end := min(h.ends[i], v.EndNs)
		g.hostGap(traceindex.Interval{StartNs: at, EndNs: end}, h, i)
		at = end
	}
}

// unseen explains time in which a thread was in no recorded event.
func (g *gapFinder) unseen(v traceindex.Interval, thread traceindex.ThreadID) {
	if thread != g.ix.TrainingThread {
		g.hostGaps(v, g.ix.TrainingThread)
		return
	}
	first, end := g.ix.RowsOf(thread)
	if first < end && g.ix.Events.StartNs[first] <= v.StartNs {
		// Without frames of its own the thread still runs the script between its operators.
		g.withDebt(v, CausePython, traceindex.NoEvent, "")
		return
	}
	g.placed(v, CauseUnknown, traceindex.NoEvent, "")
}

// hostGap explains idle time within one segment of a thread's doings.
func (g *gapFinder) hostGap(v traceindex.Interval, h *hosting, i int) {
	cause, event := h.causes[i], h.events[i]
	doing := g.ix.Name(h.doing[i])
	if over := clip(g.overhead, v); len(over) > 0 {
		first := len(g.gaps)
		for _, rest := range traceindex.Complement(over, v) {
			g.seen(rest, cause, event, doing)
		}
		for _, o := range over {
			g.placed(o, CauseProfiler, traceindex.NoEvent, "profiler overhead")
		}
		slices.SortFunc(g.gaps[first:], func(x, y Gap) int { return cmp.Compare(x.StartNs, y.StartNs) })
		return
	}
	g.seen(v, cause, event, doing)
}

func (g *gapFinder) seen(v traceindex.Interval, cause Cause, event traceindex.EventID, doing string) {
	switch cause {
	case CausePython, CauseLaunch:
		g.withDebt(v, cause, event, doing)
	default:
		g.placed(v, cause, event, doing)
	}
}

// withDebt gives the part of ordinary host time that a waiting call made late to that call.
func (g *gapFinder) withDebt(v traceindex.Interval, cause Cause, event traceindex.EventID, doing string) {
	cuts := append(g.debt.boundaries(v), v.EndNs)
	at := v.StartNs
	for _, cut := range cuts {
		if cut <= at {
			continue
		}
		if n := g.debt.take(at, cut-at); n > 0 {
			late := Gap{Interval: traceindex.Interval{StartNs: at, EndNs: at + n}, Cause: CauseSync, Call: g.debt.call.Call, Doing: g.ix.Name(g.debt.call.Call)}
			if g.debt.call.Copy {
				late.Cause = CauseCopy
			}
			late.Place, late.Known = g.a.Host(g.rank, g.debt.call.Call)
			g.gaps = append(g.gaps, late)
			at += n
		}
		if cut > at {
			g.placed(traceindex.Interval{StartNs: at, EndNs: cut}, cause, event, doing)
		}
		at = cut
	}
}

// placed makes gaps of an interval, one per statement that the training thread was in.
func (g *gapFinder) placed(v traceindex.Interval, cause Cause, call traceindex.EventID, doing string) {
	g.a.EachShare(g.rank, v, func(s attribute.Share) {
		g.gaps = append(g.gaps, Gap{Interval: s.Interval, Cause: cause, Place: s.Place, Known: s.Known, Call: call, Doing: doing})
	})
}

// merge joins neighbouring gaps of one cause and place.
func merge(gaps []Gap) []Gap {
	out := gaps[:0]
	for _, v := range gaps {
		if n := len(out); n > 0 && out[n-1].EndNs == v.StartNs && out[n-1].Cause == v.Cause && out[n-1].Known == v.Known && samePlace(out[n-1].Place, v.Place) {
			out[n-1].EndNs = v.EndNs
			continue
		}
		out = append(out, v)
	}
	return out
}

func samePlace(a, b attribute.Place) bool {
	return a.File == b.File && a.Line == b.Line && a.Function == b.Function
}

// overheadIntervals is when the profiler says that it was at work itself, as ordered disjoint intervals.
func overheadIntervals(ix *traceindex.Index) []traceindex.Interval {
	var all []traceindex.Interval
	for row, c := range ix.Events.Category {
		if c == traceindex.CategoryOverhead {
			e := traceindex.EventID(row)
			all = append(all, traceindex.Interval{StartNs: ix.Events.StartNs[e], EndNs: ix.Events.EndNs(e)})
		}
	}
	return union(all)
}

// union joins intervals into ordered disjoint ones.
func union(all []traceindex.Interval) []traceindex.Interval {
	slices.SortFunc(all, func(x, y traceindex.Interval) int {
		switch {
		case x.StartNs < y.StartNs:
			return -1
		case x.StartNs > y.StartNs:
			return 1
		}
		return 0
	})
	var out []traceindex.Interval
	for _, v := range all {
		if n := len(out); n > 0 && v.StartNs <= out[n-1].EndNs {
			out[n-1].EndNs = max(out[n-1].EndNs, v.EndNs)
			continue
		}
		out = append(out, v)
	}
	return out
}
