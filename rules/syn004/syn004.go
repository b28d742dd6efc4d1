// Package syn004 holds the rule SYN004 explicit-synchronize: waiting for the whole device in every training step.
package syn004

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN004.
var Rule = &rules.Rule{
	ID:       "SYN004",
	Name:     "explicit-synchronize",
	Summary:  "the host waits for the whole device in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		if !p.IsSynchronize(at) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep || p.TimesCode(at) || p.CapturesGraph(at) {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` makes the host wait for the whole device %s, and the GPU then waits for the next launch: delete it", p.Line(at), hot.When()),
			Fixes:   fixes(p, at),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

func fixes(p *rules.Pass, at *rules.Site) []rules.Fix {
	if _, ok := at.Parent.Node.(*pyscan.ExprStmt); !ok {
		return nil
	}
	return []rules.Fix{{
		Title:  fmt.Sprintf("Delete `%s`", p.Line(at)),
		Safety: rules.Unsafe,
		Edits:  []rules.TextEdit{p.DeleteStatement(at.Parent)},
	}}
}
