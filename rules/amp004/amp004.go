// Package amp004 holds the rule AMP004 autocast-reentered: autocast is entered again for every layer.
package amp004

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP004.
var Rule = &rules.Rule{
	ID:       "AMP004",
	Name:     "autocast-reentered",
	Summary:  "autocast is entered again for every layer",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Ops:      []string{"aten::_to_copy", "aten::copy_"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Sites {
		with, ok := at.Node.(*pyscan.With)
		if !ok || p.Autocast(with) == nil || p.InsideAutocast(at) {
			continue
		}
		loop := p.LayerLoop(at)
		if loop == nil {
			continue
		}
		hot := p.Hot(at)
		if hot == nil {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Span:    with.Header,
			Message: fmt.Sprintf("`%s` is entered and left once per layer %s: leaving the outermost block drops the cached half-precision weights, so they are cast again; put one block around the loop", p.Line(with.Items[0].Context), hot.When()),
			Related: []rules.Related{{File: p.File, Span: p.HeaderSpan(loop), Message: "the loop over the layers"}},
			Fixes:   fixes(p, loop, at, with),
		}, rules.NotPeriodic)
	}
}

// fixes swaps the two headers where the block is all the loop holds.
func fixes(p *rules.Pass, loop, at *rules.Site, with *pyscan.With) []rules.Fix {
	each, ok := loop.Node.(*pyscan.For)
	if !ok || len(each.Body) != 1 || at.Parent != loop || len(each.Else) > 0 || len(with.Items) != 1 {
		return nil
	}
	outer, inner := p.File.Text[each.Header.Start:each.Header.End], p.File.Text[with.Header.Start:with.Header.End]
	return []rules.Fix{{
		Title: "Put the autocast block around the loop", Safety: rules.Unsafe,
		Edits: []rules.TextEdit{
			{File: p.File, Span: each.Header, New: inner},
			{File: p.File, Span: with.Header, New: outer},
		},
	}}
}
