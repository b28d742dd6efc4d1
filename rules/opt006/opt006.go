// Package opt006 holds the rule OPT006 embedding-max-norm: an embedding with max_norm rewrites its weights in every forward pass.
package opt006

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is OPT006.
var Rule = &rules.Rule{
	ID:       "OPT006",
	Name:     "embedding-max-norm",
	Summary:  "an embedding with max_norm rewrites its weights in every forward pass",
	Severity: rules.Info,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Ops:      []string{"aten::embedding_renorm_"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsTo("torch.nn.Embedding", "torch.nn.EmbeddingBag", "torch.nn.functional.embedding", "torch.nn.functional.embedding_bag") {
		call := at.Call()
		k := rules.Keyword(call, "max_norm")
		if k == nil || rules.IsNone(k.Value) || passedOn(k.Value) {
			continue
		}
		p.Report(at, rules.Finding{
			Span:    k.Span,
			Message: fmt.Sprintf("`%s` renormalises the looked-up rows of the weight in place on every forward pass, before the lookup: extra kernels each time, and autograd forbids other uses of the weight in between", p.File.Text[k.Start:k.End]),
		})
	}
}

// passedOn: a layer that wraps another hands on its setting, which is None unless someone sets it.
func passedOn(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Name:
		return e.ID == "max_norm"
	case *pyscan.Attribute:
		return e.Attr == "max_norm"
	}
	return false
}
