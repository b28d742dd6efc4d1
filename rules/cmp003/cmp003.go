// Package cmp003 holds the rule CMP003 recompile-on-python-scalar: a compiled function gets a Python number or a size that changes every step and is compiled again.
package cmp003

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP003.
var Rule = &rules.Rule{
	ID:       "CMP003",
	Name:     "recompile-on-python-scalar",
	Summary:  "a compiled function gets a Python number or a size that changes every step and is compiled again",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	// Dynamo's own ranges around a compilation (torch/_dynamo/utils.py, dynamo_timed; the name has changed over versions). Without
	// them every variant was compiled before the recording, or the limit was reached and the code runs uncompiled.
	Ops: []string{"_compile.", "compile_inner (dynamo_timed)", "entire_frame_compile"}, AbsenceProvesNothing: true,
	Page:  page,
	Check: check,
}

func check(p *rules.Pass) {
	if !p.Compiles() {
		return
	}
	for _, at := range p.Tree.Calls {
		if !p.InLoop(at) || len(at.Call().Args)+len(at.Call().Keywords) == 0 {
			continue
		}
		by := p.CompiledCallee(at)
		if by == nil {
			continue
		}
		hot := p.Hot(at)
		if hot == nil {
			continue
		}
		call := at.Call()
		args := append([]pyscan.Expr(nil), call.Args...)
		for _, k := range call.Keywords {
			args = append(args, k.Value)
		}
		for _, arg := range args {
			argument(p, at, hot, by, arg)
		}
	}
	counters(p)
}

func argument(p *rules.Pass, at *rules.Site, hot *rules.Heat, by *rules.CompiledCode, arg pyscan.Expr) {
	site := p.Site(arg)
	if c := p.ChangingNumber(arg, site); c != nil {
		if c.Float && p.Torch.AtLeast(2, 6) { // specialize_float is False from 2.6 on: floats become inputs
			return
		}
		what := "an int is a constant of the graph until it is seen to change, and 0 and 1 stay constants"
		if c.Float {
			what = "a float is a constant of the graph before torch 2.6: every new value compiles again until the limit (8), then the code runs uncompiled"
		}
		p.ReportHot(site, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` changes every step and `%s` is compiled again for it: %s; pass a tensor", p.Line(arg), by.Name, what),
			Related: []rules.Related{by.Related()},
			Fixes: []rules.Fix{{Title: fmt.Sprintf("Pass `torch.tensor(%s)`", p.Line(arg)), Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.Replace(arg, "torch.tensor("+p.Text(arg)+")")}}},
		}, rules.NotPeriodic)
		return
	}
	compile, isCall := by.By.(*pyscan.Call)
	if isCall && rules.Keyword(compile, "dynamic") != nil || p.MentionsInProject("mark_dynamic", "assume_static_by_default", "maybe_mark_dynamic") {
		return
	}
	made, size := p.ChangingSize(arg, site)
	if made == nil {
		return
	}
	f := rules.Finding{
		Severity: rules.Info,
		Message:  fmt.Sprintf("the size of `%s` changes with `%s`, and `%s` is compiled again when it first does: compile with `dynamic=True`, or call `torch._dynamo.mark_dynamic` on it", p.Line(arg), p.Line(size.From), by.Name),
		Related:  []rules.Related{{File: p.File, Span: made.Range(), Message: "made with this size"}, by.Related()},
	}
	if isCall && by.File.Path == p.File.Path {
		f.Fixes = []rules.Fix{{Title: "Compile with `dynamic=True`", Safety: rules.Unsafe, Edits: []rules.TextEdit{p.Tree.AddKeyword(compile, "dynamic=True")}}}
	}
	p.ReportHot(site, hot, f, rules.NotPeriodic)
}

// counters: `self.steps += 1` in compiled code. Dynamo guards on the value of a module's int attributes
// (torch._dynamo.config.allow_unspec_int_on_nn_module is False), so each value needs a graph of its own.
func counters(p *rules.Pass) {
	if !p.HasCompiledCode() || p.MentionsInProject("allow_unspec_int_on_nn_module") {
		return
	}
	for _, at := range p.Tree.Sites {
		n, ok := at.Node.(*pyscan.AugAssign)
		if !ok {
			continue
		}
		by := p.CompiledAt(at)
		target, isAttr := n.Target.(*pyscan.Attribute)
		c, isConst := n.Value.(*pyscan.Constant)
		if by == nil || !isAttr || !isConst || c.Kind != pyscan.ConstInt || p.UnderCompilerTest(at) || !p.StartsAsInt(target, at) {
			continue
		}
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` changes an int of the module in every call, and `%s` is compiled again for each value until the limit (8), then runs uncompiled: count in a tensor buffer, or outside the compiled code", p.Line(n), by.Name),
			Related: []rules.Related{by.Related()},
		}, rules.NotPeriodic)
	}
}
