package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// sidecarOf is the file with the recorded call lines of a trace: X.callers.json.gz beside X.json.gz or X.json.
func sidecarOf(path string) (string, bool) {
	stem := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".json")
	for _, side := range []string{stem + sidecarSuffix, stem + ".callers.json"} {
		if info, err := os.Stat(side); err == nil && info.Mode().IsRegular() {
			return side, true
		}
	}
	return "", false
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
	var dec *jsontext.Decoder
	if head, _ := in.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("damaged gzip: %w", err)
		}
		dec = jsontext.NewDecoder(z)
	} else {
		dec = jsontext.NewDecoder(in)
	}
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return errors.New("no list of call lines")
	}
	lines := traceindex.NewCallLines(ix)
	for rows := 0; dec.PeekKind() == '['; rows++ {
		if rows&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
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
