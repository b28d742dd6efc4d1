package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is the largest message body accepted, in bytes. Nothing is allocated by the number in a header: a body grows as
// its bytes arrive.
const MaxBody = 256 << 20

// maxHeader bounds the bytes looked at between a header's start and its end.
const maxHeader = 16 << 10

// FrameError is a frame that cannot be used; the reader has already passed it and the next Read goes on.
type FrameError struct{ Reason string }

func (e *FrameError) Error() string { return e.Reason }

// FrameReader splits a byte stream into JSON bodies by their Content-Length headers.
type FrameReader struct {
	r *bufio.Reader
	// pending holds bytes to read before r again: what a wrong length swallowed of the next message.
	pending []byte
	// broken is set from a FrameError to the next message: what is passed over in between belongs to that error.
	broken bool
}

// NewFrameReader reads frames from r.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// Read returns the next body, a fresh slice, valid JSON. A *FrameError tells of a frame that was passed over; any other
// error (io.EOF at the end) ends the stream.
func (f *FrameReader) Read() ([]byte, error) {
	body, err := f.read()
	var bad *FrameError
	f.broken = errors.As(err, &bad)
	return body, err
}

func (f *FrameReader) read() ([]byte, error) {
	length, err := f.readHeader()
	if err != nil {
		return nil, err
	}
	body, err := f.readBody(length)
	if err != nil {
		return nil, err
	}
	if jsontext.Value(body).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
		return body, nil
	}
	return f.recover(body)
}

// recover handles a body that is no JSON. A too large Content-Length swallows the next message's header: then what stands
// before that header is the body, and what follows is read again.
func (f *FrameReader) recover(body []byte) ([]byte, error) {
	at := findHeader(body)
	if at < 0 {
		at = cutHeader(body)
	}
	if at >= 0 {
		f.pending = append(append([]byte{}, body[at:]...), f.pending...)
		if head := bytes.TrimSpace(body[:at]); jsontext.Value(head).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
			return head, nil
		}
	}
	return nil, &FrameError{Reason: fmt.Sprintf("the %d bytes of the message are not JSON", len(body))}
}

var contentLength = []byte("content-length:")

// findHeader finds a complete `Content-Length: N` line. Valid JSON never holds one: its strings have no raw line breaks.
func findHeader(b []byte) int {
	for from := 0; ; {
		i := indexFold(b[from:], contentLength)
		if i < 0 {
			return -1
		}
		at := from + i
		rest := bytes.TrimLeft(b[at+len(contentLength):], " \t")
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		rest = rest[digits:]
		if digits > 0 && (bytes.HasPrefix(rest, []byte("\r\n")) || bytes.HasPrefix(rest, []byte("\n"))) {
			return at
		}
		from = at + 1
	}
}

// cutHeader finds the beginning of a Content-Length header that the end of the body cuts off, right after a JSON value.
func cutHeader(body []byte) int {
	var scan valueScan
	if !scan.feed(body) {
		return -1
	}
	rest := bytes.TrimLeft(body[scan.end:], " \t\r\n")
	n := min(len(rest), len(contentLength))
	if n == 0 || !bytes.EqualFold(rest[:n], contentLength[:n]) {
		return -1
	}
	return len(body) - len(rest)
}

// valueScan finds where the object or array a message is ends. It checks nothing else.
type valueScan struct {
	depth            int
	inString, escape bool
	// end is the offset after the value once feed has returned true.
	end int
}

// feed scans further bytes and tells whether the value has ended.
func (v *valueScan) feed(b []byte) bool {
	for i, c := range b {
		switch {
		case v.escape:
			v.escape = false
		case v.inString:
			v.escape, v.inString = c == '\\', c != '"'
		case c == '"':
			v.inString = true
		case c == '{' || c == '[':
			v.depth++
		case c == '}' || c == ']':
			if v.depth--; v.depth <= 0 {
				v.end += i + 1
				return true
			}
		}
	}
	v.end += len(b)
	return false
}

func indexFold(b, lower []byte) int {
	for i := 0; i+len(lower) <= len(b); i++ {
		if b[i]|0x20 == lower[0] && bytes.EqualFold(b[i:i+len(lower)], lower) {
			return i
		}
	}
	return -1
}

func lastIndexFold(b, lower []byte) int {
	for i := len(b) - len(lower); i >= 0; i-- {
		if b[i]|0x20 == lower[0] && bytes.EqualFold(b[i:i+len(lower)], lower) {
			return i
		}
	}
	return -1
}

// readHeader reads up to the blank line and gives the body's length. Bytes that belong to no header are passed over until
// a Content-Length line is found; that they were there is told once, as a FrameError, before the message after them.
func (f *FrameReader) readHeader() (int, error) {
	length, problem, garbage, any := -1, "", false, false
	for {
		line, err := f.readLine()
		if err != nil {
			return 0, err
		}
		text := bytes.TrimRight(line, "\r\n")
		if i := lastIndexFold(text, contentLength); i >= 0 {
			garbage = garbage || i > 0
			length, problem = parseLength(bytes.TrimSpace(text[i+len(contentLength):]))
			any = true
			continue
		}
		switch {
		case len(text) > 0:
			garbage = garbage || bytes.IndexByte(text, ':') <= 0 || text[0] == '{'
			any = true
			continue
		case problem != "":
			return 0, &FrameError{Reason: problem}
		case !any:
			continue // blank lines between messages
		case length < 0:
			return 0, &FrameError{Reason: "a message header without Content-Length"}
		case garbage && !f.broken:
			// Give the message back to be read next, after the report.
			f.pending = append([]byte("Content-Length: "+strconv.Itoa(length)+"\r\n\r\n"), f.pending...)
			return 0, &FrameError{Reason: "bytes that belong to no message were passed over"}
		}
		return length, nil
	}
}

func parseLength(digits []byte) (length int, problem string) {
	n, err := strconv.ParseUint(string(digits), 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n > MaxBody:
		return -1, fmt.Sprintf("Content-Length %.32s is over the limit of %d bytes", digits, MaxBody)
	case err != nil || n == 0:
		return -1, fmt.Sprintf("Content-Length %.32q is not a positive number", digits)
	}
	return int(n), ""
}

// readLine reads a line with its end; one longer than maxHeader comes in pieces, overlapping so that no header is split.
func (f *FrameReader) readLine() ([]byte, error) {
	var line []byte
	for {
		c, err := f.readByte()
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
		line = append(line, c)
		if c == '\n' {
			return line, nil
		}
		if len(line) >= maxHeader {
			// No header is this long: keep only what could begin one.
			keep := len(line) - 64
			line = append(line[:0], line[keep:]...)
		}
	}
}

func (f *FrameReader) readByte() (byte, error) {
	if len(f.pending) > 0 {
		c := f.pending[0]
		f.pending = f.pending[1:]
		return c, nil
	}
	return f.r.ReadByte()
}

// readBody reads length bytes. Where it would have to wait for more although the message's value has ended, or another
// header stands inside it, the length was wrong: it gives what is there, and the rest is read again as what follows.
func (f *FrameReader) readBody(length int) ([]byte, error) {
	body := make([]byte, 0, min(length, 64<<10))
	n := min(len(f.pending), length)
	body = append(body, f.pending[:n]...)
	f.pending = f.pending[n:]
	var scan valueScan
	for scanned := 0; len(body) < length; {
		if f.r.Buffered() == 0 && len(body) > scanned {
			if scan.feed(body[scanned:]) {
				f.pending = append(append([]byte{}, body[scan.end:]...), f.pending...)
				return body[:scan.end], nil
			}
			if findHeader(body[max(0, scanned-64):]) >= 0 {
				return body, nil
			}
			scanned = len(body)
		}
		if len(body) == cap(body) {
			grown := make([]byte, len(body), min(length, 2*cap(body)))
			copy(grown, body)
			body = grown
		}
		n, err := f.r.Read(body[len(body):min(cap(body), length)])
		body = body[:len(body)+n]
		if err != nil && len(body) < length {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return body, nil
}

// AppendFrame appends body with its header to dst.
func AppendFrame(dst, body []byte) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}
