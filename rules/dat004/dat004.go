// Package dat004 holds the rule DAT004 cuda-in-worker: a dataset or collate function works on the GPU inside a worker process.
package dat004

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT004.
var Rule = &rules.Rule{
	ID:       "DAT004",
	Name:     "cuda-in-worker",
	Summary:  "a dataset or collate function works on the GPU inside a worker process",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		item := p.PerItem(at)
		if item == nil || !p.UsesCUDA(at) || p.NoLoaderHasWorkers(item) {
			continue
		}
		p.ReportHot(at, item, rules.Finding{
			Message: fmt.Sprintf("`%s` uses the GPU %s: in a worker process CUDA raises (it cannot be re-initialised after fork) or makes a context and copies item by item; return CPU tensors and move the batch in the training loop", p.Line(at), item.When()),
		})
	}
}
