package traceindex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaunches(t *testing.T) {
	names := func(ix *Index, rows []EventID) string {
		var out []string
		for _, r := range rows {
			out = append(out, ix.Name(r))
		}
		return strings.Join(out, " ")
	}
	b := newBench()
	main := b.host("1")
	b.kernel("7", "k2", 60, 70, 5)
	b.kernel("7", "k1", 50, 60, 5)
	b.call(main, "cudaGraphLaunch", 10, 20, 5)
	b.call(main, "cudaLaunchKernel", 21, 25, 6)
	b.kernel("7", "first", 100, 110, 9) // the counter began again: two calls with one id
	b.call(main, "cudaLaunchKernel", 90, 95, 9)
	b.call(main, "cudaLaunchKernel", 190, 195, 9)
	b.kernel("7", "second", 200, 210, 9)
	b.kernel("7", "none", 300, 310, 0)
	b.kernel("7", "unknown", 320, 330, 1<<63)
	ix := b.build(t)
	var got []string
	for _, call := range ix.LaunchCalls() {
		delay, _ := ix.LaunchDelayNs(call)
		got = append(got, fmt.Sprintf("%d: %s after %d", ix.Events.StartNs[call]/1000, names(ix, ix.GPUOf(call)), delay/1000))
	}
	if d := cmp.Diff([]string{"10: k1 k2 after 40", "90: first after 10", "190: second after 10"}, got); d != "" {
		t.Error(d)
	}
	if got := names(ix, ix.UnlinkedGPUEvents()); got != "none unknown" {
		t.Errorf("unlinked: %s", got)
	}
	if got := ix.LaunchesWithoutWork(); len(got) != 1 || ix.Events.Link[got[0]] != 6 {
		t.Errorf("launches without work: %v", got)
	}
}

func TestLaunchByExternalID(t *testing.T) {
	b := newBench()
	main := b.host("1")
	b.python(main, "train.py(3): f", 0, 100, 1, 0)
	b.add(CategoryOp, main, "aten::mm", 10, 20, 42, b.AddOp(OpDetail{Sequence: -1}))
	b.NextExternal(42)
	b.kernel("7", "gemm", 30, 40, 0)
	b.NextExternal(43)
	b.kernel("7", "lost", 50, 60, 0)
	ix := b.build(t)
	gemm := ix.GPUEvents[0]
	op := ix.Launch[gemm]
	if op == NoEvent || ix.Name(op) != "aten::mm" || ix.Launch[ix.GPUEvents[1]] != NoEvent {
		t.Fatalf("launches %v", ix.Launch)
	}
	if d := cmp.Diff([]EventID{gemm}, ix.GPUOf(op)); d != "" {
		t.Error(d)
	}
	if s := ix.Skew(); s.Launches != 0 {
		t.Errorf("an op counts as a launch: %+v", s)
	}
}

func TestBackward(t *testing.T) {
	forwardOf := func(ix *Index) map[string]string {
		out := map[string]string{}
		for node, op := range ix.ForwardOf {
			out[fmt.Sprintf("%s@%d", strings.TrimPrefix(ix.Name(node), EvaluateFunctionPrefix), ix.Events.StartNs[node]/1000)] =
				fmt.Sprintf("%s@%d", ix.Name(op), ix.Events.StartNs[op]/1000)
		}
		return out
	}
	t.Run("the innermost, last op with the number, before the backward", func(t *testing.T) {
		b := newBench()
		main, engine := b.host("1"), b.host("2")
		b.numbered(main, "aten::linear", 0, 50, 7, 0)
		b.numbered(main, "aten::t", 1, 5, 7, 0)
		b.numbered(main, "aten::addmm", 10, 40, 7, 0)
		b.numbered(engine, EvaluateFunctionPrefix+"AddmmBackward0", 100, 150, 7, 1)
		b.numbered(engine, "AddmmBackward0", 101, 149, 7, 1)
		b.numbered(main, "aten::later", 200, 210, 7, 0)
		want := map[string]string{"AddmmBackward0@100": "aten::addmm@10"}
		if d := cmp.Diff(want, forwardOf(b.build(t))); d != "" {
			t.Error(d)
		}
	})
	t.Run("two forward threads that count alike", func(t *testing.T) {
		b := newBench()
		one, two, engine := b.host("1"), b.host("2"), b.host("3")
		b.numbered(one, "aten::relu", 0, 5, 7, 0)
		b.numbered(two, "aten::mul", 1, 6, 7, 0)
		b.numbered(one, "aten::add", 10, 15, 8, 0)
		b.numbered(two, "aten::mm", 11, 16, 8, 0)
		b.numbered(engine, EvaluateFunctionPrefix+"MmBackward0", 100, 110, 8, 2)
		b.numbered(engine, EvaluateFunctionPrefix+"MulBackward0", 120, 130, 7, 2)
		b.numbered(engine, EvaluateFunctionPrefix+"AddBackward0", 140, 150, 8, 5)
		b.numbered(engine, EvaluateFunctionPrefix+"ReluBackward0", 160, 170, 7, 5)
		want := map[string]string{"MmBackward0@100": "aten::mm@11", "MulBackward0@120": "aten::mul@1", "AddBackward0@140": "aten::add@10", "ReluBackward0@160": "aten::relu@0"}
		if d := cmp.Diff(want, forwardOf(b.build(t))); d != "" {
			t.Error(d)
		}
	})
	t.Run("flows tell the thread where names do not", func(t *testing.T) {
		b := newBench()
		one, two, engine := b.host("1"), b.host("2"), b.host("3")
		b.numbered(one, "custom::a", 0, 5, 7, 0)
		b.numbered(two, "custom::b", 1, 6, 7, 0)
		b.numbered(engine, EvaluateFunctionPrefix+"XBackward", 100, 110, 7, 4)
		b.AddForwardFlow(1, 1000, two, true)
		b.AddForwardFlow(1, 100_000, engine, false)
		if d := cmp.Diff(map[string]string{"XBackward@100": "custom::b@1"}, forwardOf(b.build(t))); d != "" {
			t.Error(d)
		}
	})
	t.Run("flows without numbers", func(t *testing.T) {
		b := newBench()
		main, engine := b.host("1"), b.host("2")
		b.op(main, "aten::linear", 0, 20)
		b.op(main, "aten::addmm", 5, 15)
		b.op(engine, EvaluateFunctionPrefix+"AddmmBackward0", 100, 120)
		b.op(engine, "AddmmBackward0", 101, 119)
		b.AddForwardFlow(3, 5000, main, true)
		b.AddForwardFlow(3, 101_000, engine, false)
		if d := cmp.Diff(map[string]string{"AddmmBackward0@100": "aten::addmm@5"}, forwardOf(b.build(t))); d != "" {
			t.Error(d)
		}
	})
}
