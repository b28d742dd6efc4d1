// Package syn008 holds the rule SYN008 logger-gets-gpu-tensor: a logger reads a GPU tensor in every training step.
package syn008

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN008.
var Rule = &rules.Rule{
	ID:       "SYN008",
	Name:     "logger-gets-gpu-tensor",
	Summary:  "a logger reads a GPU tensor in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		tensor, how := p.LoggedTensor(at)
		if tensor == nil {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep || hot.Kind == rules.InForward {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Span:    tensor.Range(),
			Fixes:   fixes(p, at, tensor),
			Message: fmt.Sprintf("`%s` is read for `%s` %s, and the host waits for the GPU: %s", p.Line(tensor), p.LogName(at), hot.When(), how),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

// fixes drops `.item()` where the framework takes tensors, and logs every N steps elsewhere.
func fixes(p *rules.Pass, at *rules.Site, tensor pyscan.Expr) []rules.Fix {
	if !p.LogsTensors(at) {
		return p.EveryN(at, 100)
	}
	call, ok := tensor.(*pyscan.Call)
	if !ok {
		return nil
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok || attr.Attr != "item" {
		return nil
	}
	return []rules.Fix{{
		Title: "Log the tensor itself: drop `.item()`", Safety: rules.Unsafe,
		Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: attr.Value.Range().End, End: call.End}}},
	}}
}
