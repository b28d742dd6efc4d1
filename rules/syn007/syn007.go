// Package syn007 holds the rule SYN007 data-dependent-shape: an operation whose result size depends on values waits for the GPU.
package syn007

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN007.
var Rule = &rules.Rule{
	ID:       "SYN007",
	Name:     "data-dependent-shape",
	Summary:  "an operation whose result size depends on values waits for the GPU",
	Severity: rules.Info,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Sites {
		what, tensor := p.DataDependent(at)
		if what == "" || !p.OnGPU(tensor) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("%s: the size of `%s` depends on values, so the host waits for the GPU %s; a fixed-size form (`torch.where`, `masked_fill`, multiplying by the mask) does not", what, p.Line(at), hot.When()),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}
