package nsys

import (
	"context"
	"fmt"
	"math"
	"slices"

	"stepline/traceindex"
)

// readCalls adds the CUDA calls and, where their call chains name Python files, the Python frames they were made from. NVTX has
// been read: frames are made to enclose the ops of their calls.
func (r *reader) readCalls() error {
	names := map[int64]string{}
	columns := []string{"start", "end", "globalTid", "correlationId", "nameId", "callchainId"}
	if err := r.db.each(r.ctx, tableRuntime, columns, func(w row) error {
		global, ok := w.int(2)
		c := r.captureOf(global, ok)
		if c == nil {
			return nil
		}
		start, dur, ok := r.span(w)
		if !ok {
			return nil
		}
		id := w.number(4, 0)
		name, known := names[id]
		if !known {
			if name = cutVersion(r.strings[id]); name == "" {
				name = "unnamed call"
			}
			names[id] = name
		}
		thread := c.thread(global)
		c.b.Add(traceindex.Event{StartNs: start, DurNs: dur, Name: c.name(name), Category: traceindex.CategoryRuntime, Thread: thread,
			Link: uint64(max(w.number(3, 0), 0)), Detail: -1, EvIdx: r.otherIdx})
		if chain := r.chains[w.number(5, 0)]; chain != nil {
			c.launch = append(c.launch, chainCall{startNs: start, endNs: start + dur, thread: thread, name: name, chain: chain})
		}
		return nil
	}); err != nil {
		return err
	}
	for _, c := range r.captures {
		c.addFrames()
	}
	return nil
}

// readOSRuntime adds OS runtime calls (read, poll, sem_wait): beside the frames, they explain what a thread waited for.
func (r *reader) readOSRuntime() error {
	return r.db.each(r.ctx, tableOSRuntime, []string{"start", "end", "globalTid", "nameId"}, func(w row) error {
		return r.beside(w, traceindex.CategoryOther, "os: ")
	})
}

// readOverhead adds the time the profiler itself took.
func (r *reader) readOverhead() error {
	for _, table := range []string{tableOverhead, tableProfiler} {
		if err := r.db.each(r.ctx, table, []string{"start", "end", "globalTid", "nameId"}, func(w row) error {
			return r.beside(w, traceindex.CategoryOverhead, "")
		}); err != nil {
			return err
		}
	}
	return nil
}

// beside adds an event of a host thread that takes no part in its frame tree.
func (r *reader) beside(w row, category traceindex.Category, prefix string) error {
	global, ok := w.int(2)
	c := r.captureOf(global, ok)
	if c == nil {
		return nil
	}
	start, dur, ok := r.span(w)
	if !ok {
		return nil
	}
	name := r.strings[w.number(3, 0)]
	if name == "" {
		name = "unnamed"
	}
	c.b.Add(traceindex.Event{StartNs: start, DurNs: dur, Name: c.name(prefix + name), Category: category, Thread: c.thread(global), Detail: -1, EvIdx: r.otherIdx})
	return nil
}

// chainCall is a CUDA call with the Python stack it was made from.
type chainCall struct {
	startNs, endNs int64
	thread         traceindex.ThreadID
	name           string
	chain          []frame // innermost first
}

// recordedCall is the line of a call that a synthesised Python frame is, to be joined to the frame when the index is built.
type recordedCall struct {
	name    string
	startNs int64
	line    traceindex.CallLine
}

// addFrames makes Python frames of the stacks of a capture's calls. Consecutive calls on a thread share the frames their stacks
// have in common: outermost first, as long as the file and function are the same and the caller's line has not moved.
func (c *capture) addFrames() {
	slices.SortStableFunc(c.launch, func(a, b chainCall) int {
		if a.thread != b.thread {
			return int(a.thread) - int(b.thread)
		}
		switch {
		case a.startNs < b.startNs:
			return -1
		case a.startNs > b.startNs:
			return 1
		}
		return 0
	})
	var open []openFrame
	thread := traceindex.ThreadID(-1)
	order := int32(0)
	emit := func(from int) {
		for _, f := range open[from:] {
			c.b.Add(traceindex.Event{StartNs: f.startNs, DurNs: f.endNs - f.startNs, Name: c.name(f.name), Category: traceindex.CategoryPython,
				Thread: thread, Detail: c.b.AddPython(traceindex.PythonDetail{ModuleID: -1, Location: -1}), EvIdx: f.order})
		}
		open = open[:from]
	}
	for i := range c.launch {
		call := &c.launch[i]
		if call.thread != thread {
			emit(0)
			thread = call.thread
		}
		start, end := c.enclosing(call)
		shared := sharedFrames(open, call)
		if shared < len(open) && open[shared].endNs > start {
			// Python ran within one op: the op's span is divided between the frames.
			for depth := shared; depth < len(open); depth++ {
				open[depth].endNs = max(open[depth].startNs, min(open[depth].endNs, call.startNs))
			}
			start = call.startNs
		}
		emit(shared)
		for depth := range open {
			open[depth].endNs = max(open[depth].endNs, end)
		}
		if shared > 0 && shared <= len(call.chain) { // the line its innermost shared frame is at now
			open[shared-1].line = call.chain[len(call.chain)-shared].Line
		}
		for depth := shared; depth <= len(call.chain); depth++ {
			f := c.openFrame(call, depth)
			f.startNs, f.endNs, f.order = start, end, order
			order++
			if caller := f.caller; caller != nil && caller.Line > 0 {
				c.calls = append(c.calls, recordedCall{f.name, start, traceindex.CallLine{File: caller.File, Line: caller.Line, Function: caller.Function}})
			}
			open = append(open, f)
		}
	}
	emit(0)
	c.launch = nil
}

// openFrame is the frame of a call's stack at a depth, 0 the outermost; one beyond the innermost is the CUDA call itself.
func (c *capture) openFrame(call *chainCall, depth int) openFrame {
	var f openFrame
	n := len(call.chain)
	if depth > 0 {
		f.caller = &call.chain[n-depth]
	}
	if depth == n {
		f.name = "<built-in function " + call.name + ">"
		return f
	}
	f.frame = call.chain[n-1-depth]
	f.line = f.frame.Line
	f.name = fmt.Sprintf("%s(%d): %s", f.frame.File, f.frame.Line, f.frame.Function)
	return f
}

// openFrame is a frame being made, with the line it is at.
type openFrame struct {
	frame
	caller         *frame
	name           string
	startNs, endNs int64
	line           int
	order          int32
}

// sharedFrames is how many of the open frames, from the outermost, a call's stack goes on in. The last one, that of the CUDA
// call, goes on for further calls from the same line within the same op.
func sharedFrames(open []openFrame, call *chainCall) int {
	n := len(call.chain)
	for depth := range open {
		if depth == n {
			if depth == len(open)-1 && n > 0 && open[depth-1].line == call.chain[0].Line && call.startNs < open[depth].endNs {
				return depth + 1
			}
			return depth
		}
		want := call.chain[n-1-depth]
		if open[depth].File != want.File || open[depth].Function != want.Function {
			return depth
		}
		if depth+1 < n && open[depth].line != want.Line {
			return depth + 1 // the frame goes on, what it calls is another call
		}
	}
	return len(open)
}

// enclosing is the span of the outermost op around a call, or the call's own.
func (c *capture) enclosing(call *chainCall) (startNs, endNs int64) {
	spans := c.outermost[call.thread]
	i, found := slices.BinarySearchFunc(spans, call.startNs, func(s span, at int64) int {
		switch {
		case s.startNs < at:
			return -1
		case s.startNs > at:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i >= 0 && spans[i].startNs <= call.startNs && spans[i].endNs >= call.endNs {
		return spans[i].startNs, spans[i].endNs
	}
	return call.startNs, call.endNs
}

// span is a stretch of time on a thread.
type span struct{ startNs, endNs int64 }

// merged sorts spans and joins those that overlap.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.startNs < b.startNs:
			return -1
		case a.startNs > b.startNs:
			return 1
		}
		return 0
	})
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.startNs < out[n-1].endNs {
			out[n-1].endNs = max(out[n-1].endNs, s.endNs)
			continue
		}
		out = append(out, s)
	}
	return out
}

// build makes the capture's index, with the recorded lines on its frames.
func (c *capture) build(ctx context.Context) (*traceindex.Index, error) {
	calls := c.calls
	base := c.b.Meta.BaseUnixNs
	ix, err := c.b.Build(ctx)
	if err != nil || len(calls) == 0 {
		return ix, err
	}
	lines := traceindex.NewCallLines(ix)
	for _, call := range calls {
		lines.Add(call.name, call.startNs+base, call.line)
	}
	lines.Finish()
	return ix, nil
}

// lastOrder puts everything that is no Python frame behind the frames that begin and end with it.
const lastOrder = math.MaxInt32
