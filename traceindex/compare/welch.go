package compare

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Alpha is the chance of calling noise a difference that the tests accept.
const Alpha = 0.05

// Stat is a quantity over a side's steps, in nanoseconds per step.
type Stat struct {
	N            int
	Mean, StdDev float64 // StdDev is 0 with fewer than two steps
}

func newStat(values []float64) Stat {
	s := Stat{N: len(values)}
	if s.N == 0 {
		return s
	}
	s.Mean = stat.Mean(values, nil)
	if s.N > 1 {
		s.StdDev = stat.StdDev(values, nil)
	}
	return s
}

// Difference is how a quantity changed from base to new.
type Difference struct {
	Base, New Stat
	// DeltaNs is New's mean less Base's.
	DeltaNs float64
	// NoiseNs is the half-width of the 95 % interval around DeltaNs: what the steps' scatter alone can make. It is +Inf where a
	// side has fewer than two steps.
	NoiseNs float64
	// P is the probability of so large a difference from scatter alone (Welch's t-test, two-sided); 1 where it cannot be tested.
	P float64
}

// Significant reports whether the difference is more than noise.
func (d Difference) Significant() bool { return d.P < Alpha }

// Relative is the change over the base, +Inf for something new.
func (d Difference) Relative() float64 {
	if d.Base.Mean == 0 {
		if d.DeltaNs == 0 {
			return 0
		}
		return math.Inf(1)
	}
	return d.DeltaNs / d.Base.Mean
}

// newDifference compares two samples by Welch's t-test (B. L. Welch, Biometrika 34, 1947), which does not take the variances for equal.
func newDifference(base, new []float64) Difference {
	d := Difference{Base: newStat(base), New: newStat(new), P: 1, NoiseNs: math.Inf(1)}
	d.DeltaNs = d.New.Mean - d.Base.Mean
	if d.Base.N < 2 || d.New.N < 2 {
		return d
	}
	vb := d.Base.StdDev * d.Base.StdDev / float64(d.Base.N)
	vn := d.New.StdDev * d.New.StdDev / float64(d.New.N)
	if vb+vn == 0 {
		d.NoiseNs = 0
		if d.DeltaNs != 0 {
			d.P = 0
		}
		return d
	}
	freedom := (vb + vn) * (vb + vn) / (vb*vb/float64(d.Base.N-1) + vn*vn/float64(d.New.N-1))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	se := math.Sqrt(vb + vn)
	d.P = 2 * t.Survival(math.Abs(d.DeltaNs)/se)
	d.NoiseNs = t.Quantile(1-Alpha/2) * se
	return d
}
