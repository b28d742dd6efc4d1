package kineto

import (
	"bytes"

	"stepline/traceindex"
)

// Scanning is what reading a trace spends most of its time on, so two parsers share it: what is in memory is cut in two at
// what looks like the beginning of an event, each half is parsed into rows of its own, and the rows are put together at the
// end. Whether the cut was between two events is known when the first half has been parsed: it must end there. If it does
// not (the text looked like an event within another, or is damaged), the second half's rows are undone and the text is read
// in order. Both parsers only take the plain way; all that is out of the ordinary stops them, and is read in order.

const (
	// forkBytes is what must be in memory for two parsers: half of it takes far longer to parse than to hand over.
	forkBytes = 128 << 10
	// maxForkFailures: in a file where cuts fail again and again, no more are tried.
	maxForkFailures = 8
)

// helper is the second parser, on a goroutine of its own.
type helper struct {
	p        parser
	jobs     chan job
	done     chan int
	failures int
}

// job is a half to parse: b[from:] up to limit.
type job struct {
	b           []byte
	from, limit int
}

// fork parses what is in memory with two parsers. It reports whether anything was read.
func (d *document) fork() bool {
	w := d.w
	from := w.pos
	cut := cutBetweenEvents(w.buf[:w.n], from)
	if cut < 0 {
		return false
	}
	if d.helper == nil {
		d.helper = &helper{p: newParser(w, d.p.b.Meta.File), jobs: make(chan job), done: make(chan int)}
		go d.helper.work()
	}
	h := d.helper
	if h.failures >= maxForkFailures {
		return false
	}
	mark, found := h.p.b.Mark(), h.p.findings
	d.p.b.Segment(w.offset(from))
	h.p.b.Segment(w.offset(cut))
	h.jobs <- job{w.buf, cut, w.n}
	end := d.p.run(w.buf, from, cut)
	helperEnd := <-h.done
	d.looked += int64(end - from)
	if end == cut {
		d.looked += int64(helperEnd - cut)
		w.pos = helperEnd
	} else {
		h.failures++
		h.p.b.Undo(mark)
		h.p.undo(found)
		w.pos = end
	}
	d.p.b.Segment(w.offset(w.pos))
	return w.pos > from
}

// undo goes back to what was found before, but for what is known of names: they stay interned, and are not looked at again.
func (p *parser) undo(found findings) {
	p.notANumber, p.noTime, p.negative, p.damaged = found.notANumber, found.noTime, found.negative, found.damaged
	p.noPhase, p.noDuration, p.overfull, p.uncategorized = found.noPhase, found.noDuration, found.overfull, found.uncategorized
	p.latestNs, p.lastEndNs, p.phased = found.latestNs, found.lastEndNs, found.phased
	p.plain = -1
}

func (h *helper) work() {
	for j := range h.jobs {
		h.done <- h.p.run(j.b, j.from, j.limit)
	}
}

// cutBetweenEvents is the place, beyond the middle of b[from:], of what begins as the event at b[from] begins: writers put the
// same key first. −1 if there is none.
func cutBetweenEvents(b []byte, from int) int {
	colon := bytes.IndexByte(b[from:min(len(b), from+64)], ':')
	if colon < 0 {
		return -1
	}
	begin := b[from : from+colon+1]
	middle := from + (len(b)-from)/2
	i := bytes.Index(b[middle:], begin)
	if i < 0 {
		return -1
	}
	return middle + i
}

// run reads events from b[from] on, up to limit, and returns where it stopped: at the limit, or at the first thing that is not
// a plain event all of which lies before it.
func (p *parser) run(b []byte, from, limit int) int {
	for {
		for from < limit && (b[from] == ',' || isSpace(b[from])) {
			from++
		}
		if from >= limit || b[from] != '{' {
			return from
		}
		end := p.event(b, from)
		if end <= 0 || end > limit || end-from > swallowBytes || p.raw.phase == 'B' || p.raw.phase == 'E' {
			return from
		}
		p.emit(b, from)
		from = end
	}
}

// stopHelper ends the helper's goroutine.
func (d *document) stopHelper() {
	if d.helper != nil && d.helper.jobs != nil {
		close(d.helper.jobs)
		d.helper.jobs = nil
	}
}

// joinHelper puts what the helper read to the rest.
func (d *document) joinHelper() {
	d.stopHelper()
	if d.helper == nil {
		return
	}
	p, h := &d.p, &d.helper.p
	d.helper = nil
	// Names are told of when they are new: those that are damaged and known to both were told of twice.
	found := h.findings
	names := h.undecoded
	known := make(map[traceindex.NameID]bool, len(p.undecoded))
	for _, id := range p.undecoded {
		known[id] = true
	}
	texts := make([]string, len(names))
	for i, id := range names {
		texts[i] = h.b.NameText(id)
	}
	to := p.b.Absorb(h.b)
	for i, id := range names {
		if !known[to[id]] {
			p.undecoded = append(p.undecoded, to[id])
			continue
		}
		t, _ := inspect([]byte(texts[i]))
		found.badEscape.again(&p.badEscape, t&badEscape != 0 || t&hasEscape != 0 && looksLikeRawPath(texts[i]))
		found.controlBytes.again(&p.controlBytes, t&controlByte != 0)
		found.badText.again(&p.badText, t&badUTF8 != 0)
	}
	for _, pair := range []struct{ to, from *firstOf }{{&p.badEscape, &found.badEscape}, {&p.controlBytes, &found.controlBytes},
		{&p.badText, &found.badText}, {&p.notANumber, &found.notANumber}, {&p.noTime, &found.noTime}, {&p.negative, &found.negative},
		{&p.damaged, &found.damaged}, {&p.noPhase, &found.noPhase}, {&p.noDuration, &found.noDuration}, {&p.overfull, &found.overfull}} {
		pair.to.add(*pair.from)
	}
	p.latestNs, p.lastEndNs = max(p.latestNs, found.latestNs), max(p.lastEndNs, found.lastEndNs)
	p.phased = p.phased || found.phased
	p.uncategorized = p.uncategorized || found.uncategorized
	p.rawPaths = p.rawPaths || found.rawPaths
	join(p.processes, h.processes)
	join(p.labels, h.labels)
	join(p.titles, h.titles)
}

// again takes back one count of what was counted in to as well, if it was; the earlier place stands.
func (f *firstOf) again(to *firstOf, was bool) {
	if !was {
		return
	}
	if f.byte < to.byte {
		to.byte, to.line = f.byte, f.line
	}
	f.n--
}

// join adds entries that are missing or stand earlier in the file: the last one counts.
func join[K comparable](to, from map[K]placed) {
	for k, v := range from {
		if old, ok := to[k]; !ok || old.place < v.place {
			to[k] = v
		}
	}
}
