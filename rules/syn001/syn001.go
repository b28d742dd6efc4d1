// Package syn001 holds the rule SYN001 item-in-loop: reading a GPU tensor's value on the host in every training step.
package syn001

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN001.
var Rule = &rules.Rule{
	ID:       "SYN001",
	Name:     "item-in-loop",
	Summary:  "a GPU tensor's value is read on the host in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		read := p.HostRead(at)
		if read == nil || read.Copy || p.ReportedElsewhere(at) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep || !p.OnGPU(read.Tensor) {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` makes the host wait for the GPU %s: keep the value on the GPU (`.detach()`) and read it every N steps", p.Line(at), hot.When()),
			Fixes:   fixes(p, at, read),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

// fixes: `total += loss.item()` can add up on the GPU.
func fixes(p *rules.Pass, at *rules.Site, read *rules.HostRead) []rules.Fix {
	add, ok := at.Parent.Node.(*pyscan.AugAssign)
	if !ok || add.Op != "+" || read.Method == nil || read.Method.Attr != "item" {
		return nil
	}
	return []rules.Fix{{
		Title:  fmt.Sprintf("Add up `%s` on the GPU: `.detach()` instead of `.item()`", p.Line(read.Tensor)),
		Safety: rules.Unsafe,
		Edits:  []rules.TextEdit{{File: p.File, Span: read.Method.AttrSpan, New: "detach"}},
	}}
}
