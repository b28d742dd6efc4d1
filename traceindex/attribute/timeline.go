package attribute

import (
	"sort"

	"stepline/traceindex"
)

// timeline says which statement a thread was in when: place i holds from startNs[i] until startNs[i+1].
type timeline struct {
	startNs []int64
	places  []placeID
}

// timelineOf is a thread's timeline, an empty one if it has no workspace frames.
func (p *rankPlaces) timelineOf(t traceindex.ThreadID) *timeline {
	if line := p.timelines[t]; line != nil {
		return line
	}
	return &timeline{}
}

// set says that from ns on the thread is in place id. Moments come in order; a later word for the same moment stands.
func (t *timeline) set(ns int64, id placeID) {
	n := len(t.startNs)
	if n > 0 && ns <= t.startNs[n-1] {
		t.places[n-1] = id
		if n > 1 && t.places[n-2] == id {
			t.startNs, t.places = t.startNs[:n-1], t.places[:n-1]
		}
		return
	}
	if n > 0 && t.places[n-1] == id || n == 0 && id == noPlace {
		return
	}
	t.startNs = append(t.startNs, ns)
	t.places = append(t.places, id)
}

// at is the place at a moment.
func (t *timeline) at(ns int64) placeID {
	i := sort.Search(len(t.startNs), func(i int) bool { return t.startNs[i] > ns })
	if i == 0 {
		return noPlace
	}
	return t.places[i-1]
}

// split cuts an interval at the changes of place.
func (t *timeline) split(v traceindex.Interval, visit func(traceindex.Interval, placeID)) {
	i := sort.Search(len(t.startNs), func(i int) bool { return t.startNs[i] > v.StartNs })
	for at := v.StartNs; at < v.EndNs; i++ {
		end, id := v.EndNs, noPlace
		if i < len(t.startNs) {
			end = min(end, t.startNs[i])
		}
		if i > 0 {
			id = t.places[i-1]
		}
		if end > at {
			visit(traceindex.Interval{StartNs: at, EndNs: end}, id)
		}
		at = end
	}
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
