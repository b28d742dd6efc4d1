// Package xfr007 holds the rule XFR007 host-roundtrip: a tensor goes to the host and back to the GPU in every step.
package xfr007

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is XFR007.
var Rule = &rules.Rule{
	ID:       "XFR007",
	Name:     "host-roundtrip",
	Summary:  "a tensor goes to the host and back to the GPU in every step",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, trip := range p.RoundTrips() {
		hot := p.Hot(trip.Copy)
		if hot == nil || hot.Kind == rules.OptimizerStep || hot.Kind == rules.InForward {
			continue
		}
		f := rules.Finding{
			Message: fmt.Sprintf("`%s` goes to the host and line %d brings it back to the GPU %s: the host waits for the first copy, the GPU for the second; do it with tensor operations on the GPU", p.Line(trip.Copy), p.Tree.LineNumber(trip.Back), hot.When()),
			Related: []rules.Related{{File: p.File, Span: trip.Back.Range(), Message: "back to the GPU"}},
		}
		if trip.CPUOnly != "" {
			f.Severity = rules.Info
			f.Message = fmt.Sprintf("`%s` goes to the host for `%s` and line %d brings the result back to the GPU %s: both wait; look for a GPU form of it", p.Line(trip.Copy), trip.CPUOnly, p.Tree.LineNumber(trip.Back), hot.When())
		}
		p.ReportHot(trip.Copy, hot, f, rules.NotPeriodic, rules.QuieterInEval)
	}
}
