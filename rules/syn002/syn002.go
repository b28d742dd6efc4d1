// Package syn002 holds the rule SYN002 tensor-branch: Python branches on a GPU tensor's value in every training step.
package syn002

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN002.
var Rule = &rules.Rule{
	ID:       "SYN002",
	Name:     "tensor-branch",
	Summary:  "Python branches on a GPU tensor's value in every training step",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.TensorTests() {
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("the test `%s` makes the host wait for the GPU %s: keep the choice on the GPU (`torch.where`, multiplication by a mask) or test every N steps", p.Line(at), hot.When()),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}
