// Package xfr004 holds the rule XFR004 d2h-nonblocking-read: the result of a non_blocking copy to the host is read before it has arrived.
package xfr004

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is XFR004.
var Rule = &rules.Rule{
	ID:       "XFR004",
	Name:     "d2h-nonblocking-read",
	Summary:  "the result of a non_blocking copy to the host is read before it has arrived",
	Severity: rules.Error,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		call := at.Call()
		given := rules.Keyword(call, "non_blocking")
		attr, ok := call.Func.(*pyscan.Attribute)
		if !ok || given == nil || !rules.IsTrue(given.Value) || attr.Attr != "to" && attr.Attr != "cpu" || !p.OnGPU(attr.Value) || p.Value(call).Kind != rules.CPUTensor {
			continue
		}
		read := p.ReadBeforeSync(at)
		if read == nil {
			continue
		}
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` returns before the copy has finished, and line %d reads it: the values are garbage now and then; copy without `non_blocking`, or synchronize first", p.Line(call), p.Tree.LineNumber(read)),
			Related: []rules.Related{{File: p.File, Span: read.Range(), Message: "read here"}},
			Fixes: []rules.Fix{{
				Title: "Drop `non_blocking=True`", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.RemoveArgument(call, given.Span)},
			}},
		})
	}
}
