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
