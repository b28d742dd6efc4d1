package kineto

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// timeNs reads a time or duration in microseconds as nanoseconds, from its decimal digits: a float64 has steps of 256 ns at
// today's unix time. Digits below a nanosecond are rounded. It returns the place after it: −1 at the end of the data, −2 if it
// is no number of 64 bits.
func timeNs(b []byte, i int) (ns int64, end int) {
	if b[i] == '"' { // some writers quote their numbers
		if i = skipSpace(b, i+1); b[i] == '"' {
			return 0, -2
		}
		ns, end = timeNs(b, i)
		if end < 0 {
			return 0, end
		}
		if b[end] != '"' {
			return 0, outOfData(b, end)
		}
		return ns, end + 1
	}
	from := i
	negative := b[i] == '-'
	if negative {
		i++
	}
	first := i
	var us uint64
	for b[i]-'0' <= 9 {
		us = us*10 + uint64(b[i]-'0')
		i++
	}
	if i-first == 0 || i-first > 15 {
		if i-first <= 16 && i-first > 0 && us < math.MaxInt64/1000 {
			// 16 digits: unix time in microseconds
		} else if i-first == 0 || b[i] == 0 {
			return 0, outOfData(b, i)
		} else {
			return slowTimeNs(b, from)
		}
	}
	ns = int64(us) * 1000
	if b[i] == '.' {
		i++
		scale := int64(100)
		for b[i]-'0' <= 9 {
			if scale > 0 {
				ns += int64(b[i]-'0') * scale
				scale /= 10
			} else if scale == 0 {
				if b[i] >= '5' {
					ns++
				}
				scale = -1
			}
			i++
		}
	}
	switch b[i] {
	case ',', '}', ']', ' ', '\n', '\r', '\t', '"':
	case 'e', 'E':
		return slowTimeNs(b, from)
	default:
		return 0, outOfData(b, i)
	}
	if negative {
		ns = -ns
	}
	return ns, i
}

// slowTimeNs reads the rare forms: exponents, leading zeros, more digits than a time has.
func slowTimeNs(b []byte, i int) (int64, int) {
	e := scalarEnd(b, i)
	if e < 0 {
		return 0, -1
	}
	text := string(b[i:e])
	if len(text) > 64 {
		return 0, -2
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		// big.Rat would write out any power of ten.
		if exp, err := strconv.Atoi(text[at+1:]); err != nil || exp > 30 || exp < -60 {
			return 0, -2
		}
	}
	if strings.ContainsAny(text, "/_xXpP") {
		return 0, -2
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, -2
	}
	r.Mul(r, big.NewRat(1000, 1))
	r.Add(r, big.NewRat(int64(r.Sign()), 2))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return 0, -2
	}
	return n.Int64(), e
}

// outOfData is −1 if b[i] is the padding, else −2.
func outOfData(b []byte, i int) int {
	if i >= len(b)-padBytes {
		return -1
	}
	return -2
}

// integer reads a whole number, or the whole part of one with a fraction, quoted or not; beyond 64 bits it keeps the low ones,
// so that different ids stay different. Anything else (null, a word, an array) counts as absent.
func integer(b []byte, i int) (v int64, ok bool, end int) {
	if b[i] == '"' {
		q := stringEnd(b, i+1)
		if q < 0 {
			return 0, false, -1
		}
		v, err := strconv.ParseInt(string(b[i+1:min(q, i+32)]), 10, 64)
		return v, err == nil, q + 1
	}
	from := i
	negative := b[i] == '-'
	if negative {
		i++
	}
	first := i
	var u uint64
	for b[i]-'0' <= 9 {
		u = u*10 + uint64(b[i]-'0')
		i++
	}
	switch b[i] {
	case ',', '}', ']', ' ', '\n', '\r', '\t', '"':
		if i > first {
			if negative {
				u = -u
			}
			return int64(u), true, i
		}
	case 0:
		if i >= len(b)-padBytes {
			return 0, false, -1
		}
	case '.', 'e', 'E':
		end = scalarEnd(b, from)
		if end < 0 {
			return 0, false, -1
		}
		f, err := strconv.ParseFloat(string(b[from:end]), 64)
		if err != nil || math.IsNaN(f) || math.Abs(f) >= 1<<63 {
			return 0, false, end
		}
		return int64(f), true, end
	}
	end = valueEnd(b, from)
	return 0, false, end
}

// decimal reads a number as float32, NaN if it is none.
func decimal(b []byte, i int) (v float32, end int) {
	end = valueEnd(b, i)
	if end < 0 {
		return 0, end
	}
	f, err := strconv.ParseFloat(string(b[i:end]), 32)
	if err != nil || math.IsInf(f, 0) {
		return float32(math.NaN()), end
	}
	return float32(f), end
}
