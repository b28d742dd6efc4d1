package ncu

import (
	"math"
	"strconv"
	"strings"
)

// decimals collects evidence, over all numbers of a file, for what its locale uses as the decimal separator: "2,048" alone
// does not tell.
type decimals struct {
	comma, dot int
}

// note looks at one cell.
func (d *decimals) note(text string) {
	commas, dots := strings.Count(text, ","), strings.Count(text, ".")
	if commas+dots == 0 || !isNumber(text) {
		return
	}
	switch {
	case commas > 0 && dots > 0:
		if strings.LastIndexByte(text, ',') > strings.LastIndexByte(text, '.') {
			d.comma++
		} else {
			d.dot++
		}
	case commas > 1:
		d.dot++
	case dots > 1:
		d.comma++
	default:
		at := strings.IndexAny(text, ",.")
		whole := strings.TrimLeft(text[:at], "+-")
		if len(text)-at-1 == 3 && whole != "0" && whole != "" && len(whole) <= 3 {
			return // thousands or three decimals
		}
		if commas == 1 {
			d.comma++
		} else {
			d.dot++
		}
	}
}

// decimal is the decimal separator. A file that gives no evidence uses a comma where fields are separated by semicolons, as
// programs do in the locales that write decimals with a comma.
func (d *decimals) decimal(fieldComma byte) byte {
	if d.comma > d.dot || d.comma == d.dot && fieldComma == ';' {
		return ','
	}
	return '.'
}

func isNumber(text string) bool {
	digits := false
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits = true
		case strings.ContainsRune(",.'+- \u00a0\u202f\u2019", r):
		default:
			return false
		}
	}
	return digits
}

// parseNumber reads a cell, NaN if it holds no finite number ("n/a", "", "(!) n/a", "inf"). Of a metric with instances,
// "16 (4; 12)", it takes the value before them.
func parseNumber(text string, decimal byte) float64 {
	text = strings.TrimSpace(text)
	if at := strings.Index(text, " ("); at > 0 {
		text = text[:at]
	}
	text = strings.TrimSuffix(text, "%")
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '-' && text[0] != '+' && text[0] != '.' && (text[0] < '0' || text[0] > '9') {
		return math.NaN()
	}
	var plain strings.Builder
	for _, r := range text {
		switch {
		case r == rune(decimal):
			plain.WriteByte('.')
		case strings.ContainsRune(",.' \u00a0\u202f\u2019", r):
		default:
			plain.WriteRune(r)
		}
	}
	value, err := strconv.ParseFloat(plain.String(), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return math.NaN()
	}
	return value
}

// nanosecondsPer maps ncu's time units, of all versions seen, to nanoseconds.
var nanosecondsPer = map[string]float64{
	"ns": 1, "nsecond": 1, "nanosecond": 1, "": 1,
	"us": 1e3, "usecond": 1e3, "microsecond": 1e3, "µs": 1e3, "μs": 1e3,
	"ms": 1e6, "msecond": 1e6, "millisecond": 1e6,
	"s": 1e9, "second": 1e9,
}

// bytesPer is the number of bytes in a byte unit ("Gbyte/s", "Kbyte", "GB/s"), 0 if it is none. ncu's prefixes are decimal.
func bytesPer(unit string) float64 {
	unit, _, _ = strings.Cut(unit, "/")
	factor := 1.0
	if unit != "" {
		if power := strings.IndexByte("KMGTP", unit[0]&^0x20); power >= 0 && unit[0] != 'b' {
			base := 1000.0
			unit = unit[1:]
			if strings.HasPrefix(unit, "i") {
				base, unit = 1024, unit[1:]
			}
			factor = math.Pow(base, float64(power+1))
		}
	}
	switch unit {
	case "byte", "bytes", "B":
		return factor
	}
	return 0
}

// parseDims reads "(128, 1, 1)", "128x1x1" or "128"; missing dimensions are 1, and a cell without numbers gives zeros.
func parseDims(text string) (dims [3]int32) {
	n := 0
	for i := 0; i < len(text) && n < 3; {
		if text[i] < '0' || text[i] > '9' {
			i++
			continue
		}
		j := i
		for j < len(text) && text[j] >= '0' && text[j] <= '9' {
			j++
		}
		value, err := strconv.ParseInt(text[i:j], 10, 32)
		if err != nil {
			return [3]int32{}
		}
		dims[n] = int32(value)
		n++
		i = j
	}
	for ; n > 0 && n < 3; n++ {
		dims[n] = 1
	}
	return dims
}
