// Package cmp008 holds the rule CMP008 conv-bias-before-bn: a convolution adds a bias that the batch norm behind it subtracts again.
package cmp008

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP008.
var Rule = &rules.Rule{
	ID:       "CMP008",
	Name:     "conv-bias-before-bn",
	Summary:  "a convolution adds a bias that the batch norm behind it subtracts again",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, c := range p.ConvsBeforeNorm() {
		f := rules.Finding{
			Span:    c.Conv.Range(),
			Message: fmt.Sprintf("`%s` adds a bias per channel that the batch norm behind it subtracts with the mean: pass `bias=False`", c.Name),
			Related: []rules.Related{{File: p.File, Span: c.Norm.Range(), Message: "the batch norm"}},
		}
		if given := rules.Argument(c.Conv, 7, "bias"); given != nil {
			f.Fixes = fix(p.Tree.Replace(given, "False"))
		} else {
			f.Fixes = fix(p.Tree.AddKeyword(c.Conv, "bias=False"))
		}
		p.Report(p.Site(c.Conv), f)
	}
}

func fix(edit rules.TextEdit) []rules.Fix {
	return []rules.Fix{{Title: "Pass `bias=False`", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
}
