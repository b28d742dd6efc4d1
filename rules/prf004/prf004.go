// Package prf004 holds the rule PRF004 wall-clock-without-sync: a host clock around GPU work measures how long queueing it took.
package prf004

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF004.
var Rule = &rules.Rule{
	ID:       "PRF004",
	Name:     "wall-clock-without-sync",
	Summary:  "a host clock around GPU work measures how long queueing it took",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, span := range p.UnsyncedClockSpans() {
		p.Report(span.Difference, rules.Finding{
			Message: fmt.Sprintf("`%s` measures how long the host took to queue the work, not how long the GPU worked: `%s` returns before its kernels have run; call `torch.cuda.synchronize()` before both readings", p.Line(span.Difference), p.Line(span.Work)),
			Related: []rules.Related{
				{File: p.File, Span: span.Start.Range(), Message: "the first reading"},
				{File: p.File, Span: span.Work.Range(), Message: "queued here"},
			},
			Fixes: fixes(p, span),
		})
	}
}

func fixes(p *rules.Pass, span rules.ClockSpan) []rules.Fix {
	if !p.Names("torch.cuda", span.Difference) {
		return nil
	}
	before, ok1 := p.InsertBefore(span.Start, "torch.cuda.synchronize()")
	after, ok2 := p.InsertBefore(span.End, "torch.cuda.synchronize()")
	if !ok1 || !ok2 {
		return nil
	}
	return []rules.Fix{{Title: "Wait for the GPU before both readings", Safety: rules.Unsafe, Edits: []rules.TextEdit{before, after}}}
}
