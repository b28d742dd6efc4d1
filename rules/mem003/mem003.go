// Package mem003 holds the rule MEM003 eval-builds-graph: an evaluation runs the model with gradients on.
package mem003

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is MEM003.
var Rule = &rules.Rule{
	ID:       "MEM003",
	Name:     "eval-builds-graph",
	Summary:  "an evaluation runs the model with gradients on",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, e := range p.EvaluationsWithGraph() {
		f := rules.Finding{
			Message: fmt.Sprintf("`%s` runs the model in `eval()` mode with gradients on: every activation is kept for a backward pass that never comes; put `@torch.no_grad()` on it", e.Function.Name),
			Related: []rules.Related{{File: p.File, Span: e.Eval.Range(), Message: "eval() changes dropout and batch norm, not gradients"}},
		}
		if p.NameIsTorch("torch") {
			start := p.Tree.LineStart(e.Def.Range().Start)
			f.Fixes = []rules.Fix{{
				Title: "Run it without gradients: `@torch.no_grad()`", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: start, End: start}, New: p.Tree.Indent(e.Def) + "@torch.no_grad()" + p.Tree.Newline()}},
			}}
		}
		p.Report(e.Call, f)
	}
}
