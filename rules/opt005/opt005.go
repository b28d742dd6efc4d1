// Package opt005 holds the rule OPT005 clip-foreach-disabled: gradient clipping with foreach=False goes parameter by parameter.
package opt005

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is OPT005.
var Rule = &rules.Rule{
	ID:       "OPT005",
	Name:     "clip-foreach-disabled",
	Summary:  "gradient clipping with foreach=False goes parameter by parameter",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsWhere(func(path string) bool { return strings.HasPrefix(path, "torch.nn.utils.clip_grad_") }) {
		call := at.Call()
		k := rules.Keyword(call, "foreach")
		if k == nil || !rules.IsFalse(k.Value) {
			continue
		}
		p.Report(at, rules.Finding{
			Span:    k.Span,
			Message: fmt.Sprintf("`foreach=False` makes `%s` launch several kernels per parameter: drop it", p.Line(call.Func)),
			Fixes: []rules.Fix{{
				Title: "Drop `foreach=False`", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.RemoveArgument(call, k.Span)},
			}},
		}, rules.NotPeriodic)
	}
}
