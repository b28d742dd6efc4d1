package kineto

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"stepline/traceindex"
)

// parser turns events into rows.
type parser struct {
	b     *traceindex.Builder
	w     *window
	raw   rawEvent
	badAt int

	guesses guesser
	shift   int   // added to places in a repaired copy to get those in the window
	inArgs  bool  // the object being read is an event's args
	plain   int32 // the detail row of ops without any, −1 until there is one

	kinds     []knownKind
	threads   [64]knownThread
	processes map[string]placed
	labels    map[string]placed
	titles    map[[2]string]placed

	findings
	// begun are the events of the begin/end form that have not ended, by thread.
	begun map[traceindex.ThreadID][]traceindex.Event
}

// findings are what a parser learns of the file besides its events.
type findings struct {
	badEscape, controlBytes, badText      firstOf
	notANumber, noTime, negative, damaged firstOf
	noPhase, noDuration, overfull         firstOf
	tooLarge                              firstOf // only noted where the text is read in order
	unended                               int64   // begun and never ended
	latestNs, lastEndNs                   int64   // the latest start and end
	phased                                bool    // some object has a phase, as events do
	uncategorized                         bool    // some event's process must tell what it is
	rawPaths                              bool    // the writer does not escape backslashes
	// undecoded are the names that hold escapes or damage; they are decoded when all is known about the file.
	undecoded []traceindex.NameID
}

// placed is a text with its place in the file.
type placed struct {
	text  string
	place int64
}

type knownKind struct {
	cat  string
	kind kind
	ok   bool
}

type knownThread struct {
	pid, tid string
	gpu      bool
	id       traceindex.ThreadID
}

// firstOf counts one kind of trouble and keeps the first place of it.
type firstOf struct {
	n    int64
	byte int64
	line int64
}

func (f *firstOf) note(p *parser, i int) {
	if f.n == 0 {
		i = min(i+p.shift, p.w.n)
		f.byte, f.line = p.w.offset(i), p.w.line(i)
	}
	f.n++
}

// add joins what was counted apart.
func (f *firstOf) add(other firstOf) {
	if other.n == 0 {
		return
	}
	if f.n == 0 || other.byte < f.byte {
		f.byte, f.line = other.byte, other.line
	}
	f.n += other.n
}

// name interns a piece of the block, and inspects it when it is new.
func (p *parser) name(b []byte, s span) traceindex.NameID {
	if s.empty() {
		return 0
	}
	id, isNew := p.b.NameBytes(s.of(b))
	if isNew {
		p.inspectName(id, s.of(b), int(s.from))
	}
	return id
}

func (p *parser) inspectName(id traceindex.NameID, raw []byte, from int) {
	if raw[0] == '[' { // the text of an array, kept as it is
		return
	}
	t, at := inspect(raw)
	if t == 0 {
		return
	}
	p.undecoded = append(p.undecoded, id)
	if t&badEscape != 0 {
		p.rawPaths = true
		p.badEscape.note(p, from+at)
	} else if t&hasEscape != 0 && looksLikeRawPath(string(raw)) {
		p.badEscape.note(p, from)
	}
	if t&controlByte != 0 {
		p.controlBytes.note(p, from+at)
	}
	if t&badUTF8 != 0 {
		p.badText.note(p, from+max(at, 0))
	}
}

// thread interns the event's thread. Few threads take turns, so most are found in a small table by their last bytes.
func (p *parser) thread(b []byte, gpu bool) traceindex.ThreadID {
	pid, tid := p.raw.pid.of(b), p.raw.tid.of(b)
	if gpu {
		tid = streamNumber(tid)
	}
	slot := 0
	if n := len(tid); n > 0 {
		slot = int(tid[n-1]) * 7
	}
	if n := len(pid); n > 0 {
		slot += int(pid[n-1])
	}
	if gpu {
		slot++
	}
	k := &p.threads[slot&63]
	if k.gpu == gpu && k.pid == string(pid) && k.tid == string(tid) && k.id >= 0 {
		return k.id
	}
	*k = knownThread{pid: string(pid), tid: string(tid), gpu: gpu}
	k.id = p.b.Thread(k.pid, k.tid, gpu)
	return k.id
}

func (p *parser) kindOf(b []byte) (kind, bool) {
	cat := p.raw.cat.of(b)
	for i := range p.kinds {
		if p.kinds[i].cat == string(cat) {
			return p.kinds[i].kind, p.kinds[i].ok
		}
	}
	k, ok := kindOf(string(cat))
	if len(p.kinds) < 64 {
		p.kinds = append(p.kinds, knownKind{string(cat), k, ok})
	}
	return k, ok
}

// emit adds the event in p.raw, whose first byte is b[at].
func (p *parser) emit(b []byte, at int) {
	e := &p.raw
	if e.badWords > 0 {
		if p.notANumber.n == 0 {
			p.notANumber.note(p, e.badWordAt)
			e.badWords--
		}
		p.notANumber.n += e.badWords
	}
	p.phased = p.phased || e.phase != 0
	switch e.phase {
	case 'X', 'B', 'E':
	case 'M':
		p.metadata(b, at)
		return
	case 's', 'f':
		p.flow(b)
		return
	case 'i', 'I', 'n', 'R':
		if string(e.name.of(b)) == "[memory]" && e.has&hasTs != 0 {
			p.addMemory(b)
		}
		return
	case 0:
		p.noPhase.note(p, at)
		return
	default: // counters, async ranges, samples
		return
	}
	if e.has&hasTs == 0 || e.has&hasBadTime != 0 {
		p.noTime.note(p, at)
		return
	}
	k, known := p.kindOf(b)
	if !known {
		if k, known = kindOfProcess(string(e.pid.of(b))); !known {
			p.uncategorized = true
		}
	} else if k.category == traceindex.CategoryKernel {
		k = refine(k, e.name.of(b))
	} else if k.category == traceindex.CategoryMemory {
		p.addMemory(b)
		return
	}
	switch {
	case e.durNs < 0:
		p.negative.note(p, at)
		e.durNs = 0
	case e.has&hasDur == 0 && e.phase == 'X':
		p.noDuration.note(p, at)
	}
	if e.durNs > math.MaxInt64/4 || e.tsNs > math.MaxInt64/2 || e.tsNs < math.MinInt64/4 {
		p.noTime.note(p, at)
		return
	}
	p.latestNs, p.lastEndNs = max(p.latestNs, e.tsNs), max(p.lastEndNs, e.tsNs+e.durNs)
	ev := traceindex.Event{StartNs: e.tsNs, DurNs: e.durNs, Name: p.name(b, e.name), Category: k.category, Thread: p.thread(b, k.gpu), Detail: -1, EvIdx: -1}
	if e.has&hasEvIdx != 0 && e.evIdx >= 0 && e.evIdx <= math.MaxInt32 {
		ev.EvIdx = int32(e.evIdx)
	}
	switch k.category {
	case traceindex.CategoryOp:
		ev.Link, ev.Detail = uint64(e.external), p.opDetail(b)
		if !e.collective.empty() && e.phase == 'X' {
			p.b.NextCollective(p.collectiveOf(b))
		}
	case traceindex.CategoryAnnotation:
		ev.Link = uint64(e.external)
	case traceindex.CategoryPython:
		ev.Link, ev.Detail = uint64(e.pythonID), p.pythonDetail()
	case traceindex.CategoryRuntime:
		ev.Link = correlation(e)
		if e.has&hasSize != 0 && e.phase == 'X' { // ROCm: {"src": …, "dst": …, "size": "2560", "kind": "1"}
			p.b.NextCopySize(e.size)
		}
	case traceindex.CategoryKernel, traceindex.CategoryMemcpy, traceindex.CategoryMemset, traceindex.CategorySync, traceindex.CategoryGPUAnnotation:
		if k.category == traceindex.CategoryMemcpy && e.has&hasBytes == 0 && e.has&hasSize != 0 { // MTIA's dma_request
			e.bytes, e.has = e.size, e.has|hasBytes
		}
		ev.Link, ev.Detail = correlation(e), p.gpuDetail(b)
	}
	switch e.phase {
	case 'X':
		p.add(ev, at)
	case 'B':
		if p.begun == nil {
			p.begun = map[traceindex.ThreadID][]traceindex.Event{}
		}
		p.begun[ev.Thread] = append(p.begun[ev.Thread], ev)
	case 'E':
		thread := ev.Thread
		if len(p.begun[thread]) == 0 && e.cat.empty() {
			thread = p.thread(b, true) // ends need not say of what: it may have begun on a stream
		}
		if open := p.begun[thread]; len(open) > 0 {
			begin := open[len(open)-1]
			p.begun[thread] = open[:len(open)-1]
			begin.DurNs = max(0, ev.StartNs-begin.StartNs)
			p.add(begin, at)
		}
	}
}

// endBegun ends what began and never ended: on the host it is taken to last until the last end in the file; how long the GPU
// worked is not guessed.
func (p *parser) endBegun() {
	threads := slices.Sorted(maps.Keys(p.begun))
	for _, t := range threads {
		for _, ev := range p.begun[t] {
			p.unended++
			if !p.b.ThreadInfo(t).GPU {
				ev.DurNs = max(0, p.lastEndNs-ev.StartNs)
				p.add(ev, 0)
			}
		}
	}
	p.begun = nil
}

// flow keeps the flows that are needed: from forward to backward ops, and those of Ascend's exporter from ops to device tasks,
// which carry no correlation id. Kineto's own ("ac2g") say nothing that the ids do not.
func (p *parser) flow(b []byte) {
	e := &p.raw
	if e.has&hasTs == 0 || e.has&hasID == 0 {
		return
	}
	switch string(e.cat.of(b)) {
	case "fwdbwd", "forward_backward":
		p.b.AddForwardFlow(uint64(e.id), e.tsNs, p.thread(b, false), e.phase == 's')
	case "async_npu":
		p.b.AddLaunchFlow(uint64(e.id), e.tsNs, p.thread(b, false), e.phase == 's')
	}
}

func (p *parser) add(ev traceindex.Event, at int) {
	if !p.b.Add(ev) {
		p.overfull.note(p, at)
	}
}

// correlation is 0 where there is none: −1 is no id, and ROCm writes 0 for RCCL's kernels (roctracer#100).
func correlation(e *rawEvent) uint64 {
	if e.correlation == -1 {
		return 0
	}
	return uint64(e.correlation)
}

func (p *parser) addMemory(b []byte) {
	e := &p.raw
	if e.has&hasTs == 0 || e.has&hasBytes == 0 {
		return
	}
	d := p.b.AddMemory(traceindex.MemoryDetail{Bytes: e.bytes, TotalAllocated: e.totalAlloc, TotalReserved: e.totalReserved, Device: int32(e.device)})
	ev := traceindex.Event{StartNs: e.tsNs, Name: p.name(b, e.name), Category: traceindex.CategoryMemory, Thread: p.thread(b, false), Detail: d, EvIdx: -1}
	if e.has&hasEvIdx != 0 && e.evIdx <= math.MaxInt32 {
		ev.EvIdx = int32(max(e.evIdx, -1))
	}
	p.b.Add(ev)
}

// metadata keeps the names of processes and threads.
func (p *parser) metadata(b []byte, at int) {
	e := &p.raw
	pid, place := string(e.pid.of(b)), p.w.offset(at+p.shift)
	switch string(e.name.of(b)) {
	case "process_name":
		p.processes[pid] = placed{decode(string(e.argName.of(b)), false), place}
	case "process_labels":
		p.labels[pid] = placed{decode(string(e.argLabels.of(b)), false), place}
	case "thread_name":
		p.titles[[2]string{pid, string(streamNumber(e.tid.of(b)))}] = placed{decode(string(e.argName.of(b)), false), place}
	}
}

// finish decodes the names, names the threads and says what was wrong with the file.
func (p *parser) finish(file string) {
	p.endBegun()
	for _, id := range p.undecoded {
		if raw := p.b.NameText(id); true {
			p.b.Rename(id, decode(raw, p.rawPaths))
		}
	}
	for id := range p.b.Threads() {
		t := p.b.ThreadInfo(traceindex.ThreadID(id))
		t.Process = p.processes[t.PID].text
		if l := p.labels[t.PID].text; l != "" {
			t.Process = joinWords(t.Process, l)
		}
		t.Name = p.titles[[2]string{t.PID, t.TID}].text
	}
	if p.uncategorized {
		p.classifyByProcess()
	}
	warn := func(f *firstOf, code, format string, args ...any) {
		if f.n == 0 {
			return
		}
		at := f.byte
		p.b.Warn(traceindex.Warning{Code: code, File: file, Byte: &at, Message: fmt.Sprintf(format, args...) + fmt.Sprintf(", first at line %d (byte %d)", f.line, at)})
	}
	warn(&p.badEscape, "bad-escape", "%s with backslashes that are not escaped (a Windows path written raw), taken as they stand", count(p.badEscape.n, "name"))
	warn(&p.controlBytes, "control-bytes", "%s with raw control bytes, shown escaped", count(p.controlBytes.n, "name"))
	warn(&p.badText, "bad-utf8", "%s that are not UTF-8, shown escaped", count(p.badText.n, "name"))
	warn(&p.notANumber, "not-a-number", "%s that no JSON number can be (inf, nan), taken as unknown", count(p.notANumber.n, "value"))
	warn(&p.noTime, "no-time", "%s without a usable time, dropped", count(p.noTime.n, "event"))
	warn(&p.negative, "negative-duration", "%s with a negative duration, taken as 0", count(p.negative.n, "event"))
	if n := p.unended; n > 0 {
		p.b.Warn(traceindex.Warning{Code: "unended-event", File: file, Message: count(n, "event") + ` that begin ("ph": "B") and never end: those of the host are taken to last until the end, those of the GPU are dropped`})
	}
	warn(&p.noDuration, "no-duration", "%s without a duration (\"dur\"), taken as 0", count(p.noDuration.n, "event"))
	warn(&p.noPhase, "no-phase", "%s without a phase (\"ph\"), dropped", count(p.noPhase.n, "event"))
	warn(&p.overfull, "too-many-events", "more than %d events: %s dropped", math.MaxInt32, count(p.overfull.n, "event"))
	warn(&p.tooLarge, "event-too-large", "%s of more than %d MiB of text, dropped", count(p.tooLarge.n, "event"), maxPieceBytes>>20)
	warn(&p.damaged, "damaged-event", "%s where the text is no event, passed over", count(p.damaged.n, "place"))
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func joinWords(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}
