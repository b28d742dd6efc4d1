package diagnose

import (
	"sort"
	"strings"

	"stepline/traceindex"
)

// hosting is what a host thread was doing when, as causes: disjoint segments in order of time. Time in no segment is idle or unseen.
type hosting struct {
	starts []int64
	ends   []int64
	causes []Cause
	events []traceindex.EventID // the innermost host event
	// doing is the event that names the activity: the outermost op, or the innermost frame.
	doing []traceindex.EventID
}

// newHosting reads a thread's frame tree once. Within a loader's __next__, a collective or the profiler the cause is that, whatever
// runs inside; elsewhere the innermost event decides.
func newHosting(ix *traceindex.Index, thread traceindex.ThreadID) *hosting {
	h := &hosting{}
	reader := hostingReader{ix: ix, h: h, loaders: loaderIntervals(ix, thread)}
	reader.markLaunching(thread)
	first, end := ix.RowsOf(thread)
	for row := first; row < end; row++ {
		c := ix.Events.Category[row]
		if !c.IsHost() || c == traceindex.CategoryAnnotation {
			continue
		}
		reader.enter(row)
	}
	reader.closeUntil(1<<63-1, true)
	return h
}

type openEvent struct {
	event   traceindex.EventID
	end     int64
	cause   Cause
	binding bool // the cause holds for everything inside
	doing   traceindex.EventID
}

type hostingReader struct {
	ix        *traceindex.Index
	h         *hosting
	stack     []openEvent
	at        int64 // everything before is written
	loaders   []traceindex.Interval
	launching []bool // per row of the thread, from first: GPU work is launched within
	first     traceindex.EventID
}

// markLaunching notes which events have a launch with GPU work below them.
func (r *hostingReader) markLaunching(thread traceindex.ThreadID) {
	first, end := r.ix.RowsOf(thread)
	r.first, r.launching = first, make([]bool, end-first)
	for row := first; row < end; row++ {
		if r.ix.Events.Category[row] != traceindex.CategoryRuntime {
			continue
		}
		switch r.ix.CallKind(row) {
		case traceindex.CallLaunch, traceindex.CallGraphLaunch, traceindex.CallMemset, traceindex.CallCopy:
			for e := row; e != traceindex.NoEvent && !r.launching[e-first]; e = r.ix.Parent[e] {
				r.launching[e-first] = true
			}
		}
	}
}

func (r *hostingReader) enter(row traceindex.EventID) {
	start := r.ix.Events.StartNs[row]
	r.closeUntil(start, false)
	parent := openEvent{event: traceindex.NoEvent, doing: traceindex.NoEvent}
	if len(r.stack) > 0 {
		parent = r.stack[len(r.stack)-1]
		r.write(parent, start)
	}
	r.at = max(r.at, start)
	o := openEvent{event: row, end: r.ix.EndNs(row), doing: row}
	o.cause, o.binding = r.causeOf(row)
	if parent.binding {
		o.cause, o.binding = parent.cause, true
	}
	if parent.doing != traceindex.NoEvent && r.ix.Events.Category[row] != traceindex.CategoryPython && r.ix.Events.Category[parent.doing] == traceindex.CategoryOp {
		o.doing = parent.doing
	}
	r.stack = append(r.stack, o)
}

// closeUntil ends the open events that end by ns.
func (r *hostingReader) closeUntil(ns int64, all bool) {
	for len(r.stack) > 0 {
		top := r.stack[len(r.stack)-1]
		if top.end > ns && !all {
			return
		}
		r.write(top, top.end)
		r.stack = r.stack[:len(r.stack)-1]
	}
}

// write adds the time from r.at until ns as spent in o.
func (r *hostingReader) write(o openEvent, ns int64) {
	if ns <= r.at {
		return
	}
	h := r.h
	cause := o.cause
	if n := len(h.ends); n > 0 && h.ends[n-1] == r.at && h.causes[n-1] == cause && h.doing[n-1] == o.doing && h.events[n-1] == o.event {
		h.ends[n-1] = ns
	} else {
		h.starts, h.ends = append(h.starts, r.at), append(h.ends, ns)
		h.causes, h.events, h.doing = append(h.causes, cause), append(h.events, o.event), append(h.doing, o.doing)
	}
	r.at = ns
}

// causeOf is what being inside an event means for an idle GPU, and whether that holds for all that runs inside it.
func (r *hostingReader) causeOf(row traceindex.EventID) (Cause, bool) {
	if r.inLoader(r.ix.Events.StartNs[row]) {
		return CauseLoader, true
	}
	switch r.ix.Events.Category[row] {
	case traceindex.CategoryRuntime:
		return callCause(r.ix.CallKind(row)), false
	case traceindex.CategoryOp:
		name := r.ix.Name(row)
		if strings.HasPrefix(name, "c10d::") || strings.HasPrefix(name, "gloo:") || name == "record_param_comms" {
			return CauseCollective, true
		}
		if r.launching[row-r.first] || strings.HasPrefix(name, traceindex.EvaluateFunctionPrefix) {
			return CauseLaunch, false
		}
		return CausePython, false
	}
	if l, ok := r.ix.LocationOf(row); ok {
		switch {
		case isLoaderFrame(l):
			return CauseLoader, true
		case isProfilerFrame(l):
			return CauseProfiler, true
		}
	}
	return CausePython, false
}

// isLoaderFrame reports whether a frame is a DataLoader iterator's __next__ (torch/utils/data/dataloader.py).
func isLoaderFrame(l traceindex.Location) bool {
	return strings.HasSuffix(l.File, "torch/utils/data/dataloader.py") && strings.HasSuffix(l.Function, "__next__")
}

// isProfilerFrame reports whether a frame belongs to torch.profiler's own bookkeeping (prof.step(), exporting).
func isProfilerFrame(l traceindex.Location) bool {
	return strings.HasSuffix(l.File, "torch/profiler/profiler.py") || strings.HasSuffix(l.File, "torch/profiler/_memory_profiler.py")
}

func callCause(kind traceindex.CallKind) Cause {
	switch kind {
	case traceindex.CallSync:
		return CauseSync
	case traceindex.CallAlloc:
		return CauseAllocator
	case traceindex.CallCopy:
		return CauseCopy
	}
	return CauseLaunch
}

// LoaderRangePrefix begins the range PyTorch puts around a DataLoader iterator's __next__ (torch/utils/data/dataloader.py).
const LoaderRangePrefix = "enumerate(DataLoader)#"

// loaderIntervals are the loader ranges of a thread, in order.
func loaderIntervals(ix *traceindex.Index, thread traceindex.ThreadID) []traceindex.Interval {
	var out []traceindex.Interval
	first, end := ix.RowsOf(thread)
	for row := first; row < end; row++ {
		if ix.Events.Category[row] == traceindex.CategoryAnnotation && strings.HasPrefix(ix.Name(row), LoaderRangePrefix) {
			out = append(out, traceindex.Interval{StartNs: ix.Events.StartNs[row], EndNs: ix.Events.EndNs(row)})
		}
	}
	return out
}

func (r *hostingReader) inLoader(ns int64) bool {
	i := sort.Search(len(r.loaders), func(i int) bool { return r.loaders[i].EndNs > ns })
	return i < len(r.loaders) && r.loaders[i].StartNs <= ns
}

// find is the first segment that ends after ns.
func (h *hosting) find(ns int64) int {
	return sort.Search(len(h.ends), func(i int) bool { return h.ends[i] > ns })
}
