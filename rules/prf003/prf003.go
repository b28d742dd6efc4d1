// Package prf003 holds the rule PRF003 heavy-profiler-flags: the profiler records shapes, stacks and memory for the whole run.
package prf003

import (
	_ "embed"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF003.
var Rule = &rules.Rule{
	ID:       "PRF003",
	Name:     "heavy-profiler-flags",
	Summary:  "the profiler records shapes, stacks and memory for the whole run",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, u := range p.Profilers() {
		stack, shapes, memory := rules.Keyword(u.Call, "with_stack"), rules.Keyword(u.Call, "record_shapes"), rules.Keyword(u.Call, "profile_memory")
		if stack == nil || shapes == nil || memory == nil || !rules.IsTrue(stack.Value) || !rules.IsTrue(shapes.Value) || !rules.IsTrue(memory.Value) {
			continue
		}
		given, call := p.Schedule(u)
		f := rules.Finding{Span: shapes.Span}
		switch {
		case given == nil && p.LongTraining(u) != nil:
			f.Fixes = []rules.Fix{{Title: "Record neither shapes nor memory", Safety: rules.Unsafe, Edits: []rules.TextEdit{
				p.Tree.Replace(shapes.Value, "False"), p.Tree.Replace(memory.Value, "False"),
			}}}
			f.Message = "stacks, shapes and memory are recorded for the whole run: every op gets slower, and `record_shapes=True` keeps references to the tensors, so memory grows; record them for a few steps (`schedule`), or not at all"
		case call != nil && unbounded(call):
			f.Message = "this schedule never ends, and stacks, shapes and memory are recorded in each of its cycles: every op in them gets slower, and `record_shapes=True` keeps references to the tensors; give the schedule `repeat=1`"
			f.Related = []rules.Related{{File: p.File, Span: call.Range(), Message: "the schedule"}}
			f.Fixes = []rules.Fix{{Title: "Record one cycle: `repeat=1`", Safety: rules.Unsafe, Edits: []rules.TextEdit{repeat(p, call)}}}
		default:
			continue
		}
		p.Report(u.Site, f, rules.NotPeriodic)
	}
}

// unbounded: `repeat` is not given or 0: the cycles go on until the profiler stops (torch.profiler.schedule).
func unbounded(call *pyscan.Call) bool {
	if rules.HasOpenArguments(call) {
		return false
	}
	e := rules.Argument(call, 3, "repeat")
	c, ok := e.(*pyscan.Constant)
	return e == nil || ok && c.Text == "0"
}

func repeat(p *rules.Pass, call *pyscan.Call) rules.TextEdit {
	if e := rules.Argument(call, 3, "repeat"); e != nil {
		return p.Tree.Replace(e, "1")
	}
	return p.Tree.AddKeyword(call, "repeat=1")
}
