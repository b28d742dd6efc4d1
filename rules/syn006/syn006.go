// Package syn006 holds the rule SYN006 grad-norm-item-loop: one host wait per parameter to compute a norm or check.
package syn006

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN006.
var Rule = &rules.Rule{
	ID:       "SYN006",
	Name:     "grad-norm-item-loop",
	Summary:  "one host wait per parameter to compute a norm or check",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		read := p.HostRead(at)
		if read == nil || p.InsideHostRead(at) {
			continue
		}
		loop := p.ParameterLoop(at)
		if loop == nil || !p.OnGPU(read.Tensor) || p.OptimizerStep(at) != nil {
			continue
		}
		hot := p.Hot(at)
		if hot == nil {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Fixes:   p.KeepOnGPU(at, read),
			Message: fmt.Sprintf("`%s` waits for the GPU once per parameter %s: collect the tensors and read one number (`torch.nn.utils.get_total_norm`, `torch._foreach_norm`, or what `clip_grad_norm_` returns)", p.Line(at), hot.When()),
			Related: []rules.Related{{File: p.File, Span: p.HeaderSpan(loop), Message: "the loop over the parameters"}},
		}, rules.NotPeriodic)
	}
}
