// Package mem001 holds the rule MEM001 empty-cache-in-loop: the allocator's cache is emptied, or garbage collected, in every training step.
package mem001

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is MEM001.
var Rule = &rules.Rule{
	ID:       "MEM001",
	Name:     "empty-cache-in-loop",
	Summary:  "the allocator's cache is emptied, or garbage collected, in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Ops:      []string{"cudaFree", "cudaMalloc"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsTo("torch.cuda.empty_cache", "torch.cuda.memory.empty_cache", "torch.accelerator.empty_cache", "gc.collect") {
		what := "gives the allocator's cached memory back to the driver, so the next step asks for it again with cudaMalloc, which waits for the GPU"
		if p.Resolve(at.Call().Func) == "gc.collect" {
			what = "goes over every Python object while the GPU waits for the next launch"
		}
		if p.InHandler(at) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep {
			continue
		}
		f := rules.Finding{Message: fmt.Sprintf("`%s` %s (%s): delete it, or call it between epochs", p.Line(at), what, hot.When())}
		if _, ok := at.Parent.Node.(*pyscan.ExprStmt); ok {
			f.Fixes = []rules.Fix{{
				Title: fmt.Sprintf("Delete `%s`", p.Line(at)), Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.DeleteStatement(at.Parent)},
			}}
		}
		p.ReportHot(at, hot, f, rules.NotPeriodic, rules.QuieterInEval)
	}
}
