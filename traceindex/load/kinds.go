package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"

	"stepline/traceindex"
	"stepline/traceindex/memsnap"
	"stepline/traceindex/nccl"
	"stepline/traceindex/ncu"
)

// headBytes is how much of a file decides what it is.
const headBytes = 64 << 10

// readHead is the beginning of a file, as it lies on the disk and unpacked (the same if it is not packed).
func readHead(f *os.File) (raw, text []byte, err error) {
	raw = make([]byte, headBytes)
	n, err := f.ReadAt(raw, 0)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	raw = raw[:n]
	text = raw
	if len(raw) >= 2 && raw[0] == 0x1f && raw[1] == 0x8b {
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			text, _ = io.ReadAll(io.LimitReader(z, headBytes)) // it is cut, of course
		}
	}
	return raw, text, nil
}

// isJSON reports whether a text begins as JSON documents of traces do.
func isJSON(text []byte) bool {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// besideKind tells inputs that are no traces but add to one; "" for all others.
func besideKind(raw, text []byte) traceindex.FileKind {
	switch {
	case memsnap.Sniff(raw):
		return traceindex.FileMemorySnapshot
	case ncu.Sniff(raw):
		return traceindex.FileNsightCompute
	case nccl.Sniff(text):
		return traceindex.FileNCCLLog
	}
	return ""
}

// besideError is for a file that cannot be a run by itself.
type besideError struct{ kind traceindex.FileKind }

func (e besideError) Error() string {
	switch e.kind {
	case traceindex.FileMemorySnapshot:
		return "a memory snapshot of PyTorch, not a profiler trace: give it beside a trace"
	case traceindex.FileNsightCompute:
		return "an Nsight Compute CSV, which knows kernels and no lines: give it beside a trace"
	}
	return "an NCCL log, not a profiler trace: give it beside a trace"
}

func (e besideError) Unwrap() error { return errNotOurs }

// openPickle is for a pickle that was named outright and does not soon speak of segments: what is wrong with it, if it is no
// snapshot after all.
func openPickle(ctx context.Context, path string) error {
	if _, err := memsnap.Read(ctx, path); err != nil {
		return notOursNamed("%s", strings.ReplaceAll(strings.TrimPrefix(err.Error(), "memsnap: "), path+": ", ""))
	}
	return besideError{traceindex.FileMemorySnapshot}
}

// describeBinary names content that is no text, for an error.
func describeBinary(raw []byte) (string, bool) {
	for _, known := range []struct{ magic, is string }{
		{"\x28\xb5\x2f\xfd", "zstd-compressed: unpack it first (zstd -d)"},
		{"BZh", "bzip2-compressed: unpack it first (bunzip2)"},
		{"\xfd7zXZ", "xz-compressed: unpack it first (unxz)"},
		{"\x7fELF", "a program, not a profiler trace"},
		{"\x89PNG", "a PNG picture, not a profiler trace"},
		{"PAR1", "a Parquet file; of ranks indexed by stepline, name the folder that holds the tables"},
		{"%PDF", "a PDF document, not a profiler trace"},
		{"NSYSREP", "an Nsight Systems report: export it first (nsys export --type sqlite)"},
	} {
		if bytes.HasPrefix(raw, []byte(known.magic)) {
			return known.is, true
		}
	}
	if len(raw) > 262 && string(raw[257:262]) == "ustar" {
		return "a tar archive: unpack it first (tar -x)", true
	}
	if memsnap.IsPickle(raw) {
		return "a Python pickle, not a profiler trace", true
	}
	if len(raw) > 1 && raw[0] != 0x1f && bytes.Count(raw[:min(len(raw), 512)], []byte{0}) > 8 {
		return "binary data, not a profiler trace (.nsys-rep files: nsys export --type sqlite)", true
	}
	return "", false
}

// notOursNamed is an error about a file that is none of the formats.
func notOursNamed(format string, args ...any) error {
	return notOursError{fmt.Errorf(format, args...)}
}

// gzipMembers makes a reader of gzip data.
func gzipMembers(file string, r io.Reader) *members {
	return &members{file: file, in: bufio.NewReaderSize(r, 256<<10)}
}
