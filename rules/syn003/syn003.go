// Package syn003 holds the rule SYN003 print-or-format-tensor: printing or formatting a GPU tensor in every training step.
package syn003

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN003.
var Rule = &rules.Rule{
	ID:       "SYN003",
	Name:     "print-or-format-tensor",
	Summary:  "printing or formatting a GPU tensor in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		tensor := p.IsPrintOfTensor(at)
		if tensor == nil {
			continue
		}
		if p.BehindTensorTest(at) {
			continue // printed only when a value is unusual: the test has waited already (SYN002)
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Fixes:   p.EveryN(at, 100),
			Message: fmt.Sprintf("`%s` needs the value of `%s` %s, and the host waits for the GPU to get it: print every N steps", p.Line(at), p.Line(tensor), hot.When()),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}
