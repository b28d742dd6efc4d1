// Package xfr002 holds the rule XFR002 nonblocking-without-pin: a non_blocking copy to the GPU from ordinary host memory.
package xfr002

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is XFR002.
var Rule = &rules.Rule{
	ID:       "XFR002",
	Name:     "nonblocking-without-pin",
	Summary:  "a non_blocking copy to the GPU from ordinary host memory",
	Severity: rules.Info,
	Fix:      rules.Safe,
	NeedsGPU: true,
	Price:    rules.PriceCopy,
	Ops:      []string{"Memcpy HtoD"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		given := rules.Keyword(at.Call(), "non_blocking")
		if given == nil || !rules.IsTrue(given.Value) {
			continue
		}
		tensor := p.Moves(at)
		if tensor == nil {
			continue
		}
		v := p.Value(tensor)
		if v.Kind != rules.CPUTensor || !v.Unpinned {
			continue
		}
		if (p.InDefNamed(at, "__init__") || p.HasCallers(at)) && p.Hot(at) == nil {
			continue // one copy, while the model is made
		}
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` is in ordinary host memory: `non_blocking=True` skips a wait, but the copy itself goes through the driver's pinned buffer and does not overlap with kernels; pin the tensor where it is made", p.Line(tensor)),
			Fixes:   fixes(p, v),
		}, rules.NotPeriodic)
	}
}

// fixes pins the tensor where a function of torch makes it.
func fixes(p *rules.Pass, v *rules.Value) []rules.Fix {
	if v.Made == nil || v.MadeIn == nil || rules.Keyword(v.Made, "pin_memory") != nil || rules.HasOpenArguments(v.Made) {
		return nil
	}
	tree := v.MadeTree()
	if !p.IsCreation(tree.PathOf(v.Made.Func)) {
		return nil
	}
	return []rules.Fix{{
		Title: fmt.Sprintf("Make it in pinned memory: `pin_memory=True` at line %d", tree.LineNumber(v.Made)), Safety: rules.Safe,
		Edits: []rules.TextEdit{tree.AddKeyword(v.Made, "pin_memory=True")},
	}}
}
