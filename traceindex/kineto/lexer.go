package kineto

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The functions here work on a slice whose last padBytes bytes are zero. They return −1 when they run into the end of the
// data: the caller brings in more and starts again.

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// stringEnd is the place of the quote that ends the string whose first byte is b[i].
func stringEnd(b []byte, i int) int {
	from := i
	// Most strings are short: eight bytes at a time by hand cost less than a call. The lowest bit set marks a quote for sure.
	for range 3 {
		if from+8 > len(b) {
			break
		}
		x := binary.LittleEndian.Uint64(b[from:]) ^ 0x2222222222222222
		if m := (x - 0x0101010101010101) &^ x & 0x8080808080808080; m != 0 {
			from += bits.TrailingZeros64(m) >> 3
			if from == i || b[from-1] != '\\' {
				return from
			}
			break
		}
		from += 8
	}
	for {
		q := bytes.IndexByte(b[from:], '"')
		if q < 0 {
			return -1
		}
		q += from
		if q == i || b[q-1] != '\\' {
			return q
		}
		slashes := 1
		for k := q - 2; k >= i && b[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return q
		}
		from = q + 1
	}
}

// scalarEnd is the place after a bare value (number, word) that starts at b[i].
func scalarEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t', ':', '"', '{', '[':
			return i
		case 0:
			if i >= len(b)-padBytes {
				return -1
			}
		}
		i++
	}
	return -1
}

// valueEnd is the place after the value that starts at b[i]: −1 at the end of the data, −2 if it cannot be a value. Brackets are
// counted, not matched.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		q := stringEnd(b, i+1)
		if q < 0 {
			return -1
		}
		return q + 1
	case '{', '[':
		return nestedEnd(b, i)
	case ',', '}', ']', ':':
		return -2
	}
	e := scalarEnd(b, i)
	if e == i {
		return -2
	}
	return e
}

// structural marks the bytes nestedEnd has to look at.
var structural = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true, 0: true}

func nestedEnd(b []byte, i int) int {
	depth := 0
	for {
		for !structural[b[i]] {
			i++
		}
		switch b[i] {
		case '"':
			q := stringEnd(b, i+1)
			if q < 0 {
				return -1
			}
			i = q
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		case 0:
			if i >= len(b)-padBytes {
				return -1
			}
		}
		i++
	}
}
