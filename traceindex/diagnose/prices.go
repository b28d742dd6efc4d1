package diagnose

import (
	"strings"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// Price is what something costs over all steps, in nanoseconds.
type Price struct {
	// WaitNs is how long the host waits.
	WaitNs int64
	// LowNs and HighNs bound what is removable from the steps' critical path: LowNs is what the trace shows to be lost,
	// HighNs what could be at most.
	LowNs, HighNs int64
	// Count is how many calls or GPU events were measured.
	Count int
	// Bytes are those of copies.
	Bytes int64
}

func (p *Price) add(q Price) {
	p.WaitNs, p.LowNs, p.HighNs = p.WaitNs+q.WaitNs, p.LowNs+q.LowNs, p.HighNs+q.HighNs
	p.Count, p.Bytes = p.Count+q.Count, p.Bytes+q.Bytes
}

// Line is a source line of the workspace, as the trace ran it.
type Line struct {
	File string
	Line int
}

// Prices answers what lines cost the steps of a diagnosed run. It is immutable and may be shared by goroutines.
type Prices struct {
	a *attribute.Attribution
	d *Diagnosis
	// syncs and idle are by line; loaderNs is the idle time of all loaders.
	syncs    map[Line]Price
	idle     map[Line]int64
	loaderNs int64
	// gpu lists, by line, the GPU events within the steps, places in ranks[i].gpu.
	gpu   map[Line][]rankEvent
	work  []workIntervals
	empty []idleSums
}

type rankEvent struct {
	rank int
	attribute.GPUPlace
}

// NewPrices sums a diagnosed run by line.
func NewPrices(a *attribute.Attribution, d *Diagnosis) *Prices {
	p := &Prices{a: a, d: d, syncs: map[Line]Price{}, idle: map[Line]int64{}, gpu: map[Line][]rankEvent{}}
	for rank, ix := range a.Run.Ranks {
		p.work = append(p.work, newWorkIntervals(ix))
		p.empty = append(p.empty, newIdleSums(ix.IdleIntervals()))
		p.addSyncs(rank, ix)
		for _, g := range a.GPU(rank) {
			if place, ok := a.OnLine(g); ok && inSteps(ix, g.Event) {
				k := Line{place.File, place.Line}
				p.gpu[k] = append(p.gpu[k], rankEvent{rank, g})
			}
		}
	}
	for i := range d.Steps {
		for _, g := range d.Steps[i].Gaps {
			if g.Cause == CauseLoader {
				p.loaderNs += g.DurNs()
			}
			if g.Known {
				p.idle[Line{g.Place.File, g.Place.Line}] += g.DurNs()
			}
		}
	}
	return p
}

// addSyncs prices the waiting calls: what they are owed at least, and at most the bubble after them, which a wait can only be
// blamed for as far as it is long.
func (p *Prices) addSyncs(rank int, ix *traceindex.Index) {
	span := ix.StepsSpan()
	for _, s := range p.a.Syncs(rank) {
		if end := ix.EndNs(s.Call); end <= span.StartNs || end > span.EndNs {
			continue
		}
		place, ok := p.a.Host(rank, s.Call)
		if !ok {
			continue
		}
		wait, owed := ix.DurNs(s.Call), p.d.OwedNs(rank, s.Call)
		k := Line{place.File, place.Line}
		sum := p.syncs[k]
		sum.add(Price{WaitNs: wait, LowNs: owed, HighNs: max(owed, min(s.BubbleNs, wait)), Count: 1})
		p.syncs[k] = sum
	}
}

// Sync is the price of the waiting calls under some lines.
func (p *Prices) Sync(lines []Line) Price {
	var out Price
	for _, l := range lines {
		out.add(p.syncs[l])
	}
	return out
}

// Loader is the idle time in which the training thread waited for its loaders.
func (p *Prices) Loader() Price {
	return Price{WaitNs: p.loaderNs, LowNs: p.loaderNs, HighNs: p.loaderNs}
}

// Host is the GPU's idle time while the host was in some lines, narrowed to ops by the beginnings of their names; none means all.
func (p *Prices) Host(lines []Line, ops []string) Price {
	var out Price
	for _, l := range lines {
		if len(ops) == 0 {
			out.add(Price{LowNs: p.idle[l], HighNs: p.idle[l]})
			continue
		}
		for rank, ix := range p.a.Run.Ranks {
			for _, e := range p.a.HostEvents(rank, l.File, l.Line) {
				out.add(p.hostOps(rank, ix, e, ops))
			}
		}
	}
	return out
}

// hostOps sums the idle time in the outermost events with one of the names, within e.
func (p *Prices) hostOps(rank int, ix *traceindex.Index, e traceindex.EventID, ops []string) Price {
	var out Price
	end := ix.SubtreeEnd(e)
	for row := e; row < end; row++ {
		if !ix.Events.Category[row].IsHost() || !hasPrefix(ix.Name(row), ops) {
			continue
		}
		idle := p.empty[rank].within(ix.Events.StartNs[row], ix.EndNs(row))
		out.add(Price{WaitNs: ix.DurNs(row), LowNs: idle, HighNs: idle, Count: 1})
		row = max(row, ix.SubtreeEnd(row)-1)
	}
	return out
}

// Copies is the price of the copies that some lines made: what they take beside no kernel, and the idle time they cause by
// blocking the host. Pinned memory at best about halves a copy's time, so the lower end counts half of it.
func (p *Prices) Copies(lines []Line, names []string) Price {
	var out Price
	for _, l := range lines {
		for _, g := range p.gpu[l] {
			ix := p.a.Run.Ranks[g.rank]
			if ix.Events.Category[g.Event] != traceindex.CategoryMemcpy || len(names) > 0 && !hasPrefix(ix.Name(g.Event), names) {
				continue
			}
			start := ix.Events.StartNs[g.Event]
			v := traceindex.Interval{StartNs: start, EndNs: start + ix.GPUDurNs(g.Event)}
			exposed := v.DurNs() - total(clip(p.work[g.rank].kernels, v))
			c, _ := ix.CopyOf(g.Event)
			out.add(Price{LowNs: exposed / 2, HighNs: exposed, Count: 1, Bytes: max(0, c.Bytes)})
		}
		sync := p.syncs[l]
		out.WaitNs += sync.WaitNs
		out.LowNs += sync.LowNs
		out.HighNs += sync.HighNs
	}
	return out
}

// Kernels is the price of what some lines run on the GPU, for a mending that replaces the operations: their GPU time, and the idle
// time while the host dispatches them. Names narrow it to GPU events so called, or launched by ops whose names begin so.
func (p *Prices) Kernels(lines []Line, names []string) Price {
	var out Price
	for _, l := range lines {
		out.add(p.gpuTime(p.gpu[l], names))
		if len(names) == 0 {
			out.add(Price{LowNs: p.idle[l], HighNs: p.idle[l]})
		}
	}
	if len(names) > 0 {
		out.add(p.Host(lines, names))
	}
	return out
}

// AllKernels is Kernels over everything in the steps, what is on no line included, for what no line stands for (an optimizer's or
// wrapper's constructor, a precision setting).
func (p *Prices) AllKernels(names []string) Price {
	var out Price
	for rank, ix := range p.a.Run.Ranks {
		for _, g := range p.a.GPU(rank) {
			if inSteps(ix, g.Event) {
				out.add(p.gpuTime([]rankEvent{{rank, g}}, names))
			}
		}
		first, end := ix.RowsOf(ix.TrainingThread)
		for row := first; row < end; row++ {
			if ix.Events.Category[row] == traceindex.CategoryAnnotation && hasPrefix(ix.Name(row), names) {
				idle := p.empty[rank].within(ix.Events.StartNs[row], ix.Events.EndNs(row))
				out.add(Price{LowNs: idle, HighNs: idle, Count: 1})
			}
		}
	}
	return out
}

func (p *Prices) gpuTime(events []rankEvent, names []string) Price {
	var out Price
	for _, g := range events {
		ix := p.a.Run.Ranks[g.rank]
		if len(names) > 0 && !launchedAs(ix, g, names) {
			continue
		}
		d := ix.GPUDurNs(g.Event)
		out.add(Price{LowNs: d, HighNs: d, Count: 1})
	}
	return out
}

// launchedAs reports whether a GPU event is called so (anywhere in the name: kernels' names are C++ signatures) or was launched
// by an op or call whose name begins so.
func launchedAs(ix *traceindex.Index, g rankEvent, names []string) bool {
	if containsAny(ix.Name(g.Event), names) {
		return true
	}
	if g.Call == traceindex.NoEvent {
		return false
	}
	for e := range ix.Ancestors(g.Call) {
		if hasPrefix(ix.Name(e), names) {
			return true
		}
	}
	return false
}

// Communication is the collectives' time with no compute beside it, on some lines or hanging at them; without lines, all of it.
// A collective's time includes waiting for late ranks, which fewer or cheaper collectives do not end: the rank with the least
// of it waits least, so its time bounds from below what all can save; that of the rank with the most bounds it from above.
func (p *Prices) Communication(lines []Line) Price {
	wanted := map[Line]bool{}
	for _, l := range lines {
		wanted[l] = true
	}
	var out Price
	for rank := range p.a.Run.Ranks {
		exposed, count := p.exposed(rank, wanted)
		if rank == 0 || exposed < out.LowNs {
			out.LowNs = exposed
		}
		out.HighNs = max(out.HighNs, exposed)
		out.Count += count
	}
	ranks := int64(len(p.a.Run.Ranks)) // prices are sums over all ranks
	out.LowNs, out.HighNs = out.LowNs*ranks, out.HighNs*ranks
	return out
}

// exposed sums one rank's collectives on some lines, less what compute hides; no lines mean all.
func (p *Prices) exposed(rank int, wanted map[Line]bool) (ns int64, count int) {
	ix := p.a.Run.Ranks[rank]
	for _, g := range p.a.GPU(rank) {
		if !traceindex.IsCollective(ix.Name(g.Event)) || !inSteps(ix, g.Event) {
			continue
		}
		place, ok := p.a.PlaceOf(g)
		if len(wanted) > 0 && (!ok || !wanted[Line{place.File, place.Line}]) {
			continue
		}
		start := ix.Events.StartNs[g.Event]
		v := traceindex.Interval{StartNs: start, EndNs: start + ix.GPUDurNs(g.Event)}
		ns += v.DurNs() - total(clip(p.work[rank].compute, v))
		count++
	}
	return ns, count
}

// BusyShare is the part of the steps in which the GPU was at work: where it is small, faster kernels alone save little.
func (d *Diagnosis) BusyShare() float64 {
	var busy, all int64
	for i := range d.Steps {
		busy, all = busy+d.Steps[i].BusyNs, all+d.Steps[i].DurNs()
	}
	if all == 0 {
		return 0
	}
	return float64(busy) / float64(all)
}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
