package load

import (
	"context"
	"io"
	"os"
	"testing"

	"stepline/traceindex/kineto"
)

// benchTrace is the largest trace in the repository; STEPLINE_BENCH_TRACE names another.
func benchTrace() string {
	if p := os.Getenv("STEPLINE_BENCH_TRACE"); p != "" {
		return p
	}
	return "../../testdata/traces/vision/trace.json.gz"
}

// openText unpacks a trace by the package's own reader.
func openText(b *testing.B) (io.Reader, func()) {
	f, err := os.Open(benchTrace())
	if err != nil {
		b.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	raw, _, err := readHead(f)
	if err != nil {
		b.Fatal(err)
	}
	text, _, err := unpack(f, raw, input{path: benchTrace(), size: info.Size()}, &fileProgress{all: newProgress(nil, info.Size()), size: info.Size()})
	if err != nil {
		b.Fatal(err)
	}
	return text, func() { f.Close() }
}

// BenchmarkUnpack is the gunzip alone: the floor of what reading can take.
func BenchmarkUnpack(b *testing.B) {
	var n int64
	for b.Loop() {
		text, done := openText(b)
		var err error
		if n, err = io.Copy(io.Discard, text); err != nil {
			b.Fatal(err)
		}
		done()
	}
	b.SetBytes(n)
}

// BenchmarkRead is unpacking and scanning into columns.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		text, done := openText(b)
		if _, err := kineto.Read(context.Background(), text, "trace"); err != nil {
			b.Fatal(err)
		}
		done()
	}
}

// BenchmarkOpen is all of it: unpacking, scanning, sorting, linking.
func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(context.Background(), []string{benchTrace()}, Options{NoCache: true}); err != nil {
			b.Fatal(err)
		}
	}
}
