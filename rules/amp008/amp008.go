// Package amp008 holds the rule AMP008 float64-leak: NumPy's float64 reaches the model.
package amp008

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP008.
var Rule = &rules.Rule{
	ID:        "AMP008",
	Name:      "float64-leak",
	Summary:   "NumPy's float64 reaches the model",
	Severity:  rules.Warning,
	Fix:       rules.Unsafe,
	NeedsGPU:  true,
	Price:     rules.PriceKernels,
	HostStays: true,
	Ops:       []string{"double"},
	Page:      page,
	Check:     check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		source := p.Float64Source(at)
		if source == nil || p.Converted(at) {
			continue
		}
		heat := p.PerItem(at)
		if heat == nil {
			heat = p.Hot(at)
		}
		if heat == nil || heat.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(at, heat, rules.Finding{
			Message: fmt.Sprintf("`%s` is float64, because `%s` makes float64 arrays: twice the bytes to copy, and double-precision arithmetic wherever it meets the model; convert it (`.float()`)", p.Line(at), p.Line(source)),
			Fixes: []rules.Fix{{
				Title: "Convert to float32: `.float()`", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: at.Range().End, End: at.Range().End}, New: ".float()"}},
			}},
		}, rules.NotPeriodic)
	}
}
