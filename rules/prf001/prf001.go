// Package prf001 holds the rule PRF001 profiler-without-schedule: the profiler records a whole training run instead of a few steps.
package prf001

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF001.
var Rule = &rules.Rule{
	ID:       "PRF001",
	Name:     "profiler-without-schedule",
	Summary:  "the profiler records a whole training run instead of a few steps",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, u := range p.Profilers() {
		if given, _ := p.Schedule(u); given != nil || rules.HasOpenArguments(u.Call) || p.InTests() {
			continue
		}
		long := p.LongTraining(u)
		if long == nil {
			continue
		}
		p.Report(u.Site, rules.Finding{
			Span:    u.Call.Func.Range(),
			Message: fmt.Sprintf("`%s` records every step of the loop, warm-up included, and keeps all events in memory until the end: give it a `schedule` of a few steps and call `step()` at the end of each", p.Line(u.Call.Func)),
			Related: []rules.Related{{File: p.File, Span: p.HeaderSpan(long), Message: "all of this is recorded"}},
			Fixes:   fixes(p, u),
		})
	}
}

func fixes(p *rules.Pass, u rules.ProfilerUse) []rules.Fix {
	loop := p.StepLoop(u)
	if loop == nil || u.Name == "" || !p.Names("torch.profiler", u.Site) {
		return nil
	}
	edits := []rules.TextEdit{p.Tree.AddKeyword(u.Call, "schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)")}
	if !u.Stepped {
		edit, ok := p.AppendToLoop(loop, u.Name+".step()")
		if !ok {
			return nil
		}
		edits = append(edits, edit)
	}
	return []rules.Fix{{Title: "Record three steps behind a warm-up", Safety: rules.Unsafe, Edits: edits}}
}
