package diagnose

import (
	"sort"

	"stepline/traceindex"
)

// idleSums answers how much of an interval was idle, in logarithmic time.
type idleSums struct {
	idle []traceindex.Interval
	// before is the idle time before each interval.
	before []int64
}

func newIdleSums(idle []traceindex.Interval) idleSums {
	s := idleSums{idle: idle, before: make([]int64, len(idle)+1)}
	for i, v := range idle {
		s.before[i+1] = s.before[i] + v.DurNs()
	}
	return s
}

// until is the idle time before ns.
func (s idleSums) until(ns int64) int64 {
	i := sort.Search(len(s.idle), func(i int) bool { return s.idle[i].EndNs > ns })
	sum := s.before[i]
	if i < len(s.idle) && s.idle[i].StartNs < ns {
		sum += ns - s.idle[i].StartNs
	}
	return sum
}

func (s idleSums) within(startNs, endNs int64) int64 { return max(0, s.until(endNs)-s.until(startNs)) }
