package attribute

import (
	"strconv"
	"strings"

	"stepline/pyscan"
)

// findFunction finds the function of a frame `file(line): name`. resumed tells that the line is not the function's first: the
// frame was on the stack when recording began, or a generator went on after a yield.
func findFunction(file *pyscan.File, name, qualified string, line int) (fn *pyscan.Function, resumed bool) {
	if original, at, ok := dynamoResumption(name); ok {
		name, qualified, line = original, "", at
		return covering(file, name, "", line), true
	}
	if name == "<module>" {
		return file.Module, line > 1
	}
	var exact *pyscan.Function
	for _, f := range file.Functions {
		if f.Name != name || f.FirstLine != line && f.DefLine != line {
			continue
		}
		if exact == nil || qualified != "" && sameQualified(f.QualName, qualified) && !sameQualified(exact.QualName, qualified) {
			exact = f
		}
	}
	if exact != nil {
		return exact, false
	}
	if fn := classBody(file, name, line); fn != nil {
		return fn, false
	}
	return covering(file, name, qualified, line), true
}

// classBody is the frame that runs a class's body, nil if no class of the name begins at the line.
func classBody(file *pyscan.File, name string, line int) *pyscan.Function {
	for _, c := range file.Classes {
		if c.Name == name && (c.FirstLine == line || file.Line(c.NameSpan.Start) == line) {
			return &pyscan.Function{Span: c.Span, Name: c.Name, NameSpan: c.NameSpan, QualName: c.QualName, Body: c.Body, Parent: c.Parent, FirstLine: c.FirstLine, DefLine: file.Line(c.NameSpan.Start), LastLine: c.LastLine}
		}
	}
	return nil
}

// covering is the innermost function of the name whose range holds the line.
func covering(file *pyscan.File, name, qualified string, line int) *pyscan.Function {
	var found *pyscan.Function
	for _, f := range file.Functions {
		if f.Name != name || line < f.FirstLine || line > f.LastLine {
			continue
		}
		if qualified != "" && !sameQualified(f.QualName, qualified) {
			continue
		}
		if found == nil || f.FirstLine >= found.FirstLine {
			found = f
		}
	}
	if found == nil && qualified != "" {
		return covering(file, name, "", line)
	}
	return found
}

// sameQualified compares a model's qualified name with a recorded one, which has "<locals>" parts.
func sameQualified(model, recorded string) bool {
	return model == strings.ReplaceAll(recorded, ".<locals>", "")
}

// dynamoResumption reads torch.compile's name for the rest of a function after a graph break: `torch_dynamo_resume_in_forward_at_20`.
func dynamoResumption(name string) (function string, line int, ok bool) {
	rest, found := strings.CutPrefix(name, "torch_dynamo_resume_in_")
	if !found {
		return "", 0, false
	}
	i := strings.LastIndex(rest, "_at_")
	if i < 0 {
		return "", 0, false
	}
	line, err := strconv.Atoi(rest[i+len("_at_"):])
	if err != nil {
		return "", 0, false
	}
	function = rest[:i]
	// Dynamo writes `<lambda>` as `<lambda>` and dots as they are.
	if j := strings.LastIndexByte(function, '.'); j >= 0 {
		function = function[j+1:]
	}
	return function, line, true
}

// startsAt are the points where a frame may have begun. At its first line a frame began at its entry. Elsewhere it went on after
// the yield on that line, or was in the statement there when recording began.
func (g *graph) startsAt(line int, resumed bool, file *pyscan.File) []start {
	if !resumed {
		return []start{{g.entry, 0}}
	}
	var starts []start
	for _, r := range g.flow.Resumptions {
		if r.Line <= line && line <= r.LastLine {
			starts = append(starts, start{int32(r.Point), 0})
		}
	}
	if len(starts) > 0 {
		return starts
	}
	for _, p := range g.pointsOf(int32(file.LineOfStatement(line))) {
		starts = append(starts, start{p, 0})
	}
	if len(starts) == 0 {
		starts = []start{{g.entry, 0}}
	}
	return starts
}
