package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/gzip"

	"stepline/traceindex"
)

const sidecarSuffix = ".callers.json.gz"

func isSidecar(name string) bool {
	if strings.HasSuffix(name, ".sources.json.gz") || strings.HasSuffix(name, ".sources.json") {
		return true // the sources that ran: analysis reads them
	}
	return strings.HasSuffix(name, sidecarSuffix) || strings.HasSuffix(name, ".callers.json")
}

// sidecarOf is the file with the recorded call lines of a trace.
func sidecarOf(path string) (string, bool) { return Beside(path, "callers") }

// Beside is the file that `stepline record` wrote of some kind beside a trace: X.KIND.json.gz or X.KIND.json beside X.json.gz or
// X.json. It must be a file (a named pipe would be waited for) and really lie in the trace's folder: whoever made the folder of
// a trace must not have files from elsewhere read with it.
func Beside(trace, kind string) (string, bool) {
	stem := strings.TrimSuffix(strings.TrimSuffix(trace, ".gz"), ".json")
	for _, side := range []string{stem + "." + kind + ".json.gz", stem + "." + kind + ".json"} {
		if info, err := os.Stat(side); err == nil && info.Mode().IsRegular() && sameFolder(side, trace) {
			return side, true
		}
	}
	return "", false
}

// sameFolder tells whether a file lies in a trace's folder, links followed: the folder of its name, or of the file that it is a
// link to.
func sameFolder(side, trace string) bool {
	side, err := filepath.EvalSymlinks(side)
	if err != nil {
		return false
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(trace)); err == nil && filepath.Dir(side) == folder {
		return true
	}
	trace, err = filepath.EvalSymlinks(trace)
	return err == nil && filepath.Dir(side) == filepath.Dir(trace)
}

// rowBound ends the reading of a row that is longer than a row of call lines can be: a few bytes of gzip can say gigabytes.
type rowBound struct {
	r    io.Reader
	left int
}

// maxRowBytes bounds a row; names and paths of real ones have a few hundred bytes.
const maxRowBytes = 1 << 20

func (b *rowBound) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("longer than %d bytes", maxRowBytes)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// readCallLines reads a sidecar's rows `[event name, start unix ns, caller file, caller line, caller function, callee's first
// line or null]` into ix.
func readCallLines(ctx context.Context, ix *traceindex.Index, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	text := &rowBound{r: in, left: maxRowBytes}
	if head, _ := in.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("damaged gzip: %w", err)
		}
		text.r = z
	}
	dec := jsontext.NewDecoder(text)
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return errors.New("no list of call lines")
	}
	lines := traceindex.NewCallLines(ix)
	for rows := 0; dec.PeekKind() == '['; rows++ {
		if rows&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text.left = maxRowBytes
		v, err := dec.ReadValue()
		if err != nil {
			return fmt.Errorf("row %d: %w", rows, err)
		}
		var name, file, function string
		var ns int64
		var line, first *int
		if err := json.Unmarshal(v, &[]any{&name, &ns, &file, &line, &function, &first}); err != nil {
			return fmt.Errorf("row %d: %w", rows, err)
		}
		if line == nil || *line <= 0 {
			continue
		}
		call := traceindex.CallLine{File: file, Line: *line, Function: function}
		if first != nil {
			call.CalleeFirstLine = *first
		}
		lines.Add(name, ns, call)
	}
	lines.Finish()
	return nil
}
