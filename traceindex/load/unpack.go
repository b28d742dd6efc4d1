package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"stepline/traceindex"
	"stepline/traceindex/kineto"
)

// errNotOurs marks a file that is no trace at all, which a folder's reading passes over.
var errNotOurs = errors.New("not a trace")

type notOursError struct{ error }

func (e notOursError) Unwrap() []error { return []error{e.error, errNotOurs} }

// notOurs takes the file's name off a reader's error, and marks input that is no trace.
func notOurs(err error, in input) error {
	if errors.Is(err, kineto.ErrNotTrace) {
		return notOursError{errors.New(strings.TrimPrefix(err.Error(), in.path+": "))}
	}
	if cause := errors.Unwrap(err); cause != nil && err.Error() == in.path+": "+cause.Error() {
		return cause
	}
	return err
}

// unpack returns the text in a file: as it is, unpacked gzip or the trace in a zip, told by the first bytes (raw). The warnings are
// complete when the text has been read to its end.
func unpack(f *os.File, raw []byte, in input, progress *fileProgress) (text io.Reader, warnings func() []traceindex.Warning, err error) {
	none := func() []traceindex.Warning { return nil }
	counted := &countingReader{r: f, progress: progress}
	switch {
	case bytes.HasPrefix(raw, []byte("\x1f\x8b")):
		z := gzipMembers(in.path, counted)
		text := bufio.NewReader(z)
		if head, _ := text.Peek(2); string(head) == "\x1f\x8b" { // packed twice, as some servers do
			inner := gzipMembers(in.path, text)
			return inner, func() []traceindex.Warning { return append(z.warnings(), inner.warnings()...) }, nil
		}
		return text, z.warnings, nil
	case bytes.HasPrefix(raw, []byte("PK\x03\x04")), bytes.HasPrefix(raw, []byte("PK\x05\x06")):
		return openZip(f, in)
	}
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		// UTF-16, as PowerShell's > writes.
		return transform.NewReader(counted, unicode.BOMOverride(transform.Nop)), none, nil
	}
	if is, ok := describeBinary(raw); ok {
		return nil, nil, notOursNamed("%s", is)
	}
	return counted, none, nil
}

// members reads a gzip file of one or more members. Bytes after the last member that are no gzip are left out with a warning.
type members struct {
	file    string
	in      *bufio.Reader
	z       *gzip.Reader
	trailer string
	// damage is what was wrong with the first damaged member that another one follows, damaged counts them.
	damage  error
	damaged int
	err     error // what ended the reading, told each time
}

func (m *members) Read(p []byte) (n int, err error) {
	if m.err == nil {
		n, m.err = m.read(p)
	}
	if n == 0 {
		return 0, m.err
	}
	return n, nil
}

func (m *members) read(p []byte) (int, error) {
	for {
		if m.z == nil {
			z, err := gzip.NewReader(m.in)
			if err != nil {
				return 0, fmt.Errorf("damaged gzip header: %w", err)
			}
			z.Multistream(false)
			m.z = z
		}
		n, err := m.z.Read(p)
		if n > 0 || err == nil {
			return n, nil // an error comes again
		}
		if err != io.EOF {
			switch {
			case errors.Is(err, io.ErrUnexpectedEOF):
				return 0, fmt.Errorf("the gzip data ends early: %w", err)
			case errors.Is(err, gzip.ErrChecksum):
				err = fmt.Errorf("%w: bytes of the file were changed, and values behind the change may be wrong without a sign", err)
			default:
				err = fmt.Errorf("damaged gzip data: %w", err)
			}
			if !m.nextMember() {
				return 0, err
			}
			if m.damaged++; m.damage == nil {
				m.damage = err
			}
			continue
		}
		head, _ := m.in.Peek(2)
		if len(head) == 0 {
			return 0, io.EOF
		}
		if len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
			m.trailer = "the bytes after the gzip data are no gzip and are left out"
			return 0, io.EOF
		}
		if err := m.z.Reset(m.in); err != nil {
			m.trailer = fmt.Sprintf("the bytes after the gzip data are left out: %v", err)
			return 0, io.EOF
		}
		m.z.Multistream(false)
	}
}

// nextMember looks for another member behind a damaged one, and begins it.
func (m *members) nextMember() bool {
	for {
		head, _ := m.in.Peek(10)
		if len(head) < 10 {
			return false
		}
		if looksLikeMember(head) && m.z.Reset(m.in) == nil {
			m.z.Multistream(false)
			return true
		}
		buffered, _ := m.in.Peek(m.in.Buffered())
		skip := len(buffered)
		if i := bytes.IndexByte(buffered[1:], 0x1f); i >= 0 {
			skip = i + 1
		}
		_, _ = m.in.Discard(skip)
	}
}

// looksLikeMember is strict about the header (RFC 1952: method 8, no reserved flag, a known level and system): packed data holds
// the two magic bytes by chance.
func looksLikeMember(h []byte) bool {
	return h[0] == 0x1f && h[1] == 0x8b && h[2] == 8 && h[3] < 0x20 && (h[8] == 0 || h[8] == 2 || h[8] == 4) && (h[9] < 14 || h[9] == 255)
}

func (m *members) warnings() []traceindex.Warning {
	var told []traceindex.Warning
	if m.damaged > 0 {
		told = append(told, traceindex.Warning{Code: "damaged-gzip", File: m.file,
			Message: fmt.Sprintf("%d of the file's gzip members cannot be unpacked to the end; the text lost there is passed over: %v", m.damaged, m.damage)})
	}
	if m.trailer != "" {
		told = append(told, traceindex.Warning{Code: "trailing-bytes", File: m.file, Message: m.trailer})
	}
	return told
}

// progress adds up what all files' readers have read.
type progress struct {
	tell  func(done, total int64)
	total int64
	read  atomic.Int64
	// telling is held while tell runs: by one goroutine at a time, by none after silence.
	telling sync.Mutex
	silent  bool
}

func newProgress(tell func(done, total int64), total int64) *progress {
	return &progress{tell: tell, total: total}
}

func (p *progress) add(n int64) {
	p.read.Add(n)
	if p.tell == nil || !p.telling.TryLock() {
		return
	}
	defer p.telling.Unlock()
	if !p.silent {
		p.tell(min(p.read.Load(), p.total), p.total)
	}
}

// silence ends the telling: when it returns, tell is not called again.
func (p *progress) silence() {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.silent = true
}

// fileProgress counts one file's bytes. It belongs to the goroutine that reads the file, or the one that reads ahead of it.
type fileProgress struct {
	all  *progress
	size int64
	read atomic.Int64
}

func (p *fileProgress) add(n int64) {
	p.read.Add(n)
	p.all.add(n)
}

// done counts what was left unread: a file taken from the cache, or refused by its first bytes.
func (p *fileProgress) done() { p.add(max(0, p.size-p.read.Load())) }

type countingReader struct {
	r        io.Reader
	progress *fileProgress
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.progress.add(int64(n))
	return n, err
}
