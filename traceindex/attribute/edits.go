package attribute

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stepline/pyscan"
	"stepline/traceindex"
)

// functionFinder finds recorded functions in a file that may have been edited since: code above them was inserted or removed, so
// they stand on other lines than the trace says. What changed inside a function is beyond it: a function whose calls the source
// no longer explains is told as a whole (alignment.unfit), and one that is gone has no place.
type functionFinder struct {
	file    *pyscan.File
	anchors []anchor // by recorded line
}

// anchor is a recorded line whose place in the file is sure.
type anchor struct{ line, shift int }

// newFunctionFinder finds, from the functions that a trace names, by how much each part of the file has moved.
func newFunctionFinder(file *pyscan.File, recorded []RecordedFunction) *functionFinder {
	f := &functionFinder{file: file}
	lines := map[string][]int{}
	for _, r := range recorded {
		if _, name := splitQualified(r.Name); name != "" && name[0] != '<' {
			lines[name] = append(lines[name], r.Line)
		}
	}
	have := map[string][]*pyscan.Function{}
	for _, fn := range file.Functions[1:] {
		have[fn.Name] = append(have[fn.Name], fn)
	}
	votes := map[int]int{}
	var doubtful []anchor
	for name, at := range lines {
		slices.Sort(at)
		sure, maybe := pairLines(slices.Compact(at), have[name])
		for _, a := range append(sure, maybe...) {
			votes[a.shift]++
		}
		f.anchors, doubtful = append(f.anchors, sure...), append(doubtful, maybe...)
	}
	for _, a := range doubtful {
		if votes[a.shift] > 1 {
			f.anchors = append(f.anchors, a)
		}
	}
	slices.SortFunc(f.anchors, func(a, b anchor) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.shift, b.shift)) })
	return f
}

// pairLines pairs the recorded lines of one name with the functions of that name: all in order when their numbers are the same,
// else those that agree. A line inside a function of the name may be that of a frame already running or of a yield, and not a
// function's that has moved: its pair is only a maybe.
func pairLines(lines []int, functions []*pyscan.Function) (sure, maybe []anchor) {
	for i, line := range lines {
		starts, inside := false, false
		for _, fn := range functions {
			starts = starts || fn.FirstLine == line || fn.DefLine == line
			inside = inside || fn.FirstLine < line && line <= fn.LastLine
		}
		paired := len(lines) == len(functions)
		moved := anchor{line, 0}
		if paired && functions[i].DefLine != line {
			moved.shift = functions[i].FirstLine - line
		}
		switch {
		case starts && (!paired || moved.shift == 0):
			sure = append(sure, anchor{line, 0})
		case paired && !inside:
			sure = append(sure, moved)
		case paired:
			maybe = append(maybe, moved)
		}
	}
	return sure, maybe
}

// shift is by how much the code recorded at a line has moved: as much as the nearest anchor at or above it, else the one below.
func (f *functionFinder) shift(line int) int {
	i, found := slices.BinarySearchFunc(f.anchors, line, func(a anchor, line int) int { return cmp.Compare(a.line, line) })
	switch {
	case len(f.anchors) == 0:
		return 0
	case found:
		return f.anchors[i].shift
	case i == 0:
		return f.anchors[0].shift
	}
	return f.anchors[i-1].shift
}

// find is findFunction for a recorded line; at is that line in the file as it is now.
func (f *functionFinder) find(name, qualified string, line int) (fn *pyscan.Function, resumed bool, at int) {
	at = line + f.shift(line)
	if fn, resumed = findFunction(f.file, name, qualified, at); fn != nil && !resumed || at == line {
		return fn, resumed, at
	}
	if unmoved, unmovedResumed := findFunction(f.file, name, qualified, line); unmoved != nil && (!unmovedResumed || fn == nil) {
		return unmoved, unmovedResumed, line
	}
	return fn, resumed, at
}

// Move brings the places of one file to a newer text of it, in which its statements stand on other lines. line gives the new line of
// an old one, 0 if it is gone, and whether what is there is the same: it is not in functions that changed inside. Their time is then
// on the function as a whole, never guessed anew. Call it before the Attribution is shared.
func (a *Attribution) Move(path string, newer *pyscan.File, line func(old int) (now int, fresh bool)) {
	older := a.Files[path]
	if older == nil || older.Text == newer.Text {
		return
	}
	a.Files[path] = newer
	changed := map[string]bool{}
	for i := range a.places.places {
		p := &a.places.places[i]
		if p.File != path || p.Missing {
			continue
		}
		if moved, ok := movedPlace(*p, line); ok {
			moved.Function = functionNow(newer, moved)
			*p = moved
			continue
		}
		if p.Function != "<module>" {
			changed[p.Function] = true
		}
		*p = wholeFunction(*p, older, line)
	}
	a.placesChanged(path, changed)
}

// placesChanged has the GPU events follow a file's places, and tells the functions whose lines are not known any more.
func (a *Attribution) placesChanged(path string, functions map[string]bool) {
	for _, r := range a.ranks {
		a.resettle(r, path)
	}
	for _, f := range slices.Sorted(maps.Keys(functions)) {
		a.Warnings = append(a.Warnings, traceindex.Warning{Code: "changed-since-recording", File: path,
			Message: fmt.Sprintf("%s in %s has changed since it was recorded: its time is shown on the function, not on its lines", f, path)})
	}
}

// functionNow is the name that the function of a moved place has in the newer text: it may have been renamed.
func functionNow(file *pyscan.File, p Place) string {
	line := p.Line
	if line == 0 && len(p.Candidates) > 0 {
		line = p.Candidates[0]
	}
	if line < 1 || line > file.LineCount() || p.Function == "" {
		return p.Function
	}
	if p.Confidence == traceindex.ConfidenceFunction {
		for _, fn := range file.Functions {
			if definition(fn) == fn && fn.Parent != nil && fn.DefLine == line {
				return functionName(fn)
			}
		}
		return p.Function
	}
	span := file.LineSpan(line)
	text := file.Text[span.Start:span.End]
	if fn := file.RunsIn(span.Start + len(text) - len(strings.TrimLeft(text, " \t\f\ufeff"))); fn != nil {
		return functionName(fn)
	}
	return p.Function
}

// resettle gives the GPU events of a file's places the reasons that the places now have.
func (a *Attribution) resettle(r *rankPlaces, path string) {
	for i := range r.gpu {
		g := &r.gpu[i]
		if g.place == noPlace || a.places.places[g.place].File != path {
			continue
		}
		switch g.reason {
		case onLine, reasonAmbiguous, reasonChanged:
			g.reason = onLine
			*g = a.settle(*g)
		}
	}
}

// movedPlace is a place on its new lines; false if one of them is gone or not the same.
func movedPlace(p Place, line func(int) (int, bool)) (Place, bool) {
	if p.Line > 0 {
		now, fresh := line(p.Line)
		if now == 0 || !fresh {
			return p, false
		}
		p.Line = now
	}
	candidates := make([]int, 0, len(p.Candidates))
	for _, c := range p.Candidates {
		now, fresh := line(c)
		if now == 0 || !fresh {
			return p, false
		}
		candidates = append(candidates, now)
	}
	slices.Sort(candidates)
	if p.Candidates != nil {
		p.Candidates = candidates
	}
	return p, true
}

// wholeFunction is the function of a place that cannot be moved.
func wholeFunction(p Place, older *pyscan.File, line func(int) (int, bool)) Place {
	at := p.Line
	if at == 0 && len(p.Candidates) > 0 {
		at = p.Candidates[0]
	}
	whole := Place{File: p.File, Function: p.Function, Confidence: traceindex.ConfidenceFunction, Compiled: p.Compiled}
	for _, fn := range older.Functions {
		if definition(fn) == fn && functionName(fn) == p.Function && fn.FirstLine <= at && at <= fn.LastLine && fn.Parent != nil {
			if now, _ := line(fn.DefLine); now > 0 {
				whole.Line = now
			}
		}
	}
	whole.Missing = whole.Line == 0
	return whole
}
