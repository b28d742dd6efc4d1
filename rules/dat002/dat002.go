// Package dat002 holds the rule DAT002 workers-respawn-each-epoch: a loader's workers are started again for every epoch.
package dat002

import (
	_ "embed"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT002.
var Rule = &rules.Rule{
	ID:       "DAT002",
	Name:     "workers-respawn-each-epoch",
	Summary:  "a loader's workers are started again for every epoch",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceData,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, l := range p.Loaders() {
		if w, _ := l.Workers(); w != rules.WorkersSome || rules.HasOpenArguments(l.Call) || rules.Argument(l.Call, -1, "persistent_workers") != nil || l.ForEvaluation() {
			continue
		}
		loop := p.EpochLoop(l)
		if loop == nil {
			continue
		}
		p.Report(l.Site, rules.Finding{
			Span:    l.Call.Func.Range(),
			Message: "this loader is iterated once per epoch and starts its worker processes anew each time (imports, dataset copies, empty queues): keep them with `persistent_workers=True`",
			Related: []rules.Related{{File: loop.File, Span: loop.Span, Message: "iterated here, inside another loop"}},
			Fixes: []rules.Fix{{
				Title: "Keep the workers: `persistent_workers=True`", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.AddKeyword(l.Call, "persistent_workers=True")},
			}},
		})
	}
}
