package load

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex"
)

func small(rank int, names ...string) string {
	var events []string
	for i, n := range names {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":%q,"pid":1,"tid":1,"ts":%d,"dur":5}`, n, 1000+10*i))
	}
	info := ""
	if rank >= 0 {
		info = fmt.Sprintf(`"distributedInfo":{"rank":%d,"world_size":4},`, rank)
	}
	return "{" + info + `"traceEvents":[` + strings.Join(events, ",") + "]}"
}

func packed(t *testing.T, texts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, text := range texts {
		z := gzip.NewWriter(&out)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func zipped(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, data := range members {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// changed flips a byte.
func changed(data []byte, at int) []byte {
	out := bytes.Clone(data)
	out[at] ^= 0x55
	return out
}

func utf16Text(text string, big bool) []byte {
	out := []byte{0xff, 0xfe}
	order := binary.AppendByteOrder(binary.LittleEndian)
	if big {
		out, order = []byte{0xfe, 0xff}, binary.BigEndian
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestContainers(t *testing.T) {
	text := small(1, "a", "b", "c")
	gz := packed(t, text)
	long := small(1, strings.Split(strings.Repeat("abcdefgh ", 3000), " ")...)
	longGz := packed(t, long)
	zipCut := zipped(t, map[string][]byte{"trace.json": []byte(text)})
	zipCut = zipCut[:len(zipCut)-30]
	longZip, zipEvents := zipped(t, map[string][]byte{"trace.json": []byte(long)}), -1 // as many as were whole
	tests := []struct {
		name   string
		data   []byte
		events int
		codes  string
	}{
		{"plain.json", []byte(text), 3, ""},
		{"misnamed.txt", gz, 3, ""},
		{"packed.json", gz, 3, ""},
		{"notpacked.json.gz", []byte(text), 3, ""},
		{"members.json.gz", packed(t, text[:20], "", text[20:60], text[60:]), 3, ""},
		{"trailing.json.gz", append(append([]byte(nil), gz...), "tail"...), 3, "trailing-bytes"},
		{"zeros.json.gz", append(append([]byte(nil), gz...), make([]byte, 512)...), 3, "trailing-bytes"},
		{"checksum.json.gz", changed(gz, len(gz)-6), 3, "cut-short"},
		{"cut.json.gz", longGz[:len(longGz)-9], 3001, "cut-short"},
		{"utf16le.json", utf16Text(text, false), 3, ""},
		{"utf16be.json", utf16Text(text, true), 3, ""},
		{"lines.json", []byte(strings.ReplaceAll(text[strings.Index(text, "[")+1:strings.LastIndex(text, "]")], "},{", "}\n{")), 3, ""},
		{"one.zip", zipped(t, map[string][]byte{"trace.json": []byte(text)}), 3, ""},
		{"inner.zip", zipped(t, map[string][]byte{"a/trace.json.gz": gz, "readme.txt": []byte("hello"), "a/trace.callers.json.gz": gz}), 3, ""},
		{"noextension.zip", zipped(t, map[string][]byte{"trace": []byte(text)}), 3, ""},
		{"many.zip", zipped(t, map[string][]byte{"rank0.json": []byte(text), "rank1.json": []byte(small(1, "a"))}), 3, "zip-of-many"},
		{"cut.zip", zipCut, 3, "cut-short"},
		{"cutwithin.zip", longZip[:len(longZip)*2/3], zipEvents, "cut-short cut-short"},
		{"twice.json.gz", packed(t, string(gz)), 3, ""},
		{"damagedmember.json.gz", slices.Concat(packed(t, text[:60]), changed(packed(t, text[60:90]), 12), packed(t, text[90:])), 2, "damaged-event damaged-gzip"},
		{"array.json", []byte(text[strings.Index(text, "["):strings.LastIndex(text, "}")]), 3, ""},
	}
	for _, test := range tests {
		run, err := Open(context.Background(), []string{write(t, t.TempDir(), test.name, test.data)}, Options{NoCache: true})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		ix := run.Ranks[0]
		var codes []string
		for _, w := range ix.Warnings {
			codes = append(codes, w.Code)
		}
		if test.events < 0 && ix.Events.Len() > 100 && ix.Events.Len() < 3001 {
			test.events = ix.Events.Len()
		}
		if ix.Events.Len() != test.events || strings.Join(codes, " ") != test.codes {
			t.Errorf("%s: %d events, warnings %v; want %d, %q", test.name, ix.Events.Len(), ix.Warnings, test.events, test.codes)
		}
	}
}

func TestRefusedByName(t *testing.T) {
	for says, data := range map[string][]byte{
		"zstd-compressed":                   []byte("\x28\xb5\x2f\xfd...."),
		"damaged gzip header":               []byte("\x1f\x8b"),
		"a zip without a .json file":        zipped(t, map[string][]byte{"a.txt": nil, "b.txt": nil}),
		"cannot be read to its end":         append([]byte("SQLite format 3\x00"), make([]byte, 100)...),
		"a PNG picture":                     []byte("\x89PNG\r\n"),
		"a Jupyter notebook":                []byte(`{"cells": [], "nbformat": 4}`),
		"a JSON object without":             []byte(`{"a": 1}`),
		"NCCL flight recorder":              []byte(`{"version": "2.4", "nccl_version": "2.21", "pg_config": {}, "entries": []}`),
		"a memory snapshot of PyTorch as":   []byte(`{"segments": [], "device_traces": []}`),
		"a sampling profile":                []byte(`{"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [], "shared": {"frames": []}}`),
		"the text is not JSON":              []byte("hello"),
		"a JSON array, but not of events":   []byte(`[1, 2, 3]`),
		"ends at byte 21, before any event": []byte(`{"schemaVersion": 1, `),
		"binary data":                       make([]byte, 100),
		"an Nsight Compute CSV, which":      []byte("==PROF== Connected to process 1\n==PROF== Profiling \"k\" - 0: 0%\n"),
		"HTML, not JSON":                    []byte("\n\n <HTML><body>"),
	} {
		path := write(t, t.TempDir(), "input.json", data)
		run, err := Open(context.Background(), []string{path}, Options{NoCache: true})
		var one *Error
		if run != nil || !errors.As(err, &one) || one.Path != path || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: run %v, error %v", says, run != nil, err)
		}
	}
	for says, paths := range map[string][]string{
		"no trace given":          nil,
		"no such file or folder":  {"/does/not/exist.json"},
		"no file matches":         {filepath.Join(t.TempDir(), "*.json")},
		"no trace in this folder": {t.TempDir()},
	} {
		if run, err := Open(context.Background(), paths, Options{}); run != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", paths, err, says)
		}
	}
}

func TestRanksOfAFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b/host_12.1700.pt.trace.json.gz", packed(t, small(1, "one")))
	write(t, dir, "a/host_7.1700.pt.trace.json", []byte(small(0, "zero")))
	write(t, dir, "trace_rank3.json", []byte(small(-1, "three")))
	write(t, dir, "worker2.16.pt.trace.json", []byte(small(-1, "two")))
	write(t, dir, "notes.txt", []byte("hello"))
	write(t, dir, "config.json", []byte(`{"lr": 0.1}`))
	write(t, dir, ".hidden/trace.json", []byte(small(9, "nine")))
	run, err := Open(context.Background(), []string{dir}, Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, ix := range run.Ranks {
		got = append(got, fmt.Sprintf("%d %s %t", ix.Meta.Rank, ix.Name(0), run.Files[i] == ix.Meta.File))
	}
	if d := cmp.Diff([]string{"0 zero true", "1 one true", "2 two true", "3 three true"}, got); d != "" {
		t.Error(d)
	}
	if len(run.Warnings) > 0 {
		t.Errorf("warnings %v", run.Warnings)
	}
}

func TestRanksAmiss(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.json", []byte(small(0, "a")))
	write(t, dir, "b.json", []byte(small(0, "b")))
	run, err := Open(context.Background(), []string{filepath.Join(dir, "*.json")}, Options{NoCache: true})
	if err != nil || len(run.Ranks) != 2 {
		t.Fatalf("%v, %v", run, err)
	}
	var codes []string
	for _, w := range run.Warnings {
		codes = append(codes, w.Code)
	}
	if d := cmp.Diff([]string{"same-rank", "missing-ranks"}, codes); d != "" {
		t.Error(d)
	}
	// The same file twice is one input.
	run, err = Open(context.Background(), []string{filepath.Join(dir, "a.json"), filepath.Join(dir, ".", "a.json"), dir + "/a*"}, Options{NoCache: true})
	if err != nil || len(run.Ranks) != 1 {
		t.Errorf("%v, %v", run, err)
	}
}

// A trace that lies there packed and unpacked counts once; another recording of the same rank does not.
func TestCopiesCountOnce(t *testing.T) {
	dir := t.TempDir()
	text := small(0, "a", "b")
	write(t, dir, "rank0.json", []byte(text))
	write(t, dir, "rank0.json.gz", packed(t, text))
	write(t, dir, "rank1.json", []byte(small(1, "a", "b")))
	write(t, dir, "rank2.json", []byte(small(2, "a", "b")))
	write(t, dir, "later/rank2.json", []byte(small(2, "a", "c")))
	run, err := Open(context.Background(), []string{dir}, Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, w := range run.Warnings {
		codes = append(codes, w.Code)
	}
	if d := cmp.Diff([]string{"same-trace", "same-rank", "missing-ranks"}, codes); d != "" || len(run.Ranks) != 4 {
		t.Errorf("%d ranks, %s", len(run.Ranks), d)
	}
}

// Files of one name in a folder for each rank.
func TestRanksOfFolders(t *testing.T) {
	dir := t.TempDir()
	for _, rank := range []string{"rank_10", "rank_2", "rank_0"} {
		write(t, dir, rank+"/trace.json", []byte(small(-1, rank)))
	}
	run, err := Open(context.Background(), []string{dir}, Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ix := range run.Ranks {
		got = append(got, fmt.Sprintf("%d %s", ix.Meta.Rank, ix.Name(0)))
	}
	if d := cmp.Diff([]string{"0 rank_0", "2 rank_2", "10 rank_10"}, got); d != "" {
		t.Error(d)
	}
}

func TestRankOfName(t *testing.T) {
	for name, want := range map[string]int{"rank-3.Jul_15_10_52_41.1074.pt.trace.json.gz": 3, "trace_rank12.json": 12, "worker0_step_12.169.pt.trace.json": 0,
		"ddp.rank1.trace.json.gz": 1, "graph_capture_rank_0.177.pt.trace.json.gz": 0, "rank07.json": 7, "Rank5.json": 5, "r.rank=2.json": 2,
		"global_rank3_local_rank1.json": 3, "node1_local_rank0.json": -1, "local_rank1_rank9.json": 9,
		"crank3.json": -1, "host_123.17000.pt.trace.json": -1, "ranking.json": -1, "trace.json": -1} {
		got, ok := rankOfName(name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: rank %d, want %d", name, got, want)
		}
	}
}

func TestBesideFiles(t *testing.T) {
	dir := t.TempDir()
	trace := write(t, dir, "trace.json", []byte(small(0, "a")))
	csv := write(t, dir, "ncu.csv", []byte("==PROF== Connected to process 1\n==PROF== Profiling \"k\" - 0: 0%\n"))
	run, err := Open(context.Background(), []string{csv, trace}, Options{NoCache: true})
	if err != nil || len(run.Ranks) != 1 {
		t.Fatalf("%v, %v", run, err)
	}
	if d := cmp.Diff([]traceindex.BesideFile{{Kind: traceindex.FileNsightCompute, Path: csv}}, run.Beside); d != "" {
		t.Error(d)
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	path := filepath.Join("../../testdata/traces/gpt/trace.json.gz")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var last, lastTotal int64
	calls := 0
	_, err = Open(context.Background(), []string{path}, Options{NoCache: true, Progress: func(done, total int64) {
		if done < last {
			t.Errorf("progress went back from %d to %d", last, done)
		}
		last, lastTotal = done, total
		calls++
	}})
	if err != nil || last != info.Size() || lastTotal != info.Size() || calls < 2 {
		t.Errorf("%d calls, last %d of %d, want %d; %v", calls, last, lastTotal, info.Size(), err)
	}
}

func TestCancelledOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	run, err := Open(ctx, []string{"../../testdata/traces/gpt/trace.json.gz"}, Options{NoCache: true, Progress: func(done, total int64) { cancel() }})
	if run != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", run, err)
	}
}

// TestCollectionsKeepMemoryTight where a command opens large traces; a server that is asked meanwhile keeps its own pace with all but
// immense ones.
func TestCollectionsKeepMemoryTight(t *testing.T) {
	for _, test := range []struct {
		textBytes       int64
		command, server int
	}{
		{100 << 20, 0, 0},
		{250 << 20, 20, 0},
		{2 << 30, 5, 50},
	} {
		if got := gcPercent(test.textBytes, false); got != test.command {
			t.Errorf("%d bytes opened by a command: collected at %d %%, want %d %%", test.textBytes, got, test.command)
		}
		if got := gcPercent(test.textBytes, true); got != test.server {
			t.Errorf("%d bytes opened by a server: collected at %d %%, want %d %%", test.textBytes, got, test.server)
		}
	}
}
