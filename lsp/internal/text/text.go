package text

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Encoding is what a position's character counts.
type Encoding uint8

const (
	// UTF16 counts UTF-16 code units: the protocol's default.
	UTF16 Encoding = iota
	// UTF8 counts bytes.
	UTF8
	// UTF32 counts code points.
	UTF32
)

// Position is a place as LSP says it: both from 0, Character in units of an Encoding.
type Position struct{ Line, Character uint32 }

// Range is a half-open range of positions.
type Range struct{ Start, End Position }

// Edit replaces the text between two byte offsets.
type Edit struct {
	Start, End int
	New        string
}

// Text is an immutable text with its line starts. A line ends with \n, \r\n or a lone \r.
type Text struct {
	s      string
	starts []int // offset of each line's first byte; starts[0] is 0
}

// New indexes a text.
func New(s string) *Text {
	return &Text{s: s, starts: appendStarts(make([]int, 1, 2+strings.Count(s, "\n")), s, 0, len(s))}
}

// appendStarts appends the starts of the lines that begin after a line break whose last byte lies in s[from:to].
func appendStarts(starts []int, s string, from, to int) []int {
	for i := from; i < to; {
		j := strings.IndexAny(s[i:to], "\n\r")
		if j < 0 {
			break
		}
		i += j + 1
		if s[i-1] == '\r' && i < len(s) && s[i] == '\n' {
			continue // the \n that follows ends the line
		}
		starts = append(starts, i)
	}
	return starts
}

// String is the whole text.
func (t *Text) String() string { return t.s }

// Len is the length in bytes.
func (t *Text) Len() int { return len(t.s) }

// LineCount is the number of lines; a text that ends in a line break has an empty last line.
func (t *Text) LineCount() int { return len(t.starts) }

// LineOf is the line of a byte offset, from 0; offsets outside the text are clamped.
func (t *Text) LineOf(offset int) int {
	return max(0, sort.SearchInts(t.starts, offset+1)-1)
}

// LineStart is the offset of a line's first byte; lines outside the text are clamped to its ends.
func (t *Text) LineStart(line int) int {
	switch {
	case line < 0:
		return 0
	case line >= len(t.starts):
		return len(t.s)
	}
	return t.starts[line]
}

// LineEnd is the offset of the end of a line, before its line break.
func (t *Text) LineEnd(line int) int {
	start, end := t.LineStart(line), t.LineStart(line+1)
	if line+1 >= len(t.starts) {
		return end
	}
	if end > start && t.s[end-1] == '\n' {
		end--
	}
	if end > start && t.s[end-1] == '\r' {
		end--
	}
	return end
}

// Line is a line's text without its line break.
func (t *Text) Line(line int) string { return t.s[t.LineStart(line):t.LineEnd(line)] }

// Offset maps a position to a byte offset. As the protocol says, a character past the line's end is the end of the line
// (before its line break); a line past the text is its end. A position inside a character is that character's start.
func (t *Text) Offset(p Position, enc Encoding) int {
	if int64(p.Line) >= int64(len(t.starts)) {
		return len(t.s)
	}
	start, end := t.LineStart(int(p.Line)), t.LineEnd(int(p.Line))
	line := t.s[start:end]
	if enc == UTF8 {
		at := min(int64(p.Character), int64(len(line)))
		for at > 0 && at < int64(len(line)) && !utf8.RuneStart(line[at]) {
			at--
		}
		return start + int(at)
	}
	left := int64(p.Character)
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		units := unitsOf(r, enc)
		if left < units {
			return start + i
		}
		left -= units
		i += size
	}
	return end
}

// EditOf is the edit that replaces a range. A client that counts in UTF-16 can cut a surrogate pair in two; what is left of the
// character becomes U+FFFD, which counts one unit there too, so that later positions mean the same on both sides.
func (t *Text) EditOf(r Range, new string, enc Encoding) Edit {
	e := Edit{Start: t.Offset(r.Start, enc), End: t.Offset(r.End, enc), New: new}
	if enc != UTF16 {
		return e
	}
	if t.splits(r.Start, e.Start) {
		e.New = "\ufffd" + e.New
	}
	if t.splits(r.End, e.End) {
		e.New += "\ufffd"
		_, size := utf8.DecodeRuneInString(t.s[e.End:])
		e.End += size
	}
	return e
}

// splits tells whether a UTF-16 position lies inside the character at its offset.
func (t *Text) splits(p Position, offset int) bool {
	if int64(p.Line) >= int64(len(t.starts)) || offset >= t.LineEnd(int(p.Line)) {
		return false
	}
	return t.Position(offset, UTF16).Character < p.Character
}

func unitsOf(r rune, enc Encoding) int64 {
	if enc == UTF16 && r > 0xFFFF {
		return 2
	}
	return 1
}

// Position maps a byte offset to a position; offsets outside the text are clamped, one inside a line break is the line's end.
func (t *Text) Position(offset int, enc Encoding) Position {
	offset = min(max(offset, 0), len(t.s))
	line := t.LineOf(offset)
	start := t.starts[line]
	return Position{uint32(line), units(t.s[start:min(offset, t.LineEnd(line))], enc)}
}

// PositionNear is Position that looks at a line first: most of what is looked for stands in the line of what was looked for before.
// It gives the line the position is in.
func (t *Text) PositionNear(near, offset int, enc Encoding) (p Position, line int) {
	if near < 0 || near >= len(t.starts) || offset < t.starts[near] || near+1 < len(t.starts) && offset >= t.starts[near+1] || offset > len(t.s) {
		p = t.Position(offset, enc)
		return p, int(p.Line)
	}
	start := t.starts[near]
	return Position{uint32(near), units(t.s[start:min(offset, t.LineEnd(near))], enc)}, near
}

func units(s string, enc Encoding) uint32 {
	if enc == UTF8 {
		return uint32(len(s))
	}
	n := int64(0)
	for _, r := range s {
		n += unitsOf(r, enc)
	}
	return uint32(n)
}

// Range maps a span of bytes to positions.
func (t *Text) Range(start, end int, enc Encoding) Range {
	return Range{t.Position(start, enc), t.Position(end, enc)}
}

// Replace applies one edit; offsets are clamped and swapped if need be.
func (t *Text) Replace(e Edit) *Text {
	e.Start, e.End = min(max(e.Start, 0), len(t.s)), min(max(e.End, 0), len(t.s))
	if e.Start > e.End {
		e.Start, e.End = e.End, e.Start
	}
	s := t.s[:e.Start] + e.New + t.s[e.End:]
	// Lines are scanned again from the start of the line before the edit (an edit can join \r and \n) to the first line
	// start well after it; those behind it only move.
	first := max(0, t.LineOf(e.Start)-1)
	after := sort.SearchInts(t.starts, e.End+2)
	shift := len(s) - len(t.s)
	scanTo := len(s)
	if after < len(t.starts) {
		scanTo = t.starts[after] + shift
	}
	starts := make([]int, first+1, len(t.starts)+strings.Count(e.New, "\n")+1)
	copy(starts, t.starts[:first+1])
	starts = appendStarts(starts, s, t.starts[first], scanTo)
	for i := after + 1; i < len(t.starts); i++ {
		starts = append(starts, t.starts[i]+shift)
	}
	return &Text{s: s, starts: starts}
}
