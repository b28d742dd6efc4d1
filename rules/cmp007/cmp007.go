// Package cmp007 holds the rule CMP007 mha-need-weights: MultiheadAttention computes weights that nobody reads.
package cmp007

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP007.
var Rule = &rules.Rule{
	ID:       "CMP007",
	Name:     "mha-need-weights",
	Summary:  "MultiheadAttention computes weights that nobody reads",
	Severity: rules.Warning,
	Fix:      rules.Safe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if !p.MentionsInProject("MultiheadAttention") {
		return
	}
	for _, at := range p.Tree.Calls {
		call := at.Call()
		if p.Value(call.Func).Path != "torch.nn.MultiheadAttention" || rules.HasOpenArguments(call) || rules.Argument(call, 4, "need_weights") != nil {
			continue
		}
		weights, ignored := p.SecondResultIgnored(at)
		if !ignored {
			continue
		}
		safety := rules.Safe
		if p.MentionsInProject("register_forward_hook") { // a hook may read the weights
			safety = rules.Unsafe
		}
		message := fmt.Sprintf("`%s` computes the attention weights and averages them over the heads, and nothing reads them", p.Line(call.Func))
		if weights != "" && weights != "_" {
			message = fmt.Sprintf("`%s` computes the attention weights `%s`, which nothing reads", p.Line(call.Func), weights)
		}
		f := rules.Finding{
			Message: message + ": with `need_weights=False` it uses the fused attention kernel",
			Fixes:   []rules.Fix{{Title: "Pass `need_weights=False`", Safety: safety, Edits: []rules.TextEdit{p.Tree.AddKeyword(call, "need_weights=False")}}},
		}
		p.Report(at, f, rules.QuieterInEval)
	}
}
