// Package dat008 holds the rule DAT008 python-object-dataset: a dataset holds a large list of Python objects, whose pages every worker copies.
package dat008

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT008.
var Rule = &rules.Rule{
	ID:       "DAT008",
	Name:     "python-object-dataset",
	Summary:  "a dataset holds a large list of Python objects, whose pages every worker copies",
	Severity: rules.Info,
	Fix:      rules.NoFix,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, held := range p.ObjectLists() {
		p.Report(held, rules.Finding{
			Message: fmt.Sprintf("`%s` keeps many Python objects in the dataset: reading an object changes its reference count, so each worker ends up with its own copy of the pages; keep the data in a NumPy array or a tensor", p.Line(held)),
		})
	}
}
