package traceindex

import (
	"cmp"
	"slices"
	"sort"
)

// RangeFinder finds the user range (record_function, NVTX) a host thread was in. Step markers are no ranges. It is not safe for
// concurrent use.
type RangeFinder struct {
	ix      *Index
	threads map[ThreadID]rangeTimeline
}

// rangeTimeline says from which moment on which range is the innermost one.
type rangeTimeline struct {
	startNs []int64
	rangeOf []EventID
}

// NewRangeFinder makes a finder; threads are looked at when first asked for.
func (ix *Index) NewRangeFinder() *RangeFinder {
	return &RangeFinder{ix: ix, threads: map[ThreadID]rangeTimeline{}}
}

// At is the innermost range of a thread at a moment: of those open, the one begun last. NoEvent if none is.
func (f *RangeFinder) At(thread ThreadID, ns int64) EventID {
	if thread < 0 {
		return NoEvent
	}
	line, ok := f.threads[thread]
	if !ok {
		line = f.timeline(thread)
		f.threads[thread] = line
	}
	i := sort.Search(len(line.startNs), func(i int) bool { return line.startNs[i] > ns })
	if i == 0 {
		return NoEvent
	}
	return line.rangeOf[i-1]
}

// isStep tells a range that marks a step: it begins and ends with it.
func (ix *Index) isStep(row EventID) bool {
	start, end := ix.Events.StartNs[row], ix.Events.EndNs(row)
	i := sort.Search(len(ix.Steps), func(i int) bool { return ix.Steps[i].StartNs >= start })
	return i < len(ix.Steps) && ix.Steps[i].StartNs == start && ix.Steps[i].EndNs == end
}

func (f *RangeFinder) timeline(thread ThreadID) rangeTimeline {
	first, end := f.ix.RowsOf(thread)
	var ranges []EventID
	var moments []int64
	for row := first; row < end; row++ {
		if f.ix.isRange(row) && !f.ix.isStep(row) {
			ranges = append(ranges, row)
			moments = append(moments, f.ix.Events.StartNs[row], f.ix.Events.EndNs(row))
		}
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	slices.SortStableFunc(ranges, func(a, b EventID) int { return cmp.Compare(f.ix.Events.StartNs[a], f.ix.Events.StartNs[b]) })
	line := rangeTimeline{startNs: moments, rangeOf: make([]EventID, len(moments))}
	var open []EventID
	next := 0
	for i, at := range moments {
		for next < len(ranges) && f.ix.Events.StartNs[ranges[next]] <= at {
			open = append(open, ranges[next])
			next++
		}
		line.rangeOf[i] = NoEvent
		if open = f.ix.dropEnded(open, at); len(open) > 0 {
			line.rangeOf[i] = open[len(open)-1]
		}
	}
	return line
}
