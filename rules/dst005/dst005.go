// Package dst005 holds the rule DST005 collective-for-logging: all ranks wait for each other in every step for a number that is only logged.
package dst005

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST005.
var Rule = &rules.Rule{
	ID:       "DST005",
	Name:     "collective-for-logging",
	Summary:  "all ranks wait for each other in every step for a number that is only logged",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceComm,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		name := p.Collective(at)
		if name == "" {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.InForward || hot.Kind == rules.OptimizerStep || p.InHandler(at) {
			continue
		}
		switch name {
		case "barrier", "monitored_barrier":
			barrier(p, at, hot)
		case "all_reduce", "reduce", "all_gather", "all_gather_into_tensor", "gather":
			if p.LoggedOnly(at, hot) {
				p.ReportHot(at, hot, rules.Finding{
					Message: fmt.Sprintf("`%s` makes all ranks wait for the slowest one %s for a number that is only reported: sum it up on each rank and combine it every N steps, on all ranks alike (under `if rank == 0` it would never return)", p.Line(at), hot.When()),
				}, rules.NotPeriodic, rules.QuieterInEval)
			}
		}
	}
}

func barrier(p *rules.Pass, at *rules.Site, hot *rules.Heat) {
	if p.TimesCode(at) || p.AroundFiles(at) {
		return
	}
	if test, _ := p.RankDependent(at); test != nil {
		return
	}
	f := rules.Finding{
		Message: fmt.Sprintf("`%s` makes all ranks wait for the slowest one %s: the gradients' all-reduce keeps them together already, delete it (on all ranks alike)", p.Line(at), hot.When()),
	}
	if _, ok := at.Parent.Node.(*pyscan.ExprStmt); ok {
		f.Fixes = []rules.Fix{{Title: fmt.Sprintf("Delete `%s`", p.Line(at)), Safety: rules.Unsafe, Edits: []rules.TextEdit{p.DeleteStatement(at.Parent)}}}
	}
	p.ReportHot(at, hot, f, rules.NotPeriodic, rules.QuieterInEval)
}
