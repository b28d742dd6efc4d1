package verify

import "math"

// LossResult is how two sides' losses compare, one by one in the order they were made.
type LossResult struct {
	// Compared is how many losses of a run were held against each other; 0 where none were seen.
	Compared int
	// BaseCount and NewCount are the losses of a run; runs of other lengths differ.
	BaseCount, NewCount int
	// Largest is the largest relative difference between the sides in runs of the same number, at loss At (from 0) of values
	// BaseLoss and NewLoss. +Inf where only one of them is finite.
	Largest           float64
	At                int
	BaseLoss, NewLoss float64
	// Own is the largest relative difference among the runs of one side: what the sides' difference cannot be told below.
	Own float64
	// Tolerance is the one asked for.
	Tolerance float64
	Differ    bool
}

// ownTimes is how far beyond a side's own scatter a difference must lie to be one.
const ownTimes = 2

func compareLosses(base, new []*run, tolerance float64) *LossResult {
	l := &LossResult{Tolerance: tolerance, BaseCount: len(base[0].losses), NewCount: len(new[0].losses)}
	l.Compared = min(l.BaseCount, l.NewCount)
	for _, side := range [][]*run{base, new} {
		for _, other := range side[1:] {
			largest, _ := largestDifference(side[0].losses, other.losses)
			l.Own = math.Max(l.Own, largest)
		}
	}
	for i := range base {
		largest, at := largestDifference(base[i].losses, new[i].losses)
		if largest > l.Largest {
			l.Largest, l.At, l.BaseLoss, l.NewLoss = largest, at, base[i].losses[at], new[i].losses[at]
		}
	}
	l.Differ = l.BaseCount != l.NewCount || l.Largest > math.Max(tolerance, ownTimes*l.Own)
	return l
}

// smallLoss is the share of the mean loss below which a loss counts as this large: relative differences of losses next to zero
// say nothing.
const smallLoss = 1e-3

// largestDifference is the largest relative difference of two sequences as far as both go, and where it is.
func largestDifference(a, b []float64) (largest float64, at int) {
	n := min(len(a), len(b))
	floor, finite := 0.0, 0
	for _, v := range a[:n] {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			floor += math.Abs(v)
			finite++
		}
	}
	if finite > 0 {
		floor *= smallLoss / float64(finite)
	}
	for i := range n {
		if d := relativeDifference(a[i], b[i], floor); d > largest {
			largest, at = d, i
		}
	}
	return largest, at
}

func relativeDifference(a, b, floor float64) float64 {
	switch {
	case a == b || math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0):
		return math.Inf(1)
	}
	return math.Abs(a-b) / math.Max(floor, math.Max(math.Abs(a), math.Abs(b)))
}
