// Package prf002 holds the rule PRF002 schedule-never-stepped: a profiler has a schedule but nothing tells it where a step ends.
package prf002

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF002.
var Rule = &rules.Rule{
	ID:       "PRF002",
	Name:     "schedule-never-stepped",
	Summary:  "a profiler has a schedule but nothing tells it where a step ends",
	Severity: rules.Warning,
	Fix:      rules.Safe,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, u := range p.Profilers() {
		given, _ := p.Schedule(u)
		if given == nil || rules.IsNone(given) || u.Stepped || u.Escapes || p.TargetFree(u) {
			continue
		}
		f := rules.Finding{Span: given.Range(), Message: "this profiler has a schedule, but nothing calls its `step()`: it stays in the first phase and records no step"}
		if k := rules.Keyword(u.Call, "schedule"); k != nil {
			f.Span = k.Span
		}
		loop := p.StepLoop(u)
		if u.Name != "" {
			f.Message = fmt.Sprintf("`%s` has a schedule, but nothing calls `%s.step()`: it stays in the first phase and records no step; call it at the end of every step", u.Name, u.Name)
		}
		if loop != nil {
			f.Related = []rules.Related{{File: p.File, Span: p.HeaderSpan(loop), Message: "the steps"}}
			if u.Name != "" {
				if edit, ok := p.AppendToLoop(loop, u.Name+".step()"); ok {
					f.Fixes = []rules.Fix{{Title: fmt.Sprintf("Call `%s.step()` at the end of the loop", u.Name), Safety: rules.Safe, Edits: []rules.TextEdit{edit}}}
				}
			}
		}
		p.Report(u.Site, f)
	}
}
