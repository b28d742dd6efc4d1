// Package syn005 holds the rule SYN005 metric-to-cpu-each-step: model outputs are copied to the host in every training step.
package syn005

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN005.
var Rule = &rules.Rule{
	ID:       "SYN005",
	Name:     "metric-to-cpu-each-step",
	Summary:  "model outputs are copied to the host in every training step",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		read := p.HostRead(at)
		if read == nil || !read.Copy || p.InsideHostRead(at) || p.ComesBack(at) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep || hot.Kind == rules.InForward || !p.OnGPU(read.Tensor) {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` copies to the host and waits for the GPU %s: compute the metric on the GPU, or copy every N steps", p.Line(at), hot.When()),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}
