// Package syn011 holds the rule SYN011 sync-in-optimizer-step: waiting for the GPU inside an optimizer's step.
package syn011

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN011.
var Rule = &rules.Rule{
	ID:       "SYN011",
	Name:     "sync-in-optimizer-step",
	Summary:  "an optimizer's step waits for the GPU, often once per parameter",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: false, // an optimizer is written for whatever device its parameters are on
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		step := p.OptimizerStep(at)
		if step == nil || p.InDefNamed(at, "closure") {
			continue
		}
		switch {
		case p.IsSynchronize(at):
			report(p, at, step, "waits for the whole device")
		case p.IsPrintOfTensor(at) != nil:
			report(p, at, step, "prints a tensor's value, which waits for the GPU")
		default:
			if read := p.HostRead(at); read != nil && p.OnGPU(read.Tensor) && !p.IfTensor(at, read.Tensor) {
				report(p, at, step, "waits for the GPU")
			}
		}
	}
	for _, at := range p.TensorTests() {
		if step := p.OptimizerStep(at); step != nil {
			report(p, at, step, "branches on a tensor's value, which waits for the GPU")
		}
	}
}

func report(p *rules.Pass, at *rules.Site, step *rules.Heat, what string) {
	often := "in every optimizer step"
	if p.InLoop(at) {
		often = "once per parameter in every optimizer step"
	}
	f := rules.Finding{Message: fmt.Sprintf("`%s` %s, %s (`%s`): compute on tensors instead", p.Line(at), what, often, step.Name)}
	if _, ok := at.Parent.Node.(*pyscan.ExprStmt); ok && p.IsSynchronize(at) {
		f.Message = fmt.Sprintf("`%s` %s, %s (`%s`): delete it", p.Line(at), what, often, step.Name)
		f.Fixes = []rules.Fix{{
			Title: fmt.Sprintf("Delete `%s`", p.Line(at)), Safety: rules.Unsafe,
			Edits: []rules.TextEdit{p.DeleteStatement(at.Parent)},
		}}
	}
	p.ReportHot(at, step, f, rules.NotPeriodic)
}
