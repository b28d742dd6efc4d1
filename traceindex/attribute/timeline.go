package attribute

import (
	"iter"
	"math"
	"sort"

	"stepline/traceindex"
)

// timeline says which statement a thread was in when: the place of a change holds until the next one. A long trace has as many
// changes as events, so they are kept at eight bytes each, in pieces that never move.
type timeline struct {
	pieces []*timelinePiece
}

const pieceChanges = 1 << 10

// timelinePiece is a run of changes within 4.29 s, what 32 bits of nanoseconds hold.
type timelinePiece struct {
	baseNs  int64
	n       int
	afterNs [pieceChanges]uint32 // since baseNs
	places  [pieceChanges]placeID
}

func (p *timelinePiece) startNs(i int) int64 { return p.baseNs + int64(p.afterNs[i]) }

// timelineOf is a thread's timeline, an empty one if it has no workspace frames.
func (p *rankPlaces) timelineOf(t traceindex.ThreadID) *timeline {
	if line := p.timelines[t]; line != nil {
		return line
	}
	return &timeline{}
}

// push appends a change that is later than the last.
func (t *timeline) push(ns int64, id placeID) {
	n := len(t.pieces)
	if n == 0 || t.pieces[n-1].n == pieceChanges || uint64(ns-t.pieces[n-1].baseNs) > math.MaxUint32 {
		t.pieces = append(t.pieces, &timelinePiece{baseNs: ns})
		n++
	}
	p := t.pieces[n-1]
	p.afterNs[p.n], p.places[p.n] = uint32(ns-p.baseNs), id
	p.n++
}

// pop takes the last change back.
func (t *timeline) pop() {
	p := t.pieces[len(t.pieces)-1]
	if p.n--; p.n == 0 {
		t.pieces = t.pieces[:len(t.pieces)-1]
	}
}

// last is the last change, false if there is none.
func (t *timeline) last() (ns int64, id placeID, ok bool) {
	if len(t.pieces) == 0 {
		return 0, noPlace, false
	}
	p := t.pieces[len(t.pieces)-1]
	return p.startNs(p.n - 1), p.places[p.n-1], true
}

// set says that from ns on the thread is in place id. Moments come in order; a later word for the same moment stands.
func (t *timeline) set(ns int64, id placeID) {
	lastNs, last, ok := t.last()
	switch {
	case !ok:
		if id != noPlace {
			t.push(ns, id)
		}
	case ns <= lastNs:
		t.pop()
		if _, before, ok := t.last(); !ok || before != id {
			t.push(lastNs, id)
		}
	case last != id:
		t.push(ns, id)
	}
}

// stays are the stays in a place that end after a moment, in order: the place, from when and until when. The last change is the end
// of the last frame, and no stay.
func (t *timeline) stays(ns int64) iter.Seq2[traceindex.Interval, placeID] {
	return func(yield func(traceindex.Interval, placeID) bool) {
		// The last piece that begins by then, and the last change in it.
		at := sort.Search(len(t.pieces), func(i int) bool { return t.pieces[i].baseNs > ns }) - 1
		from := 0
		if at >= 0 {
			p := t.pieces[at]
			from = sort.Search(p.n, func(i int) bool { return p.startNs(i) > ns }) - 1
		} else {
			at = 0
		}
		var open traceindex.Interval
		place, any := noPlace, false
		for ; at < len(t.pieces); at, from = at+1, 0 {
			p := t.pieces[at]
			for i := from; i < p.n; i++ {
				open.EndNs = p.startNs(i)
				if any && !yield(open, place) {
					return
				}
				open.StartNs, place, any = open.EndNs, p.places[i], true
			}
		}
	}
}

// at is the place at a moment.
func (t *timeline) at(ns int64) placeID {
	for v, id := range t.stays(ns) {
		if v.StartNs <= ns {
			return id
		}
		break
	}
	return noPlace
}

// split cuts an interval at the changes of place.
func (t *timeline) split(v traceindex.Interval, visit func(traceindex.Interval, placeID)) {
	at := v.StartNs
	part := func(endNs int64, id placeID) {
		if endNs = min(endNs, v.EndNs); endNs > at {
			visit(traceindex.Interval{StartNs: at, EndNs: endNs}, id)
			at = endNs
		}
	}
	for stay, id := range t.stays(v.StartNs) {
		part(stay.StartNs, noPlace)
		part(stay.EndNs, id)
		if at >= v.EndNs {
			return
		}
	}
	part(v.EndNs, noPlace)
}

// segment is a stretch of a frame's own time.
type segment struct {
	endNs int64
	place placeID
}

// activeFrame is a workspace frame while its thread is walked.
type activeFrame struct {
	endNs    int64
	segments []segment
	next     int
}

// timelineBuilder turns the segments of nested frames into one timeline. Frames are pushed in order of their start.
type timelineBuilder struct {
	line  timeline
	stack []activeFrame
	spare [][]segment // of frames that have been played, for the next ones
}

// list is an empty list of segments for a frame with room for n.
func (b *timelineBuilder) list(n int) []segment {
	if i := len(b.spare) - 1; i >= 0 {
		list := b.spare[i][:0]
		b.spare = b.spare[:i]
		if cap(list) >= n {
			return list
		}
	}
	return make([]segment, 0, n)
}

// push opens a frame; what was open before its start has been played up to there.
func (b *timelineBuilder) push(startNs, endNs int64, segments []segment) {
	b.advance(startNs)
	b.stack = append(b.stack, activeFrame{endNs: endNs, segments: segments})
	b.line.set(startNs, b.current())
}

// current is the place of the innermost open frame.
func (b *timelineBuilder) current() placeID {
	if len(b.stack) == 0 {
		return noPlace
	}
	f := &b.stack[len(b.stack)-1]
	if f.next < len(f.segments) {
		return f.segments[f.next].place
	}
	if n := len(f.segments); n > 0 {
		return f.segments[n-1].place
	}
	return noPlace
}

// advance plays the open frames up to a moment.
func (b *timelineBuilder) advance(ns int64) {
	for len(b.stack) > 0 {
		f := &b.stack[len(b.stack)-1]
		for f.next < len(f.segments) && f.segments[f.next].endNs <= min(ns, f.endNs) {
			end := f.segments[f.next].endNs
			f.next++
			if f.next < len(f.segments) {
				b.line.set(end, f.segments[f.next].place)
			}
		}
		if f.endNs > ns {
			return
		}
		end := f.endNs
		b.spare = append(b.spare, f.segments)
		b.stack = b.stack[:len(b.stack)-1]
		// The frame below has been inside its call all along: its segments up to here are past.
		if n := len(b.stack); n > 0 {
			below := &b.stack[n-1]
			for below.next < len(below.segments)-1 && below.segments[below.next].endNs <= end {
				below.next++
			}
		}
		b.line.set(end, b.current())
	}
}

// finish closes all frames.
func (b *timelineBuilder) finish() *timeline {
	b.advance(1<<63 - 1)
	return &b.line
}
