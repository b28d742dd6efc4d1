// Package dat010 holds the rule DAT010 persistent-without-workers: a DataLoader option needs workers and there are none: the constructor raises.
package dat010

import (
	_ "embed"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT010.
var Rule = &rules.Rule{
	ID:       "DAT010",
	Name:     "persistent-without-workers",
	Summary:  "a DataLoader option needs workers and there are none: the constructor raises",
	Severity: rules.Error,
	Fix:      rules.NoFix,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, l := range p.Loaders() {
		w, _ := l.Workers()
		if w != rules.WorkersNone {
			continue
		}
		if k := rules.Keyword(l.Call, "persistent_workers"); k != nil && rules.IsTrue(k.Value) {
			p.Report(l.Site, rules.Finding{Span: k.Span, Message: "`persistent_workers=True` needs `num_workers` above 0: this constructor raises a ValueError"})
		}
		if k := rules.Keyword(l.Call, "prefetch_factor"); k != nil && number(k.Value) {
			p.Report(l.Site, rules.Finding{Span: k.Span, Message: "`prefetch_factor` needs `num_workers` above 0: this constructor raises a ValueError"})
		}
	}
}

func number(e pyscan.Expr) bool {
	c, ok := e.(*pyscan.Constant)
	return ok && c.Kind == pyscan.ConstInt
}
