package compare

import (
	"math"
	"testing"
)

// TestInterval holds the interval against R: t.test(c(…))$conf.int.
func TestInterval(t *testing.T) {
	mean, half := Interval([]float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4})
	// 20.82 ± t(0.975, 14) · s/√15, with t = 2.144786687916928 and s = 2.804894.
	if math.Abs(mean-20.82) > 1e-9 || math.Abs(half-1.553298) > 1e-5 {
		t.Errorf("%.9f ± %.9f", mean, half)
	}
	if _, half := Interval([]float64{1}); !math.IsInf(half, 1) {
		t.Errorf("one value has an interval of ± %v", half)
	}
	if mean, half := Interval([]float64{2, 2}); mean != 2 || half != 0 {
		t.Errorf("%v ± %v", mean, half)
	}
}
