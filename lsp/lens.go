package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"stepline/lsp/internal/wire"
	"stepline/pyscan"
	"stepline/report"
)

func (s *server) codeLens(_ context.Context, params []byte) (wire.Reply, error) {
	var p documentParams
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	none := []protocol.CodeLens{}
	at, err := s.documentAt(p.TextDocument)
	if err != nil || at == nil || !at.module.folder.settings.CodeLens {
		return wire.Reply{Value: none}, err
	}
	return wire.Reply{Work: func(ctx context.Context) (any, error) {
		d, result, err := s.checkedSoon(ctx, at.module)
		if err != nil {
			return nil, err
		}
		if result.file == nil || result.lines == nil {
			return none, nil
		}
		return s.lenses(at.again(d), result), nil
	}}, nil
}

// lensAt is a lens at a place of the module.
type lensAt struct {
	offset int
	title  string
	// function or class is what the total is of; both are nil for a loop.
	function *pyscan.Function
	class    *pyscan.Class
}

// lenses are those over training loops and over functions and modules that cost something; worked out once a check.
func (s *server) lenses(at *placed, result *checked) []protocol.CodeLens {
	out := []protocol.CodeLens{}
	argument := encode(map[string]string{"folder": at.module.folder.uri})
	for _, l := range result.lenses() {
		if at.holds(l.offset) {
			where := at.position(l.offset)
			out = append(out, protocol.CodeLens{Range: protocol.Range{Start: where, End: where},
				Command: protocol.Command{Title: l.title, Command: "stepline.openReport", Arguments: []protocol.LSPAny{argument}}})
		}
	}
	return out
}

func (result *checked) lenses() []lensAt {
	result.lensOnce.Do(func() {
		if result.patch != nil {
			result.lensList = result.editedLenses()
			return
		}
		v, file := result.lines, result.file
		for _, loop := range trainingLoops(file, v) {
			result.lensList = append(result.lensList, lensAt{offset: loop, title: v.trace.stepTitle()})
		}
		for _, fn := range file.Functions {
			if fn.Comprehension != nil || fn.Value != nil || fn.Parent == nil || slices.Contains(v.changed, fn) {
				continue
			}
			if title := v.functionTitle(file, fn); title != "" {
				offset := file.Lines().Start(fn.DefLine) + indent(file.LineText(fn.DefLine))
				result.lensList = append(result.lensList, lensAt{offset: offset, title: title, function: fn})
			}
		}
		for _, class := range file.Classes {
			if title := v.moduleTitle(file, class, v.changed); title != "" {
				result.lensList = append(result.lensList, lensAt{offset: class.Start, title: title, class: class})
			}
		}
	})
	return result.lensList
}

// stepTitle says what a step is made of.
func (t *loadedTrace) stepTitle() string {
	summary := t.loaded.Costs.Summary
	parts := []string{}
	if summary.StepMeanNs > 0 {
		parts = append(parts, report.Duration(float64(summary.StepMeanNs))+" a step")
	}
	if whole := summary.GPUBusyNs + summary.GPUIdleNs; whole > 0 {
		parts = append(parts, "GPU busy "+percent(float64(summary.GPUBusyNs)/float64(whole)))
	}
	if class := t.class(); class != nil {
		parts = append(parts, strings.ReplaceAll(*class, "-", " "))
	}
	return strings.Join(append(parts, "open report"), " · ")
}

// functionTitle is a function's total over its own lines, "" where it has none.
func (v *lineView) functionTitle(file *pyscan.File, fn *pyscan.Function) string {
	return v.totalTitle(v.total(file, fn))
}

// moduleTitle is the total over the methods of a module (a class with a forward) and how often it was called, "" for other
// classes and for one without costs. Methods that changed do not count.
func (v *lineView) moduleTitle(file *pyscan.File, class *pyscan.Class, changed []*pyscan.Function) string {
	var ns, calls int64
	module := false
	for _, fn := range class.Methods {
		if slices.Contains(changed, fn) {
			continue
		}
		own, times := v.total(file, fn)
		ns += own
		if fn.Name == "forward" {
			module, calls = true, times
		}
	}
	if !module {
		return ""
	}
	return v.totalTitle(ns, calls)
}

// total is the GPU time of a function's own lines and how often it was called, over the whole trace.
func (v *lineView) total(file *pyscan.File, fn *pyscan.Function) (ns, calls int64) {
	rows := v.between(fn.FirstLine, fn.LastLine)
	if len(rows) == 0 { // most functions of a long file did not run
		return 0, 0
	}
	once := map[int]bool{} // lines of statements that run once a call: those of the body itself, loops' tests aside
	for _, stmt := range fn.Body {
		switch stmt.(type) {
		case *pyscan.For, *pyscan.While:
		default:
			once[file.StatementLine(stmt)] = true
		}
	}
	for _, row := range rows {
		if row.stale {
			continue
		}
		span := file.LineSpan(row.line)
		own := enclosingDef(file.RunsIn(span.Start + indent(file.Text[span.Start:span.End])))
		if own != fn && row.line != fn.DefLine {
			continue
		}
		ns += row.cost.GPUNs()
		if once[row.line] {
			calls = max(calls, row.cost.Calls)
		}
	}
	return ns, calls
}

// totalTitle writes a total, "" for none.
func (v *lineView) totalTitle(ns, calls int64) string {
	if ns <= 0 {
		return ""
	}
	perStep := v.trace.perStep(ns)
	title := fmt.Sprintf("%s on the GPU %s · %s", report.Duration(perStep), v.trace.per(), percent(v.trace.gpuShare(perStep)))
	if calls > 0 {
		title += " · " + countOf(v.trace.perStep(calls), "call")
	}
	return title
}

// trainingLoops are the offsets of the loops that ran in the trace and train: in each function the innermost that step an
// optimizer, or, where none does, that call backward() (the loop over micro-batches is no step).
func trainingLoops(file *pyscan.File, v *lineView) []int {
	var loops []int
	for _, fn := range file.Functions {
		if fn.Comprehension != nil || fn.Value != nil || len(v.between(fn.FirstLine, fn.LastLine)) == 0 {
			continue
		}
		found := loopsIn(fn.Body, stepsOptimizer)
		if len(found) == 0 {
			found = loopsIn(fn.Body, callsBackward)
		}
		for _, loop := range found {
			loops = append(loops, loop.Range().Start)
		}
	}
	slices.Sort(loops)
	return slices.Compact(loops)
}

// loopsIn are the innermost loops of a body that make a certain call.
func loopsIn(body []pyscan.Stmt, wanted func(*pyscan.Attribute) bool) []pyscan.Stmt {
	var found []pyscan.Stmt
	for _, stmt := range body {
		switch stmt.(type) {
		case *pyscan.FunctionDef, *pyscan.ClassDef:
			continue
		}
		var inner []pyscan.Stmt
		for _, b := range pyscan.Bodies(stmt) {
			inner = append(inner, loopsIn(b, wanted)...)
		}
		switch stmt.(type) {
		case *pyscan.For, *pyscan.While:
			if len(inner) == 0 && makesCall(stmt, wanted) {
				inner = []pyscan.Stmt{stmt}
			}
		}
		found = append(found, inner...)
	}
	return found
}

func callsBackward(a *pyscan.Attribute) bool { return a.Attr == "backward" }

// stepsOptimizer recognises step() of what is called an optimizer or a gradient scaler.
func stepsOptimizer(a *pyscan.Attribute) bool {
	of := strings.ToLower(pyscan.LastName(a.Value))
	return a.Attr == "step" && (strings.Contains(of, "opt") || strings.Contains(of, "scaler"))
}

func makesCall(loop pyscan.Stmt, wanted func(*pyscan.Attribute) bool) bool {
	found := false
	pyscan.Walk(loop, func(n pyscan.Node) bool {
		if call, ok := n.(*pyscan.Call); ok {
			if a, ok := call.Func.(*pyscan.Attribute); ok {
				found = found || wanted(a)
			}
		}
		return !found
	})
	return found
}

func (s *server) resolveCodeLens(_ context.Context, params []byte) (wire.Reply, error) {
	// Lenses are given with their commands; resolving one gives it back as it is.
	var lens map[string]json.RawMessage
	if err := decode(params, &lens); err != nil {
		return wire.Reply{}, err
	}
	if !isObject(lens["range"]) {
		return wire.Reply{}, invalid("params.range is missing")
	}
	return wire.Reply{Value: lens}, nil
}
