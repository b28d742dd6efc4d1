// Package mem004 holds the rule MEM004 memory-fraction-as-tuning: set_per_process_memory_fraction caps the device allocator and makes nothing faster.
package mem004

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is MEM004.
var Rule = &rules.Rule{
	ID:       "MEM004",
	Name:     "memory-fraction-as-tuning",
	Summary:  "set_per_process_memory_fraction caps the device allocator and makes nothing faster",
	Severity: rules.Info,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, at := range p.CallsTo("torch.cuda.set_per_process_memory_fraction", "torch.cuda.memory.set_per_process_memory_fraction") {
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` caps how much device memory this process's caching allocator may take, and raises an out-of-memory error beyond it; it speeds nothing up: use it to share a GPU only", p.Line(at)),
		})
	}
}
