package traceindex

import (
	"cmp"
	"iter"
	"slices"
)

// Interval is a half-open span of time, in nanoseconds since Meta.BaseUnixNs.
type Interval struct{ StartNs, EndNs int64 }

// DurNs is the interval's length.
func (v Interval) DurNs() int64 { return v.EndNs - v.StartNs }

// gpuEventsInOrder lists kernels, copies and memsets in start order over all streams.
func (ix *Index) gpuEventsInOrder() {
	ev := &ix.Events
	n := 0
	for _, c := range ev.Category {
		if c.IsGPUWork() {
			n++
		}
	}
	ix.GPUEvents = make([]EventID, 0, n)
	for row := range EventID(ev.Len()) {
		if ev.Category[row].IsGPUWork() {
			ix.GPUEvents = append(ix.GPUEvents, row)
		}
	}
	byStart := func(x, y EventID) int { return cmp.Or(cmp.Compare(ev.StartNs[x], ev.StartNs[y]), cmp.Compare(x, y)) }
	if !slices.IsSortedFunc(ix.GPUEvents, byStart) {
		slices.SortFunc(ix.GPUEvents, byStart)
	}
}

// dropDuplicates takes GPU events that are in the file twice (same stream, name, start, length, args and correlation id) once: a
// stream cannot run one thing twice at a time. Nodes of a graph may run side by side and look alike; they are left alone, and
// so is what is too short to tell in whole microseconds. It returns how many there were.
func (ix *Index) dropDuplicates() int {
	ev := &ix.Events
	const tooShortNs = 5000
	dropped := 0
	for t := range ix.Threads {
		if !ix.Threads[t].GPU {
			continue
		}
		first, end := ix.RowsOf(ThreadID(t))
		for row := first + 1; row < end; row++ {
			p := row - 1
			if ev.StartNs[row] != ev.StartNs[p] || ev.DurNs[row] != ev.DurNs[p] || ev.Name[row] != ev.Name[p] || ev.Link[row] != ev.Link[p] ||
				ev.Detail[row] != ev.Detail[p] || ev.DurNs[row] < tooShortNs || !ev.Category[row].IsGPUWork() || ix.graphNode(row) {
				continue
			}
			if call := ix.Launch[row]; call != NoEvent && callKindOf(ix.Name(call)) == CallGraphLaunch {
				continue
			}
			ev.Category[p] = CategoryOther // the later row is compared with the next
			dropped++
		}
	}
	return dropped
}

// findOverruns cuts durations that cannot be: an event that covers a later one of its own stream whole, though a stream runs
// one thing after the other (nodes of one CUDA graph may run side by side, and are left alone). Such an event is taken to end
// where the next one starts.
func (ix *Index) findOverruns() {
	ev := &ix.Events
	const toleranceNs = 1000 // rounding of old versions to whole microseconds
	for t := range ix.Threads {
		first, end := ix.RowsOf(ThreadID(t))
		if !ix.Threads[t].GPU {
			continue
		}
		for row := first; row < end; row++ {
			if !ev.Category[row].IsGPUWork() {
				continue
			}
			for next := row + 1; next < end; next++ {
				if !ev.Category[next].IsGPUWork() || ev.StartNs[next] == ev.StartNs[row] {
					continue
				}
				if ev.EndNs(next)+toleranceNs < ev.EndNs(row) && !(ev.Link[row] != 0 && ev.Link[next] == ev.Link[row]) &&
					!(ix.graphNode(row) && ix.graphNode(next)) {
					if ix.cutDurNs == nil {
						ix.cutDurNs = map[EventID]int64{}
					}
					ix.cutDurNs[row] = ev.StartNs[next] - ev.StartNs[row]
				}
				break
			}
		}
	}
}

func (ix *Index) graphNode(row EventID) bool {
	d := ix.Events.Detail[row]
	return d >= 0 && ix.GPU[d].GraphNode != 0
}

// GPUDurNs is the time a GPU event occupied its stream: its recorded duration (Events.DurNs), cut where that is impossible
// (Overruns).
func (ix *Index) GPUDurNs(e EventID) int64 {
	if ix.cutDurNs != nil {
		if d, ok := ix.cutDurNs[e]; ok {
			return d
		}
	}
	return ix.Events.DurNs[e]
}

// Overruns are the GPU events whose recorded duration runs over later events of their own stream, in row order.
func (ix *Index) Overruns() []EventID {
	rows := make([]EventID, 0, len(ix.cutDurNs))
	for r := range ix.cutDurNs {
		rows = append(rows, r)
	}
	slices.Sort(rows)
	return rows
}

// GPUTotalNs is the plain sum of the GPU events' durations (GPUDurNs).
func (ix *Index) GPUTotalNs() int64 {
	var sum int64
	for _, g := range ix.GPUEvents {
		sum += ix.GPUDurNs(g)
	}
	return sum
}

// BusyNs is the time during which a device ran something: the union of its streams' events, added over devices.
func (ix *Index) BusyNs() int64 {
	until := map[int64]int64{} // device → end of what it has run so far
	var sum int64
	for _, g := range ix.GPUEvents {
		device := ix.DeviceOf(g)
		start, end := ix.Events.StartNs[g], ix.Events.StartNs[g]+ix.GPUDurNs(g)
		if u, ok := until[device]; ok && u > start {
			start = u
		}
		if end > start {
			sum += end - start
			until[device] = end
		}
	}
	return sum
}

// Busy walks the union of all GPU work (kernels, copies, memsets, on any stream of any device): disjoint intervals in order. It
// holds none of them; a long trace has millions.
type Busy struct {
	ix   *Index
	next int // of GPUEvents
}

// Busy starts a walk.
func (ix *Index) Busy() *Busy { return &Busy{ix: ix} }

// Next is the next interval, false after the last.
func (b *Busy) Next() (Interval, bool) {
	events := b.ix.GPUEvents
	if b.next == len(events) {
		return Interval{}, false
	}
	span := func(g EventID) Interval {
		start := b.ix.Events.StartNs[g]
		return Interval{start, start + b.ix.GPUDurNs(g)}
	}
	v := span(events[b.next])
	for b.next++; b.next < len(events); b.next++ {
		w := span(events[b.next])
		if w.StartNs > v.EndNs {
			break
		}
		v.EndNs = max(v.EndNs, w.EndNs)
	}
	return v, true
}

// BusyIntervals are the intervals of a Busy walk.
func (ix *Index) BusyIntervals() []Interval {
	n := 0
	for b := ix.Busy(); ; n++ {
		if _, ok := b.Next(); !ok {
			break
		}
	}
	out := make([]Interval, 0, n)
	for b := ix.Busy(); ; {
		v, ok := b.Next()
		if !ok {
			return out
		}
		out = append(out, v)
	}
}

// StepsSpan is from the first step's start to the last step's end; without steps, the span of all host and GPU events.
func (ix *Index) StepsSpan() Interval {
	if len(ix.Steps) > 0 {
		v := Interval{ix.Steps[0].StartNs, ix.Steps[0].EndNs}
		for _, s := range ix.Steps {
			v.StartNs, v.EndNs = min(v.StartNs, s.StartNs), max(v.EndNs, s.EndNs)
		}
		return v
	}
	return ix.Span()
}

// Span is from the first start to the last end of host spans and GPU work.
func (ix *Index) Span() Interval {
	var v Interval
	any := false
	for row := range EventID(ix.Events.Len()) {
		c := ix.Events.Category[row]
		end := ix.Events.EndNs(row)
		switch {
		case c.IsGPUWork():
			end = ix.Events.StartNs[row] + ix.GPUDurNs(row)
		case !c.IsHost():
			continue
		}
		start := ix.Events.StartNs[row]
		if !any {
			v, any = Interval{start, end}, true
			continue
		}
		v.StartNs, v.EndNs = min(v.StartNs, start), max(v.EndNs, end)
	}
	return v
}

// Idle are the times within StepsSpan in which nothing ran on the GPU, in order. A trace without any GPU event says nothing of the
// GPU, and so nothing of its idle time.
func (ix *Index) Idle() iter.Seq[Interval] {
	return func(yield func(Interval) bool) {
		if len(ix.GPUEvents) > 0 {
			complement(ix.Busy().Next, ix.StepsSpan(), yield)
		}
	}
}

// IdleIntervals are the intervals of Idle.
func (ix *Index) IdleIntervals() []Interval { return slices.Collect(ix.Idle()) }

// Complement is what of span is in none of busy; busy is in order and disjoint.
func Complement(busy []Interval, span Interval) []Interval {
	next := func() (v Interval, ok bool) {
		if len(busy) > 0 {
			v, busy, ok = busy[0], busy[1:], true
		}
		return v, ok
	}
	return slices.Collect(func(yield func(Interval) bool) { complement(next, span, yield) })
}

func complement(next func() (Interval, bool), span Interval, yield func(Interval) bool) {
	at := span.StartNs
	for b, ok := next(); ok && b.StartNs < span.EndNs; b, ok = next() {
		if b.EndNs <= at {
			continue
		}
		if b.StartNs > at && !yield(Interval{at, b.StartNs}) {
			return
		}
		at = b.EndNs
	}
	if at < span.EndNs {
		yield(Interval{at, span.EndNs})
	}
}

// ClockSkew compares GPU events' starts with those of the calls that launched them.
type ClockSkew struct {
	// Launches are the calls with GPU work; Before those whose first GPU event starts before the call does, which cannot be:
	// the clocks of host and device disagree by at least MaxNs.
	Launches, Before int
	MaxNs            int64
	// MeanDelayNs is the mean time from a call's start to the start of its first GPU event, over the sound ones.
	MeanDelayNs int64
}

// Skew measures the clock skew of host and device. One delay counts per call: a graph launch has one.
func (ix *Index) Skew() ClockSkew {
	var s ClockSkew
	var sum int64
	for _, call := range ix.launchRows {
		if ix.Events.Category[call] != CategoryRuntime {
			continue // an op: it says nothing of when the launch was made
		}
		delay, _ := ix.LaunchDelayNs(call)
		s.Launches++
		if delay < 0 {
			s.Before++
			s.MaxNs = max(s.MaxNs, -delay)
			continue
		}
		sum += delay
	}
	if n := s.Launches - s.Before; n > 0 {
		s.MeanDelayNs = sum / int64(n)
	}
	return s
}

// LaunchDelayNs is the time from the start of a runtime call to the start of its first GPU event, negative under clock skew;
// false if it has none.
func (ix *Index) LaunchDelayNs(call EventID) (int64, bool) {
	gpu := ix.GPUOf(call)
	if len(gpu) == 0 {
		return 0, false
	}
	return ix.Events.StartNs[gpu[0]] - ix.Events.StartNs[call], true
}
