package pyscan

import (
	"sort"
	"strings"
)

// NewLineTable indexes the lines of text. A line ends with \n, \r\n or a lone \r, as in CPython's tokenizer.
func NewLineTable(text string) LineTable {
	starts := make([]int, 1, strings.Count(text, "\n")+2)
	if strings.IndexByte(text, '\r') < 0 {
		for at := 0; ; {
			next := strings.IndexByte(text[at:], '\n')
			if next < 0 {
				return LineTable{starts: starts, size: len(text)}
			}
			at += next + 1
			starts = append(starts, at)
		}
	}
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '\r':
			if at+1 < len(text) && text[at+1] == '\n' {
				at++
			}
			starts = append(starts, at+1)
		case '\n':
			starts = append(starts, at+1)
		}
	}
	return LineTable{starts: starts, size: len(text)}
}

// with is the table of a text that differs from the table's own in parts, which begin and end with lines.
func (t LineTable) with(text string, parts []Part) LineTable {
	starts := make([]int, 0, len(t.starts)+16)
	next, moved := 0, 0 // the first of the table's lines that is not in yet, and how far what follows has moved
	upTo := func(end int) {
		for ; next < len(t.starts) && t.starts[next] < end; next++ {
			starts = append(starts, t.starts[next]+moved)
		}
	}
	for _, part := range parts {
		upTo(part.Old.Start)
		for _, at := range NewLineTable(text[part.New.Start:part.New.End]).starts {
			starts = append(starts, part.New.Start+at)
		}
		next = sort.SearchInts(t.starts, part.Old.End)
		if part.Old.End == t.size { // no line begins behind
			next = len(t.starts)
		}
		moved += part.New.Len() - part.Old.Len()
		if last := starts[len(starts)-1]; next < len(t.starts) && last == t.starts[next]+moved {
			starts = starts[:len(starts)-1] // the line that begins behind
		}
	}
	upTo(t.size + 1)
	return LineTable{starts: starts, size: len(text)}
}

// Count is the number of lines. Text that ends with a line break has an empty last line, as in an editor;
// the empty text has one line.
func (t LineTable) Count() int { return len(t.starts) }

// Line is the 1-based line that holds the byte offset. Offsets outside the text are clamped.
func (t LineTable) Line(offset int) int {
	return max(1, sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > offset }))
}

// Start is the byte offset of the 1-based line's first byte; lines outside the text are clamped to its ends.
func (t LineTable) Start(line int) int {
	switch {
	case line < 1 || len(t.starts) == 0:
		return 0
	case line > len(t.starts):
		return t.size
	}
	return t.starts[line-1]
}

// Span is the 1-based line with its line break.
func (t LineTable) Span(line int) Span { return Span{t.Start(line), t.Start(line + 1)} }

// Lines is the file's line table.
func (f *File) Lines() LineTable { return f.lines }

// Line is the 1-based line that holds the byte offset.
func (f *File) Line(offset int) int { return f.lines.Line(offset) }

// LineCount is the number of lines; see LineTable.Count.
func (f *File) LineCount() int { return f.lines.Count() }

// LineSpan is the 1-based line without its line break.
func (f *File) LineSpan(line int) Span {
	span := f.lines.Span(line)
	for span.End > span.Start && (f.Text[span.End-1] == '\n' || f.Text[span.End-1] == '\r') {
		span.End--
	}
	return span
}

// LineText is the text of the 1-based line without its line break.
func (f *File) LineText(line int) string {
	span := f.LineSpan(line)
	return f.Text[span.Start:span.End]
}

// Column is the number of bytes between the start of the offset's line and the offset.
func (f *File) Column(offset int) int { return offset - f.lines.Start(f.lines.Line(offset)) }

// Source is the text of a node as written.
func (f *File) Source(node Node) string {
	span := node.Range()
	return f.Text[span.Start:span.End]
}
