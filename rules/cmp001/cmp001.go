// Package cmp001 holds the rule CMP001 compile-in-loop: torch.compile is called again in every turn of a training loop or every call of a step.
package cmp001

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP001.
var Rule = &rules.Rule{
	ID:       "CMP001",
	Name:     "compile-in-loop",
	Summary:  "torch.compile is called again in every turn of a training loop or every call of a step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if !p.Compiles() {
		return
	}
	for _, at := range p.Tree.Sites {
		if !p.IsCompile(at) || p.BehindNoneTest(at) || p.InTests() {
			continue
		}
		loop, hot := p.TrainingLoopAround(at), p.Hot(at)
		if at.Role == rules.RoleDecorator && at.Def().Name == "<module>" || loop == nil && hot == nil {
			continue
		}
		if call, ok := at.Node.(*pyscan.Call); ok && loop != nil && len(call.Args) > 0 && p.BoundInLoop(loop, call.Args[0], at.Statement().Node.(pyscan.Stmt)) {
			continue // another model in every turn: a comparison of configurations
		}
		f := rules.Finding{Fixes: hoist(p, at, loop)}
		when := "in every turn of the training loop"
		if hot != nil {
			when = hot.When()
			f.Related = hot.Related()
		} else {
			f.Related = []rules.Related{{File: p.File, Span: p.HeaderSpan(loop), Message: "the loop"}}
		}
		f.Message = fmt.Sprintf("`%s` makes a new compiled object %s, with its own checks and cache: compile once before the loop", p.Line(at), when)
		p.Report(at, f, rules.NotPeriodic)
	}
}

// hoist moves `x = torch.compile(x)` in front of the outermost training loop where nothing in the loop makes what it compiles.
func hoist(p *rules.Pass, at, loop *rules.Site) []rules.Fix {
	if loop == nil || at.Parent == nil {
		return nil
	}
	assign, ok := at.Parent.Node.(*pyscan.Assign)
	call, isCall := at.Node.(*pyscan.Call)
	if !ok || !isCall || len(assign.Targets) != 1 || p.LineAt(assign.Start) != p.LineAt(assign.End) {
		return nil
	}
	target, ok := assign.Targets[0].(*pyscan.Name)
	if !ok || len(call.Args) != 1 || p.BoundInLoop(loop, call.Args[0], assign) {
		return nil
	}
	_ = target
	line := p.Indent(loop) + p.Text(assign) + p.Newline()
	start := p.LineStart(loop.Range().Start)
	return []rules.Fix{{Title: "Compile once, before the loop", Safety: rules.Unsafe, Edits: []rules.TextEdit{
		{File: p.File, Span: pyscan.Span{Start: start, End: start}, New: line},
		p.DeleteStatement(at.Parent),
	}}}
}
