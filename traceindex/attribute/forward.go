package attribute

import (
	"context"
	"iter"
	"strings"

	"stepline/traceindex"
)

// GPUPlace is where one GPU event's time belongs.
type GPUPlace struct {
	Event traceindex.EventID
	// Call is the runtime call that launched it, NoEvent if the trace does not say.
	Call traceindex.EventID
	// Backward tells that the event is backward work of a forward op that ran on the line.
	Backward bool
	// Reason says why the time is on no line, zero if it is on one. The place then is what it hangs at, if anything.
	Reason Reason

	place placeID
}

// gpuPlace is what is kept of a GPUPlace: there is one for every GPU event of the run.
type gpuPlace struct {
	place    placeID
	reason   Reason
	backward bool
}

// GPU is the place of every GPU event of a rank, numbered in the order of Index.GPUEvents.
func (a *Attribution) GPU(rank int) iter.Seq2[int, GPUPlace] {
	p := a.ranks[rank]
	return func(yield func(int, GPUPlace) bool) {
		for i, e := range p.ix.GPUEvents {
			g := p.gpu[i]
			if !yield(i, GPUPlace{Event: e, Call: p.ix.Launch[e], Backward: g.backward, Reason: g.reason, place: g.place}) {
				return
			}
		}
	}
}

// PlaceOf is the statement that a GPU event's time is on, or hangs at; false if there is none.
func (a *Attribution) PlaceOf(g GPUPlace) (Place, bool) {
	place, ok := a.place(g.place)
	return place, ok && place.File != "" // a range or an op is no place in a file
}

// OnLine is PlaceOf for time that counts on a line.
func (a *Attribution) OnLine(g GPUPlace) (Place, bool) {
	if g.Reason != onLine {
		return Place{}, false
	}
	return a.place(g.place)
}

// placeGPU follows every GPU event of a rank to its launch, and the launch up its stack: to the innermost frame with source, or
// to the backward node it runs in, whichever comes first.
func (a *Attribution) placeGPU(ctx context.Context, p *rankPlaces) []gpuPlace {
	ix := p.ix
	out := make([]gpuPlace, len(ix.GPUEvents))
	byCall := map[traceindex.EventID]gpuPlace{} // of CUDA graph launches, which have many events
	for i, e := range ix.GPUEvents {
		if i&0x3fff == 0 && ctx.Err() != nil {
			return out // no one will ask
		}
		call := ix.Launch[e]
		if call == traceindex.NoEvent {
			out[i] = gpuPlace{place: noPlace, reason: reasonNoLaunch}
			continue
		}
		g, ok := byCall[call]
		if !ok {
			g = a.placeLaunch(p, call, e)
			if len(ix.GPUOf(call)) > 1 {
				byCall[call] = g
			}
		}
		out[i] = g
	}
	return out
}

// placeLaunch places one runtime call; gpu is its first GPU event.
func (a *Attribution) placeLaunch(p *rankPlaces, call, gpu traceindex.EventID) gpuPlace {
	if node := p.backwardNode(call); node != traceindex.NoEvent {
		return a.placeBackward(p, call, node, gpu)
	}
	g := gpuPlace{place: p.of[call]}
	if g.place != noPlace {
		return a.settle(g)
	}
	return a.placeOutside(p, call, gpu)
}

// backwardNode is the backward node that a call runs in, if it is nearer than the innermost workspace frame; NoEvent otherwise.
func (p *rankPlaces) backwardNode(call traceindex.EventID) traceindex.EventID {
	inner := p.of[call]
	for e := call; e != traceindex.NoEvent; e = p.ix.Parent[e] {
		if p.of[e] != inner {
			return traceindex.NoEvent // e is the workspace frame itself: the call is under one of its statements
		}
		if p.ix.Events.Category[e] == traceindex.CategoryOp && isEvaluateFunction(p.ix.Name(e)) {
			return e
		}
	}
	return traceindex.NoEvent
}

// settle turns a place that names no line into a reason.
func (a *Attribution) settle(g gpuPlace) gpuPlace {
	place := &a.places.places[g.place]
	switch {
	case place.Missing:
		g.reason = reasonChanged
	case place.Confidence == traceindex.ConfidenceAmbiguous:
		g.reason = reasonAmbiguous
	}
	return g
}

// placeOutside is for launches under no workspace frame and in no backward node: the training thread may be waiting for them in
// a call, as it does for autograd's threads.
func (a *Attribution) placeOutside(p *rankPlaces, call, gpu traceindex.EventID) gpuPlace {
	g := a.unsourced(p, call)
	if p.pythonFrames == 0 {
		return g
	}
	if p.ix.Events.Thread[call] == p.ix.TrainingThread || g.place != noPlace {
		return g
	}
	// A thread of autograd's own: the engine's final callbacks, reducer hooks, streams' copies.
	waiting := a.backwardCallAt(p, p.ix.Events.StartNs[call])
	if waiting == noPlace {
		return g
	}
	g.place, g.reason = waiting, a.hookReason(p, call, gpu, reasonAccumulation)
	return g
}

// unsourced is for work under no frame with source in the workspace: what the trace says of its place, if it holds Python frames.
func (a *Attribution) unsourced(p *rankPlaces, e traceindex.EventID) gpuPlace {
	g := gpuPlace{place: a.recordedPlace(p, e), reason: reasonNoFrame}
	if g.place != noPlace || p.sourced == 0 && p.pythonFrames > 0 {
		g.reason = reasonNoSource
	}
	if g.place == noPlace && p.labelled() {
		if place, reason := a.label(p, e); place != noPlace {
			g.place, g.reason = place, reason
		}
	}
	return g
}

// backwardCallAt is the statement in which the training thread runs backward at a moment, or what the trace says of its place;
// noPlace if it does not run backward.
func (a *Attribution) backwardCallAt(p *rankPlaces, ns int64) placeID {
	e := p.ix.At(p.ix.TrainingThread, ns)
	for ; e != traceindex.NoEvent; e = p.ix.Parent[e] {
		if p.ix.Events.Category[e] != traceindex.CategoryPython {
			continue
		}
		if name := p.ix.Name(e); strings.Contains(name, "run_backward") || strings.HasSuffix(name, ": backward") || strings.HasSuffix(name, ": grad") {
			if p.of[e] != noPlace {
				return p.of[e]
			}
			return a.recordedPlace(p, e)
		}
	}
	return noPlace
}
