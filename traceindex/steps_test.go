package traceindex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSteps(t *testing.T) {
	list := func(ix *Index) string {
		var out []string
		for _, s := range ix.Steps {
			out = append(out, fmt.Sprintf("%s %d [%d–%d]", s.Source, s.Number, s.StartNs/1000, s.EndNs/1000))
		}
		return strings.Join(out, ", ")
	}
	tests := []struct {
		name string
		fill func(b bench)
		want string
	}{
		{"the profiler's", func(b bench) {
			b.add(CategoryAnnotation, b.host("1"), "ProfilerStep#8", 50, 90, 0, -1)
			b.add(CategoryAnnotation, b.host("1"), "ProfilerStep#7", 0, 45, 0, -1)
			b.add(CategoryGPUAnnotation, b.Thread("0", "7", true), "ProfilerStep#7", 20, 60, 0, -1)
			b.add(CategoryAnnotation, b.host("1"), "Optimizer.step#SGD.step", 30, 40, 0, -1)
		}, "ProfilerStep 7 [0–45], ProfilerStep 8 [50–90]"},
		{"written as ops by old versions", func(b bench) {
			b.op(b.host("1"), "ProfilerStep#0", 0, 45)
		}, "ProfilerStep 0 [0–45]"},
		{"from the optimizer, the rarer one of two", func(b bench) {
			main := b.host("1")
			b.op(main, "aten::mm", 0, 5)
			for i := range int64(2) {
				b.add(CategoryAnnotation, main, "Optimizer.step#D.step", 100*i+20, 100*i+30, 0, -1)
				b.add(CategoryAnnotation, main, "Optimizer.step#D.step", 100*i+40, 100*i+50, 0, -1)
				b.add(CategoryAnnotation, main, "Optimizer.step#G.step", 100*i+60, 100*i+70, 0, -1)
			}
		}, "Optimizer.step 0 [0–70], Optimizer.step 1 [70–170]"},
		{"from what repeats", func(b bench) {
			main := b.host("1")
			b.python(main, "train.py(1): <module>", 0, 400, 1, 0)
			for i := range int64(3) {
				b.python(main, "train.py(9): step", 100*i+10, 100*i+100, uint64(10+i), 1)
				b.python(main, "log.py(1): log", 100*i+105, 100*i+106, uint64(20+i), 1)
				b.call(main, "cudaLaunchKernel", 100*i+20, 100*i+30, uint64(i+1))
				b.kernel("7", "k", 100*i+40, 100*i+50, uint64(i+1))
			}
		}, "pattern 0 [10–110], pattern 1 [110–210], pattern 2 [210–300]"},
		{"none", func(b bench) { b.op(b.host("1"), "aten::mm", 0, 5) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench()
			test.fill(b)
			if d := cmp.Diff(test.want, list(b.build(t))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTrainingThread(t *testing.T) {
	b := newBench()
	engine, main := b.host("9"), b.host("1")
	for i := range int64(20) {
		b.call(engine, "cudaLaunchKernel", 10*i, 10*i+5, uint64(i+1))
	}
	b.python(main, "train.py(1): train", 0, 500, 1, 0)
	b.call(main, "cudaLaunchKernel", 300, 301, 99)
	ix := b.build(t)
	if got := ix.Threads[ix.TrainingThread].TID; got != "1" {
		t.Errorf("thread %s", got)
	}
}

func TestBusyAndIdle(t *testing.T) {
	b := newBench()
	main := b.host("1")
	b.add(CategoryAnnotation, main, "ProfilerStep#0", 0, 100, 0, -1)
	b.kernel("7", "a", 10, 30, 0)
	b.kernel("20", "b", 20, 50, 0) // overlaps on another stream
	b.kernel("7", "c", 90, 120, 0) // ends after the step
	ix := b.build(t)
	if ix.BusyNs() != 70_000 || ix.GPUTotalNs() != 80_000 {
		t.Errorf("busy %d, total %d", ix.BusyNs(), ix.GPUTotalNs())
	}
	if d := cmp.Diff([]Interval{{0, 10_000}, {50_000, 90_000}}, ix.IdleIntervals()); d != "" {
		t.Error(d)
	}
}

func TestBusyAddsDevices(t *testing.T) {
	b := newBench()
	for device := range int64(2) {
		b.add(CategoryKernel, b.Thread(fmt.Sprint(device), "7", true), "k", 0, 10, 0, b.AddGPU(GPUDetail{Device: device, Collective: -1}))
	}
	ix := b.build(t)
	if ix.BusyNs() != 20_000 || len(ix.BusyIntervals()) != 1 {
		t.Errorf("busy %d in %v", ix.BusyNs(), ix.BusyIntervals())
	}
}

func TestComplementAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var busy []Interval
		covered := make([]bool, 100)
		at := int64(0)
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			from := at + rapid.Int64Range(0, 10).Draw(t, "gap")
			to := from + rapid.Int64Range(1, 8).Draw(t, "length")
			if to > 99 {
				break
			}
			busy = append(busy, Interval{from, to})
			for i := from; i < to; i++ {
				covered[i] = true
			}
			at = to
		}
		from := rapid.Int64Range(0, 99).Draw(t, "from")
		span := Interval{from, rapid.Int64Range(from, 99).Draw(t, "to")}
		want := int64(0)
		for i := span.StartNs; i < span.EndNs; i++ {
			if !covered[i] {
				want++
			}
		}
		got := int64(0)
		for _, v := range Complement(busy, span) {
			got += v.DurNs()
			for i := v.StartNs; i < v.EndNs; i++ {
				if covered[i] || i < span.StartNs || i >= span.EndNs {
					t.Fatalf("%d is in %v", i, v)
				}
			}
		}
		if got != want {
			t.Fatalf("%d of %d", got, want)
		}
	})
}

func TestWaitedFor(t *testing.T) {
	b := newBench()
	main := b.host("1")
	b.kernel("7", "before", 0, 10, 0)
	b.kernel("7", "long", 20, 80, 0)
	b.kernel("20", "last", 50, 90, 0)
	b.kernel("20", "after", 95, 200, 0)
	b.call(main, "cudaStreamSynchronize", 60, 92, 1)
	b.call(main, "cudaDeviceSynchronize", 12, 15, 2)
	ix := b.build(t)
	calls := ix.CallsOf(CallSync)
	if len(calls) != 2 {
		t.Fatalf("sync calls %v", calls)
	}
	if e := ix.WaitedFor(calls[0]); e != NoEvent {
		t.Errorf("the early one waited for %s", ix.Name(e))
	}
	if e := ix.WaitedFor(calls[1]); e == NoEvent || ix.Name(e) != "last" {
		t.Errorf("the late one waited for %v", e)
	}
}

func TestCallKinds(t *testing.T) {
	for name, want := range map[string]CallKind{
		"cudaLaunchKernel": CallLaunch, "cudaLaunchKernelExC": CallLaunch, "cuLaunchKernelEx": CallLaunch, "hipExtModuleLaunchKernel": CallLaunch,
		"hipModuleLaunchKernel": CallLaunch, "cudaGraphLaunch": CallGraphLaunch, "hipGraphLaunch": CallGraphLaunch,
		"cudaMemcpyAsync": CallCopy, "hipMemcpyWithStream": CallCopy, "cuMemcpyDtoH_v2": CallCopy, "cudaMemsetAsync": CallMemset,
		"cudaStreamSynchronize": CallSync, "hipDeviceSynchronize": CallSync, "cudaEventSynchronize": CallSync, "cuCtxSynchronize": CallSync,
		"cudaMalloc": CallAlloc, "hipFree": CallAlloc, "cudaHostAlloc": CallAlloc, "cudaFuncGetAttributes": CallOther, "cudaEventQuery": CallOther,
		"cudaStreamWaitEvent": CallOther, "INVALID": CallOther,
	} {
		if got := callKindOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestDuplicatesCountOnce(t *testing.T) {
	b := newBench()
	main := b.host("1")
	b.call(main, "cudaLaunchKernel", 0, 5, 3)
	b.call(main, "cudaGraphLaunch", 6, 9, 4)
	for range 3 {
		b.kernel("7", "twice", 10, 30, 3)
	}
	b.kernel("7", "alike", 40, 60, 4) // of a graph: two branches
	b.kernel("7", "alike", 40, 60, 4)
	b.kernel("7", "next", 70, 90, 5)
	b.kernel("8", "next", 70, 90, 5) // another stream
	ix := b.build(t)
	if len(ix.GPUEvents) != 5 || ix.GPUTotalNs() != 100_000 || len(ix.GPUOf(0)) != 1 || len(ix.GPUOf(1)) != 2 {
		t.Errorf("%d events, %d ns, %v and %v launched", len(ix.GPUEvents), ix.GPUTotalNs(), ix.GPUOf(0), ix.GPUOf(1))
	}
	if len(ix.Warnings) != 1 || ix.Warnings[0].Message != "2 GPU events are in the file twice and count once" {
		t.Errorf("%v", ix.Warnings)
	}
}
