// Package opt003 holds the rule OPT003 gpu-step-state-after-load: optimizer state loaded onto the GPU makes every step wait once per parameter.
package opt003

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is OPT003.
var Rule = &rules.Rule{
	ID:       "OPT003",
	Name:     "gpu-step-state-after-load",
	Summary:  "optimizer state loaded onto the GPU makes every step wait once per parameter",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Ops:      []string{"aten::item"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.MentionsInProject("fused=True", "capturable=True") {
		return
	}
	for _, at := range p.Tree.Calls {
		load, where := p.StateOnGPU(at)
		if load == nil {
			continue
		}
		f := rules.Finding{
			Span:    where.Range(),
			Message: fmt.Sprintf("`%s` puts the optimizer's `step` counters on the GPU (loaded into `%s`), and Adam-like optimizers then read them on the host once per parameter in every step: load onto the CPU", p.Text(where), p.Line(at)),
			Related: []rules.Related{{File: p.File, Span: at.Range(), Message: "loaded into the optimizer here"}},
		}
		f.Fixes = []rules.Fix{{
			Title: "Load onto the CPU: `map_location=\"cpu\"`", Safety: rules.Unsafe,
			Edits: []rules.TextEdit{p.Tree.Replace(where, `"cpu"`)},
		}}
		p.Report(p.Tree.Site(load), f)
	}
}
