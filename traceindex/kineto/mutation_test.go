package kineto

import (
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// unpacked is the text of a real trace, named by its path below testdata/traces.
func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open("../../testdata/traces/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// realEvents are events of a real trace, as they are written, some from each part of the file.
func realEvents(t *testing.T) []string {
	t.Helper()
	top, ok := members(unpacked(t, "gpt/trace.json.gz"))
	if !ok {
		t.Fatal("the trace is no object")
	}
	all, err := elements(top["traceEvents"])
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := 0; i < len(all); i += 150 {
		out = append(out, string(all[i]))
	}
	return out
}

// A change of one short stretch of a real trace costs at most the events it touches and their neighbours.
func TestMutatedRealTrace(t *testing.T) {
	events := realEvents(t)
	whole := trace(events...)
	base, err := readAll([]byte(whole), blockBytes, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if base.Events.Len() < 150 || len(base.Warnings) > 0 {
		t.Fatalf("%d events, warnings %v", base.Events.Len(), base.Warnings)
	}
	begin, end := len("{\n\"traceEvents\": [\n"), len(whole)-len("\n],\n\"distributedInfo\": {\"rank\": 2, \"world_size\": 4}\n}")
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(begin, end).Draw(t, "at")
		length := rapid.IntRange(0, min(300, end-at)).Draw(t, "length")
		put := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte(`{}[]",:\`))), 0, 20).Draw(t, "put")
		mutated := whole[:at] + string(put) + whole[at+length:]
		ix, err := readForked([]byte(mutated), rapid.IntRange(500, 5000).Draw(t, "block"), 1<<20, rapid.IntRange(200, 6000).Draw(t, "fork"))
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		// A stretch of 300 bytes touches at most a few events; a lost quote or bracket costs the next one too.
		if lost := base.Events.Len() - ix.Events.Len(); lost > 12 {
			t.Fatalf("%d of %d events lost at %d (−%d +%q): %v", lost, base.Events.Len(), at, length, put, ix.Warnings)
		}
	})
}

func elements(v jsontext.Value) ([]jsontext.Value, error) {
	var out []jsontext.Value
	dec := jsontext.NewDecoder(&pieces{v, 1 << 20})
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '{' {
		e, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, e.Clone())
	}
	return out, nil
}
