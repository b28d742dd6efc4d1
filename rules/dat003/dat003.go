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
	for _, at := range p.Tree.Calls {
		what, fixes := "", []rules.Fix(nil)
		switch {
		case p.Resolve(at.Call().Func) == "torch.utils.data.DataLoader":
			what, fixes = "makes a new DataLoader", p.Hoist(at, "Make the DataLoader once, before the loop")
		case p.RestartsLoader(at):
			what, fixes = "starts the loader again for one batch", p.DrawFromOne(at)
		default:
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind != rules.InLoop && hot.Kind != rules.Reached && hot.Kind != rules.InHook || p.InEvaluation(at) {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Fixes:   fixes,
			Message: fmt.Sprintf("`%s` %s %s (shuffling, worker processes, empty queues): make the iterator once before the loop and call `next` on it", p.Line(at), what, hot.When()),
		}, rules.NotPeriodic)
	}
}
