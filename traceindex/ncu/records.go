package ncu

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// maxRecordBytes bounds one CSV record: raw pages have about 1500 columns, rule texts a few kilobytes.
const maxRecordBytes = 8 << 20

// records splits ncu's output into CSV records, passing over the lines that are none (==PROF== lines, what the profiled
// program printed). It streams: one record is held at a time.
type records struct {
	in      *bufio.Reader
	comma   byte // 0 until a header was seen
	offset  int64
	foreign int64 // lines that are no record
	broken  []int64
	pending string // a line read ahead
	hasLine bool
	eof     bool
}

func newRecords(r io.Reader) *records {
	return &records{in: bufio.NewReaderSize(r, 1<<16)}
}

// line returns the next line without its end, and the offset it starts at. io.EOF after the last.
func (r *records) line() (string, int64, error) {
	at := r.offset
	if r.hasLine {
		r.hasLine = false
		r.offset += int64(len(r.pending)) + 1
		return r.pending, at, nil
	}
	if r.eof {
		return "", at, io.EOF
	}
	var text []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(text) < maxRecordBytes {
			text = append(text, part...)
		}
		r.offset += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", at, err
		}
		if errors.Is(err, io.EOF) {
			r.eof = true
			if len(text) == 0 {
				return "", at, io.EOF
			}
		}
		return string(bytes.TrimRight(text, "\r\n")), at, nil
	}
}

// unread gives a line back, so that the next call of line returns it.
func (r *records) unread(text string) {
	r.pending, r.hasLine = text, true
	r.offset -= int64(len(text)) + 1
}

// next returns the fields of the next record, whether it is a header, and where it starts.
func (r *records) next() (fields []string, header bool, at int64, err error) {
	for {
		text, at, err := r.line()
		if err != nil {
			return nil, false, at, err
		}
		if comma, ok := headerComma(text); ok {
			r.comma = comma
			fields, _ := splitRecord(text, comma)
			return fields, true, at, nil
		}
		if r.comma == 0 || strings.HasPrefix(text, "==") {
			r.foreign++
			continue
		}
		text = text[recordStart(text, r.comma):]
		if text == "" || !(text[0] == '"' || text[0] >= '0' && text[0] <= '9') {
			r.foreign++
			continue
		}
		fields, whole := splitRecord(text, r.comma)
		for !whole && len(text) < maxRecordBytes {
			more, _, err := r.line()
			if err != nil {
				break
			}
			if recordStart(more, r.comma) == 0 && startsRecord(more, r.comma) {
				r.unread(more) // the quote was never closed; do not swallow the next record
				break
			}
			text += "\n" + more
			fields, whole = splitRecord(text, r.comma)
		}
		if !whole {
			r.broken = append(r.broken, at)
			continue
		}
		return fields, false, at, nil
	}
}

// headerComma reports whether a line is ncu's header and which separator it uses.
func headerComma(line string) (byte, bool) {
	if !strings.Contains(line, "Kernel Name") || strings.HasPrefix(line, "==") {
		return 0, false
	}
	for _, comma := range []byte{',', ';', '\t'} {
		fields, whole := splitRecord(line, comma)
		if !whole || len(fields) < 3 {
			continue
		}
		seen := map[string]bool{}
		for _, field := range fields {
			seen[strings.TrimSpace(field)] = true
		}
		if seen["ID"] && seen["Kernel Name"] || seen["Kernel Name"] && seen["Metric Name"] {
			return comma, true
		}
	}
	return 0, false
}

// recordStart is where in a line the record begins: the profiled program may have printed text without a newline before it.
func recordStart(line string, comma byte) int {
	if line == "" || line[0] == '"' || line[0] >= '0' && line[0] <= '9' {
		return 0
	}
	for i := 1; i < len(line); i++ {
		if line[i] == '"' && startsRecord(line[i:], comma) {
			return i
		}
	}
	return len(line)
}

// startsRecord reports whether text begins like a row: a quoted whole number and the separator, or the units row's empty cell.
func startsRecord(text string, comma byte) bool {
	if len(text) < 3 || text[0] != '"' {
		return false
	}
	i := 1
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i+2 < len(text) && text[i] == '"' && text[i+1] == comma && text[i+2] == '"'
}

// splitRecord splits one CSV record (RFC 4180 quoting). whole is false when a quote is not closed. Quotes inside an unquoted
// field and text after a closing quote are kept as they are: ncu writes neither, but the record is still worth reading.
func splitRecord(text string, comma byte) (fields []string, whole bool) {
	for i := 0; ; {
		if i < len(text) && text[i] == '"' {
			field, next, closed := quotedField(text, i, comma)
			if !closed {
				return nil, false
			}
			fields = append(fields, field)
			i = next
		} else {
			end := strings.IndexByte(text[i:], comma)
			if end < 0 {
				return append(fields, text[i:]), true
			}
			fields = append(fields, text[i:i+end])
			i += end
		}
		if i >= len(text) {
			return fields, true
		}
		i++ // the separator
	}
}

// quotedField reads the quoted field that starts at text[i]; next is the separator's or the end's index.
func quotedField(text string, i int, comma byte) (field string, next int, closed bool) {
	start := i + 1
	doubled := false
	for j := start; j < len(text); j++ {
		if text[j] != '"' {
			continue
		}
		if j+1 < len(text) && text[j+1] == '"' {
			doubled = true
			j++
			continue
		}
		if j+1 < len(text) && text[j+1] != comma {
			continue // a stray quote inside the field
		}
		field = text[start:j]
		if doubled {
			field = strings.ReplaceAll(field, `""`, `"`)
		}
		return field, j + 1, true
	}
	return "", len(text), false
}
