package traceindex

import (
	"cmp"
	"slices"
	"strings"
)

// RangeTime is the GPU time launched within one user range.
type RangeTime struct {
	// Range is the range's name, "" for work launched within none.
	Range string
	// Ns is the plain sum of GPU event durations, Kernels how many events there are.
	Ns, Kernels int64
}

// RangeTimes sums GPU time up by the innermost user range (record_function, NVTX) in which it was launched: what is known of a
// trace without Python frames, as Nsight Systems records it by default. Work launched on a thread without ranges (autograd's)
// counts to the range the training thread is in at that moment. Step markers are no ranges. Most time first; every GPU event
// is in exactly one row.
func (ix *Index) RangeTimes() []RangeTime {
	of := ix.rangeOfCalls()
	sums := map[string]*RangeTime{}
	for _, g := range ix.GPUEvents {
		name := ""
		if launch := ix.Launch[g]; launch != NoEvent {
			if r, ok := of[launch]; ok {
				name = ix.Name(r)
			}
		}
		sum := sums[name]
		if sum == nil {
			sum = &RangeTime{Range: name}
			sums[name] = sum
		}
		sum.Ns += ix.GPUDurNs(g)
		sum.Kernels++
	}
	times := make([]RangeTime, 0, len(sums))
	for _, sum := range sums {
		times = append(times, *sum)
	}
	slices.SortFunc(times, func(a, b RangeTime) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Range, b.Range)) })
	return times
}

// rangeOfCalls is, per launching call, the innermost range around it.
func (ix *Index) rangeOfCalls() map[EventID]EventID {
	of := map[EventID]EventID{}
	var left []EventID // calls on threads without a range around them
	for _, thread := range ix.HostThreads {
		first, end := ix.RowsOf(thread)
		ix.walkRanges(first, end, func(row, innermost EventID) {
			if ix.Events.Category[row] != CategoryRuntime || ix.Launch[row] == NoEvent {
				return
			}
			if innermost != NoEvent {
				of[row] = innermost
			} else if thread != ix.TrainingThread {
				left = append(left, row)
			}
		})
	}
	if len(left) == 0 || ix.TrainingThread < 0 {
		return of
	}
	slices.SortFunc(left, func(a, b EventID) int { return cmp.Compare(ix.Events.StartNs[a], ix.Events.StartNs[b]) })
	// One sweep over the training thread's ranges: what is open when each call starts.
	first, end := ix.RowsOf(ix.TrainingThread)
	var ranges []EventID
	for row := first; row < end; row++ {
		if ix.isRange(row) {
			ranges = append(ranges, row)
		}
	}
	var open []EventID
	next := 0
	for _, call := range left {
		at := ix.Events.StartNs[call]
		for next < len(ranges) && ix.Events.StartNs[ranges[next]] <= at {
			open = append(open, ranges[next])
			next++
		}
		if open = ix.dropEnded(open, at); len(open) > 0 {
			of[call] = open[len(open)-1]
		}
	}
	return of
}

// walkRanges visits the rows of a host thread with the innermost range open at their start.
func (ix *Index) walkRanges(first, end EventID, visit func(row, innermost EventID)) {
	var open []EventID
	for row := first; row < end; row++ {
		open = ix.dropEnded(open, ix.Events.StartNs[row])
		innermost := NoEvent
		if len(open) > 0 {
			innermost = open[len(open)-1]
		}
		visit(row, innermost)
		if ix.isRange(row) {
			open = append(open, row)
		}
	}
}

// dropEnded drops the ranges that ended by a moment; ranges may overlap, so all are looked at.
func (ix *Index) dropEnded(open []EventID, ns int64) []EventID {
	return slices.DeleteFunc(open, func(r EventID) bool { return ix.Events.EndNs(r) <= ns })
}

func (ix *Index) isRange(row EventID) bool {
	return ix.Events.Category[row] == CategoryAnnotation && !strings.HasPrefix(ix.Name(row), profilerStepPrefix)
}
