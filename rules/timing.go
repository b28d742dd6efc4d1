package rules

import (
	"regexp"
	"slices"
	"strings"

	"stepline/pyscan"
)

// ClockSpan is a stretch of statements between two readings of the host's clock, around GPU work that nothing waits for.
type ClockSpan struct {
	// Start is the statement of the first reading; End is the second one's, Difference where the two are subtracted.
	Start, End pyscan.Stmt
	Difference *Site
	// Work is the first call between them that only queues work for the GPU.
	Work pyscan.Expr
}

var clocks = wordSet("time.time time.perf_counter time.monotonic time.time_ns time.perf_counter_ns time.monotonic_ns timeit.default_timer")

func (f *Facts) readsClock(e pyscan.Expr) bool {
	call, ok := e.(*pyscan.Call)
	return ok && clocks[f.Resolve(call.Func)]
}

// UnsyncedClockSpans finds clock readings around GPU work without a wait before the second one.
func (f *Facts) UnsyncedClockSpans() []ClockSpan {
	var out []ClockSpan
	for _, s := range f.Sites {
		a, ok := s.Node.(*pyscan.Assign)
		if !ok || len(a.Targets) != 1 || !f.readsClock(a.Value) {
			continue
		}
		name, ok := a.Targets[0].(*pyscan.Name)
		if !ok {
			continue
		}
		if span := f.clockSpan(s, name.ID); span != nil {
			out = append(out, *span)
		}
	}
	return out
}

func (f *Facts) clockSpan(start *Site, name string) *ClockSpan {
	block := blockOf(start, f.File)
	first := slices.Index(block, start.Node.(pyscan.Stmt))
	seconds := map[string]int{} // variables that hold a second reading, by the statement that reads it
	for i := first + 1; i < len(block); i++ {
		if a, ok := block[i].(*pyscan.Assign); ok && len(a.Targets) == 1 && f.readsClock(a.Value) {
			if n, ok := a.Targets[0].(*pyscan.Name); ok {
				if n.ID == name {
					return nil
				}
				seconds[n.ID] = i
			}
		}
		diff, end := f.difference(block[i], name, i, seconds)
		if diff == nil {
			continue
		}
		between := block[first+1 : end]
		work := f.queuedWork(between)
		if work == nil || f.mayWait(between, work) {
			return nil
		}
		return &ClockSpan{Start: block[first], End: block[end], Difference: f.Site(diff), Work: work}
	}
	return nil
}

// difference finds `clock() - name` or `second - name` in a statement, and the index of the statement with the second reading.
func (f *Facts) difference(stmt pyscan.Stmt, name string, at int, seconds map[string]int) (diff *pyscan.BinOp, end int) {
	EachExprIn(stmt, func(e pyscan.Expr) bool {
		b, ok := e.(*pyscan.BinOp)
		if !ok || b.Op != "-" || diff != nil {
			return diff == nil
		}
		right, ok := b.Right.(*pyscan.Name)
		if !ok || right.ID != name {
			return true
		}
		if f.readsClock(b.Left) {
			diff, end = b, at
			return false
		}
		if left, ok := b.Left.(*pyscan.Name); ok {
			if i, known := seconds[left.ID]; known {
				diff, end = b, i
			}
		}
		return diff == nil
	})
	return diff, end
}

// queuedWork is the first model call, backward or optimizer step in statements, outside nested defs.
func (f *Facts) queuedWork(stmts []pyscan.Stmt) (work pyscan.Expr) {
	for _, stmt := range stmts {
		EachExprIn(stmt, func(e pyscan.Expr) bool {
			if work != nil {
				return false
			}
			switch e := e.(type) {
			case *pyscan.Call:
				v := f.Value(e.Func)
				if v.Kind == Module && f.Value(e).onGPU() {
					work = e
				}
				if attr, ok := e.Func.(*pyscan.Attribute); ok && attr.Attr == "backward" && f.OnGPU(attr.Value) {
					work = e
				}
			case *pyscan.BinOp:
				if e.Op == "@" && f.OnGPU(e) {
					work = e
				}
			}
			return work == nil
		})
	}
	return work
}

var waitingNames = regexp.MustCompile(`^(synchronize|item|tolist|cpu|numpy|barrier|wait|wait_stream|block_until_ready|mark_step|empty_cache|elapsed_time|memory_allocated|max_memory_allocated|result|join|get)$`)

// mayWait reports whether statements may wait for the GPU: a known wait, a call of something unknown, or a training loop, whose
// length makes the error vanish.
func (f *Facts) mayWait(stmts []pyscan.Stmt, work pyscan.Expr) bool {
	waits := false
	for _, stmt := range stmts {
		pyscan.Walk(stmt, func(n pyscan.Node) bool {
			switch n := n.(type) {
			case *pyscan.For, *pyscan.While:
				waits = waits || f.trainsBelow(f.Site(n))
			case *pyscan.If:
				waits = waits || f.OnGPU(n.Test)
			case *pyscan.FunctionDef, *pyscan.Lambda, *pyscan.Await:
				waits = true
			case *pyscan.Call:
				name := lastName(n.Func)
				if (name == "cuda" || name == "to") && n.Start < work.Range().End {
					break // a copy to the GPU waits for what was queued before it, and the work comes behind it
				}
				waits = waits || f.callMayWait(n)
			}
			return !waits
		})
	}
	return waits
}

func (f *Facts) callMayWait(call *pyscan.Call) bool {
	s := f.Site(call)
	name := lastName(call.Func)
	if waitingNames.MatchString(name) || f.HostReadOf(call) != nil || f.IsPrintOfTensor(s) != nil || f.Collective(s) != "" {
		return true
	}
	path := f.Resolve(call.Func)
	if strings.HasPrefix(path, "torch.") || strings.HasPrefix(path, "builtins.") || hostModules[strings.SplitN(path, ".", 2)[0]] || path == "print" || name == "print" {
		return false
	}
	if d := f.analysis.callee(f.index, s); d.def != nil {
		body := d.index.file.Text[d.def.Start:d.def.End]
		return d.def.Generator || waitingText.MatchString(body) || strings.Contains(body, "for ")
	}
	switch v := f.Value(call.Func); v.Kind {
	case Module:
		return false
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return true
	}
	switch base := f.Value(attr.Value); base.Kind {
	case GPUTensor, GPUOutput, Optimizer, Scheduler, Host, Sequence, Mapping, Batch, CPUTensor:
		return false
	case Module:
		switch attr.Attr {
		case "train", "eval", "zero_grad", "parameters", "to", "requires_grad_", "half", "float", "cuda":
			return false
		}
	case Scaler:
		return attr.Attr != "scale"
	case Unknown:
		return !(attr.Attr == "backward" || attr.Attr == "append" || trainingCall(call))
	}
	return true
}

var waitingText = regexp.MustCompile(`synchronize|\.item\(|\.cpu\(|\.numpy\(|\.tolist\(|barrier|elapsed_time`)

// EventPair is `start.elapsed_time(end)` of two CUDA events made in the same function.
type EventPair struct {
	Elapsed *Site
	// Made are the calls that make the two events.
	Made [2]*pyscan.Call
	// EndRecord is the last `end.record()` before the question, nil if there is none.
	EndRecord, StartRecord *Site
}

// EventPairs finds the elapsed times the file asks of events it makes.
func (f *Facts) EventPairs() []EventPair {
	var out []EventPair
	for _, s := range f.Calls {
		attr, ok := s.Call().Func.(*pyscan.Attribute)
		if !ok || attr.Attr != "elapsed_time" || len(s.Call().Args) != 1 {
			continue
		}
		start, ok1 := attr.Value.(*pyscan.Name)
		end, ok2 := s.Call().Args[0].(*pyscan.Name)
		if !ok1 || !ok2 {
			continue
		}
		p := EventPair{Elapsed: s, Made: [2]*pyscan.Call{f.eventMade(start, s), f.eventMade(end, s)}}
		if p.Made[0] == nil || p.Made[1] == nil {
			continue
		}
		p.StartRecord, p.EndRecord = f.lastRecord(start.ID, s), f.lastRecord(end.ID, s)
		out = append(out, p)
	}
	return out
}

func (f *Facts) eventMade(name *pyscan.Name, at *Site) *pyscan.Call {
	var made *pyscan.Call
	note := func(t, v pyscan.Expr) {
		n, ok := t.(*pyscan.Name)
		call, isCall := v.(*pyscan.Call)
		if ok && n.ID == name.ID && isCall && f.Value(call).Kind == Event {
			made = call
		}
	}
	for _, a := range f.assignments(at.Def()) {
		if a.Start > at.Range().Start || len(a.Targets) != 1 {
			continue
		}
		targets, isTuple := a.Targets[0].(*pyscan.Tuple)
		values, isPair := a.Value.(*pyscan.Tuple)
		if isTuple && isPair && len(targets.Elems) == len(values.Elems) {
			for i := range targets.Elems {
				note(targets.Elems[i], values.Elems[i])
			}
			continue
		}
		note(a.Targets[0], a.Value)
	}
	return made
}

func (f *Facts) lastRecord(name string, before *Site) *Site {
	var last *Site
	for _, s := range f.callsIn(before.Def()) {
		if s.Range().Start >= before.Range().Start || s.Def() != before.Def() {
			continue
		}
		if attr, ok := s.Call().Func.(*pyscan.Attribute); ok && attr.Attr == "record" && lastName(attr.Value) == name {
			last = s
		}
	}
	return last
}

// WaitsBetween reports whether a call between two sites of a function may wait for the GPU.
func (f *Facts) WaitsBetween(from, to *Site) bool {
	for _, s := range f.callsIn(to.Def()) {
		if s.Def() != to.Def() || s.Range().Start <= from.Range().Start || s.Range().Start >= to.Range().Start || from.Under(s) || to.Under(s) {
			continue
		}
		if f.callMayWait(s.Call()) {
			return true
		}
	}
	return false
}

// HostOnlyBetween is the host call between two sites of one block that are separated by nothing that could reach the GPU; nil if
// anything else happens there.
func (f *Facts) HostOnlyBetween(from, to *Site) pyscan.Expr {
	a, b := from.Statement(), to.Statement()
	block := blockOf(a, f.File)
	i, j := slices.Index(block, a.Node.(pyscan.Stmt)), slices.Index(block, b.Node.(pyscan.Stmt))
	if i < 0 || j <= i+1 {
		return nil
	}
	var host pyscan.Expr
	for _, stmt := range block[i+1 : j] {
		other := false
		EachExprIn(stmt, func(e pyscan.Expr) bool {
			call, ok := e.(*pyscan.Call)
			if !ok {
				other = other || f.OnGPU(e)
				return !other
			}
			path := f.Resolve(call.Func)
			first := strings.SplitN(path, ".", 2)[0]
			switch {
			case path == "builtins.next" && len(call.Args) == 1 && f.Value(call).Kind == Batch, path == "time.sleep", first == "numpy" || first == "PIL" || first == "cv2" || first == "random":
				if host == nil {
					host = call
				}
			case path == "builtins.iter":
			default:
				other = true
			}
			return !other
		})
		if other {
			return nil
		}
	}
	return host
}

// Block is the list of statements a statement site stands in.
func (f *Facts) Block(s *Site) []pyscan.Stmt { return blockOf(s, f.File) }

// IsSynchronize reports whether a call waits for a device or stream: `torch.cuda.synchronize()` and its kin.
func (f *Facts) IsSynchronize(s *Site) bool {
	call := s.Call()
	switch path := f.Resolve(call.Func); path {
	case "torch.cuda.synchronize", "torch.accelerator.synchronize", "torch.xpu.synchronize":
		return true
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok || attr.Attr != "synchronize" {
		return false
	}
	return f.Value(attr.Value).Kind == Stream
}

// syncFlags are options whose purpose is to synchronise, mostly for measuring.
var syncFlags = regexp.MustCompile(`(?i)(^|_)synchroni[sz]e`)

var timerWords = regexp.MustCompile(`(?i)time|timer|clock|tic\b|toc\b|elapsed|perf_counter|stopwatch|bench`)

// TimesCode reports whether a clock is read, or an event's time asked, close to a site: in the same block of statements.
func (f *Facts) TimesCode(s *Site) bool {
	stmt := s.Statement()
	if stmt == nil {
		return false
	}
	block := blockOf(stmt, f.File)
	for up := stmt.Parent; up != nil; up = up.Parent { // `if device.type == "cuda": synchronize()` counts with what surrounds it
		branch, ok := up.Node.(*pyscan.If)
		if !ok {
			break
		}
		if syncFlags.MatchString(lastName(branch.Test)) {
			return true
		}
		block = append(append([]pyscan.Stmt(nil), block...), blockOf(up, f.File)...)
	}
	for _, other := range block {
		found := false
		EachExprIn(other, func(e pyscan.Expr) bool {
			switch e := e.(type) {
			case *pyscan.Call:
				name := lastName(e.Func)
				path := f.Resolve(e.Func)
				found = found || strings.HasPrefix(path, "time.") || path == "timeit.default_timer" || name == "elapsed_time" ||
					timerWords.MatchString(name) && !strings.HasPrefix(path, "torch.")
			case *pyscan.Attribute:
				found = found || e.Attr == "elapsed_time"
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}
