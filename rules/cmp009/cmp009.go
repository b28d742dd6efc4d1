// Package cmp009 holds the rule CMP009 elementwise-python-loop: Python loops over the elements of a GPU tensor, one kernel per element and operation.
package cmp009

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP009.
var Rule = &rules.Rule{
	ID:       "CMP009",
	Name:     "elementwise-python-loop",
	Summary:  "Python loops over the elements of a GPU tensor, one kernel per element and operation",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Sites {
		loop, ok := at.Node.(*pyscan.For)
		if !ok || !p.ElementLoop(at) || inside(p, at) {
			continue
		}
		hot := p.Hot(p.Site(loop.Body[0]))
		if hot == nil {
			continue
		}
		stored := p.StoredElement(loop)
		p.ReportHot(at, hot, rules.Finding{
			Span:    loop.Header,
			Message: fmt.Sprintf("this loop computes `%s` one element at a time: every operation in it is a kernel of its own for one number, %s; compute the whole tensor at once", p.Line(stored), hot.When()),
			Related: []rules.Related{{File: p.File, Span: stored.Range(), Message: "one element"}},
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

// inside: an outer loop of the same kind is reported instead.
func inside(p *rules.Pass, at *rules.Site) bool {
	for up := range at.Ancestors() {
		if _, ok := up.Node.(*pyscan.For); ok && p.ElementLoop(up) {
			return true
		}
	}
	return false
}
