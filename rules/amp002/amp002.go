// Package amp002 holds the rule AMP002 gradscaler-with-bf16: a GradScaler beside bfloat16 autocast.
package amp002

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP002.
var Rule = &rules.Rule{
	ID:       "AMP002",
	Name:     "gradscaler-with-bf16",
	Summary:  "a GradScaler beside bfloat16 autocast",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	low := p.AutocastTypes()
	if !low["bfloat16"] || low["float16"] || low["?"] {
		return
	}
	for _, at := range p.CallsTo("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler") {
		call := at.Call()
		if rules.Keyword(call, "enabled") != nil || rules.HasOpenArguments(call) {
			continue
		}
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` scales the loss although autocast uses bfloat16 here, which has float32's range: it adds a check of all gradients and a read on the host to every step; disable it", p.Line(at)),
			Fixes: []rules.Fix{{
				Title: "Disable the scaler: `enabled=False`", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.AddKeyword(call, "enabled=False")},
			}},
		})
	}
}
