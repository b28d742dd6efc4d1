// Package cmp006 holds the rule CMP006 unfused-attention: attention is written out as softmax(q @ k) @ v, with its weights in memory.
package cmp006

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP006.
var Rule = &rules.Rule{
	ID:       "CMP006",
	Name:     "unfused-attention",
	Summary:  "attention is written out as softmax(q @ k) @ v, with its weights in memory",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Keeps:    0.4, // the fused kernel still does the products
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.Torch.Under(2, 0) {
		return
	}
	for _, a := range p.Attentions() {
		hot := p.Hot(a.Softmax)
		if hot == nil {
			continue
		}
		q := p.Line(a.Q)
		do := "use `scaled_dot_product_attention`"
		if len(a.Masks) == 1 && p.Causal(a.Masks[0]) {
			do += " with `is_causal=True`"
		}
		f := rules.Finding{
			Span:     a.Softmax.Range(),
			Measured: a.Span(),
			Message:  fmt.Sprintf("this attention writes the weights of every pair of positions of `%s` to memory and reads them back several times, forward and backward, %s: %s", q, hot.When(), do),
			Related: []rules.Related{
				{File: p.File, Span: a.Scores.Range(), Message: "the scores"},
				{File: p.File, Span: a.Out.Range(), Message: "the product with the values"},
			},
		}
		if edit, ok := p.FuseAttention(a); ok {
			f.Fixes = []rules.Fix{{Title: "Use scaled_dot_product_attention", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
		}
		p.ReportHot(a.Softmax, hot, f, rules.NotPeriodic, rules.QuieterInEval)
	}
	for _, at := range p.CallsTo("torch.nn.functional.scaled_dot_product_attention") {
		call := at.Call()
		mask := rules.Argument(call, 3, "attn_mask")
		if mask == nil || rules.Keyword(call, "is_causal") != nil || !p.LowerTriangle(mask) {
			continue
		}
		k := rules.Keyword(call, "attn_mask")
		f := rules.Finding{
			Span:     mask.Range(),
			Severity: rules.Info,
			Message:  fmt.Sprintf("`%s` is the causal mask as a tensor, which keeps the flash kernel from being used: drop it and pass `is_causal=True`", p.Line(mask)),
		}
		if k != nil {
			f.Span = k.Span
			f.Fixes = []rules.Fix{{Title: "Pass `is_causal=True`", Safety: rules.Unsafe, Edits: []rules.TextEdit{{File: p.File, Span: k.Span, New: "is_causal=True"}}}}
		}
		p.Report(at, f)
	}
}
