package traceindex

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// sortKey is what rows are ordered by; ties go to Builder.tie.
type sortKey struct {
	start int64
	row   int32
}

// sortedRows orders the rows by (thread, start, longer first, …) and returns them with the first row of every thread (and one
// past the last). Threads must have been put in order already.
func (b *Builder) sortedRows(ctx context.Context) (rows []int32, first []int32, err error) {
	first = make([]int32, len(b.threads)+1)
	for i := range int32(b.n) {
		first[b.cols.thread.at(i)+1]++
	}
	for t := range b.threads {
		first[t+1] += first[t]
	}
	rows = make([]int32, b.n)
	next := slices.Clone(first)
	for i := range int32(b.n) {
		t := b.cols.thread.at(i)
		rows[next[t]] = i
		next[t]++
	}
	for t := range b.threads {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		b.sortThread(ctx, rows[first[t]:first[t+1]])
	}
	return rows, first, ctx.Err()
}

// maxMergedRuns is the number of ascending runs up to which they are merged; more are sorted anew.
const maxMergedRuns = 16

// sortThread orders one thread's rows. Most files hold a thread's events as a few ascending runs, a few more where two parsers
// read them: those are merged, which takes no memory to speak of. A thread already in order costs one pass.
func (b *Builder) sortThread(ctx context.Context, rows []int32) {
	runs := []int{0} // where each begins
	for i := 1; i < len(rows) && len(runs) <= maxMergedRuns; i++ {
		if b.compareRows(rows[i-1], rows[i]) > 0 {
			runs = append(runs, i)
		}
	}
	switch {
	case len(runs) == 1:
		return
	case len(runs) <= maxMergedRuns:
		b.mergeRuns(ctx, rows, append(runs, len(rows)))
		return
	}
	keys := make([]sortKey, len(rows))
	for i, r := range rows {
		keys[i] = sortKey{b.cols.start.at(r), r}
	}
	if ctx.Err() != nil {
		return
	}
	compare := func(x, y sortKey) int {
		if x.start != y.start {
			return cmp.Compare(x.start, y.start)
		}
		return b.tie(x.row, y.row)
	}
	const worthTwo = 1 << 15
	if len(keys) < worthTwo {
		slices.SortFunc(keys, compare)
		for i, k := range keys {
			rows[i] = k.row
		}
		return
	}
	// Two halves at once, then one merge: both cores work on the thread that has nearly all events.
	left, right := keys[:len(keys)/2], keys[len(keys)/2:]
	var wait sync.WaitGroup
	wait.Go(func() { slices.SortFunc(left, compare) })
	slices.SortFunc(right, compare)
	wait.Wait()
	for i := range rows {
		if len(right) == 0 || (len(left) > 0 && compare(left[0], right[0]) <= 0) {
			rows[i], left = left[0].row, left[1:]
		} else {
			rows[i], right = right[0].row, right[1:]
		}
	}
}

// mergeRuns merges ascending runs, neighbours first; bounds holds where each begins, and the end.
func (b *Builder) mergeRuns(ctx context.Context, rows []int32, bounds []int) {
	var left []int32 // the left run of a pair, out of the way
	for len(bounds) > 2 {
		merged := bounds[:1]
		for i := 0; i+1 < len(bounds) && ctx.Err() == nil; i += 2 {
			if i+2 < len(bounds) {
				left = append(left[:0], rows[bounds[i]:bounds[i+1]]...)
				b.merge(rows[bounds[i]:bounds[i+2]], left, rows[bounds[i+1]:bounds[i+2]])
				merged = append(merged, bounds[i+2])
			} else {
				merged = append(merged, bounds[i+1])
			}
		}
		if ctx.Err() != nil {
			return
		}
		bounds = merged
	}
}

// merge fills out from two ascending runs; right lies at out's end.
func (b *Builder) merge(out, left, right []int32) {
	for i := range out {
		switch {
		case len(left) == 0:
			return // the rest is in place
		case len(right) == 0 || b.compareRows(left[0], right[0]) <= 0:
			out[i], left = left[0], left[1:]
		default:
			out[i], right = right[0], right[1:]
		}
	}
}

// compareRows orders rows of one thread.
func (b *Builder) compareRows(x, y int32) int {
	p, q := b.cols.start.at(x), b.cols.start.at(y)
	if p != q {
		return cmp.Compare(p, q)
	}
	return b.tie(x, y)
}

// nestingRank orders events of equal interval from the outside in: a range set around work, the Python function, the op it
// runs, the runtime call the op makes.
var nestingRank = [categoryCount]uint8{CategoryAnnotation: 0, CategoryPython: 1, CategoryOp: 2, CategoryRuntime: 3,
	CategoryOther: 4, CategoryKernel: 4, CategoryMemcpy: 4, CategoryMemset: 4, CategoryGPUAnnotation: 4, CategorySync: 4,
	CategoryOverhead: 4, CategoryMemory: 4}

// tie orders rows of one thread and equal start: longer first, then from the outside in, then by the profiler's own order, then
// by ids and names, so that the order in the file decides nothing that shows.
func (b *Builder) tie(x, y int32) int {
	if c := cmp.Compare(b.cols.dur.at(y), b.cols.dur.at(x)); c != 0 {
		return c
	}
	if c := cmp.Compare(nestingRank[b.cols.category.at(x)], nestingRank[b.cols.category.at(y)]); c != 0 {
		return c
	}
	if b.evIdx != nil {
		if p, q := b.orderOf(x), b.orderOf(y); p != q {
			return cmp.Compare(p, q)
		}
	}
	if c := cmp.Compare(b.cols.link.at(x), b.cols.link.at(y)); c != 0 {
		return c
	}
	if c := strings.Compare(b.names.texts[b.cols.name.at(x)], b.names.texts[b.cols.name.at(y)]); c != 0 {
		return c
	}
	return b.compareInFile(x, y)
}

func (b *Builder) orderOf(row int32) int32 {
	if int(row) < len(b.evIdx) && b.evIdx[row] >= 0 {
		return b.evIdx[row]
	}
	return math.MaxInt32
}

// orderThreads numbers the threads anew: host threads first, then streams, each by pid and tid.
func (b *Builder) orderThreads() {
	order := make([]ThreadID, len(b.threads))
	for i := range order {
		order[i] = ThreadID(i)
	}
	slices.SortStableFunc(order, func(x, y ThreadID) int {
		p, q := &b.threads[x], &b.threads[y]
		if p.GPU != q.GPU {
			if q.GPU {
				return -1
			}
			return 1
		}
		return cmp.Or(compareIDs(p.PID, q.PID), compareIDs(p.TID, q.TID))
	})
	threads := make([]Thread, len(order))
	renumber := make([]ThreadID, len(order))
	same := true
	for to, from := range order {
		threads[to] = b.threads[from]
		renumber[from] = ThreadID(to)
		same = same && int(from) == to
	}
	b.threads = threads
	if same {
		return
	}
	for _, chunk := range b.cols.thread.chunks {
		for i, t := range chunk {
			chunk[i] = renumber[t] // rows past the end are 0, a thread that exists
		}
	}
	for i := range b.flows {
		b.flows[i].thread = renumber[b.flows[i].thread]
	}
	for i := range b.launchFlows {
		b.launchFlows[i].thread = renumber[b.launchFlows[i].thread]
	}
	for k, t := range b.byKey {
		b.byKey[k] = renumber[t]
	}
}

// compareIDs orders ids as numbers where both are numbers, numbers before words.
func compareIDs(x, y string) int {
	p, errX := strconv.ParseInt(x, 10, 64)
	q, errY := strconv.ParseInt(y, 10, 64)
	switch {
	case errX == nil && errY == nil && p != q:
		return cmp.Compare(p, q)
	case errX == nil && errY != nil:
		return -1
	case errX != nil && errY == nil:
		return 1
	}
	return strings.Compare(x, y)
}
