package load

import (
	"archive/zip"
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
		return z, z.warnings, nil
	case bytes.HasPrefix(raw, []byte("PK\x03\x04")), bytes.HasPrefix(raw, []byte("PK\x05\x06")):
		r, err := openZip(f, in)
		return r, none, err
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
	read    int64
	trailer string
}

func (m *members) Read(p []byte) (int, error) {
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
		m.read += int64(n)
		if n > 0 || err == nil {
			if err == io.EOF {
				err = nil
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("the gzip data ends early: %w", err)
			}
			return n, err
		}
		if err != io.EOF {
			if errors.Is(err, gzip.ErrChecksum) {
				return 0, fmt.Errorf("%w: bytes of the file were changed, and values behind the change may be wrong without a sign", err)
			}
			return 0, fmt.Errorf("damaged gzip data: %w", err)
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

func (m *members) warnings() []traceindex.Warning {
	if m.trailer == "" {
		return nil
	}
	return []traceindex.Warning{{Code: "trailing-bytes", File: m.file, Message: m.trailer}}
}

// openZip finds the trace in a zip: its only file, else the one largest .json.
func openZip(f *os.File, in input) (io.Reader, error) {
	z, err := zip.NewReader(f, in.size)
	if err != nil {
		return nil, notOursError{fmt.Errorf("damaged zip: %w", err)}
	}
	var best *zip.File
	for _, m := range z.File {
		name := strings.ToLower(m.Name)
		if m.FileInfo().IsDir() || isSidecar(name) || !(strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json.gz")) {
			continue
		}
		if best == nil || m.UncompressedSize64 > best.UncompressedSize64 {
			best = m
		}
	}
	if best == nil {
		return nil, notOursError{errors.New("a zip without a .json file in it")}
	}
	r, err := best.Open()
	if err != nil {
		return nil, fmt.Errorf("%s in the zip: %w", best.Name, err)
	}
	if strings.HasSuffix(strings.ToLower(best.Name), ".gz") {
		return gzipMembers(in.path, r), nil
	}
	return r, nil
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
