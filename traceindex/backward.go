package traceindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// EvaluateFunctionPrefix begins the name of the op that runs one backward node (torch/csrc/autograd/engine.cpp).
const EvaluateFunctionPrefix = "autograd::engine::evaluate_function: "

type numberedOp struct {
	thread   ThreadID
	sequence int64
	row      EventID
}

// linkBackward fills ForwardOf: the backward node's "Sequence number" names the forward op that made it, "Fwd thread id" the
// thread that op ran on. The number counts per thread, and composite ops carry the number of the first node made under them, so
// several forward ops share one: the last one to start, the innermost, made the node.
func (ix *Index) linkBackward(ctx context.Context, flows []forwardFlow) error {
	ix.ForwardOf = map[EventID]EventID{}
	ev := &ix.Events
	var forward []numberedOp
	type node struct {
		row           EventID
		forwardThread int32
	}
	var backward []node
	for row := range EventID(ev.Len()) {
		if ev.Category[row] != CategoryOp || ev.Detail[row] < 0 {
			continue
		}
		d := &ix.Ops[ev.Detail[row]]
		if d.Sequence < 0 {
			continue
		}
		if d.ForwardThread > 0 || strings.HasPrefix(ix.Name(row), EvaluateFunctionPrefix) {
			if p := ix.opAbove(row); p == NoEvent || ix.Ops[ev.Detail[p]].Sequence != d.Sequence {
				backward = append(backward, node{row, d.ForwardThread})
			}
			continue
		}
		forward = append(forward, numberedOp{ev.Thread[row], d.Sequence, row})
	}
	if len(backward) == 0 {
		ix.linkBackwardByFlows(flows)
		return ctx.Err()
	}
	slices.SortFunc(forward, func(x, y numberedOp) int {
		return cmp.Or(cmp.Compare(x.thread, y.thread), cmp.Compare(x.sequence, y.sequence), cmp.Compare(x.row, y.row))
	})
	last := func(thread ThreadID, sequence int64, beforeNs int64) EventID {
		at := numberedOp{thread, sequence + 1, -1}
		i, _ := slices.BinarySearchFunc(forward, at, func(x, y numberedOp) int {
			return cmp.Or(cmp.Compare(x.thread, y.thread), cmp.Compare(x.sequence, y.sequence), cmp.Compare(x.row, y.row))
		})
		for i--; i >= 0 && forward[i].thread == thread && forward[i].sequence == sequence; i-- {
			if ev.StartNs[forward[i].row] < beforeNs {
				return forward[i].row
			}
		}
		return NoEvent
	}
	threadsWithForward := []ThreadID{}
	for i, f := range forward {
		if i == 0 || forward[i-1].thread != f.thread {
			threadsWithForward = append(threadsWithForward, f.thread)
		}
	}
	// "Fwd thread id" is autograd's own count of threads, not the file's: each is the file's thread whose forward ops fit
	// its backward nodes best, by flows where there are any, else by number and name.
	votes := map[int32]map[ThreadID]int{}
	vote := func(logical int32, t ThreadID, weight int) {
		if votes[logical] == nil {
			votes[logical] = map[ThreadID]int{}
		}
		votes[logical][t] += weight
	}
	if len(threadsWithForward) > 1 {
		for _, n := range backward {
			for _, t := range threadsWithForward {
				f := last(t, ix.Ops[ev.Detail[n.row]].Sequence, ev.StartNs[n.row])
				if f == NoEvent {
					continue
				}
				if backwardNameFits(ix.Name(n.row), ix.Name(f)) {
					vote(n.forwardThread, t, 4)
				} else {
					vote(n.forwardThread, t, 1)
				}
			}
		}
		ix.voteByFlows(flows, vote)
	}
	threadOf := func(logical int32) ThreadID {
		best, most := threadsWithForward[0], -1
		for _, t := range threadsWithForward {
			if v := votes[logical][t]; v > most {
				best, most = t, v
			}
		}
		return best
	}
	if len(threadsWithForward) == 0 {
		return nil
	}
	chosen := map[int32]ThreadID{}
	for _, n := range backward {
		t, ok := chosen[n.forwardThread]
		if !ok {
			t = threadOf(n.forwardThread)
			chosen[n.forwardThread] = t
		}
		if f := last(t, ix.Ops[ev.Detail[n.row]].Sequence, ev.StartNs[n.row]); f != NoEvent {
			ix.ForwardOf[n.row] = f
		}
	}
	return ctx.Err()
}

// opAbove is the nearest enclosing op with a detail, NoEvent if there is none.
func (ix *Index) opAbove(row EventID) EventID {
	for p := ix.Parent[row]; p != NoEvent; p = ix.Parent[p] {
		if ix.Events.Category[p] == CategoryOp && ix.Events.Detail[p] >= 0 {
			return p
		}
	}
	return NoEvent
}

// voteByFlows counts, for each pair of flow ends with one id, the forward end's thread for the backward op's logical thread.
func (ix *Index) voteByFlows(flows []forwardFlow, vote func(int32, ThreadID, int)) {
	starts := map[uint64]ThreadID{}
	for _, f := range flows {
		if f.forward {
			starts[f.id] = f.thread
		}
	}
	for _, f := range flows {
		t, ok := starts[f.id]
		if f.forward || !ok {
			continue
		}
		if row := ix.At(f.thread, f.startNs); row != NoEvent {
			for ; row != NoEvent; row = ix.Parent[row] {
				if d, ok := ix.OpDetailOf(row); ok && d.ForwardThread > 0 {
					vote(d.ForwardThread, t, 16)
					break
				}
			}
		}
	}
}

// linkBackwardByFlows is for files without sequence numbers: a flow leads from the forward op's start to the backward op's.
func (ix *Index) linkBackwardByFlows(flows []forwardFlow) {
	starting := func(f forwardFlow) EventID {
		op := NoEvent
		for row := ix.At(f.thread, f.startNs); row != NoEvent; row = ix.Parent[row] {
			if ix.Events.Category[row] != CategoryOp {
				continue
			}
			if op == NoEvent || strings.HasPrefix(ix.Name(row), EvaluateFunctionPrefix) {
				op = row
			}
			if f.forward {
				break
			}
		}
		return op
	}
	ops := map[uint64]EventID{}
	for _, f := range flows {
		if f.forward {
			ops[f.id] = starting(f)
		}
	}
	for _, f := range flows {
		if op, ok := ops[f.id]; ok && !f.forward && op != NoEvent {
			if node := starting(f); node != NoEvent && node != op {
				ix.ForwardOf[node] = op
			}
		}
	}
}

// backwardNameFits reports whether a backward node's name (…: AddmmBackward0) is made from a forward op's (aten::addmm).
func backwardNameFits(backward, forward string) bool {
	b := strings.TrimPrefix(backward, EvaluateFunctionPrefix)
	b = strings.TrimRight(b, "0123456789")
	b, ok := strings.CutSuffix(b, "Backward")
	if !ok {
		return false
	}
	if i := strings.LastIndexByte(forward, ':'); i >= 0 {
		forward = forward[i+1:]
	}
	return strings.EqualFold(b, strings.ReplaceAll(forward, "_", ""))
}
