package diagnose

import (
	"fmt"

	"stepline/traceindex/attribute"
)

// Duration writes nanoseconds for people, with three digits: "231 ms", "4.51 ms", "66.5 µs".
func Duration(ns int64) string {
	v, unit := float64(ns)/1e3, "µs"
	switch {
	case ns >= 1e9:
		v, unit = float64(ns)/1e9, "s"
	case ns >= 1e6:
		v, unit = float64(ns)/1e6, "ms"
	}
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f %s", v, unit)
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

// at writes a place as "data.py:41".
func at(p attribute.Place) string {
	if p.Line <= 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// percent writes a share: "3.1 %".
func percent(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.0f %%", share*100)
	}
	return fmt.Sprintf("%.1f %%", share*100)
}
