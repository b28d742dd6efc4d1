// Package xfr006 holds the rule XFR006 host-literal-in-hot-path: a constant is built on the host and copied to the GPU in every step.
package xfr006

import (
	_ "embed"
	"fmt"
	"slices"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is XFR006.
var Rule = &rules.Rule{
	ID:       "XFR006",
	Name:     "host-literal-in-hot-path",
	Summary:  "a constant is built on the host and copied to the GPU in every step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceCopy,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsTo("torch.tensor", "torch.as_tensor", "torch.FloatTensor", "torch.LongTensor") {
		call := at.Call()
		if len(call.Args) == 0 || !p.Literal(call.Args[0]) || p.BehindNoneTest(at) {
			continue
		}
		moved := at // the whole expression that ends up on the device
		for up := at.Parent; up != nil; up = up.Parent {
			if outer, ok := up.Node.(*pyscan.Call); ok {
				if p.Moves(up) != nil {
					moved = up
				}
				_ = outer
			} else if _, ok := up.Node.(*pyscan.Attribute); !ok {
				break
			}
		}
		if moved == at && !p.OnGPU(call) && !goesWhereOthersGo(p, at) || namesModuleOnCPU(p, moved) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(moved, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` copies a constant from the host %s: keep it on the device (a buffer registered in `__init__`, or a tensor made before the loop)", p.Line(moved), hot.When()),
			Fixes:   fixes(p, at, moved),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

// goesWhereOthersGo reports whether the device that a call names is one to which the same function copies something that is known
// to end up on a GPU: `x.to(model.device)` tells where `device=model.device` is, whatever the model.
func goesWhereOthersGo(p *rules.Pass, at *rules.Site) bool {
	k := rules.Keyword(at.Call(), "device")
	if k == nil {
		return false
	}
	return slices.ContainsFunc(p.Tree.Calls, func(other *rules.Site) bool {
		if other.Def() != at.Def() || p.Moves(other) == nil {
			return false
		}
		where := rules.Argument(other.Call(), 0, "device")
		return where != nil && p.Text(where) == p.Text(k.Value)
	})
}

// namesModuleOnCPU reports whether a tensor goes where a module is that was put on the CPU: `device=model.device`.
func namesModuleOnCPU(p *rules.Pass, moved *rules.Site) bool {
	found := false
	rules.EachExpr(moved.Node.(pyscan.Expr), func(e pyscan.Expr) bool {
		if attr, ok := e.(*pyscan.Attribute); ok && attr.Attr == "device" {
			rules.EachExpr(attr.Value, func(base pyscan.Expr) bool {
				v := p.Value(base)
				found = found || v.Kind == rules.Module && v.OnCPU
				return !found
			})
		}
		return !found
	})
	return found
}

// fixes registers the constant as a buffer where the code is a module's forward with an __init__ of its own.
func fixes(p *rules.Pass, at, moved *rules.Site) []rules.Fix {
	call := at.Call()
	assign, ok := moved.Statement().Node.(*pyscan.Assign)
	if !ok || len(assign.Targets) != 1 {
		return nil
	}
	target, ok := assign.Targets[0].(*pyscan.Name)
	if !ok {
		return nil
	}
	fn := at.Def()
	if fn.Name != "forward" || fn.Class == nil || len(fn.Params) == 0 || rules.Keyword(call, "device") != nil && moved != at {
		return nil
	}
	name := target.ID
	if p.ClassMentions(fn.Class, fn.Params[0].Name+"."+name) {
		return nil
	}
	insert, indent := p.AfterSuperInit(fn.Class)
	if insert < 0 {
		return nil
	}
	text := p.Text(call)
	if k := rules.Keyword(call, "device"); k != nil {
		edit := p.Tree.RemoveArgument(call, k.Span)
		text = p.File.Text[call.Start:edit.Span.Start] + p.File.Text[edit.Span.End:call.End]
	}
	line := p.Tree.Newline() + indent + fmt.Sprintf("self.register_buffer(%q, %s, persistent=False)", name, text)
	return []rules.Fix{{
		Title: fmt.Sprintf("Register it as the buffer `%s` in `__init__`", name), Safety: rules.Unsafe,
		Edits: []rules.TextEdit{
			{File: p.File, Span: pyscan.Span{Start: insert, End: insert}, New: line},
			{File: p.File, Span: moved.Range(), New: fn.Params[0].Name + "." + name},
		},
	}}
}
