// Package opt001 holds the rule OPT001 zero-grad-keeps-buffers: zero_grad(set_to_none=False) fills every gradient with zeros instead of dropping it.
package opt001

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is OPT001.
var Rule = &rules.Rule{
	ID:       "OPT001",
	Name:     "zero-grad-keeps-buffers",
	Summary:  "zero_grad(set_to_none=False) fills every gradient with zeros instead of dropping it",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Ops:      []string{"aten::zero_", "aten::_foreach_zero_", "aten::fill_"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		call := at.Call()
		method, ok := call.Func.(*pyscan.Attribute)
		if !ok || method.Attr != "zero_grad" || p.ReadsGradients(at) {
			continue
		}
		given := rules.Argument(call, 0, "set_to_none")
		if !rules.IsFalse(given) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil {
			continue
		}
		span := given.Range()
		if k := rules.Keyword(call, "set_to_none"); k != nil {
			span = k.Span
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` writes zeros over every gradient %s and the next backward adds to them: drop `set_to_none=False`", p.Line(at), hot.When()),
			Fixes: []rules.Fix{{
				Title: "Drop `set_to_none=False`: gradients are released instead of zeroed", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.RemoveArgument(call, span)},
			}},
		}, rules.NotPeriodic)
	}
}
