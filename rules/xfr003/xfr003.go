// Package xfr003 holds the rule XFR003 inline-pin-then-copy: a batch is pinned and copied in one go by the training thread.
package xfr003

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is XFR003.
var Rule = &rules.Rule{
	ID:       "XFR003",
	Name:     "inline-pin-then-copy",
	Summary:  "a batch is pinned and copied in one go by the training thread",
	Severity: rules.Warning,
	Fix:      rules.Safe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Ops:      []string{"aten::pin_memory", "cudaHostAlloc"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		tensor := p.Moves(at)
		pin, ok := tensor.(*pyscan.Call)
		if !ok {
			continue
		}
		attr, ok := pin.Func.(*pyscan.Attribute)
		if !ok || attr.Attr != "pin_memory" || p.InPrefetcher(at) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.InForward || hot.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Span:    pin.Span,
			Message: fmt.Sprintf("`%s` makes a pinned copy on the training thread %s just to copy it again: drop `.pin_memory()`, or let a DataLoader's pinning thread do it", p.Line(pin), hot.When()),
			Fixes: []rules.Fix{{
				Title: "Drop `.pin_memory()`", Safety: rules.Safe,
				Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: attr.Value.Range().End, End: pin.End}}},
			}},
		}, rules.NotPeriodic)
	}
}
