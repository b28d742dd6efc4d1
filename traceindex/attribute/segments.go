package attribute

import "stepline/traceindex"

// overheadNs bounds the time that the interpreter and the profiler take around a frame or between two statements; overheadSteps is
// its weight against a statement's silent steps.
const (
	overheadNs    = 15_000
	overheadSteps = 6
)

// segments cuts the frame's time: each token's to its place, and the time between two tokens to the statements passed on the way.
// Entering and leaving the function, and passing from one statement to the next, count to the statement that called it: they are
// what the call costs beside its statements' own work.
func (w *frameWalker) segments(row traceindex.EventID, placed *placedFrame) []segment {
	c := segmentCutter{at: w.ix.Events.StartNs[row], caller: w.out.of[w.calledFrame(row)], list: w.builder.list(2*len(w.children) + 2)}
	c.last = c.caller
	n := len(w.children)
	for i, child := range w.children {
		c.gap(w.ix.Events.StartNs[child], placed.before[i], i > 0, false)
		c.at = max(c.at, w.ix.EndNs(child))
		c.last = placed.tokens[i]
		c.add(c.at, c.last)
	}
	end := w.ix.EndNs(row)
	c.gap(end, placed.before[n], n > 0, true)
	if len(c.list) == 0 {
		c.add(end, c.caller)
	}
	return c.list
}

// calledFrame is the frame that the user's code called: torch.compile runs the rest of a function after a graph break as a frame
// of its own within it.
func (w *frameWalker) calledFrame(row traceindex.EventID) traceindex.EventID {
	for {
		l, _ := w.ix.LocationOf(row)
		_, _, resumption := dynamoResumption(l.Function)
		outer := w.ix.Parent[row]
		for outer != traceindex.NoEvent {
			if _, ok := w.ix.LocationOf(outer); ok {
				break
			}
			outer = w.ix.Parent[outer]
		}
		if !resumption || outer == traceindex.NoEvent {
			return row
		}
		row = outer
	}
}

// segmentCutter divides a frame's time.
type segmentCutter struct {
	list   []segment
	at     int64
	caller placeID
	// last is the place of what ended at at.
	last placeID
}

func (c *segmentCutter) add(endNs int64, id placeID) {
	if n := len(c.list); n > 0 && c.list[n-1].place == id {
		c.list[n-1].endNs = endNs
		return
	}
	c.list = append(c.list, segment{endNs, id})
}

// silentStepNs bounds the time of one silent step of a statement: bytecode that calls nothing.
const silentStepNs = 3_000

// gap shares the time until a moment among the statements on the path since the last token, by their silent steps; the rest of the
// statement before counts as one. Before each statement that begins, and at the function's exit, comes its overhead. What is more
// than silent steps can take goes to a loop that was passed without any call, else to the statement before: an assignment that
// frees what the name held shows as nothing but time.
func (c *segmentCutter) gap(until int64, path []stretch, rest, exit bool) {
	span := until - c.at
	if span <= 0 {
		return
	}
	steps, begins := int64(0), int64(0)
	for _, s := range path {
		steps += int64(s.steps)
		if s.begins > 0 {
			begins++
		}
	}
	if exit {
		begins++
	}
	if rest || steps == 0 && begins == 0 {
		steps++
	}
	var overhead int64
	if begins > 0 && c.caller != noPlace {
		overhead = min(overheadNs, span*overheadSteps/(begins*overheadSteps+steps))
	}
	work := span - overhead*begins
	step, extra := work/max(1, steps), int64(0)
	loop := silentLoop(path, c.last)
	if rest && step > silentStepNs {
		step = silentStepNs
		extra = work - step*steps
	}
	spend := func(ns int64, id placeID) {
		if ns > 0 {
			c.at += ns
			c.add(c.at, id)
		}
	}
	if rest || len(path) == 0 && !exit {
		before := step
		if loop < 0 {
			before += extra
		}
		spend(before, c.last)
	}
	for i, s := range path {
		if s.begins > 0 {
			spend(overhead, c.caller)
		}
		spend(step*int64(s.steps), s.place)
		if i == loop {
			spend(extra, s.place)
		}
	}
	// What rounding left, and the exit's overhead.
	if until > c.at {
		last := c.caller
		if !exit && len(path) > 0 {
			last = path[len(path)-1].place
		} else if !exit || last == noPlace {
			last = c.last
		}
		spend(until-c.at, last)
	}
	c.at = until
}

// silentLoop is the first loop on a path that was neither being left nor entered: all its turns passed without a call; −1 if none.
func silentLoop(path []stretch, last placeID) int {
	for i, s := range path {
		if s.loop && s.place != last && i+1 < len(path) && path[len(path)-1].place != s.place {
			return i
		}
	}
	return -1
}
