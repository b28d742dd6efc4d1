// Package amp006 holds the rule AMP006 half-model-under-autocast: a model cast to half precision runs under autocast.
package amp006

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP006.
var Rule = &rules.Rule{
	ID:       "AMP006",
	Name:     "half-model-under-autocast",
	Summary:  "a model cast to half precision runs under autocast",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		attr, ok := at.Call().Func.(*pyscan.Attribute)
		if !ok || attr.Attr != "half" && attr.Attr != "bfloat16" || len(at.Call().Args) > 0 || p.Value(attr.Value).Kind != rules.Module {
			continue
		}
		name := p.BoundName(at)
		if name == "" {
			name = p.Text(attr.Value)
		}
		block := p.AutocastAround(at, name)
		if block == nil {
			continue
		}
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` makes the parameters themselves half precision, and line %d runs the model under autocast, which is for float32 parameters: drop the cast", p.Line(at), p.Tree.LineNumber(block)),
			Related: []rules.Related{{File: p.File, Span: p.HeaderSpan(block), Message: "the autocast block"}},
		})
	}
}
