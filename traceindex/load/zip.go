package load

import (
	"archive/zip"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"stepline/traceindex"
)

// openZip finds the trace in a zip: its only file, else the one largest .json. A zip that was cut short has no list of its files
// any more; the first file in it is read as far as it goes.
func openZip(f *os.File, in input) (io.Reader, func() []traceindex.Warning, error) {
	z, err := zip.NewReader(f, in.size)
	if err != nil {
		if r, name, ok := firstInZip(f); ok {
			told := []traceindex.Warning{{Code: "cut-short", File: in.path, Message: fmt.Sprintf("the zip is cut short or damaged (its list of files is missing): its first file, %s, is read as far as it goes", name)}}
			return inZip(in, name, r, told)
		}
		return nil, nil, notOursError{fmt.Errorf("damaged zip: %w", err)}
	}
	var files, traces []*zip.File
	for _, m := range z.File {
		if m.FileInfo().IsDir() || isSidecar(strings.ToLower(m.Name)) {
			continue
		}
		files = append(files, m)
		if isTraceName(m.Name) {
			traces = append(traces, m)
		}
	}
	if len(traces) == 0 && len(files) == 1 {
		traces = files
	}
	if len(traces) == 0 {
		return nil, nil, notOursError{errors.New("a zip without a .json file in it")}
	}
	best := slices.MaxFunc(traces, func(x, y *zip.File) int {
		return cmp.Or(cmp.Compare(x.UncompressedSize64, y.UncompressedSize64), strings.Compare(y.Name, x.Name)) // the first by name
	})
	var told []traceindex.Warning
	if n := len(traces) - 1; n > 0 {
		told = append(told, traceindex.Warning{Code: "zip-of-many", File: in.path,
			Message: fmt.Sprintf("the zip holds %d traces: the largest, %s, is read; unpack it to read all of them as one run", n+1, best.Name)})
	}
	r, err := best.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("%s in the zip: %w", best.Name, err)
	}
	return inZip(in, best.Name, r, told)
}

func isTraceName(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json.gz")
}

// inZip is the text of a file in a zip.
func inZip(in input, name string, r io.Reader, told []traceindex.Warning) (io.Reader, func() []traceindex.Warning, error) {
	if strings.HasSuffix(strings.ToLower(name), ".gz") {
		packed := gzipMembers(in.path, r)
		return packed, func() []traceindex.Warning { return append(told, packed.warnings()...) }, nil
	}
	return r, func() []traceindex.Warning { return told }, nil
}

// firstInZip reads the file that a zip begins with by the header before it (APPNOTE.TXT 4.3.7), without the list at the zip's end.
func firstInZip(f *os.File) (r io.Reader, name string, ok bool) {
	const headerBytes, stored, deflated = 30, 0, 8
	var header [headerBytes]byte
	if _, err := f.ReadAt(header[:], 0); err != nil || string(header[:4]) != "PK\x03\x04" {
		return nil, "", false
	}
	encrypted := header[6]&1 != 0
	method, nameBytes, extraBytes := binary.LittleEndian.Uint16(header[8:]), binary.LittleEndian.Uint16(header[26:]), binary.LittleEndian.Uint16(header[28:])
	text := make([]byte, nameBytes)
	if _, err := f.ReadAt(text, headerBytes); err != nil || encrypted || strings.HasSuffix(string(text), "/") {
		return nil, "", false
	}
	data := io.NewSectionReader(f, headerBytes+int64(nameBytes)+int64(extraBytes), 1<<62)
	switch method {
	case stored:
		return data, string(text), true
	case deflated:
		return flate.NewReader(data), string(text), true
	}
	return nil, "", false
}
