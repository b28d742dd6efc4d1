package traceindex

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// openFrame is an event whose end has not been reached yet while a thread's rows are walked.
type openFrame struct {
	row EventID
	// recordedEndNs is the end as the file has it, endNs the same cut to the enclosing frame's.
	recordedEndNs, endNs int64
	python               bool
	id                   uint64 // "Python id"
}

// clamp is an end that differs from the recorded one.
type clamp struct {
	row   EventID
	endNs int64
}

// linkFrames fills Parent, subtreeEnd and the clamped ends: attribution.md, Method 1. Threads are independent of each other;
// two are walked at a time.
func (ix *Index) linkFrames(ctx context.Context) error {
	ix.Parent = make([]EventID, ix.Events.Len())
	ix.subtreeEnd = make([]EventID, ix.Events.Len())
	var mu sync.Mutex
	var clamps []clamp
	walk := func(t ThreadID) {
		first, end := ix.RowsOf(t)
		w := frameWalk{ix: ix, ctx: ctx}
		w.thread(first, end)
		mu.Lock()
		clamps = append(clamps, w.clamps...)
		mu.Unlock()
	}
	work := make(chan ThreadID, len(ix.Threads))
	for t := range ix.Threads {
		work <- ThreadID(t)
	}
	close(work)
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for t := range work {
				walk(t)
			}
		})
	}
	wait.Wait()
	ix.setClamps(clamps)
	return ctx.Err()
}

// setClamps keeps the last end given to each row.
func (ix *Index) setClamps(clamps []clamp) {
	slices.SortStableFunc(clamps, func(x, y clamp) int { return cmp.Or(cmp.Compare(x.row, y.row), cmp.Compare(y.endNs, x.endNs)) })
	kept := clamps[:0]
	for i, c := range clamps {
		if i+1 < len(clamps) && clamps[i+1].row == c.row {
			continue // the earliest end stands
		}
		kept = append(kept, c)
	}
	ix.clamps = slices.Clip(kept)
	if len(kept) == 0 {
		return
	}
	ix.clamped = make([]uint64, (ix.Events.Len()+63)/64)
	for _, c := range kept {
		ix.clamped[c.row/64] |= 1 << (c.row % 64)
	}
}

type frameWalk struct {
	ix     *Index
	ctx    context.Context
	stack  []openFrame
	clamps []clamp
	// rowOf finds a frame by "Python id" when it is not near the top of the stack; made on first need.
	rowOf map[uint64]EventID
	first EventID
	end   EventID
}

func (w *frameWalk) thread(first, end EventID) {
	w.first, w.end = first, end
	ev := &w.ix.Events
	for row := first; row < end; row++ {
		if row&0xfffff == 0xfffff && w.ctx.Err() != nil {
			return
		}
		w.ix.Parent[row], w.ix.subtreeEnd[row] = NoEvent, row+1
		category := ev.Category[row]
		if !category.IsHost() {
			continue
		}
		start := ev.StartNs[row]
		var parentID uint64
		if category == CategoryPython && ev.Detail[row] >= 0 {
			parentID = w.ix.Python[ev.Detail[row]].ParentID
		}
		w.closeEnded(row, start, parentID)
		if parentID != 0 {
			w.dropAbove(row, parentID)
		}
		f := openFrame{row: row, recordedEndNs: start + ev.DurNs[row], python: category == CategoryPython}
		f.endNs = f.recordedEndNs
		if f.python {
			f.id = ev.Link[row]
		}
		if n := len(w.stack); n > 0 {
			w.ix.Parent[row] = w.stack[n-1].row
			if category != CategoryAnnotation && f.endNs > w.stack[n-1].endNs {
				f.endNs = w.stack[n-1].endNs
				w.clamps = append(w.clamps, clamp{row, f.endNs})
			}
		}
		// A range may begin inside one function (record_function's __enter__) and end inside another: it encloses
		// nothing here and is cut by nothing.
		if category != CategoryAnnotation {
			w.stack = append(w.stack, f)
		}
	}
	for _, f := range w.stack {
		w.ix.subtreeEnd[f.row] = end
	}
	w.stack = w.stack[:0]
}

// closeEnded closes the frames that ended before the row starts. A frame ending just then is kept for a Python call that names
// it as its parent: a call of no measured length at the very end.
func (w *frameWalk) closeEnded(row EventID, start int64, parentID uint64) {
	n := len(w.stack)
	for n > 0 {
		top := &w.stack[n-1]
		if top.endNs > start || (top.endNs == start && parentID != 0 && top.python && top.id == parentID) {
			break
		}
		w.ix.subtreeEnd[top.row] = row
		n--
	}
	w.stack = w.stack[:n]
}

// dropAbove makes the declared parent the innermost open frame, if it is open: what lies above it has returned unseen. Kept are
// the frames that enclose the row in time and are themselves believable: any op (Python may run inside an op while its
// declared parent is outside), and a Python frame that ended before its own parent did.
func (w *frameWalk) dropAbove(row EventID, parentID uint64) {
	at := w.find(parentID)
	if at < 0 {
		return
	}
	ev := &w.ix.Events
	start := ev.StartNs[row]
	end := start + ev.DurNs[row]
	keep := at + 1
	for keep < len(w.stack) {
		f := &w.stack[keep]
		if f.recordedEndNs < end || (f.python && f.recordedEndNs >= w.stack[keep-1].recordedEndNs) {
			break
		}
		keep++
	}
	for i := len(w.stack) - 1; i >= keep; i-- {
		f := &w.stack[i]
		w.ix.subtreeEnd[f.row] = row
		if f.endNs > start {
			w.clamps = append(w.clamps, clamp{f.row, start})
		}
	}
	w.stack = w.stack[:keep]
}

// find is the position on the stack of the frame with the given "Python id", −1 if it is not open.
func (w *frameWalk) find(id uint64) int {
	n := len(w.stack)
	for i := n - 1; i >= max(0, n-32); i-- {
		if w.stack[i].python && w.stack[i].id == id {
			return i
		}
	}
	if n <= 32 {
		return -1
	}
	if w.rowOf == nil {
		w.rowOf = map[uint64]EventID{}
		for r := w.first; r < w.end; r++ {
			if w.ix.Events.Category[r] == CategoryPython && w.ix.Events.Link[r] != 0 {
				w.rowOf[w.ix.Events.Link[r]] = r
			}
		}
	}
	r, ok := w.rowOf[id]
	if !ok {
		return -1
	}
	// Rows on the stack ascend.
	i, found := slices.BinarySearchFunc(w.stack, r, func(f openFrame, r EventID) int { return cmp.Compare(f.row, r) })
	if !found {
		return -1
	}
	return i
}

// ClampCount is the number of frames whose end was cut.
func (ix *Index) ClampCount() int { return len(ix.clamps) }
