package attribute

import (
	"strings"

	"stepline/traceindex"
)

// Traces of torch 1.8 to 1.12 hold no Python frames; with with_stack their ops carry "Call stack", the lines that were running,
// innermost first. Later versions write first lines there, and have frames: where there are frames, call stacks are not used.

// stackFrame is one line of a call stack: `train.py(21): step`.
type stackFrame struct {
	file, function string
	line           int
}

// parseCallStack reads a call stack's text.
func parseCallStack(text string) []stackFrame {
	var frames []stackFrame
	for _, part := range strings.Split(text, ";") {
		if file, line, function, ok := splitLocation(strings.TrimSpace(part)); ok {
			frames = append(frames, stackFrame{file, function, line})
		}
	}
	return frames
}

// hasPythonFrames reports whether a rank's host threads hold Python frames.
func hasPythonFrames(ix *traceindex.Index) bool { return len(ix.Python) > 0 }

// callStacks places ops by their call stacks.
type callStacks struct {
	w      *frameWalker
	places map[traceindex.NameID]placeID
}

// place is the innermost line of an op's call stack that is in the workspace, noPlace if there is none.
func (c *callStacks) place(row traceindex.EventID) placeID {
	d, ok := c.w.ix.OpDetailOf(row)
	if !ok || d.CallStack == 0 {
		return noPlace
	}
	if id, ok := c.places[d.CallStack]; ok {
		return id
	}
	id := noPlace
	for _, f := range parseCallStack(c.w.ix.Names[d.CallStack]) {
		s := c.w.byPath[f.file]
		if s == nil {
			continue
		}
		file := s.module.file
		line := file.LineOfStatement(f.line)
		function := f.function
		if line <= file.LineCount() {
			function = functionName(file.RunsIn(file.LineSpan(line).End - 1))
		}
		id = c.w.attribution.places.intern(Place{File: file.Path, Line: line, Function: function, Confidence: traceindex.ConfidenceExact})
		break
	}
	c.places[d.CallStack] = id
	return id
}

// recordedPlace is what the trace itself says of where an event ran: the innermost Python frame outside torch and Python, which
// the workspace has no source of.
func (a *Attribution) recordedPlace(p *rankPlaces, e traceindex.EventID) placeID {
	var frames []stackFrame
	for ; e != traceindex.NoEvent; e = p.ix.Parent[e] {
		if l, ok := p.ix.LocationOf(e); ok {
			frames = append(frames, stackFrame{l.File, l.Function, l.Line})
		}
		if d, ok := p.ix.OpDetailOf(e); ok && d.CallStack != 0 && p.pythonFrames == 0 {
			frames = append(frames, parseCallStack(p.ix.Names[d.CallStack])...)
		}
	}
	for _, f := range frames {
		if !isLibrary(f.file) {
			return a.places.intern(Place{File: cleanRecorded(f.file), Line: f.line, Function: f.function, Missing: true})
		}
	}
	return noPlace
}

// isLibrary reports whether a recorded path is torch's or Python's own.
func isLibrary(path string) bool {
	path = cleanRecorded(path)
	return strings.HasPrefix(path, "torch/") || strings.HasPrefix(path, "<") || strings.HasPrefix(path, "/") && !isUserPath(path)
}
