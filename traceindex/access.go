package traceindex

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// Name is the event's name.
func (ix *Index) Name(e EventID) string { return ix.Names[ix.Events.Name[e]] }

// EndNs is the event's end, cut to that of its parent: a frame whose return was never seen does not outlive its caller.
func (ix *Index) EndNs(e EventID) int64 {
	if ix.clamped != nil && ix.clamped[e/64]&(1<<(e%64)) != 0 {
		i, _ := slices.BinarySearchFunc(ix.clamps, e, func(c clamp, e EventID) int { return cmp.Compare(c.row, e) })
		return ix.clamps[i].endNs
	}
	return ix.Events.StartNs[e] + ix.Events.DurNs[e]
}

// DurNs is EndNs less the start.
func (ix *Index) DurNs(e EventID) int64 { return ix.EndNs(e) - ix.Events.StartNs[e] }

// RowsOf is the thread's rows, from first up to but not including end. On a host thread they are its frame tree in preorder. There
// are none for the TrainingThread of a trace without host threads, −1.
func (ix *Index) RowsOf(t ThreadID) (first, end EventID) {
	if t < 0 {
		return 0, 0
	}
	return ix.threadRows[t], ix.threadRows[t+1]
}

// SubtreeEnd is the row after the last one below e: the rows e+1 … SubtreeEnd(e)−1 of a host thread lie under e (besides
// instants and other events that are no spans, whose Parent is NoEvent).
func (ix *Index) SubtreeEnd(e EventID) EventID { return ix.subtreeEnd[e] }

// Children are the host events directly under e, in order: Python frames, ops, runtime calls and annotations. Annotations never
// have children.
func (ix *Index) Children(e EventID) iter.Seq[EventID] {
	return func(yield func(EventID) bool) {
		for c := e + 1; c < ix.subtreeEnd[e]; c = ix.subtreeEnd[c] {
			if ix.Parent[c] == e && !yield(c) {
				return
			}
		}
	}
}

// Roots are the host events of a thread that have no parent, in order.
func (ix *Index) Roots(t ThreadID) iter.Seq[EventID] {
	return func(yield func(EventID) bool) {
		first, end := ix.RowsOf(t)
		for c := first; c < end; c = ix.subtreeEnd[c] {
			if ix.Events.Category[c].IsHost() && ix.Parent[c] == NoEvent && !yield(c) {
				return
			}
		}
	}
}

// Ancestors are the events enclosing e, innermost first.
func (ix *Index) Ancestors(e EventID) iter.Seq[EventID] {
	return func(yield func(EventID) bool) {
		for p := ix.Parent[e]; p != NoEvent; p = ix.Parent[p] {
			if !yield(p) {
				return
			}
		}
	}
}

// At is the innermost frame, op or runtime call on a host thread at a moment, NoEvent if there is none.
func (ix *Index) At(t ThreadID, ns int64) EventID {
	first, end := ix.RowsOf(t)
	n := sort.Search(int(end-first), func(i int) bool { return ix.Events.StartNs[first+EventID(i)] > ns })
	for row := first + EventID(n) - 1; row >= first; row-- {
		c := ix.Events.Category[row]
		if !c.IsHost() || c == CategoryAnnotation {
			continue
		}
		for ; row != NoEvent; row = ix.Parent[row] {
			if ix.EndNs(row) > ns {
				return row
			}
		}
		return NoEvent
	}
	return NoEvent
}

// SelfNs is the event's own time: DurNs less that of its children (annotations apart). It is never negative.
func (ix *Index) SelfNs(e EventID) int64 {
	self := ix.DurNs(e)
	for c := range ix.Children(e) {
		if ix.Events.Category[c] != CategoryAnnotation {
			self -= ix.DurNs(c)
		}
	}
	return self
}

// LocationOf is what a Python frame's name says of its place; false for C functions, modules and all that is no frame.
func (ix *Index) LocationOf(e EventID) (Location, bool) {
	if ix.Events.Category[e] != CategoryPython || ix.Events.Detail[e] < 0 {
		return Location{}, false
	}
	l := ix.Python[ix.Events.Detail[e]].Location
	if l < 0 {
		return Location{}, false
	}
	return ix.Locations[l], true
}

// PythonDetailOf is the frame's detail; false if e is no Python frame.
func (ix *Index) PythonDetailOf(e EventID) (PythonDetail, bool) {
	if ix.Events.Category[e] != CategoryPython || ix.Events.Detail[e] < 0 {
		return PythonDetail{}, false
	}
	return ix.Python[ix.Events.Detail[e]], true
}

// OpDetailOf is the op's detail; false if e is no op.
func (ix *Index) OpDetailOf(e EventID) (OpDetail, bool) {
	if ix.Events.Category[e] != CategoryOp || ix.Events.Detail[e] < 0 {
		return OpDetail{}, false
	}
	return ix.Ops[ix.Events.Detail[e]], true
}

// GPUDetailOf is the GPU event's detail; false if e has none.
func (ix *Index) GPUDetailOf(e EventID) (GPUDetail, bool) {
	switch c := ix.Events.Category[e]; {
	case !c.IsGPUWork() && c != CategoryGPUAnnotation && c != CategorySync, ix.Events.Detail[e] < 0:
		return GPUDetail{}, false
	}
	return ix.GPU[ix.Events.Detail[e]], true
}

// DeviceOf is the GPU event's device number, −1 if unknown.
func (ix *Index) DeviceOf(e EventID) int64 {
	if d, ok := ix.GPUDetailOf(e); ok {
		return d.Device
	}
	return -1
}

// GPUOf are the GPU events a runtime call launched, in start order: one for a kernel launch or a copy, many for a CUDA graph,
// none if the file has none.
func (ix *Index) GPUOf(call EventID) []EventID {
	if !ix.Events.Category[call].IsHost() || ix.Launch[call] == NoEvent {
		return nil
	}
	first := ix.Launch[call]
	end := first + 1
	for int(end) < len(ix.launched) && ix.Launch[ix.launched[end]] == call {
		end++
	}
	return ix.launched[first:end]
}

// LaunchCalls are the runtime calls with GPU work (and the ops, where the file has no call), in row order.
func (ix *Index) LaunchCalls() []EventID { return ix.launchRows }

// ForwardOfLaunch climbs from a runtime call to the backward node it runs in and returns that node and the forward op it belongs
// to; forward is NoEvent for a node without one (gradient accumulation), both are outside backward.
func (ix *Index) ForwardOfLaunch(call EventID) (node, forward EventID) {
	node = NoEvent
	for p := call; p != NoEvent; p = ix.Parent[p] {
		if f, ok := ix.ForwardOf[p]; ok {
			return p, f
		}
		if ix.Events.Category[p] == CategoryOp && len(ix.Name(p)) > len(EvaluateFunctionPrefix) &&
			ix.Name(p)[:len(EvaluateFunctionPrefix)] == EvaluateFunctionPrefix && node == NoEvent {
			node = p
		}
	}
	return node, NoEvent
}
