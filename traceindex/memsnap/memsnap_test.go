package memsnap

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

const recordedSnapshot = "../../testdata/traces/gpt/memory_snapshot.pickle.gz"

const caseFolder = "../../testdata/cases/75-memory-snapshot"

func read(t *testing.T, path string) *Snapshot {
	t.Helper()
	s, err := Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCase(t *testing.T) {
	for _, name := range []string{"p2.pickle", "p5.pickle"} {
		t.Run(name, func(t *testing.T) {
			s := read(t, filepath.Join(caseFolder, name))
			want := Fragmentation{ReservedBytes: 2 << 20, AllocatedBytes: 1 << 20, InactiveSplitBytes: 1 << 20, LargestFreeBytes: 1 << 20}
			if diff := cmp.Diff(want, s.Fragmentation()); diff != "" {
				t.Error(diff)
			}
			if len(s.Segments) != 1 {
				t.Errorf("%d segments", len(s.Segments))
			}
			u := s.Usage(0)
			if u.Allocs != 2 || u.Frees != 1 || u.HeldBytes != 1<<20 || u.PeakBytes != 3<<19 || u.BeforeBytes != 0 {
				t.Errorf("usage %+v", u)
			}
			lines := s.Lines(nil)
			wantLines := []LineMemory{
				{File: "/srv/app/train.py", Line: 21, Function: "step", HeldBytes: 1 << 20, HeldCount: 1, PeakBytes: 1 << 20, OwnPeakBytes: 1 << 20, AllocBytes: 1 << 20, Allocs: 1},
				{PeakBytes: 1 << 19, OwnPeakBytes: 1 << 19, AllocBytes: 1 << 19, Allocs: 1, Frees: 1},
			}
			if diff := cmp.Diff(wantLines, lines); diff != "" {
				t.Error(diff)
			}
			if s.Traces[0][1].Address.Big == 0 || s.Stack(s.Traces[0][1]) != nil {
				t.Errorf("second event %+v, want an address beyond 64 bits and no frames", s.Traces[0][1])
			}
		})
	}
}

func TestHostile(t *testing.T) {
	const ran = "/tmp/case-75-ran"
	_, err := Read(context.Background(), filepath.Join(caseFolder, "hostile.pickle"))
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Name != "posix.system" || !strings.Contains(err.Error(), "names a function: posix.system") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Errorf("%s exists: the pickle was run", ran)
	}
	tests := map[string]struct{ pickle, want string }{
		"STACK_GLOBAL":     {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "names a function: os.system"},
		"INST":             {"\x80\x02(ios\nsystem\n.", "names a function: os.system"},
		"hidden in a list": {"\x80\x02](cbuiltins\neval\ne.", "names a function: builtins.eval"},
		"REDUCE":           {"\x80\x02]R.", "calls a function"},
		"BUILD":            {"\x80\x02}}b.", "calls a function or builds an object"},
		"extension":        {"\x80\x02\x82\x01.", "registered extension"},
		"persistent id":    {"\x80\x02Pname\n.", "outside the file"},
		"buffers":          {"\x80\x05\x97.", "outside the file"},
		"protocol 9":       {"\x80\x09.", "protocol 9"},
		"unknown opcode":   {"\x80\x02\xff.", "opcode 0xff"},
		"empty":            {"", "cut short"},
		"no STOP":          {"\x80\x02}", "cut short"},
		"length beyond":    {"\x80\x02X\xff\xff\x00\x00abc", "cut short"},
		"absurd length":    {"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", "too large"},
		"absurd integer":   {"\x80\x02\x8b\xff\xff\xff\x7f", "too large"},
		"stack underflow":  {"\x80\x02a.", "broken"},
		"pop below a mark": {"\x80\x02](a.", "broken"},
		"no mark":          {"\x80\x02e.", "broken"},
		"memo not there":   {"\x80\x02h\x07.", "memo 7 is not there"},
		"odd pairs":        {"\x80\x02}(K\x01u.", "broken"},
		"deep":             {"\x80\x02" + strings.Repeat("(", 20_000), "nested"},
		"a number":         {"\x80\x02K\x01.", "no memory snapshot"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(context.Background(), strings.NewReader(test.pickle), "x.pickle")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "x.pickle") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestProtocols reads the same snapshot, written by Python with every protocol.
func TestProtocols(t *testing.T) {
	for _, name := range []string{"p0.pickle", "p1.pickle", "p2.pickle", "p3.pickle", "p4.pickle", "p5.pickle", "pickle.gz"} {
		t.Run(name, func(t *testing.T) {
			s := read(t, "testdata/growing."+name)
			const base = 0x7F00_0000_0000
			u := s.Usage(0)
			if u.HeldBytes != 5500 || u.BeforeBytes != 5000 || u.PeakBytes != 5000+700+1000+10+200 || u.Allocs != 15 || u.Frees != 11 || u.SegmentAllocs != 1 {
				t.Errorf("usage %+v", u)
			}
			oom := s.Usage(1).OutOfMemory
			if len(oom) != 1 || oom[0].Bytes != 1<<30 || oom[0].DeviceFreeBytes != 12345 || len(oom[0].Frames) != 4 {
				t.Errorf("out of memory %+v", oom)
			}
			want := Fragmentation{ReservedBytes: 3 << 20, AllocatedBytes: 5*512 + 5120, PendingBytes: 2048, InactiveSplitBytes: 1<<20 - 5*512 - 5120 - 2048, CachedBytes: 2 << 20, LargestFreeBytes: 2 << 20}
			if diff := cmp.Diff(want, s.Fragmentation()); diff != "" {
				t.Error(diff)
			}
			lines := s.Lines(nil)
			wantLines := []LineMemory{
				{File: "/srv/app/train.py", Line: 14, Function: "step", HeldBytes: 5500, HeldCount: 6, PeakBytes: 5200, OwnPeakBytes: 5500, AllocBytes: 500, Allocs: 5},
				{File: "/srv/app/train.py", Line: 12, Function: "step", PeakBytes: 1000, OwnPeakBytes: 1000, AllocBytes: 5000, Allocs: 5, Frees: 5},
				{PeakBytes: 10, OwnPeakBytes: 10, AllocBytes: 50, Allocs: 5, Frees: 5},
			}
			if diff := cmp.Diff(wantLines, lines); diff != "" {
				t.Error(diff)
			}
			accepted := s.Lines(func(file string) bool { return strings.HasSuffix(file, "functional.py") })
			if accepted[1].Line != 7 || accepted[1].Allocs != 5 || accepted[0].File != "" {
				t.Errorf("lines of functional.py %+v", accepted)
			}
			bounds := s.StepBounds()
			if len(bounds) != 5 {
				t.Fatalf("steps %+v", bounds)
			}
			steps := s.Steps(bounds)
			if len(steps) != 5 {
				t.Fatalf("steps %+v", steps)
			}
			if step := steps[1]; step.Number != 1 || step.Allocs != 3 || step.AllocBytes != 1110 || step.Frees != 3 || step.PeakBytes != u.PeakBytes || step.HeldAtEndBytes != 5200 || step.SegmentAllocs != 0 {
				t.Errorf("step 1 %+v", step)
			}
			if steps[0].SegmentAllocs != 1 {
				t.Errorf("step 0 %+v", steps[0])
			}
			wantGrowth := []LineGrowth{{"/srv/app/train.py", 14, "step", 100, 4, 5200, 5500}}
			if diff := cmp.Diff(wantGrowth, s.Growth(bounds, nil)); diff != "" {
				t.Error(diff)
			}
			wantSettings := map[string]string{"expandable_segments": "false", "garbage_collection_threshold": "0.5", "max_split_size": "-1",
				"huge": "1180591620717411303424", "negative": "-1099511627776"}
			if diff := cmp.Diff(wantSettings, s.Settings); diff != "" {
				t.Error(diff)
			}
			if !s.Segments[1].Expandable || s.Segments[0].Expandable || s.Segments[0].Address.Low != base {
				t.Errorf("segments %+v", s.Segments)
			}
		})
	}
}

func TestOldSnapshot(t *testing.T) {
	s := read(t, "testdata/old.pickle")
	lines := s.Lines(nil)
	if len(lines) != 1 || lines[0].Line != 14 || lines[0].HeldBytes != 400 || lines[0].PeakBytes != 400 {
		t.Errorf("lines %+v", lines)
	}
	if b := s.Segments[0].Blocks[1]; b.Address.Low != 0x7F00_0000_0000+512 || b.State != StateInactive {
		t.Errorf("second block %+v", b)
	}
}

func TestSniff(t *testing.T) {
	for path, want := range map[string]bool{
		filepath.Join(caseFolder, "p2.pickle"): true, filepath.Join(caseFolder, "p5.pickle"): true, filepath.Join(caseFolder, "hostile.pickle"): false,
		"testdata/growing.pickle.gz": true, recordedSnapshot: true, "testdata/old.pickle": true, "testdata/other.pickle": false,
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if head := data[:min(len(data), 1<<16)]; Sniff(head) != want || !IsPickle(head) {
			t.Errorf("%s: Sniff %v, IsPickle %v", path, Sniff(head), IsPickle(head))
		}
	}
	_, err := Read(context.Background(), "testdata/other.pickle")
	if err == nil || !strings.Contains(err.Error(), "neither segments nor device_traces") {
		t.Errorf("error %v", err)
	}
}

// TestRecorded pins what is read from the snapshot of the GPT script.
func TestRecorded(t *testing.T) {
	s := read(t, recordedSnapshot)
	var text strings.Builder
	for device := range s.Devices() {
		fmt.Fprintf(&text, "device %d: %+v\n", device, s.Usage(device))
	}
	fmt.Fprintf(&text, "%+v\n", s.Fragmentation())
	for _, step := range s.Steps(s.StepBounds()) {
		fmt.Fprintf(&text, "%+v\n", step)
	}
	fmt.Fprintf(&text, "growth %+v\n", s.Growth(s.StepBounds(), nil))
	for _, line := range s.Lines(func(file string) bool { return strings.HasSuffix(file, "/gpt.py") }) {
		line.File = filepath.Base(line.File)
		fmt.Fprintf(&text, "%+v\n", line)
	}
	var peak, held int64
	for _, line := range s.Lines(nil) {
		peak += line.PeakBytes
		held += line.HeldBytes
	}
	if u := s.Usage(0); peak != u.PeakBytes || held != u.HeldBytes {
		t.Errorf("the lines sum to peak %d and held %d, the device has %d and %d", peak, held, u.PeakBytes, u.HeldBytes)
	}
	const golden = "testdata/recorded.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, path := range []string{filepath.Join(caseFolder, "p2.pickle"), filepath.Join(caseFolder, "p5.pickle"), filepath.Join(caseFolder, "hostile.pickle"), "testdata/growing.p0.pickle", "testdata/old.pickle"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(context.Background(), bytes.NewReader(data), "fuzz.pickle")
		if err != nil {
			return
		}
		s.Fragmentation()
		s.Lines(nil)
		s.Growth(s.StepBounds(), nil)
		for device := range s.Devices() {
			s.Usage(device)
		}
	})
}
