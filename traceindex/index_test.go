package traceindex

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bench makes a Builder easy to fill: times in microseconds, one process.
type bench struct {
	*Builder
}

func newBench() bench { return bench{NewBuilder("test")} }

func (b bench) build(t interface{ Fatal(...any) }) *Index {
	ix, err := b.Build(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func (b bench) host(tid string) ThreadID { return b.Thread("1", tid, false) }

func (b bench) add(c Category, thread ThreadID, name string, fromUs, toUs int64, link uint64, detail int32) {
	b.Add(Event{StartNs: fromUs * 1000, DurNs: (toUs - fromUs) * 1000, Name: b.Name(name), Category: c, Thread: thread, Link: link, Detail: detail, EvIdx: -1})
}

func (b bench) python(thread ThreadID, name string, from, to int64, id, parent uint64) {
	b.add(CategoryPython, thread, name, from, to, id, b.AddPython(PythonDetail{ParentID: parent, ModuleID: -1, Location: -1}))
}

func (b bench) op(thread ThreadID, name string, from, to int64) {
	b.add(CategoryOp, thread, name, from, to, 0, b.AddOp(OpDetail{Sequence: -1}))
}

func (b bench) numbered(thread ThreadID, name string, from, to, sequence int64, forwardThread int32) {
	b.add(CategoryOp, thread, name, from, to, 0, b.AddOp(OpDetail{Sequence: sequence, ForwardThread: forwardThread}))
}

func (b bench) call(thread ThreadID, name string, from, to int64, correlation uint64) {
	b.add(CategoryRuntime, thread, name, from, to, correlation, -1)
}

func (b bench) kernel(stream, name string, from, to int64, correlation uint64) {
	b.add(CategoryKernel, b.Thread("0", stream, true), name, from, to, correlation, b.AddGPU(GPUDetail{Collective: -1}))
}

// tree is the frames as text: name[from–to](children).
func tree(ix *Index) string {
	var node func(e EventID) string
	node = func(e EventID) string {
		var children []string
		for c := range ix.Children(e) {
			children = append(children, node(c))
		}
		s := fmt.Sprintf("%s[%d–%d]", ix.Name(e), ix.Events.StartNs[e]/1000, ix.EndNs(e)/1000)
		if len(children) > 0 {
			s += "(" + strings.Join(children, " ") + ")"
		}
		return s
	}
	var roots []string
	for _, t := range ix.HostThreads {
		for e := range ix.Roots(t) {
			roots = append(roots, node(e))
		}
	}
	return strings.Join(roots, " ")
}

func TestFrameTree(t *testing.T) {
	tests := []struct {
		name string
		fill func(b bench, t ThreadID)
		want string
	}{
		{"by time, without ids", func(b bench, t ThreadID) {
			b.python(t, "main", 0, 100, 0, 0)
			b.python(t, "step", 10, 50, 0, 0)
			b.op(t, "mm", 20, 30)
			b.python(t, "step", 60, 90, 0, 0)
		}, "main[0–100](step[10–50](mm[20–30]) step[60–90])"},
		{"an op of a frame whose return was lost", func(b bench, t ThreadID) {
			b.python(t, "main", 0, 100, 1, 0)
			b.python(t, "lost", 10, 100, 2, 1)
			b.python(t, "next", 50, 90, 3, 1)
			b.op(t, "mm", 60, 70)
		}, "main[0–100](lost[10–50] next[50–90](mm[60–70]))"},
		{"a lost return two frames deep", func(b bench, t ThreadID) {
			b.python(t, "main", 0, 100, 1, 0)
			b.python(t, "a", 10, 40, 2, 1)
			b.python(t, "lost", 20, 100, 3, 2)
			b.python(t, "b", 50, 90, 4, 1)
		}, "main[0–100](a[10–40](lost[20–40]) b[50–90])"},
		{"Python within an op, its parent outside", func(b bench, t ThreadID) {
			b.python(t, "main", 0, 100, 1, 0)
			b.op(t, "item", 10, 50)
			b.python(t, "hook", 20, 40, 2, 1)
		}, "main[0–100](item[10–50](hook[20–40]))"},
		{"_call_impl declared beside the module it is in", func(b bench, t ThreadID) {
			b.python(t, "main", 0, 100, 1, 0)
			b.python(t, "nn.Module: Linear_0", 10, 50, 2, 1)
			b.python(t, "_call_impl", 11, 49, 3, 1)
		}, "main[0–100](nn.Module: Linear_0[10–50](_call_impl[11–49]))"},
		{"an annotation begins in one function and ends in another", func(b bench, t ThreadID) {
			b.python(t, "main", 0, 100, 1, 0)
			b.python(t, "__enter__", 10, 20, 2, 1)
			b.add(CategoryAnnotation, t, "range", 15, 80, 0, -1)
			b.op(t, "mm", 30, 40)
			b.python(t, "__exit__", 75, 85, 3, 1)
		}, "main[0–100](__enter__[10–20](range[15–80]) mm[30–40] __exit__[75–85])"},
		{"a call of no length at its parent's end", func(b bench, t ThreadID) {
			b.python(t, "main", 0, 100, 1, 0)
			b.python(t, "f", 10, 50, 2, 1)
			b.python(t, "len", 50, 50, 3, 2)
			b.python(t, "g", 51, 60, 4, 1)
		}, "main[0–100](f[10–50](len[50–50]) g[51–60])"},
		{"a call that runs past its op", func(b bench, t ThreadID) {
			b.op(t, "mm", 10, 20)
			b.call(t, "cudaLaunchKernel", 15, 25, 1)
			b.op(t, "add", 30, 40)
		}, "mm[10–20](cudaLaunchKernel[15–20]) add[30–40]"},
		{"an unknown parent", func(b bench, t ThreadID) {
			b.python(t, "f", 10, 50, 2, 77)
			b.python(t, "g", 20, 30, 3, 2)
		}, "f[10–50](g[20–30])"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench()
			test.fill(b, b.host("1"))
			if d := cmp.Diff(test.want, tree(b.build(t))); d != "" {
				t.Error(d)
			}
		})
	}
}

// A parent far down a deep stack is found as well.
func TestFrameTreeDeepParent(t *testing.T) {
	b := newBench()
	main := b.host("1")
	const depth = 200
	for i := range int64(depth) {
		b.python(main, fmt.Sprintf("f%d", i), i, 10000, uint64(i+1), uint64(i))
	}
	b.python(main, "late", 5000, 6000, 1000, 3)
	ix := b.build(t)
	late := EventID(depth)
	if ix.Name(late) != "late" || ix.Name(ix.Parent[late]) != "f2" {
		t.Errorf("%s is under %s", ix.Name(late), ix.Name(ix.Parent[late]))
	}
}

// Whatever times and parents a file claims, the tree is one: rows in preorder, children within their parents, no self time
// below zero, every host event under exactly one place.
func TestFrameTreeInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench()
		threads := []ThreadID{b.host("1"), b.host("2")}
		n := rapid.IntRange(1, 60).Draw(t, "n")
		for i := range n {
			from := rapid.Int64Range(0, 40).Draw(t, "from")
			to := from + rapid.Int64Range(0, 40).Draw(t, "length")
			thread := threads[rapid.IntRange(0, 1).Draw(t, "thread")]
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b.op(thread, "op", from, to)
			case 1:
				b.call(thread, "call", from, to, uint64(i))
			case 2:
				b.add(CategoryAnnotation, thread, "range", from, to, 0, -1)
			default:
				b.python(thread, "frame", from, to, uint64(i+1), uint64(rapid.IntRange(0, n).Draw(t, "parent")))
			}
		}
		ix := b.build(t)
		if ix.Events.Len() != n {
			t.Fatalf("%d rows of %d", ix.Events.Len(), n)
		}
		seen := map[EventID]int{}
		for _, thread := range ix.HostThreads {
			for e := range ix.Roots(thread) {
				seen[e]++
			}
		}
		for e := range EventID(n) {
			p := ix.Parent[e]
			if p != NoEvent {
				if p >= e || ix.SubtreeEnd(p) < ix.SubtreeEnd(e) || ix.Events.Thread[p] != ix.Events.Thread[e] {
					t.Fatalf("row %d under %d", e, p)
				}
				if ix.Events.Category[e] != CategoryAnnotation && (ix.EndNs(e) > ix.EndNs(p) || ix.Events.StartNs[e] < ix.Events.StartNs[p]) {
					t.Fatalf("row %d [%d–%d] sticks out of %d [%d–%d]", e, ix.Events.StartNs[e], ix.EndNs(e), p, ix.Events.StartNs[p], ix.EndNs(p))
				}
			}
			if ix.EndNs(e) < ix.Events.StartNs[e] || ix.SelfNs(e) < 0 {
				t.Fatalf("row %d: end %d, self %d", e, ix.EndNs(e), ix.SelfNs(e))
			}
			for c := range ix.Children(e) {
				seen[c]++
			}
		}
		for e := range EventID(n) {
			if seen[e] != 1 {
				t.Fatalf("row %d is in %d places", e, seen[e])
			}
		}
	})
}

// The order of events in a file decides nothing.
func TestOrderInFileDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type row struct {
			from, to int64
			name     string
			kind     int
		}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			from := rapid.Int64Range(0, 20).Draw(t, "from")
			return row{from, from + rapid.Int64Range(0, 20).Draw(t, "length"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), rapid.IntRange(0, 2).Draw(t, "kind")}
		}), 1, 30).Draw(t, "rows")
		describe := func(rows []row) string {
			b := newBench()
			for _, r := range rows {
				switch r.kind {
				case 0:
					b.op(b.host("7"), r.name, r.from, r.to)
				case 1:
					b.call(b.host("10"), r.name, r.from, r.to, 0)
				case 2:
					b.python(b.host("7"), r.name, r.from, r.to, 0, 0)
				}
			}
			ix := b.build(t)
			return fmt.Sprint(tree(ix), ix.Events.StartNs, ix.Events.Thread, ix.Threads)
		}
		shuffled := rapid.Permutation(rows).Draw(t, "shuffled")
		if d := cmp.Diff(describe(rows), describe(shuffled)); d != "" {
			t.Fatal(d)
		}
	})
}

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

func TestParseLocation(t *testing.T) {
	for name, want := range map[string]Location{
		"train.py(12): step":                        {"train.py", 12, "step"},
		`C:\work (old)\a.py(3): f`:                  {"C:/work (old)/a.py", 3, "f"},
		"<frozen importlib._bootstrap>(1): x":       {"<frozen importlib._bootstrap>", 1, "x"},
		"a(1).py(7): <lambda>":                      {"a(1).py", 7, "<lambda>"},
		"torch/_inductor/config.py(0): __getattr__": {"torch/_inductor/config.py", 0, "__getattr__"},
		"x.py(-1): f":                               {"x.py", 0, "f"},
	} {
		if got, ok := ParseLocation(name); !ok || got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, name := range []string{"nn.Module: Linear_0", "<built-in function len>", "aten::mm", "x.py(a): f", "(3): f", ""} {
		if got, ok := ParseLocation(name); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newNameTable()
		known := map[string]NameID{"": 0}
		for _, s := range rapid.SliceOf(rapid.StringN(0, 40, 40)).Draw(t, "names") {
			id, isNew := table.intern([]byte(s))
			if old, ok := known[s]; ok != !isNew || ok && old != id {
				t.Fatalf("%q: %d, new %t; known %t as %d", s, id, isNew, ok, old)
			}
			known[s] = id
		}
		for s, id := range known {
			if table.texts[id] != s {
				t.Fatalf("%d is %q, want %q", id, table.texts[id], s)
			}
		}
	})
	table := newNameTable()
	for i := range 20000 { // beyond the first table and arena
		table.intern(fmt.Appendf(nil, "name %d %s", i, strings.Repeat("x", i%50)))
	}
	if id, isNew := table.intern(fmt.Appendf(nil, "name %d %s", 777, strings.Repeat("x", 777%50))); isNew || id != 778 {
		t.Errorf("id %d, new %t", id, isNew)
	}
}

func TestOverrunsSpareGraphs(t *testing.T) {
	b := newBench()
	stream := b.Thread("0", "7", true)
	node := b.AddGPU(GPUDetail{GraphNode: 1, Collective: -1})
	b.add(CategoryKernel, stream, "wide", 0, 100, 5, node)
	b.add(CategoryKernel, stream, "beside", 10, 20, 5, b.AddGPU(GPUDetail{GraphNode: 2, Collective: -1}))
	b.kernel("8", "rounded", 0, 11, 0) // whole microseconds: an overlap of one says nothing
	b.kernel("8", "next", 10, 20, 0)
	b.kernel("9", "broken", 0, 1000, 0)
	b.kernel("9", "later", 10, 20, 0)
	ix := b.build(t)
	over := ix.Overruns()
	if len(over) != 1 || ix.Name(over[0]) != "broken" || ix.GPUDurNs(over[0]) != 10_000 {
		t.Errorf("overruns %v", over)
	}
	if !slices.ContainsFunc(ix.Warnings, func(w Warning) bool { return w.Code == "impossible-duration" }) {
		t.Errorf("warnings %v", ix.Warnings)
	}
}

func TestBuildCancelled(t *testing.T) {
	b := newBench()
	b.op(b.host("1"), "aten::mm", 0, 5)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if ix, err := b.Build(ctx); ix != nil || err == nil {
		t.Errorf("%v, %v", ix, err)
	}
}
