package diagnose

import (
	"sort"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// debt follows the lateness that waiting calls leave behind. A call in which the host waited w for the GPU makes everything the
// host does afterwards w later, so at most w of the idle time after it is the call's doing. The next waiting call starts anew:
// it would have waited that much longer without the first.
type debt struct {
	ix    *traceindex.Index
	syncs []attribute.Sync // in order of their ends
	owed  map[traceindex.EventID]int64
	next  int
	// call is the latest waiting call, left what of its wait no idle time has used up.
	call  attribute.Sync
	left  int64
	since int64
}

func newDebt(ix *traceindex.Index, syncs []attribute.Sync) *debt {
	return &debt{ix: ix, syncs: syncs, owed: map[traceindex.EventID]int64{}, call: attribute.Sync{Call: traceindex.NoEvent}}
}

// advance makes the debt that of the last waiting call that ended by ns. Calls come in order of time.
func (d *debt) advance(ns int64) {
	for d.next < len(d.syncs) && d.ix.EndNs(d.syncs[d.next].Call) <= ns {
		d.call = d.syncs[d.next]
		d.since = d.ix.EndNs(d.call.Call)
		d.left = d.waitNs(d.call)
		d.next++
	}
}

// waitNs is how long the host was held by the GPU in a call: from the call's start to the end of what it waited for, 0 if the GPU
// had nothing left to do. The copy that a blocking copy itself makes is not held against it.
func (d *debt) waitNs(s attribute.Sync) int64 {
	last := d.ix.WaitedFor(s.Call)
	if last == traceindex.NoEvent {
		return 0
	}
	end := d.ix.Events.StartNs[last] + d.ix.GPUDurNs(last)
	if s.Copy {
		for _, g := range d.ix.GPUOf(s.Call) {
			end = min(end, d.ix.Events.StartNs[g])
		}
	}
	return max(0, min(end, d.ix.EndNs(s.Call))-d.ix.Events.StartNs[s.Call])
}

// take uses up debt for idle time that begins at ns and lasts dur: how much of it the last waiting call caused.
func (d *debt) take(ns, dur int64) int64 {
	d.advance(ns)
	n := min(d.left, dur)
	if n > 0 {
		d.left -= n
		d.owed[d.call.Call] += n
	}
	return n
}

// boundaries are the ends of waiting calls within an interval: where debts change.
func (d *debt) boundaries(v traceindex.Interval) []int64 {
	i := sort.Search(len(d.syncs), func(i int) bool { return d.ix.EndNs(d.syncs[i].Call) > v.StartNs })
	var out []int64
	for ; i < len(d.syncs) && d.ix.EndNs(d.syncs[i].Call) < v.EndNs; i++ {
		out = append(out, d.ix.EndNs(d.syncs[i].Call))
	}
	return out
}
