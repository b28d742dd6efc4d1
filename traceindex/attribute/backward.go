package attribute

import (
	"strings"

	"stepline/traceindex"
)

// placeBackward places a launch in a backward node on the line of the forward op that made the node. Nodes without one
// accumulate gradients, or run the hooks of DDP and FSDP: their time hangs at the call of backward.
func (a *Attribution) placeBackward(p *rankPlaces, call, node, gpu traceindex.EventID) GPUPlace {
	g := GPUPlace{Call: call, place: noPlace}
	for n := node; n != traceindex.NoEvent; n = p.enclosingNode(n) {
		forward, ok := p.ix.ForwardOf[n]
		if !ok || forward == traceindex.NoEvent {
			continue
		}
		if a.isReduction(p, call, gpu) {
			break // a bucket's all-reduce starts in whichever node fills the bucket: it is not that node's own work
		}
		g.Backward = true
		if g.place = p.placeOfForward(forward); g.place != noPlace {
			return a.settle(g)
		}
		g.Reason = reasonNoFrame
		if p.sourced == 0 {
			g.Reason = reasonNoSource
		}
		return g
	}
	g.place = p.backwardCallAt(p.ix.Events.StartNs[node])
	if g.place == noPlace {
		// Backward on the training thread itself: the node's own statement is the call of backward.
		g.place = p.of[node]
	}
	fallback := reasonUnknownBackward
	if name := p.ix.Name(node); strings.Contains(name, "AccumulateGrad") {
		fallback = reasonAccumulation
	}
	g.Reason = a.hookReason(p, call, gpu, fallback)
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

// isReduction reports whether a launch is a gradient's reduction over ranks: a collective's kernel, or what DDP's reducer does
// around it.
func (a *Attribution) isReduction(p *rankPlaces, call, gpu traceindex.EventID) bool {
	if traceindex.IsCollective(p.ix.Name(gpu)) {
		return true
	}
	for e := range p.ix.Ancestors(call) {
		if p.ix.Events.Category[e] != traceindex.CategoryOp {
			continue
		}
		name := p.ix.Name(e)
		if isEvaluateFunction(name) {
			return false
		}
		if strings.HasPrefix(name, "c10d::") || strings.HasPrefix(name, "nccl:") || strings.Contains(name, "distributed.ddp.reducer") || strings.HasPrefix(name, "FSDP::post_backward") {
			return true
		}
	}
	return false
}

// hookReason is "gradient reduction" for a reduction and the fallback for anything else.
func (a *Attribution) hookReason(p *rankPlaces, call, gpu traceindex.EventID, fallback string) string {
	if a.isReduction(p, call, gpu) {
		return reasonReduction
	}
	return fallback
}
