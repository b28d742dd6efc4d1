// Package opt004 holds the rule OPT004 per-parameter-python-loop: a Python loop launches kernels parameter by parameter in every step.
package opt004

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is OPT004.
var Rule = &rules.Rule{
	ID:       "OPT004",
	Name:     "per-parameter-python-loop",
	Summary:  "a Python loop launches kernels parameter by parameter in every step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Sites {
		loop, ok := at.Node.(*pyscan.For)
		if !ok || !p.LoopsOverParameters(loop) {
			continue
		}
		work := p.TensorWork(loop)
		if work == nil {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep || hot.Kind == rules.InForward {
			continue
		}
		var fixes []rules.Fix
		if edit, ok := p.Foreach(loop); ok {
			fixes = []rules.Fix{{Title: "Use `torch._foreach_*` on lists of the parameters", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
		}
		p.ReportHot(at, hot, rules.Finding{
			Fixes:   fixes,
			Span:    loop.Header,
			Message: fmt.Sprintf("this loop launches kernels for each parameter %s (`%s`): gather the parameters in lists and use the `torch._foreach_*` form, which handles many per launch", hot.When(), p.Line(work)),
			Related: []rules.Related{{File: p.File, Span: work.Range(), Message: "one or more kernels per parameter"}},
		}, rules.NotPeriodic)
	}
}
