package nsys

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex"
)

const casesFolder = "../../testdata/cases"

func read(t *testing.T, path string) []*traceindex.Index {
	t.Helper()
	ranks, err := Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return ranks
}

func one(t *testing.T, path string) *traceindex.Index {
	t.Helper()
	ranks := read(t, path)
	if len(ranks) != 1 {
		t.Fatalf("%d ranks", len(ranks))
	}
	return ranks[0]
}

// export writes a database of the statements and returns its path.
func export(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.sqlite")
	db, err := sql.Open(driverName, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return path
}

func hasWarning(ix *traceindex.Index, code string) bool {
	for _, warning := range ix.Warnings {
		if warning.Code == code {
			return true
		}
	}
	return false
}

func TestCaseNoNVTX(t *testing.T) {
	ix := one(t, filepath.Join(casesFolder, "70-nsys-no-nvtx", "input.sqlite"))
	if len(ix.GPUEvents) != 1 {
		t.Fatalf("%d GPU events", len(ix.GPUEvents))
	}
	kernel := ix.GPUEvents[0]
	if ix.Name(kernel) != "gemm" || ix.Events.DurNs[kernel] != 50_000 {
		t.Errorf("kernel %s, %d ns", ix.Name(kernel), ix.Events.DurNs[kernel])
	}
	if launch := ix.Launch[kernel]; launch == traceindex.NoEvent || ix.Name(launch) != "cudaLaunchKernel" {
		t.Errorf("launch %v", launch)
	}
	if !hasWarning(ix, "no-ranges") {
		t.Errorf("warnings %v", ix.Warnings)
	}
	if ix.Meta.Producer != "Nsight Systems, schema 3.17.2" {
		t.Errorf("producer %q", ix.Meta.Producer)
	}

	ix = one(t, filepath.Join(casesFolder, "70-nsys-no-nvtx", "no-kernels.sqlite"))
	calls := 0
	for _, category := range ix.Events.Category {
		if category == traceindex.CategoryRuntime {
			calls++
		}
	}
	if len(ix.GPUEvents) != 0 || calls != 1 || !hasWarning(ix, "no-gpu-events") {
		t.Errorf("%d GPU events, %d calls, warnings %v", len(ix.GPUEvents), calls, ix.Warnings)
	}
}

func TestCaseTwoStreams(t *testing.T) {
	ix := one(t, filepath.Join(casesFolder, "72-nsys-idle-two-streams", "input.sqlite"))
	if busy := ix.BusyNs(); busy != 450_000 {
		t.Errorf("busy %d ns, want 450 µs of 500 µs", busy)
	}
	var compute, communication int64
	for _, g := range ix.GPUEvents {
		if strings.HasPrefix(ix.Name(g), "nccl") {
			communication += ix.Events.DurNs[g]
		} else {
			compute += ix.Events.DurNs[g]
		}
	}
	if compute != 300_000 || communication != 300_000 {
		t.Errorf("compute %d, communication %d ns, want 300 µs each", compute, communication)
	}
}

const (
	createStrings = `CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)`
	createKernel  = `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, registersPerThread INT, staticSharedMemory INT, dynamicSharedMemory INT, graphNodeId INT)`
	createRuntime = `CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT, returnValue INT, callchainId INT)`
	createNVTX    = `CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT)`
	createCopies  = `CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT)`
	process1      = 1 << 24
	process2      = 2 << 24
)

// TestProcesses: correlation ids repeat between processes; each process that worked on a GPU is a rank, others are left out.
func TestProcesses(t *testing.T) {
	path := export(t, createStrings, createKernel, createRuntime,
		`CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT)`, `INSERT INTO TARGET_INFO_GPU VALUES (0, 'GPU A'), (1, 'GPU B')`,
		`CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT)`, `INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)`,
		`CREATE TABLE ThreadNames (nameId INT, globalTid INT)`, fmt.Sprintf(`INSERT INTO ThreadNames VALUES (3, %d)`, process1+11),
		`CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT)`, fmt.Sprintf(`INSERT INTO PROCESSES VALUES (%d, 1, 'python3')`, process1),
		`INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel_v7000'), (3, 'main'), (4, 'cudaMemcpyAsync_ptsz_v7000')`,
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 1, 1, 7, 5, %d, 1, 1, 2, 3, 4, 32, 2, 1, 40, 10, 20, NULL), (200, 260, 0, 1, 7, 5, %d, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 9)`, process1, process2),
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, %d, 5, 2, 0, 0), (30, 40, 0, %d, 5, 2, 0, 0), (50, 60, 0, %d, 6, 4, 0, 0), (1, 2, 0, %d, 5, 2, 0, 0)`, process1+11, process2+12, process1+11, 3<<24))
	ranks := read(t, path)
	if len(ranks) != 2 {
		t.Fatalf("%d ranks", len(ranks))
	}
	for i, want := range []struct {
		device      string
		start, dur  int64
		launchStart int64
		pid, tid    string
	}{{"GPU A", 200, 60, 30, "2", "12"}, {"GPU B", 100, 50, 10, "1", "11"}} {
		ix := ranks[i]
		g := ix.GPUEvents[0]
		launch := ix.Launch[g]
		if ix.Meta.Rank != i || ix.Meta.Device != want.device || ix.Meta.BaseUnixNs != 1700000000000000000 || len(ix.GPUEvents) != 1 {
			t.Errorf("rank %d: %+v", i, ix.Meta)
		}
		if ix.Events.StartNs[g] != want.start || ix.Events.DurNs[g] != want.dur || ix.Events.StartNs[launch] != want.launchStart {
			t.Errorf("rank %d: kernel at %d, launched at %d", i, ix.Events.StartNs[g], ix.Events.StartNs[launch])
		}
		thread := ix.Threads[ix.Events.Thread[launch]]
		if thread.PID != want.pid || thread.TID != want.tid {
			t.Errorf("rank %d: thread %+v", i, thread)
		}
	}
	ix := ranks[1]
	if thread := ix.Threads[ix.Events.Thread[ix.Launch[ix.GPUEvents[0]]]]; thread.Name != "main" || thread.Process != "python3" {
		t.Errorf("thread %+v", thread)
	}
	detail, _ := ix.GPUDetailOf(ix.GPUEvents[0])
	if detail.Grid != [3]int32{2, 3, 4} || detail.Block != [3]int32{32, 2, 1} || detail.Registers != 40 || detail.SharedBytes != 30 {
		t.Errorf("detail %+v", detail)
	}
	found := false
	for row, category := range ix.Events.Category {
		found = found || category == traceindex.CategoryRuntime && ix.Name(traceindex.EventID(row)) == "cudaMemcpyAsync"
	}
	if !found {
		t.Error("cudaMemcpyAsync_ptsz_v7000 keeps its suffixes")
	}
}

func TestCopies(t *testing.T) {
	path := export(t, createStrings, createCopies,
		`INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 10, 0, 1, 7, 1, NULL, 4096, 1, 0, 2), (20, 30, 0, 1, 7, 2, NULL, 8, 2, 2, 1), (40, 50, 0, 1, 7, 3, NULL, 16, 8, 2, 2), (60, 70, 0, 1, 7, 4, NULL, NULL, 99, NULL, NULL)`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT, streamId INT, bytes INT, memKind INT)`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (80, 90, 0, 7, 64, 2)`)
	ix := one(t, path)
	var got []string
	for _, g := range ix.GPUEvents {
		detail, _ := ix.GPUDetailOf(g)
		line := fmt.Sprintf("%s, %d bytes", ix.Name(g), detail.Bytes)
		if c, ok := ix.CopyOf(g); ok {
			line += fmt.Sprintf(" %s pageable %v pinned %v", c.Direction, c.Pageable, c.Pinned)
		}
		got = append(got, line)
	}
	want := []string{
		"Memcpy HtoD (Pageable -> Device), 4096 bytes HtoD pageable true pinned false",
		"Memcpy DtoH (Device -> Pinned), 8 bytes DtoH pageable false pinned true",
		"Memcpy DtoD (Device -> Device), 16 bytes DtoD pageable false pinned false",
		"Memcpy, -1 bytes  pageable false pinned false",
		"Memset (Device), 64 bytes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseOp(t *testing.T) {
	tests := []struct {
		text string
		want op
	}{
		{"aten::view, op_id = 314290", op{"aten::view", -1, "", false}},
		{"aten::mm, seq = 42, op_id = 5, sizes = [[4, 8], [8, 4]], input_op_ids = [[3, 0], [1, 0]]", op{"aten::mm", 42, "[[4, 8], [8, 4]]", false}},
		{"autograd::engine::evaluate_function: MmBackward0, seq = 42, op_id = 9", op{"autograd::engine::evaluate_function: MmBackward0", 42, "", false}},
		{"MmBackward, stashed seq=42, seq=100, TID=3", op{"MmBackward", 42, "", true}},
		{"aten::relu", op{"aten::relu", -1, "", false}},
		{"x, sizes = [", op{"x", -1, "", false}},
		{"x, seq = 99999999999999999999", op{"x", -1, "", false}},
	}
	for _, test := range tests {
		if got := parseOp(test.text); got != test.want {
			t.Errorf("%q: %+v, want %+v", test.text, got, test.want)
		}
	}
	names := rangeNames{}
	for text, want := range map[string]bool{"aten::mm": true, "cub::DeviceReduce::Sum": false, "forward": false, "Optimizer.step#SGD.step": false, "MmBackward0, seq = 3": true, "c10d::allreduce_": true} {
		if got := names.isOp(text); got != want {
			t.Errorf("isOp(%q) = %v", text, got)
		}
	}
}

// tree writes a thread's host events with their parents.
func tree(ix *traceindex.Index, thread traceindex.ThreadID) string {
	var out strings.Builder
	var walk func(row traceindex.EventID, depth int)
	walk = func(row traceindex.EventID, depth int) {
		fmt.Fprintf(&out, "%s%s [%d %d]", strings.Repeat("  ", depth), ix.Name(row), ix.Events.StartNs[row], ix.EndNs(row))
		if line, ok := ix.CallLineOf(row); ok {
			fmt.Fprintf(&out, " from %s:%d %s", line.File, line.Line, line.Function)
		}
		out.WriteByte('\n')
		for child := range ix.Children(row) {
			walk(child, depth+1)
		}
	}
	for root := range ix.Roots(thread) {
		walk(root, 0)
	}
	return out.String()
}

func TestRanges(t *testing.T) {
	thread := process1 + 11
	nvtx := func(start, end any, kind int, text string, domain int) string {
		return fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (%v, %v, %d, 1, '%s', %d, NULL, NULL, %d)`, start, end, kind, text, thread, domain)
	}
	path := export(t, createStrings, createKernel, createRuntime, createNVTX,
		`INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel_v7000'), (3, 'registered')`,
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (130, 150, 0, 1, 7, 5, %[1]d, 1, 1, 1,1,1, 1,1,1, 0,0,0,NULL), (430, 500, 0, 1, 7, 6, %[1]d, 1, 1, 1,1,1, 1,1,1, 0,0,0,NULL)`, process1),
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (120, 125, 0, %[1]d, 5, 2, 0, 0), (420, 425, 0, %[1]d, 6, 2, 0, 0)`, thread),
		nvtx(100, 300, nvtxPushPop, "step 0", 0), nvtx(300, 600, nvtxPushPop, "step 1", 0),
		nvtx(110, 140, nvtxPushPop, "aten::mm, seq = 7, op_id = 3, sizes = [[2, 3], [3, 4]]", 0),
		nvtx(410, 440, nvtxPushPop, "autograd::engine::evaluate_function: MmBackward0, seq = 7, op_id = 4", 0),
		nvtx(50, "NULL", nvtxDomain, "NCCL", 2), nvtx(450, 460, nvtxPushPop, "ncclAllReduce", 2),
		nvtx(470, 480, nvtxStartEnd, "overlap", 0), nvtx(481, "NULL", nvtxMark, "here", 0),
		nvtx(490, "NULL", nvtxPush, "pushed", 0), nvtx(495, "NULL", nvtxPop, "", 0),
		nvtx(500, "NULL", nvtxPushPop, "unended", 0),
		fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (505, 510, 59, 1, NULL, %d, NULL, 3, 0)`, thread))
	ix := one(t, path)
	if len(ix.Steps) != 2 || ix.Steps[1].Number != 1 || ix.Steps[1].StartNs != 300 {
		t.Errorf("steps %+v", ix.Steps)
	}
	var annotations []string
	for row, category := range ix.Events.Category {
		if category == traceindex.CategoryAnnotation {
			annotations = append(annotations, fmt.Sprintf("%s %d %d", ix.Name(traceindex.EventID(row)), ix.Events.StartNs[row], ix.Events.DurNs[row]))
		}
	}
	slices.Sort(annotations)
	want := []string{"step 0 100 200", "ProfilerStep#0 100 200", "step 1 300 300", "ProfilerStep#1 300 300", "NCCL: ncclAllReduce 450 10", "overlap 470 10", "pushed 490 5", "unended 500 100", "registered 505 5"}
	slices.Sort(want)
	if diff := cmp.Diff(want, annotations); diff != "" {
		t.Error(diff)
	}
	wantTree := "aten::mm [110 140]\n  cudaLaunchKernel [120 125]\nautograd::engine::evaluate_function: MmBackward0 [410 440]\n  cudaLaunchKernel [420 425]\n"
	var roots []string
	for _, line := range strings.SplitAfter(tree(ix, ix.TrainingThread), "\n") {
		if strings.Contains(line, "aten") || strings.Contains(line, "autograd") || strings.Contains(line, "cuda") {
			roots = append(roots, line)
		}
	}
	if diff := cmp.Diff(wantTree, strings.Join(roots, "")); diff != "" {
		t.Error(diff)
	}
	wantTimes := []traceindex.RangeTime{{Range: "step 1", Ns: 70, Kernels: 1}, {Range: "step 0", Ns: 20, Kernels: 1}}
	if diff := cmp.Diff(wantTimes, ix.RangeTimes()); diff != "" {
		t.Error(diff)
	}
	forward := 0
	for backward, of := range ix.ForwardOf {
		forward++
		if !strings.HasSuffix(ix.Name(backward), "MmBackward0") || ix.Name(of) != "aten::mm" {
			t.Errorf("%s is the backward of %s", ix.Name(backward), ix.Name(of))
		}
		if detail, ok := ix.OpDetailOf(of); !ok || ix.Names[detail.Dims] != "[[2, 3], [3, 4]]" {
			t.Errorf("shapes of the forward op: %+v", detail)
		}
	}
	if forward != 1 {
		t.Errorf("%d backward ops are joined", forward)
	}
}

// TestRangeTimes: the innermost range counts; backward work counts to the range its training thread is in.
func TestRangeTimes(t *testing.T) {
	main, autograd := process1+11, process1+12
	statements := []string{createStrings, createKernel, createRuntime, createNVTX, `INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel_v7000')`}
	launch := func(thread, at, correlation, durNs int) {
		statements = append(statements, fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, 0, %d, %d, 2, 0, 0)`, at, at+1, thread, correlation),
			fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 1, 7, %d, %d, 1, 1, 1,1,1, 1,1,1, 0,0,0,NULL)`, 1000*correlation, 1000*correlation+durNs, correlation, process1))
	}
	annotate := func(from, to int, text string) {
		statements = append(statements, fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, 1, '%s', %d, NULL, NULL, 0)`, from, to, text, main))
	}
	annotate(10, 100, "step 0")
	annotate(20, 40, "forward")
	annotate(25, 30, "attention")
	annotate(50, 90, "backward")
	annotate(100, 200, "step 1")
	launch(main, 5, 1, 1)      // before any range
	launch(main, 22, 2, 10)    // forward
	launch(main, 26, 3, 100)   // attention
	launch(autograd, 60, 4, 7) // backward, on its own thread
	launch(main, 95, 5, 3)     // step 0 itself
	for i := range 4 {
		launch(main, 110+i, 10+i, 0) // the training thread is the one with most calls
	}
	ix := one(t, export(t, statements...))
	want := []traceindex.RangeTime{{Range: "attention", Ns: 100, Kernels: 1}, {Range: "forward", Ns: 10, Kernels: 1}, {Range: "backward", Ns: 7, Kernels: 1},
		{Range: "step 0", Ns: 3, Kernels: 1}, {Range: "", Ns: 1, Kernels: 1}, {Range: "step 1", Ns: 0, Kernels: 4}}
	if diff := cmp.Diff(want, ix.RangeTimes()); diff != "" {
		t.Error(diff)
	}
}

func TestParseFrame(t *testing.T) {
	tests := []struct {
		symbol, module string
		want           frame
		ok             bool
	}{
		{"step", "/srv/app/train.py", frame{"/srv/app/train.py", 0, "step"}, true},
		{"step:21", "/srv/app/train.py", frame{"/srv/app/train.py", 21, "step"}, true},
		{"step", "/srv/app/train.py:21", frame{"/srv/app/train.py", 21, "step"}, true},
		{"Trainer.step()", `C:\work\train.py:21`, frame{"C:/work/train.py", 21, "Trainer.step"}, true},
		{"step at /srv/app/train.py:21", "", frame{"/srv/app/train.py", 21, "step"}, true},
		{"step (/srv/app/train.py:21)", "[Python]", frame{"/srv/app/train.py", 21, "step"}, true},
		{"/srv/app/train.py:21 step", "python", frame{"/srv/app/train.py", 21, "step"}, true},
		{"train.py(21): step", "", frame{"train.py", 21, "step"}, true},
		{`File "train.py", line 21, in step`, "", frame{"train.py", 21, "step"}, true},
		{"<module>", "/srv/app/train.py:3", frame{"/srv/app/train.py", 3, "<module>"}, true},
		{"_PyEval_EvalFrameDefault", "/usr/bin/python3.11", frame{}, false},
		{"cudaLaunchKernel", "libcudart.so.12", frame{}, false},
		{"at::native::copy_", "/opt/torch/lib/libtorch_cuda.so", frame{}, false},
		{"", "", frame{}, false},
	}
	for _, test := range tests {
		if got, ok := parseFrame(test.symbol, test.module); ok != test.ok || got != test.want {
			t.Errorf("parseFrame(%q, %q) = %+v, %v; want %+v", test.symbol, test.module, got, ok, test.want)
		}
	}
}

// TestBacktraces: frames are made of the stacks of consecutive calls and carry the exact lines of the calls.
func TestBacktraces(t *testing.T) {
	thread := process1 + 11
	call := func(start, end, correlation, chain int) string {
		return fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, 0, %d, %d, 2, 0, %d)`, start, end, thread, correlation, chain)
	}
	path := export(t, createStrings, createKernel, createRuntime, createNVTX,
		`INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel_v7000'), (3, 'train'), (4, 'forward'), (5, '/srv/train.py:10'), (6, '/srv/model.py:4'), (7, '/srv/model.py:5'),
			(8, '/srv/train.py:11'), (9, '_PyEval_EvalFrameDefault'), (10, '/usr/bin/python3')`,
		`CREATE TABLE CUDA_CALLCHAINS (id INT, symbol INT, module INT, stackDepth INT)`,
		`INSERT INTO CUDA_CALLCHAINS VALUES (1, 9, 10, 0), (1, 4, 6, 1), (1, 3, 5, 2), (2, 4, 7, 0), (2, 3, 5, 1), (3, 3, 8, 0), (4, 9, 10, 0)`,
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (130, 150, 0, 1, 7, 5, %d, 1, 1, 1,1,1, 1,1,1, 0,0,0,NULL)`, process1),
		fmt.Sprintf(`INSERT INTO NVTX_EVENTS VALUES (100, 140, 59, 1, 'aten::mm, op_id = 1', %[1]d, NULL, NULL, 0), (160, 190, 59, 1, 'aten::relu, op_id = 2', %[1]d, NULL, NULL, 0)`, thread),
		call(110, 115, 5, 1), call(120, 125, 6, 1), call(170, 175, 7, 2), call(200, 205, 8, 3), call(300, 305, 9, 4))
	ix := one(t, path)
	want := `/srv/train.py(10): train [100 205]
  /srv/model.py(4): forward [100 190] from /srv/train.py:10 train
    <built-in function cudaLaunchKernel> [100 140] from /srv/model.py:4 forward
      aten::mm [100 140]
        cudaLaunchKernel [110 115]
        cudaLaunchKernel [120 125]
    <built-in function cudaLaunchKernel> [160 190] from /srv/model.py:5 forward
      aten::relu [160 190]
        cudaLaunchKernel [170 175]
  <built-in function cudaLaunchKernel> [200 205] from /srv/train.py:11 train
    cudaLaunchKernel [200 205]
cudaLaunchKernel [300 305]
`
	if diff := cmp.Diff(want, tree(ix, ix.TrainingThread)); diff != "" {
		t.Error(diff)
	}
}

func TestOtherTables(t *testing.T) {
	path := export(t, createStrings, `INSERT INTO StringIds VALUES (1, 'poll'), (2, 'Buffer flush')`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, graphId INT)`,
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (10, 30, 0, 1, 7, 3, %d, 12)`, process1),
		`CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, syncType INT)`,
		fmt.Sprintf(`INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (30, 40, 0, 1, 4294967295, 4, %d, 4)`, process1),
		`CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT)`, fmt.Sprintf(`INSERT INTO OSRT_API VALUES (1, 5, %d, 1), (7, 3, %d, 1)`, process1+4, process1+4),
		`CREATE TABLE PROFILER_OVERHEAD (start INT, end INT, globalTid INT, nameId INT)`, fmt.Sprintf(`INSERT INTO PROFILER_OVERHEAD VALUES (2, 3, %d, 2)`, process1+4),
		`CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n`)
	ix := one(t, path)
	var got []string
	for row, category := range ix.Events.Category {
		got = append(got, fmt.Sprintf("%d %s %d", category, ix.Name(traceindex.EventID(row)), ix.Events.DurNs[row]))
	}
	want := []string{
		fmt.Sprintf("%d os: poll 4", traceindex.CategoryOther), fmt.Sprintf("%d Buffer flush 1", traceindex.CategoryOverhead),
		fmt.Sprintf("%d Context Sync 10", traceindex.CategorySync), fmt.Sprintf("%d CUDA graph 12 20", traceindex.CategoryKernel),
	}
	seen := map[string]int{}
	for _, line := range got {
		seen[line]++
	}
	for _, line := range want {
		if seen[line] != 1 {
			t.Errorf("no %q in %q", line, got)
		}
	}
	if !hasWarning(ix, "bad-row") || len(got) != 4 {
		t.Errorf("events %q, warnings %v", got, ix.Warnings)
	}
}

// TestPublic compares with what SQL says of public exports (testdata/public.tsv says where they are). The files are not in the
// repository: STEPLINE_PUBLIC_EXPORTS names the folder that holds copies.
func TestPublic(t *testing.T) {
	folder := os.Getenv("STEPLINE_PUBLIC_EXPORTS")
	if folder == "" {
		t.Skip("STEPLINE_PUBLIC_EXPORTS is not set")
	}
	table, err := os.Open("testdata/public.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	checked := 0
	for lines := bufio.NewScanner(table); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(fields[0], "#") {
			continue
		}
		path := filepath.Join(folder, fields[2]+"-"+filepath.Base(fields[1]))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		checked++
		var got []string
		sums := map[traceindex.Category][2]int64{}
		ops, unlinked := 0, 0
		ranks := read(t, path)
		for _, ix := range ranks {
			for row, category := range ix.Events.Category {
				sum := sums[category]
				sums[category] = [2]int64{sum[0] + 1, sum[1] + ix.Events.DurNs[row]}
			}
			unlinked += len(ix.UnlinkedGPUEvents())
			ops += len(ix.Ops)
		}
		got = append(got, strconv.Itoa(len(ranks)))
		for _, category := range []traceindex.Category{traceindex.CategoryKernel, traceindex.CategoryMemcpy, traceindex.CategoryMemset, traceindex.CategoryRuntime} {
			got = append(got, strconv.FormatInt(sums[category][0], 10), strconv.FormatInt(sums[category][1], 10))
		}
		got = append(got, strconv.Itoa(unlinked), strconv.FormatInt(sums[traceindex.CategoryOp][0], 10))
		if diff := cmp.Diff(fields[3:], got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	t.Logf("%d exports checked", checked)
	if checked == 0 {
		t.Error("none of the exports is there")
	}
}
