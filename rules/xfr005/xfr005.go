// Package xfr005 holds the rule XFR005 create-then-move: a tensor is made on the host and then copied to the GPU in every step.
package xfr005

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is XFR005.
var Rule = &rules.Rule{
	ID:       "XFR005",
	Name:     "create-then-move",
	Summary:  "a tensor is made on the host and then copied to the GPU in every step",
	Severity: rules.Warning,
	Fix:      rules.Safe,
	NeedsGPU: true,
	Price:    rules.PriceCopy,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		tensor := p.Moves(at)
		if tensor == nil {
			continue
		}
		made, random := p.CreatedInside(tensor)
		if made == nil {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` makes the tensor on the host and copies it %s: make it there with `device=`", p.Line(at), hot.When()),
			Fixes:   fixes(p, at, tensor, made, random),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

func fixes(p *rules.Pass, at *rules.Site, tensor pyscan.Expr, made *pyscan.Call, random bool) []rules.Fix {
	device := p.DeviceText(at.Call())
	if device == "" {
		return nil
	}
	safety := rules.Safe
	if random { // the GPU's generator gives other numbers
		safety = rules.Unsafe
	}
	return []rules.Fix{{
		Title: fmt.Sprintf("Make it on the device: `device=%s`", device), Safety: safety,
		Edits: []rules.TextEdit{
			p.Tree.AddKeyword(made, "device="+device),
			{File: p.File, Span: pyscan.Span{Start: p.Tree.EndWithParens(tensor), End: at.Range().End}},
		},
	}}
}
