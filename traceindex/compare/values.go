package compare

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Values compares two samples of a quantity by the same test as the steps of two traces: Welch's, at [Alpha]. The names of
// the fields speak of nanoseconds; samples in another unit give a Difference in that one.
func Values(base, new []float64) Difference { return newDifference(base, new) }

// Interval is a sample's mean and the half-width of the 95 % interval around it by Student's t; +Inf with fewer than two values.
func Interval(values []float64) (mean, half float64) {
	s := newStat(values)
	switch {
	case s.N < 2:
		return s.Mean, math.Inf(1)
	case s.StdDev == 0:
		return s.Mean, 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(s.N - 1)}
	return s.Mean, t.Quantile(1-Alpha/2) * s.StdDev / math.Sqrt(float64(s.N))
}
