package attribute

import (
	"strings"

	"stepline/traceindex"
)

// Traces without Python frames (Nsight Systems without backtraces, the profiler without with_stack) still hold the user's ranges and
// the ops: time that fits no line is told by the innermost range it was launched in, else by the outermost op.

// labelled tells that a rank's time without a frame is told by ranges and ops.
func (p *rankPlaces) labelled() bool {
	return p.pythonFrames == 0 || strings.HasPrefix(p.ix.Meta.Producer, "Nsight Systems")
}

// label is the range or op that an event ran in, as a place without a file; the reason says which. Without either it is noPlace.
func (a *Attribution) label(p *rankPlaces, e traceindex.EventID) (placeID, Reason) {
	if p.ranges == nil {
		p.ranges = p.ix.NewRangeFinder()
	}
	thread, ns := p.ix.Events.Thread[e], p.ix.Events.StartNs[e]
	r := p.ranges.At(thread, ns)
	if r == traceindex.NoEvent && thread != p.ix.TrainingThread { // autograd's threads work for what the training thread is in
		r = p.ranges.At(p.ix.TrainingThread, ns)
	}
	if r != traceindex.NoEvent {
		return a.places.intern(Place{Function: p.ix.Name(r), Missing: true}), reasonRange
	}
	op := traceindex.NoEvent
	for at := e; at != traceindex.NoEvent; at = p.ix.Parent[at] {
		if p.ix.Events.Category[at] == traceindex.CategoryOp {
			op = at
		}
	}
	if op != traceindex.NoEvent {
		return a.places.intern(Place{Function: p.ix.Name(op), Missing: true}), reasonOp
	}
	return noPlace, reasonNoFrame
}
