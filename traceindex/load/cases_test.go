package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex"
)

const casesDir = "../../testdata/cases"

// open opens inputs of one case; what cannot be used fails the test.
func open(t *testing.T, paths ...string) *traceindex.Run {
	t.Helper()
	for i := range paths {
		paths[i] = filepath.Join(casesDir, paths[i])
	}
	run, err := Open(context.Background(), paths, Options{NoCache: true})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return run
}

// facts is what the cases' EXPECT.md state, as text that can be compared whole.
type facts struct {
	Events   int
	GPU      []string // "category name-prefix duration → frame of its launch", by start
	TotalUs  float64
	BusyUs   float64
	Frames   []string // "file:line function" of all Python frames, by row
	Warnings []string // "code@byte line"
	Rank     int
	World    int
}

func us(ns int64) float64 { return float64(ns) / 1000 }

// frameOf is the innermost Python frame above a launch that has a place.
func frameOf(ix *traceindex.Index, e traceindex.EventID) string {
	for ; e != traceindex.NoEvent; e = ix.Parent[e] {
		if l, ok := ix.LocationOf(e); ok {
			return fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Function)
		}
	}
	return "none"
}

func factsOf(ix *traceindex.Index) facts {
	f := facts{Events: ix.Events.Len(), TotalUs: us(ix.GPUTotalNs()), BusyUs: us(ix.BusyNs()), Rank: ix.Meta.Rank, World: ix.Meta.WorldSize}
	words := map[traceindex.Category]string{traceindex.CategoryKernel: "kernel", traceindex.CategoryMemcpy: "copy", traceindex.CategoryMemset: "memset"}
	for _, g := range ix.GPUEvents {
		where := "unlinked"
		if call := ix.Launch[g]; call != traceindex.NoEvent {
			where = frameOf(ix, call)
		}
		name := strings.TrimSpace(ix.Name(g))
		f.GPU = append(f.GPU, fmt.Sprintf("%s %.12s %g → %s", words[ix.Events.Category[g]], name, us(ix.GPUDurNs(g)), where))
	}
	for row := range traceindex.EventID(ix.Events.Len()) {
		if l, ok := ix.LocationOf(row); ok {
			f.Frames = append(f.Frames, fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Function))
		}
	}
	for _, w := range ix.Warnings {
		at := ""
		if w.Byte != nil {
			at = fmt.Sprintf("@%d", *w.Byte)
		}
		if i := strings.Index(w.Message, "line "); i >= 0 {
			at += " " + strings.Fields(w.Message[i:])[0] + " " + strings.Fields(w.Message[i:])[1]
		}
		f.Warnings = append(f.Warnings, w.Code+at)
	}
	return f
}

// tree is a thread's frames as indented text, with effective durations in µs.
func tree(ix *traceindex.Index) string {
	var out strings.Builder
	var walk func(e traceindex.EventID, depth int)
	walk = func(e traceindex.EventID, depth int) {
		fmt.Fprintf(&out, "%s%s %g self %g\n", strings.Repeat(" ", depth), ix.Name(e), us(ix.DurNs(e)), us(ix.SelfNs(e)))
		for c := range ix.Children(e) {
			walk(c, depth+1)
		}
	}
	for _, t := range ix.HostThreads {
		for e := range ix.Roots(t) {
			walk(e, 0)
		}
	}
	return out.String()
}

func TestCases(t *testing.T) {
	paths := facts{Events: 6, TotalUs: 30, BusyUs: 30, Rank: -1,
		GPU:    []string{"kernel relu_kernel( 30 → torch/nn/functional.py:1700 relu"},
		Frames: []string{"C:/work/proj/train.py:12 step", "torch/nn/functional.py:1700 relu", "torch/utils/data/_utils/fetch.py:20 fetch"}}
	badPaths := paths
	badPaths.Warnings = []string{"bad-escape@162 line 5"}
	copies := facts{Events: 5, TotalUs: 13, BusyUs: 13, Rank: -1,
		GPU: []string{"copy Memcpy HtoD  0 → unlinked", "copy Memcpy HtoD  0 → unlinked", "copy Memcpy HtoD  8 → unlinked", "copy Memcpy HtoD  0 → unlinked", "kernel k 5 → unlinked"}}
	lower, upper := copies, copies
	lower.Warnings, upper.Warnings = []string{"not-a-number@326 line 5"}, []string{"not-a-number@326 line 5"}
	ordered := facts{Events: 6, TotalUs: 60, BusyUs: 60, Rank: -1, GPU: []string{"kernel gemm 60 → model.py:30 forward"},
		Frames: []string{"train.py:10 step", "model.py:30 forward"}}
	oldNew := facts{Events: 4, TotalUs: 30, BusyUs: 30, Rank: -1, GPU: []string{"kernel gemm 25 → none", "copy Memcpy HtoD  5 → unlinked"}}
	tests := []struct {
		file string
		want facts
	}{
		{"01-backslash-paths/input-good.json", paths},
		{"01-backslash-paths/input-bad.json", badPaths},
		{"03-inf-nan-values/input-lower.json", lower},
		{"03-inf-nan-values/input-upper.json", upper},
		{"04-control-chars/input.json", facts{Events: 6, TotalUs: 25, BusyUs: 25, Rank: -1, GPU: []string{"kernel gemm 25 → train.py:5 main"},
			Frames:   []string{"train.py:5 main", `torch/_inductor/config.py:0 \x01\x02\x1b[7m`, `lib/gen.py:3 two\nlines\there`},
			Warnings: []string{"control-bytes@362 line 6"}}},
		{"06-cut-short/input.json", facts{Events: 6, TotalUs: 40, BusyUs: 40, Rank: -1, GPU: []string{"kernel gemm_a 40 → train.py:5 main"},
			Frames: []string{"train.py:5 main"}, Warnings: []string{"cut-short@1039"}}},
		{"08-gzip-many-members/input.json.gz", facts{Events: 8, TotalUs: 70, BusyUs: 70, Rank: 3, World: 8,
			GPU:    []string{"kernel gemm_a 40 → train.py:5 main", "kernel add_b_with_a 30 → train.py:5 main"},
			Frames: []string{"train.py:5 main"}}},
		{"10-array-without-end/input.json", facts{Events: 3, TotalUs: 40, BusyUs: 40, Rank: -1, GPU: []string{"kernel gemm 40 → unlinked"}}},
		{"13-keys-after-events/input.json", facts{Events: 3, TotalUs: 40, BusyUs: 40, Rank: 5, World: 8, GPU: []string{"kernel gemm_a 40 → none"}}},
		{"14-not-a-trace/empty-trace.json", facts{Rank: -1}},
		{"22-display-unit-trap/input.json", facts{Events: 3, TotalUs: 13837.451, BusyUs: 13837.451, Rank: -1, GPU: []string{"kernel gemm 13837.451 → none"}}},
		{"23-kernel-before-launch/input.json", facts{Events: 6, TotalUs: 75, BusyUs: 75, Rank: -1,
			GPU: []string{"kernel gemm 40 → none", "kernel add 35 → none"}, Warnings: []string{"clock-skew"}}},
		{"25-duration-overruns-stream/input.json", facts{Events: 9, TotalUs: 220, BusyUs: 220, Rank: -1,
			GPU:      []string{"kernel fmha_bwd 100 → none", "kernel k2 50 → none", "kernel k3 40 → none", "kernel k4 30 → none"},
			Warnings: []string{"impossible-duration"}}},
		{"29-order-and-ties/input.json", ordered},
		{"29-order-and-ties/reversed.json", ordered},
		{"31-gpu-annotations/input.json", facts{Events: 7, TotalUs: 60, BusyUs: 60, Rank: -1, GPU: []string{"kernel a 30 → none", "kernel b 30 → none"}}},
		{"40-old-category-names/old.json", oldNew},
		{"40-old-category-names/new.json", oldNew},
		{"43-host-op-named-like-kernel/input.json", facts{Events: 4, TotalUs: 30, BusyUs: 30, Rank: -1, GPU: []string{"kernel triton_red_f 30 → none"}}},
		{"44-rocm/input.json", facts{Events: 12, TotalUs: 155, BusyUs: 155, Rank: -1, Frames: []string{"train.py:10 step"},
			GPU: []string{"kernel Cijk_Ailk_Bl 40 → train.py:10 step", "kernel vectorized_a 10 → train.py:10 step", "kernel ncclDevKerne 100 → unlinked",
				"copy CopyHostToDe 5 → train.py:10 step"}}},
		{"46-external-id-lies/input.json", facts{Events: 8, TotalUs: 100, BusyUs: 100, Rank: -1, Frames: []string{"a.py:3 fa", "b.py:8 fb"},
			GPU: []string{"kernel gemm 70 → a.py:3 fa", "kernel relu 30 → b.py:8 fb"}}},
		{"49-definition-line/input.json", facts{Events: 11, TotalUs: 70, BusyUs: 70, Rank: -1,
			Frames: []string{"train.py:1 <module>", "train.py:17 main", "train.py:4 load", "train.py:10 step", "train.py:13 <listcomp>"},
			GPU:    []string{"kernel relu 30 → train.py:10 step", "kernel mul 40 → train.py:13 <listcomp>"}}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			ix := open(t, test.file).Ranks[0]
			if d := cmp.Diff(test.want, factsOf(ix)); d != "" {
				t.Errorf("(−want +got)\n%s", d)
			}
		})
	}
}

func TestCase03BandwidthAndBytes(t *testing.T) {
	for _, file := range []string{"input-lower.json", "input-upper.json"} {
		ix := open(t, "03-inf-nan-values/"+file).Ranks[0]
		var bytes int64
		for _, g := range ix.GPUEvents {
			if c, ok := ix.CopyOf(g); ok {
				bytes += c.Bytes
				if c.Direction != "HtoD" || !c.Pageable || c.Pinned {
					t.Errorf("%s: copy %+v", file, c)
				}
			}
		}
		if bytes != 100264 {
			t.Errorf("%s: %d bytes copied, want 100264", file, bytes)
		}
	}
}

func TestCase06LaunchWithoutWork(t *testing.T) {
	ix := open(t, "06-cut-short/input.json").Ranks[0]
	calls := ix.LaunchesWithoutWork()
	if len(calls) != 1 || ix.Events.Link[calls[0]] != 22 {
		t.Errorf("launches without work: %v", calls)
	}
	if !slices.ContainsFunc(ix.Quality(), func(w traceindex.Warning) bool { return w.Code == "no-gpu-work-seen" }) {
		t.Errorf("quality does not tell of the launch: %v", ix.Quality())
	}
}

func TestCase12LargeIntegers(t *testing.T) {
	ix := open(t, "12-integers-beyond-int64/input.json").Ranks[0]
	communicators := map[string]float64{}
	streams := map[int64]bool{}
	for _, g := range ix.GPUEvents {
		c, _ := ix.CollectiveOf(g)
		communicators[c.CommunicatorID] += us(ix.GPUDurNs(g))
		d, _ := ix.GPUDetailOf(g)
		streams[d.Stream] = true
	}
	if d := cmp.Diff(map[string]float64{"18446744073709551615": 40, "18446744073709551614": 20, "340282366920938463463374607431768211456": 40}, communicators); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[int64]bool{20: true, 9007199254740992: true, 9007199254740993: true}, streams); d != "" {
		t.Error(d)
	}
}

func TestCase13Meta(t *testing.T) {
	ix := open(t, "13-keys-after-events/input.json").Ranks[0]
	if ix.Meta.Device != "Test GPU A" || ix.Meta.Backend != "nccl" {
		t.Errorf("meta %+v", ix.Meta)
	}
	if at := ix.Meta.BaseUnixNs + ix.Events.StartNs[ix.GPUEvents[0]]; at != 1712000000001040000 {
		t.Errorf("the kernel starts at %d", at)
	}
}

func TestCase14NotATrace(t *testing.T) {
	for file, says := range map[string]string{
		"vocab.json":           "not a profiler trace: \"traceEvents\" is not a list",
		"execution-graph.json": "PyTorch execution graph",
		"zero-bytes.json":      "empty file",
		"html.json":            "HTML, not JSON",
		"lfs.json.gz":          "Git LFS pointer - fetch the real file",
	} {
		path := filepath.Join(casesDir, "14-not-a-trace", file)
		run, err := Open(context.Background(), []string{path}, Options{NoCache: true})
		if run != nil || err == nil || !strings.Contains(err.Error(), says) || strings.Count(err.Error(), file) != 1 {
			t.Errorf("%s: run %v, error %v; want %q", file, run, err, says)
		}
		// Beside a good file, the good one is used and the error stays.
		good := filepath.Join(casesDir, "22-display-unit-trap/input.json")
		run, err = Open(context.Background(), []string{path, good}, Options{NoCache: true})
		if run == nil || len(run.Ranks) != 1 || err == nil {
			t.Errorf("%s beside a good file: run %v, error %v", file, run, err)
		}
	}
	run, err := Open(context.Background(), []string{filepath.Join(casesDir, "14-not-a-trace")}, Options{NoCache: true})
	if err != nil || len(run.Ranks) != 1 {
		t.Errorf("the folder: run %v, error %v; want its one trace", run, err)
	}
}

func TestCase16DeepAndWide(t *testing.T) {
	ix := open(t, "16-deep-and-wide/input.json").Ranks[0]
	g := ix.GPUEvents[0]
	if ix.Events.Len() != 3002 || len(ix.GPUEvents) != 1 || ix.GPUTotalNs() != 25000 || len(ix.Name(g)) != 88013 {
		t.Errorf("%d events, %d kernels, %d ns, a name of %d bytes", ix.Events.Len(), len(ix.GPUEvents), ix.GPUTotalNs(), len(ix.Name(g)))
	}
	depth := 0
	for range ix.Ancestors(ix.Launch[g]) {
		depth++
	}
	if frame := frameOf(ix, ix.Launch[g]); depth != 3000 || frame != "deep.py:3000 f3000" {
		t.Errorf("the launch lies %d deep in %s", depth, frame)
	}
}

func TestCase20Nanoseconds(t *testing.T) {
	for _, file := range []string{"absolute.json", "relative.json"} {
		ix := open(t, "20-nanosecond-digits/"+file).Ranks[0]
		if d := cmp.Diff("aten::outer 0.5 self 0.25\n aten::inner_a 0.125 self 0.125\n aten::inner_b 0.125 self 0.125\n", tree(ix)); d != "" {
			t.Errorf("%s: %s", file, d)
		}
		a, b := traceindex.EventID(1), traceindex.EventID(2)
		if at := ix.Meta.BaseUnixNs + ix.Events.StartNs[a]; at != 1712345678901234125 {
			t.Errorf("%s: inner_a starts at %d", file, at)
		}
		if gap := ix.Events.StartNs[b] - ix.Events.StartNs[a]; gap != 250 || ix.EndNs(b) != ix.EndNs(0) {
			t.Errorf("%s: inner_b starts %d ns after inner_a, ends %d, outer %d", file, gap, ix.EndNs(b), ix.EndNs(0))
		}
	}
}

func TestCase23Skew(t *testing.T) {
	ix := open(t, "23-kernel-before-launch/input.json").Ranks[0]
	want := traceindex.ClockSkew{Launches: 2, Before: 1, MaxNs: 15000, MeanDelayNs: 20000}
	if d := cmp.Diff(want, ix.Skew()); d != "" {
		t.Error(d)
	}
	for _, s := range ix.Queue() {
		if s.Length < 0 {
			t.Errorf("queue %+v", s)
		}
	}
}

func TestCase25RawDurationStays(t *testing.T) {
	ix := open(t, "25-duration-overruns-stream/input.json").Ranks[0]
	over := ix.Overruns()
	if len(over) != 1 || ix.Name(over[0]) != "fmha_bwd" || ix.Events.DurNs[over[0]] != 1600000000 || ix.GPUDurNs(over[0]) != 100000 {
		t.Errorf("overruns %v", over)
	}
	if w := ix.Warnings[0].Message; !strings.Contains(w, "1600000 µs recorded, 100 µs counted") {
		t.Errorf("warning %q", w)
	}
}

func TestCase27ChildOutlivesParent(t *testing.T) {
	ix := open(t, "27-child-outlives-parent/input.json").Ranks[0]
	want := `train.py(5): main 1000 self 600
 train.py(10): step 200 self 40
  loss.py(7): loss 160 self 160
 train.py(10): step 200 self 170
  aten::mm 30 self 25
   cudaLaunchKernel 5 self 5
`
	if d := cmp.Diff(want, tree(ix)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"kernel gemm 60 → train.py:10 step"}, factsOf(ix).GPU); d != "" {
		t.Error(d)
	}
}

func TestCase29Tree(t *testing.T) {
	a := open(t, "29-order-and-ties/input.json").Ranks[0]
	b := open(t, "29-order-and-ties/reversed.json").Ranks[0]
	want := `train.py(10): step 200 self 160
 model.py(30): forward 40 self 0
  aten::linear 40 self 0
   aten::addmm 40 self 35
    cudaLaunchKernel 5 self 5
`
	for _, ix := range []*traceindex.Index{a, b} {
		if d := cmp.Diff(want, tree(ix)); d != "" {
			t.Error(d)
		}
	}
	if d := cmp.Diff(a.Events.StartNs, b.Events.StartNs); d != "" {
		t.Error(d)
	}
}

func TestCase31AnnotationGroupsKernels(t *testing.T) {
	ix := open(t, "31-gpu-annotations/input.json").Ranks[0]
	for row, c := range ix.Events.Category {
		if c == traceindex.CategoryGPUAnnotation {
			var sum int64
			for _, g := range ix.WorkWithin(traceindex.EventID(row)) {
				sum += ix.GPUDurNs(g)
			}
			if sum != 60000 {
				t.Errorf("%d ns of kernels in the annotation", sum)
			}
			return
		}
	}
	t.Error("no annotation")
}

func TestCase40CallStackAndThreads(t *testing.T) {
	for _, file := range []string{"old.json", "new.json"} {
		ix := open(t, "40-old-category-names/"+file).Ranks[0]
		g := ix.GPUEvents[0]
		op := ix.Parent[ix.Launch[g]]
		d, ok := ix.OpDetailOf(op)
		if !ok || ix.Names[d.CallStack] != "train.py(21): step;train.py(40): <module>" {
			t.Errorf("%s: op %q with call stack %q", file, ix.Name(op), ix.Names[d.CallStack])
		}
		gpu, _ := ix.GPUDetailOf(g)
		host, stream := ix.Threads[ix.Events.Thread[op]], ix.Threads[ix.Events.Thread[g]]
		if gpu.Stream != 7 || gpu.Device != 0 || host.TID != "4000" || stream.TID != "7" || !stream.GPU {
			t.Errorf("%s: %+v on %+v, op on %+v", file, gpu, stream, host)
		}
		if c, _ := ix.CopyOf(ix.GPUEvents[1]); c.Bytes != 4096 || !c.Pinned || ix.DeviceOf(ix.GPUEvents[1]) != 0 {
			t.Errorf("%s: copy %+v", file, c)
		}
	}
}

func TestCase41Graph(t *testing.T) {
	ix := open(t, "41-cuda-graph/input.json").Ranks[0]
	calls := ix.CallsOf(traceindex.CallGraphLaunch)
	if len(calls) != 2 || len(ix.GPUEvents) != 6 || ix.GPUTotalNs() != 120000 {
		t.Fatalf("%d launches, %d kernels, %d ns", len(calls), len(ix.GPUEvents), ix.GPUTotalNs())
	}
	for _, call := range calls {
		delay, ok := ix.LaunchDelayNs(call)
		if len(ix.GPUOf(call)) != 3 || !ok || delay != 60000 || ix.DurNs(call) != 40000 || frameOf(ix, call) != "infer.py:30 decode" {
			t.Errorf("launch %d: %d kernels, delay %d", call, len(ix.GPUOf(call)), delay)
		}
	}
	for _, s := range ix.Queue() {
		if s.Length < 0 || s.Length > 2 {
			t.Errorf("queue %+v", s)
		}
	}
}

func TestCase44Rocm(t *testing.T) {
	ix := open(t, "44-rocm/input.json").Ranks[0]
	if calls := ix.LaunchesWithoutWork(); len(calls) != 1 || ix.Events.Link[calls[0]] != 29170 {
		t.Errorf("launches without work: %v", calls)
	}
	for _, g := range ix.GPUEvents {
		if d, _ := ix.GPUDetailOf(g); d.Device != 2 || d.Stream != 0 {
			t.Errorf("%s on %+v", ix.Name(g), d)
		}
	}
}

func TestCase47Backward(t *testing.T) {
	ix := open(t, "47-backward-thread/input.json").Ranks[0]
	got := map[string]string{}
	for _, g := range ix.GPUEvents {
		node, forward := ix.ForwardOfLaunch(ix.Launch[g])
		switch {
		case forward != traceindex.NoEvent:
			got[ix.Name(g)] = "backward of " + frameOf(ix, forward)
		case node != traceindex.NoEvent:
			got[ix.Name(g)] = "backward of nothing: " + ix.Name(node)
		default:
			got[ix.Name(g)] = frameOf(ix, ix.Launch[g])
		}
	}
	want := map[string]string{"gemm_fwd": "model.py:20 forward", "gemm_head": "model.py:33 head", "gemm_head_bwd": "backward of model.py:33 head",
		"gemm_bwd": "backward of model.py:20 forward", "acc": "backward of nothing: autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if t1 := ix.Threads[ix.TrainingThread]; t1.TID != "4000" {
		t.Errorf("training thread %+v", t1)
	}
}

func TestCase60RanksShareIDs(t *testing.T) {
	run := open(t, "60-ranks-share-ids")
	if len(run.Ranks) != 2 || len(run.Warnings) != 0 {
		t.Fatalf("%d ranks, warnings %v", len(run.Ranks), run.Warnings)
	}
	for rank, want := range []string{"kernel gemm 40 → train.py:10 step", "kernel other_gemm 90 → train.py:10 step"} {
		if got := factsOf(run.Ranks[rank]); got.Rank != rank || len(got.GPU) != 1 || got.GPU[0] != want {
			t.Errorf("rank %d: %+v", rank, got)
		}
	}
}

func TestCase62Collectives(t *testing.T) {
	run := open(t, "62-collectives-across-ranks/rank1.json", "62-collectives-across-ranks/rank0.json")
	joined, unmatched := run.Rendezvouses()
	var got []string
	wait := make([]float64, 2)
	for _, v := range joined {
		line := fmt.Sprintf("%s (%s,%d)", v.Name, v.Group, v.Sequence)
		for _, p := range v.Parts {
			line += fmt.Sprintf(" rank %d late %g", p.Rank, us(p.LateNs))
			wait[p.Rank] += us(p.WaitNs)
		}
		got = append(got, line)
	}
	want := []string{"allreduce (1,1) rank 0 late 0 rank 1 late 400", "allreduce (2,1) rank 0 late 550 rank 1 late 0", "allreduce (1,2) rank 0 late 0 rank 1 late 50"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{450, 550}, wait); d != "" {
		t.Error(d)
	}
	for rank, dur := range []float64{60, 50} {
		if len(unmatched[rank]) != 1 || us(run.Ranks[rank].GPUDurNs(unmatched[rank][0])) != dur {
			t.Errorf("rank %d: unmatched %v", rank, unmatched[rank])
		}
	}
}

// Every case's input goes in by the folder as well: nothing panics, all is counted.
func TestCasesAsFolder(t *testing.T) {
	dirs, err := os.ReadDir(casesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		run, err := Open(context.Background(), []string{filepath.Join(casesDir, d.Name())}, Options{NoCache: true})
		if run == nil && err == nil {
			t.Errorf("%s: neither a run nor an error", d.Name())
		}
	}
}
