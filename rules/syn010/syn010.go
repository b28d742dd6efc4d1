// Package syn010 holds the rule SYN010 clip-error-if-nonfinite: clip_grad_norm_(error_if_nonfinite=True) waits for the GPU in every step.
package syn010

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN010.
var Rule = &rules.Rule{
	ID:       "SYN010",
	Name:     "clip-error-if-nonfinite",
	Summary:  "clip_grad_norm_(error_if_nonfinite=True) waits for the GPU in every step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsTo("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_") {
		call := at.Call()
		given := rules.Argument(call, 3, "error_if_nonfinite")
		if !rules.IsTrue(given) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil {
			continue
		}
		span := given.Range()
		if k := rules.Keyword(call, "error_if_nonfinite"); k != nil {
			span = k.Span
		}
		p.ReportHot(at, hot, rules.Finding{
			Span:    span,
			Message: fmt.Sprintf("`error_if_nonfinite=True` reads the norm on the host %s, and the host waits for the GPU: test the returned norm every N steps", hot.When()),
			Fixes: []rules.Fix{{
				Title: "Drop `error_if_nonfinite=True`", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.RemoveArgument(call, span)},
			}},
		}, rules.NotPeriodic)
	}
}
