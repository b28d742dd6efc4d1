// Package dat003 holds the rule DAT003 loader-restarted-in-loop: a loader is made or restarted in every training step.
package dat003

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT003.
var Rule = &rules.Rule{
	ID:       "DAT003",
	Name:     "loader-restarted-in-loop",
	Summary:  "a loader is made or restarted in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceData,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsTo("torch.utils.data.DataLoader", "builtins.next") {
		restarts := p.RestartsLoader(at)
		if !restarts && p.Resolve(at.Call().Func) == "builtins.next" {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind != rules.InLoop && hot.Kind != rules.Reached && hot.Kind != rules.InHook || p.InEvaluation(at) {
			continue
		}
		what, fixes := "makes a new DataLoader", []rules.Fix(nil)
		if restarts {
			what, fixes = "starts the loader again for one batch", p.DrawFromOne(at)
		} else {
			fixes = p.Hoist(at, "Make the DataLoader once, before the loop")
		}
		p.ReportHot(at, hot, rules.Finding{
			Fixes:   fixes,
			Message: fmt.Sprintf("`%s` %s %s (shuffling, worker processes, empty queues): make the iterator once before the loop and call `next` on it", p.Line(at), what, hot.When()),
		}, rules.NotPeriodic)
	}
}
