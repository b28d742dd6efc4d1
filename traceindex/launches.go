package traceindex

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// linkLaunches joins GPU events to the runtime calls that caused them, by correlation id (CUPTI and roctracer give a call and
// its activities the same one; a CUDA graph launch has many). Id 0 means none.
//
// A GPU event without a call in the file is joined to the op that its "External id" names, if that began before it: torch
// itself joins by this id, which is known to lie at times (kineto#846), so it comes second.
//
// It fills Launch for GPU rows; for the rows of calls (and such ops) Launch holds the place of their first GPU event in ix.launched.
func (ix *Index) linkLaunches(ctx context.Context, externals []externalID, flows []launchFlow) error {
	ev := &ix.Events
	ix.Launch = make([]EventID, ev.Len())
	var calls int
	lo, hi := ^uint64(0), uint64(0)
	for row := range ev.Len() {
		ix.Launch[row] = NoEvent
		if ev.Category[row] == CategoryRuntime && ev.Link[row] != 0 {
			calls++
			lo, hi = min(lo, ev.Link[row]), max(hi, ev.Link[row])
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	find := ix.callFinder(calls, lo, hi)
	type pair struct{ call, gpu EventID }
	pairs := make([]pair, 0, len(ix.GPUEvents))
	for _, g := range ix.GPUEvents {
		if ev.Link[g] == 0 {
			continue
		}
		if call := find(g); call != NoEvent {
			ix.Launch[g] = call
			pairs = append(pairs, pair{call, g})
		}
	}
	for _, e := range ix.opsNamed(externals) {
		ix.Launch[e.gpu] = e.op
		pairs = append(pairs, pair{e.op, e.gpu})
	}
	for _, e := range ix.flowedFrom(flows) {
		ix.Launch[e.gpu] = e.op
		pairs = append(pairs, pair{e.op, e.gpu})
	}
	byCall := func(x, y pair) int { return cmp.Compare(x.call, y.call) }
	if !slices.IsSortedFunc(pairs, byCall) {
		slices.SortStableFunc(pairs, byCall) // GPUEvents are in start order, and stay so within a call
	}
	ix.launched = make([]EventID, len(pairs))
	distinct := 0
	for i, p := range pairs {
		if i == 0 || pairs[i-1].call != p.call {
			distinct++
		}
	}
	ix.launchRows = make([]EventID, 0, distinct)
	for i, p := range pairs {
		ix.launched[i] = p.gpu
		if i == 0 || pairs[i-1].call != p.call {
			ix.Launch[p.call] = EventID(i)
			ix.launchRows = append(ix.launchRows, p.call)
		}
	}
	return ctx.Err()
}

// copySizesFromCalls gives copies that do not say how many bytes they moved what the call that made them says.
func (ix *Index) copySizesFromCalls() {
	defer func() { ix.copySizes = nil }()
	if len(ix.copySizes) == 0 {
		return
	}
	setBytes := detailSetter(ix, func(d *GPUDetail, bytes int64) { d.Bytes = bytes })
	for _, g := range ix.GPUEvents {
		d := ix.Events.Detail[g]
		if ix.Events.Category[g] != CategoryMemcpy || d < 0 || ix.GPU[d].Bytes >= 0 || ix.Launch[g] == NoEvent || len(ix.GPUOf(ix.Launch[g])) != 1 {
			continue
		}
		if bytes, ok := ix.copySizes[ix.Launch[g]]; ok {
			setBytes(g, bytes)
		}
	}
}

// detailSetter gives GPU events a detail that differs from theirs in one value. Events share details: each is made once.
func detailSetter[T comparable](ix *Index, set func(*GPUDetail, T)) func(EventID, T) {
	type change struct {
		detail int32
		value  T
	}
	made := map[change]int32{}
	return func(g EventID, value T) {
		key := change{ix.Events.Detail[g], value}
		row, ok := made[key]
		if !ok {
			row = int32(len(ix.GPU))
			detail := ix.GPU[key.detail]
			set(&detail, value)
			ix.GPU = append(ix.GPU, detail)
			made[key] = row
		}
		ix.Events.Detail[g] = row
	}
}

type namedOp struct{ gpu, op EventID }

// opsNamed finds the ops that GPU events without a call name by "External id".
func (ix *Index) opsNamed(externals []externalID) []namedOp {
	ev := &ix.Events
	wanted := map[uint64]EventID{}
	for _, e := range externals {
		if ev.Category[e.row].IsGPUWork() && ix.Launch[e.row] == NoEvent && e.id != 0 {
			wanted[e.id] = NoEvent
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for row, c := range ev.Category {
		if c != CategoryOp {
			continue
		}
		if at, ok := wanted[ev.Link[row]]; ok && at == NoEvent {
			wanted[ev.Link[row]] = EventID(row)
		}
	}
	var found []namedOp
	for _, e := range externals {
		if op, ok := wanted[e.id]; ok && op != NoEvent && ix.Launch[e.row] == NoEvent && ev.Category[e.row].IsGPUWork() && ev.StartNs[op] <= ev.StartNs[e.row] {
			found = append(found, namedOp{e.row, op})
		}
	}
	slices.SortStableFunc(found, func(x, y namedOp) int { return cmp.Compare(ev.StartNs[x.gpu], ev.StartNs[y.gpu]) })
	return found
}

// flowedFrom finds the host events from which flows lead to device events without a call (Ascend's "torch_to_npu").
func (ix *Index) flowedFrom(flows []launchFlow) []namedOp {
	ev := &ix.Events
	type place struct {
		thread ThreadID
		ns     int64
	}
	hosts := map[uint64]place{}
	for _, f := range flows {
		if f.host {
			hosts[f.id] = place{f.thread, f.startNs}
		}
	}
	var found []namedOp
	for _, f := range flows {
		from, ok := hosts[f.id]
		if f.host || !ok {
			continue
		}
		first, end := ix.RowsOf(f.thread)
		n := sort.Search(int(end-first), func(i int) bool { return ev.StartNs[first+EventID(i)] >= f.startNs })
		for row := first + EventID(n); row < end && ev.StartNs[row] == f.startNs; row++ {
			if !ev.Category[row].IsGPUWork() || ix.Launch[row] != NoEvent {
				continue
			}
			if op := ix.At(from.thread, from.ns); op != NoEvent {
				found = append(found, namedOp{row, op})
				ix.Launch[row] = op
			}
			break
		}
	}
	slices.SortStableFunc(found, func(x, y namedOp) int { return cmp.Compare(ev.StartNs[x.gpu], ev.StartNs[y.gpu]) })
	return found
}

// callFinder returns a function from a GPU event to the runtime call with its correlation id. Ids are mostly dense, so a plain
// table does; a map where they are not. Of several calls with one id (a counter that began again), the last one started before
// the GPU event is meant.
func (ix *Index) callFinder(calls int, lo, hi uint64) func(EventID) EventID {
	ev := &ix.Events
	if calls == 0 {
		return func(EventID) EventID { return NoEvent }
	}
	var get func(uint64) EventID
	var put func(uint64, EventID)
	if width := hi - lo; width < uint64(calls)*8+1024 {
		table := make([]EventID, width+1)
		for i := range table {
			table[i] = NoEvent
		}
		get = func(id uint64) EventID {
			if id < lo || id > hi {
				return NoEvent
			}
			return table[id-lo]
		}
		put = func(id uint64, row EventID) { table[id-lo] = row }
	} else {
		table := make(map[uint64]EventID, calls)
		get = func(id uint64) EventID {
			if row, ok := table[id]; ok {
				return row
			}
			return NoEvent
		}
		put = func(id uint64, row EventID) { table[id] = row }
	}
	var same map[uint64][]EventID
	for row := range EventID(ev.Len()) {
		id := ev.Link[row]
		if ev.Category[row] != CategoryRuntime || id == 0 {
			continue
		}
		if first := get(id); first == NoEvent {
			put(id, row)
		} else {
			if same == nil {
				same = map[uint64][]EventID{}
			}
			if same[id] == nil {
				same[id] = []EventID{first}
			}
			same[id] = append(same[id], row)
		}
	}
	return func(g EventID) EventID {
		id := ev.Link[g]
		if rows := same[id]; rows != nil {
			return latestBefore(ev, rows, ev.StartNs[g])
		}
		return get(id)
	}
}

func latestBefore(ev *Events, rows []EventID, ns int64) EventID {
	best := rows[0]
	for _, r := range rows[1:] {
		before, bestBefore := ev.StartNs[r] <= ns, ev.StartNs[best] <= ns
		switch {
		case before && !bestBefore,
			before && bestBefore && ev.StartNs[r] > ev.StartNs[best],
			!before && !bestBefore && ev.StartNs[r] < ev.StartNs[best]:
			best = r
		}
	}
	return best
}
