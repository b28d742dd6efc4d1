package traceindex

import (
	"sort"
	"strings"
)

// CallLine is where a Python call was made, as recorded in the running process (the sidecar beside the trace).
type CallLine struct {
	// File, Line and Function are the caller's: the line that was running when it made the call.
	File     string
	Line     int
	Function string
	// CalleeFirstLine is the first line of the function called, 0 for C functions.
	CalleeFirstLine int
}

// CallLineOf is the recorded line of the call that a Python frame is; false without a recording.
func (ix *Index) CallLineOf(e EventID) (CallLine, bool) {
	if ix.callLineOf == nil || ix.Events.Category[e] != CategoryPython {
		return CallLine{}, false
	}
	row := ix.callLineOf[e]
	if row < 0 {
		return CallLine{}, false
	}
	return ix.CallLines[row], true
}

// HasCallLines reports whether call lines were recorded with the trace.
func (ix *Index) HasCallLines() bool { return len(ix.CallLines) > 0 }

// CallLinesBuilder joins recorded call lines to an Index's Python frames.
type CallLinesBuilder struct {
	ix       *Index
	rows     map[CallLine]int32
	byThread [][]EventID // each host thread's Python frames, in start order
	matched  int
	missed   int
}

// NewCallLines begins joining. The Index must not be shared yet.
func NewCallLines(ix *Index) *CallLinesBuilder {
	c := &CallLinesBuilder{ix: ix, rows: map[CallLine]int32{}}
	ix.callLineOf = make([]int32, ix.Events.Len())
	for i := range ix.callLineOf {
		ix.callLineOf[i] = -1
	}
	for _, t := range ix.HostThreads {
		var frames []EventID
		first, end := ix.RowsOf(t)
		for row := first; row < end; row++ {
			if ix.Events.Category[row] == CategoryPython {
				frames = append(frames, row)
			}
		}
		c.byThread = append(c.byThread, frames)
	}
	return c
}

// Add joins one recorded call to the frame that starts at the moment and has its name. The trace's text holds nanoseconds; files
// of older versions hold microseconds, so the nearest within one is taken.
func (c *CallLinesBuilder) Add(name string, unixNs int64, line CallLine) {
	at := unixNs - c.ix.Meta.BaseUnixNs
	row := c.find(name, at)
	if row == NoEvent {
		c.missed++
		return
	}
	c.matched++
	id, ok := c.rows[line]
	if !ok {
		id = int32(len(c.ix.CallLines))
		c.ix.CallLines = append(c.ix.CallLines, line)
		c.rows[line] = id
	}
	c.ix.callLineOf[row] = id
}

func (c *CallLinesBuilder) find(name string, at int64) EventID {
	const toleranceNs = 1000
	ev := &c.ix.Events
	best, bestOff := NoEvent, int64(toleranceNs+1)
	for _, frames := range c.byThread {
		i := sort.Search(len(frames), func(i int) bool { return ev.StartNs[frames[i]] >= at-toleranceNs })
		for ; i < len(frames) && ev.StartNs[frames[i]] <= at+toleranceNs; i++ {
			off := ev.StartNs[frames[i]] - at
			if off < 0 {
				off = -off
			}
			if off < bestOff && c.ix.callLineOf[frames[i]] < 0 && sameCall(c.ix.Name(frames[i]), name) {
				best, bestOff = frames[i], off
			}
		}
	}
	return best
}

// sameCall compares a frame's name in the trace with the recorded one: the writer replaces quotes and backslashes.
func sameCall(a, b string) bool {
	if a == b {
		return true
	}
	clean := strings.NewReplacer(`"`, "", `'`, "", `\`, "", "/", "")
	return clean.Replace(a) == clean.Replace(b)
}

// Finish ends joining and returns how many recorded calls found their frame and how many did not.
func (c *CallLinesBuilder) Finish() (matched, missed int) {
	if c.matched == 0 {
		c.ix.callLineOf = nil
	}
	return c.matched, c.missed
}
