// Package dst008 holds the rule DST008 unsynchronised-gc: the garbage collector runs on the ranks at different times and all others wait.
package dst008

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST008.
var Rule = &rules.Rule{
	ID:       "DST008",
	Name:     "unsynchronised-gc",
	Summary:  "the garbage collector runs on the ranks at different times and all others wait",
	Severity: rules.Info,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if !p.MultiRank() {
		return
	}
	for _, at := range p.CallsTo("gc.collect") {
		if p.InHandler(at) {
			continue
		}
		hot := p.Hot(at)
		test, why := p.RankDependent(at)
		if hot == nil || test == nil {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` runs %s, and all other ranks wait for it in the next collective: call `gc.disable()` once and collect every N steps on all ranks together", p.Line(at), why),
			Related: []rules.Related{{File: p.File, Span: test.Range(), Message: "this differs between ranks"}},
		}, rules.QuieterInEval)
	}
	if large := p.LargeJob(); large != nil && !p.MentionsInProject("gc.disable", "gc.freeze", "gc.set_threshold", "gc.collect") {
		p.Report(large, rules.Finding{
			Severity: rules.Hint,
			Message:  fmt.Sprintf("`%s` makes a large job, and Python's automatic garbage collector stops its ranks at different times: call `gc.disable()` once and `gc.collect()` every N steps on all ranks", p.Line(large.Call().Func)),
		})
	}
}
