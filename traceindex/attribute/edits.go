package attribute

import (
	"cmp"
	"slices"

	"stepline/pyscan"
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
