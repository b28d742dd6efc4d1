package analysis

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stepline/report"
)

// besideWorkspace is a workspace of files: name → text, or "@path" for a file of the repository.
func besideWorkspace(t *testing.T, files map[string]string) *Workspace {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		data := []byte(text)
		if from, ok := strings.CutPrefix(text, "@"); ok {
			var err error
			if data, err = os.ReadFile(filepath.Join("..", from)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(context.Background(), dir, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func loadBeside(t *testing.T, w *Workspace, traces ...string) *Loaded {
	t.Helper()
	for i, trace := range traces {
		abs, err := filepath.Abs(filepath.Join("..", trace))
		if err != nil {
			t.Fatal(err)
		}
		traces[i] = abs
	}
	l, err := w.LoadTrace(context.Background(), traces, LoadOptions{NoCache: true, CostsOnly: true, BesideAlone: true})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const (
	gptTrace    = "testdata/traces/gpt/trace.json.gz"
	gptSnapshot = "testdata/traces/gpt/memory_snapshot.pickle.gz"
	gptDetails  = "traceindex/ncu/testdata/gpt.ncu.details.csv.gz"
	gptRaw      = "traceindex/ncu/testdata/gpt.ncu.raw.csv.gz"
	ddpRank0    = "testdata/traces/ddp/ddp.rank0.trace.json.gz"
	ddpRank1    = "testdata/traces/ddp/ddp.rank1.trace.json.gz"
	ncclRank0   = "traceindex/nccl/testdata/rank0.log"
	ncclRank1   = "traceindex/nccl/testdata/rank1.log"
)

// TestBesideOneRun: a trace, Nsight Compute's pages and a snapshot of one script meet on its lines, each with its origin.
func TestBesideOneRun(t *testing.T) {
	w := besideWorkspace(t, map[string]string{"gpt.py": "@testdata/traces/gpt/gpt.py"})
	l := loadBeside(t, w, gptTrace, gptSnapshot, gptDetails, gptRaw)
	if l.Beside == nil || l.Beside.Kernels == nil || l.Beside.Memory == nil || l.Beside.NCCL != nil {
		t.Fatalf("%+v", l.Beside)
	}
	if files := l.Beside.Files(); len(files) != 3 {
		t.Errorf("origins %v", files)
	}
	kernels := l.Beside.Kernels
	if kernels.Launches != 52 || kernels.Device != "NVIDIA H200" {
		t.Errorf("%d launches on %q", kernels.Launches, kernels.Device)
	}
	byLine := map[int]map[string]bool{}
	for i, row := range kernels.Kernels {
		if row.Sentence == "" || row.JoinedBy == "" || row.Launches == 0 || row.CudaUs <= 0 || row.File != "gpt.py" && row.File != "" {
			t.Errorf("row %+v", row)
		}
		if i > 0 && kernels.Kernels[i-1].CudaUs < row.CudaUs {
			t.Error("not by GPU time")
		}
		if byLine[row.Line] == nil {
			byLine[row.Line] = map[string]bool{}
		}
		byLine[row.Line][row.Limiter] = true
	}
	// Softmax and the masking move memory; the masking's elementwise kernel is bound by instructions.
	if !byLine[25]["compute"] || !byLine[26]["memory"] {
		t.Errorf("limiters %v", byLine)
	}
	// The kernels on a line never cost more than the line.
	spent := map[int]float64{}
	for _, row := range kernels.Kernels {
		spent[row.Line] += row.CudaUs
	}
	for _, line := range l.Costs.Lines {
		if most := report.Microseconds(line.GPUNs() + hungAt(l, line.Line)); spent[line.Line] > most+1e-3 { // a rounded nanosecond
			t.Errorf("line %d: kernels %.1f µs of %.1f", line.Line, spent[line.Line], most)
		}
	}
	if warnings := warningsOf(l, "ncu"); len(warnings) > 1 {
		t.Errorf("warnings %v", warnings)
	}
}

// hungAt is GPU time that hangs at a line without being its own.
func hungAt(l *Loaded, line int) (ns int64) {
	for _, row := range l.Costs.Unattributed {
		if row.Line == line {
			ns += row.Ns
		}
	}
	return ns
}

func warningsOf(l *Loaded, code string) []string {
	var texts []string
	for _, warning := range l.Warnings() {
		if strings.Contains(warning.Code, code) {
			texts = append(texts, warning.Message)
		}
	}
	return texts
}

// TestMemoryOnLines: every byte of the snapshot is in one row, on the statement that allocated it.
func TestMemoryOnLines(t *testing.T) {
	w := besideWorkspace(t, map[string]string{"gpt.py": "@testdata/traces/gpt/gpt.py"})
	m := loadBeside(t, w, gptTrace, gptSnapshot).Beside.Memory
	var held, allocated int64
	seen := map[string]bool{}
	for _, row := range m.Lines {
		held += row.HeldBytes
		allocated += row.AllocBytes
		key := fmt.Sprintf("%s:%d", row.File, row.Line)
		if seen[key] {
			t.Errorf("two rows for %s", key)
		}
		seen[key] = true
		if row.File != "" && (row.File != "gpt.py" || !row.Workspace || row.Confidence != "exact" || row.Function == "") {
			t.Errorf("row %+v", row)
		}
		if row.OwnPeakBytes < row.PeakBytes || row.OwnPeakBytes < row.HeldBytes {
			t.Errorf("%s: most %d, at the peak %d, held %d", key, row.OwnPeakBytes, row.PeakBytes, row.HeldBytes)
		}
	}
	if len(m.Devices) != 1 || held != m.Devices[0].HeldBytes || allocated != m.Devices[0].AllocBytes {
		t.Errorf("lines hold %d and allocated %d, device %+v", held, allocated, m.Devices)
	}
	for _, want := range []int{26, 63, 118, 136} {
		if !seen[fmt.Sprintf("gpt.py:%d", want)] {
			t.Errorf("no row for line %d", want)
		}
	}
	if len(m.Steps) == 0 || m.Steps[0].Allocs == 0 || len(m.Fragmentation) != 1 || m.Fragmentation[0].ReservedBytes < m.Fragmentation[0].AllocatedBytes {
		t.Errorf("steps %+v, fragmentation %+v", m.Steps, m.Fragmentation)
	}
}

// TestMemoryGrows: a line that holds more after every step says by how much.
func TestMemoryGrows(t *testing.T) {
	w := besideWorkspace(t, map[string]string{"other.py": "x = 1\n"})
	m := loadBeside(t, w, "traceindex/memsnap/testdata/growing.pickle.gz").Beside.Memory
	grows := slices.IndexFunc(m.Lines, func(row report.MemoryLineRow) bool { return row.GrowthBytesPerStep > 0 })
	if grows < 0 || m.Lines[grows].GrowthSteps < 2 || m.Lines[grows].Workspace {
		t.Errorf("%+v", m.Lines)
	}
}

// TestMemoryAfterEdits: frames of a function that has moved say the function, never a line that is not theirs.
func TestMemoryAfterEdits(t *testing.T) {
	text, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
	if err != nil {
		t.Fatal(err)
	}
	const above = 400
	w := besideWorkspace(t, map[string]string{"gpt.py": strings.Repeat("# moved\n", above) + string(text)})
	m := loadBeside(t, w, gptSnapshot).Beside.Memory
	functions := 0
	for _, row := range m.Lines {
		if row.File != "gpt.py" || row.Line == 0 || row.Function == "<module>" {
			continue
		}
		functions++
		if row.Confidence == "exact" {
			t.Errorf("line %d of %s is called exact", row.Line, row.Function)
		}
	}
	if functions == 0 {
		t.Error("no function of gpt.py has memory")
	}
}

func TestCaseMemorySnapshot(t *testing.T) {
	for _, name := range []string{"p2.pickle", "p5.pickle"} {
		w := besideWorkspace(t, map[string]string{"train.py": strings.Repeat("\n", 19) + "def step(x):\n    return x @ x\n"})
		m := loadBeside(t, w, "testdata/cases/75-memory-snapshot/"+name).Beside.Memory
		d := m.Devices[0]
		if d.HeldBytes != 1<<20 || d.PeakBytes != 3<<19 || d.Allocs != 2 || d.Frees != 1 || m.Fragmentation[0].ReservedBytes != 2<<20 {
			t.Errorf("%s: %+v %+v", name, d, m.Fragmentation)
		}
		if row := m.Lines[0]; row.File != "train.py" || row.Line != 21 || row.Function != "step" || row.HeldBytes != 1<<20 || !row.Workspace {
			t.Errorf("%s: %+v", name, row)
		}
		if len(m.Lines) != 2 || m.Lines[1].File != "" || m.Lines[1].HeldBytes != 0 {
			t.Errorf("%s: %+v", name, m.Lines)
		}
	}
}

// TestKernelsOfAnotherRun: a report that is not of the trace's run is said to be so.
func TestKernelsOfAnotherRun(t *testing.T) {
	w := besideWorkspace(t, map[string]string{"ddp.py": "@testdata/traces/ddp/ddp.py"})
	l := loadBeside(t, w, ddpRank0, gptRaw)
	if warnings := warningsOf(l, ""); !slices.ContainsFunc(warnings, func(m string) bool { return strings.Contains(m, "not of this run") }) {
		t.Errorf("warnings %v", warnings)
	}
}

// TestNCCLOnItsLine: the logs of a job stand at the call of init_process_group.
func TestNCCLOnItsLine(t *testing.T) {
	w := besideWorkspace(t, map[string]string{"ddp.py": "@testdata/traces/ddp/ddp.py", "other.py": "import torch.distributed as dist\n\ndist.init_process_group()\n"})
	n := loadBeside(t, w, ddpRank0, ddpRank1, ncclRank0, ncclRank1).Beside.NCCL
	if !slices.Equal(n.Places, []report.PlaceRow{{File: "ddp.py", Line: 30}}) || !strings.Contains(n.Summary, "2.28.9") || len(n.Files) != 2 || len(n.Bandwidth) != 0 {
		t.Errorf("%+v", n)
	}
	// Without a trace the whole workspace is searched.
	n = loadBeside(t, w, "testdata/cases/74-nccl-log/nccl.log").Beside.NCCL
	if len(n.Places) != 2 || n.Places[0] != (report.PlaceRow{File: "ddp.py", Line: 30}) || n.Places[1].Line != 3 {
		t.Errorf("places %v", n.Places)
	}
	codes := map[string]string{}
	for _, f := range n.Findings {
		codes[f.Code] = f.Message
	}
	if !strings.Contains(codes["collective-mismatch"], "rank 1 never joined AllGather") || codes["nccl-warning"] == "" {
		t.Errorf("findings %v", codes)
	}
}

// TestBandwidth: the trace's all-reduces beside nccl-tests' table.
func TestBandwidth(t *testing.T) {
	const table = `# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1234 on     node-a device  0 [0x01] NVIDIA H200
#  Rank  1 Group  0 Pid   1234 on     node-a device  1 [0x02] NVIDIA H200
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           4             1     float     sum      -1     6.21    0.00    0.00      0     6.20    0.00    0.00      0
     4194304       1048576     float     sum      -1    41.00  102.30  102.30      0    41.10  102.05  102.05      0
    33554432       8388608     float     sum      -1   210.00  159.78  159.78      0   211.00  159.03  159.03      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 87.2
#
`
	w := besideWorkspace(t, map[string]string{"ddp.py": "@testdata/traces/ddp/ddp.py"})
	bench := filepath.Join(t.TempDir(), "all_reduce_perf.log")
	if err := os.WriteFile(bench, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.LoadTrace(context.Background(), []string{filepath.Join(root, ddpRank0), filepath.Join(root, ddpRank1), bench}, LoadOptions{NoCache: true, CostsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := l.Beside.NCCL.Bandwidth
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	large := rows[0]
	if large.Collective != "allreduce" || large.Bytes < 1<<20 || large.Count == 0 || large.MeasuredGBps < 100 || large.MeasuredBytes > large.Bytes {
		t.Errorf("%+v", large)
	}
	// Over two ranks bus bandwidth is bytes over time; an H200's NVLink moves less than 450 GB/s a direction.
	if large.TraceGBps <= 0 || large.TraceGBps > 450 || math.IsNaN(large.TraceGBps) {
		t.Errorf("%.1f GB/s in the trace", large.TraceGBps)
	}
}

// TestBesideUnusable: an input that cannot be read is named in one error and costs nothing else.
func TestBesideUnusable(t *testing.T) {
	w := besideWorkspace(t, map[string]string{"gpt.py": "@testdata/traces/gpt/gpt.py"})
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.pickle")
	// A snapshot by its first words that then names a function.
	if err := os.WriteFile(bad, []byte("\x80\x02}q\x00X\x08\x00\x00\x00segmentscposix\nsystem\n."), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.LoadTrace(context.Background(), []string{filepath.Join(root, gptTrace), bad, filepath.Join(root, gptRaw)}, LoadOptions{NoCache: true, CostsOnly: true})
	if l == nil || err == nil || !strings.Contains(err.Error(), "names a function: posix.system") || strings.Count(err.Error(), "bad.pickle") != 1 {
		t.Fatalf("%v", err)
	}
	if l.Beside == nil || l.Beside.Kernels == nil || l.Beside.Memory != nil || len(l.Costs.Lines) == 0 {
		t.Errorf("%+v", l.Beside)
	}
}
