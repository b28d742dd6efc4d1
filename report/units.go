package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"stepline/traceindex"
)

// StepCount is the number by which a sum over the whole trace is divided to give a mean per step: steps times ranks.
// It is 1 where the trace has no steps, and hasSteps is false then: the numbers are those of the whole trace.
func StepCount(summary traceindex.Summary) (count int, hasSteps bool) {
	if summary.Steps <= 0 {
		return 1, false
	}
	return summary.Steps * max(summary.Ranks, 1), true
}

// Duration writes nanoseconds for people, with three digits and a unit: "3.58 ms", "412 µs", "1.20 s", "0".
func Duration(ns float64) string {
	abs := ns
	if abs < 0 {
		abs = -abs
	}
	switch {
	case abs == 0:
		return "0"
	case abs < 999.5:
		return threeDigits(ns) + " ns"
	case abs < 999.5e3:
		return threeDigits(ns/1e3) + " µs"
	case abs < 999.5e6:
		return threeDigits(ns/1e6) + " ms"
	default:
		return threeDigits(ns/1e9) + " s"
	}
}

// Bytes writes a size for people, in powers of 1024: "4.00 KiB", "1.50 MiB".
func Bytes(n int64) string {
	const step = 1024
	value, unit := float64(n), 0
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for value >= step && unit < len(units)-1 {
		value /= step
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return threeDigits(value) + " " + units[unit]
}

// Percent writes a share (0–1) for people: "21.5 %", "<0.1 %", "0 %".
func Percent(share float64) string {
	switch {
	case share == 0:
		return "0 %"
	case share < 0.0005:
		return "<0.1 %"
	default:
		return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
	}
}

// Count writes a number with thin groups of three: "12 345". Up to four digits stay together.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	if len(digits) <= 4 {
		return digits
	}
	var grouped strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			grouped.WriteByte(' ')
		}
		grouped.WriteRune(digit)
	}
	return grouped.String()
}

// Printable makes text from a file fit for a terminal: tabs become four blanks, control characters, escape sequences and
// invalid UTF-8 become visible escapes (\x1b, \u202e), everything else stays.
func Printable(text string) string {
	clean := true
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == '\t':
			out.WriteString("    ")
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				fmt.Fprintf(&out, `\x%02x`, text[i])
			} else {
				out.WriteRune(r)
			}
		case unicode.IsPrint(r) || unicode.Is(unicode.Zs, r):
			out.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// threeDigits writes 0 < |v| < 1000 with three significant digits, in plain decimal notation.
func threeDigits(v float64) string {
	abs := v
	if abs < 0 {
		abs = -abs
	}
	decimals := 2
	switch {
	case abs >= 99.95:
		decimals = 0
	case abs >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// writeWrapped prints text at most width columns wide (20 at least) after a lead such as a bullet; further lines stand under
// its first word.
func writeWrapped(out *strings.Builder, width int, lead, text string) {
	indent := ansi.StringWidth(lead)
	for i, line := range strings.Split(ansi.Wordwrap(Printable(text), max(width-indent, 20), ""), "\n") {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		out.WriteString(strings.TrimRight(lead+line, " ") + "\n")
	}
}
