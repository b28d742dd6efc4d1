package attribute

import (
	"strings"

	"stepline/traceindex"
)

// placeBackward places a launch in a backward node on the line of the forward op that made the node. Nodes without one
// accumulate gradients, or run the hooks of DDP and FSDP: their time hangs at the call of backward.
func (a *Attribution) placeBackward(p *rankPlaces, call, node, gpu traceindex.EventID) gpuPlace {
	g := gpuPlace{place: noPlace}
	for n := node; n != traceindex.NoEvent; n = p.enclosingNode(n) {
		forward, ok := p.ix.ForwardOf[n]
		if !ok || forward == traceindex.NoEvent {
			continue
		}
		if a.isHook(p, call, gpu) {
			break // a bucket's all-reduce starts in whichever node fills the bucket: it is not that node's own work
		}
		if p.madeInBackward(forward) {
			g.place, g.reason = a.backwardCallAt(p, p.ix.Events.StartNs[node]), reasonDouble
			return g
		}
		g.backward = true
		if g.place = p.placeOfForward(forward); g.place != noPlace {
			return a.settle(g)
		}
		unsourced := a.unsourced(p, forward)
		g.place, g.reason = unsourced.place, unsourced.reason
		switch g.reason {
		case reasonNoSource:
			g.reason = reasonNoSourceBackward
		case reasonRange:
			g.reason = reasonRangeBackward
		case reasonOp:
			g.reason = reasonOpBackward
		}
		return g
	}
	g.place = a.backwardCallAt(p, p.ix.Events.StartNs[node])
	if g.place == noPlace {
		// Backward on the training thread itself: the node's own statement is the call of backward.
		g.place = p.of[node]
	}
	if g.place == noPlace {
		g.place = a.recordedPlace(p, p.ix.At(p.ix.TrainingThread, p.ix.Events.StartNs[node]))
	}
	fallback := reasonUnknownBackward
	if name := p.ix.Name(node); strings.Contains(name, "AccumulateGrad") {
		fallback = reasonAccumulation
	}
	g.reason = a.hookReason(p, call, gpu, fallback)
	return g
}

// enclosingNode is the next backward node around one, NoEvent if there is none: a custom function's backward may run another graph.
func (p *rankPlaces) enclosingNode(n traceindex.EventID) traceindex.EventID {
	for e := range p.ix.Ancestors(n) {
		if p.ix.Events.Category[e] == traceindex.CategoryOp && isEvaluateFunction(p.ix.Name(e)) {
			return e
		}
	}
	return traceindex.NoEvent
}

// placeOfForward is the statement of a forward op. An op that itself ran in a backward node (double backward, recomputation in
// autograd's thread) belongs to that node's forward op.
func (p *rankPlaces) placeOfForward(forward traceindex.EventID) placeID {
	for range 4 {
		node := p.backwardNode(forward)
		if node == traceindex.NoEvent {
			return p.of[forward]
		}
		outer, ok := p.ix.ForwardOf[node]
		if !ok || outer == traceindex.NoEvent || outer == forward {
			return p.of[forward]
		}
		forward = outer
	}
	return p.of[forward]
}

// madeInBackward reports whether a forward op was run by a backward node itself, as with create_graph: its own backward is no
// statement's. What a node runs through Python (recomputation of checkpoints) is.
func (p *rankPlaces) madeInBackward(forward traceindex.EventID) bool {
	for e := range p.ix.Ancestors(forward) {
		switch p.ix.Events.Category[e] {
		case traceindex.CategoryPython:
			return false
		case traceindex.CategoryOp:
			if isEvaluateFunction(p.ix.Name(e)) {
				return true
			}
		}
	}
	return false
}

// isHook reports whether a launch in a backward node is a hook's work on gradients or parameters over ranks, and not the node's: a
// collective's kernel, or what DDP's reducer and FSDP's hooks do around it.
func (a *Attribution) isHook(p *rankPlaces, call, gpu traceindex.EventID) bool {
	if traceindex.IsCollective(p.ix.Name(gpu)) {
		return true
	}
	for e := range p.ix.Ancestors(call) {
		name := p.ix.Name(e)
		switch p.ix.Events.Category[e] {
		case traceindex.CategoryOp:
			if isEvaluateFunction(name) {
				return false
			}
			if strings.HasPrefix(name, "c10d::") || strings.HasPrefix(name, "nccl:") || strings.HasPrefix(name, "fsdp::") || strings.Contains(name, "distributed.ddp.reducer") {
				return true
			}
		case traceindex.CategoryPython:
			if strings.HasPrefix(name, "torch/distributed/fsdp/") || strings.Contains(name, "/torch/distributed/fsdp/") {
				return true
			}
		}
	}
	return false
}

// hookReason says what a hook does: it reduces gradients or gathers parameters; fallback for anything else.
func (a *Attribution) hookReason(p *rankPlaces, call, gpu traceindex.EventID, fallback Reason) Reason {
	if !a.isHook(p, call, gpu) {
		return fallback
	}
	if isGather(p.ix.Name(gpu)) {
		return reasonGather
	}
	for e := range p.ix.Ancestors(call) {
		name := p.ix.Name(e)
		if p.ix.Events.Category[e] == traceindex.CategoryOp && isEvaluateFunction(name) {
			break
		}
		if isGather(name) {
			return reasonGather
		}
	}
	return reasonReduction
}

// isGather tells an all-gather of parameters by the name of a kernel, op or function.
func isGather(name string) bool {
	return strings.Contains(name, "AllGather") || strings.Contains(name, "all_gather") || strings.Contains(name, "unshard")
}
