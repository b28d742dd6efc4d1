// Package dat006 holds the rule DAT006 reopen-file-per-item: a dataset opens the same file again for every item.
package dat006

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT006.
var Rule = &rules.Rule{
	ID:       "DAT006",
	Name:     "reopen-file-per-item",
	Summary:  "a dataset opens the same file again for every item",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	Price:    rules.PriceData,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		path := p.OpensFile(at)
		if path == nil {
			continue
		}
		item := p.PerItem(at)
		if item == nil || p.DependsOnItem(at, path) || p.BehindNoneTest(at) || p.Periodic(at) {
			continue
		}
		var fixes []rules.Fix
		if item.Class != nil {
			fixes = p.OpenOnce(at)
		}
		p.ReportHot(at, item, rules.Finding{
			Fixes:   fixes,
			Message: fmt.Sprintf("`%s` opens the same file %s: open it once per worker, on first use, and keep it", p.Line(at), item.When()),
		})
	}
}
