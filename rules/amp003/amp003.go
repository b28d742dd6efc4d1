// Package amp003 holds the rule AMP003 clip-before-unscale: gradients are clipped while they are still scaled.
package amp003

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP003.
var Rule = &rules.Rule{
	ID:       "AMP003",
	Name:     "clip-before-unscale",
	Summary:  "gradients are clipped while they are still scaled",
	Severity: rules.Error,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		call := at.Call()
		if p.GradientWork(call) != "clip" {
			continue
		}
		scaler, optimizer := p.ScaledStep(at)
		if scaler == "" {
			continue
		}
		f := rules.Finding{
			Message: fmt.Sprintf("`%s` clips gradients that `%s` still scales, so the threshold is off by the scale: call `%s.unscale_(%s)` first", p.Line(at), scaler, scaler, optimizer),
		}
		if stmt := at.Statement(); p.OwnLine(stmt) {
			start := p.Tree.LineStart(stmt.Range().Start)
			f.Fixes = []rules.Fix{{
				Title: fmt.Sprintf("Unscale first: `%s.unscale_(%s)`", scaler, optimizer), Safety: rules.Unsafe,
				Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: start, End: start}, New: p.Tree.Indent(stmt) + scaler + ".unscale_(" + optimizer + ")" + p.Tree.Newline()}},
			}}
		}
		p.Report(at, f)
	}
}
