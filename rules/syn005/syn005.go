// Package syn005 holds the rule SYN005 metric-to-cpu-each-step: model outputs are copied to the host in every training step.
package syn005

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN005.
var Rule = &rules.Rule{
	ID:       "SYN005",
	Name:     "metric-to-cpu-each-step",
	Summary:  "model outputs are copied to the host in every training step",
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
		if read == nil || !read.Copy || p.InsideHostRead(at) || p.ComesBack(at) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep || hot.Kind == rules.InForward || !p.OnGPU(read.Tensor) {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Fixes:   fixes(p, at, read),
			Message: fmt.Sprintf("`%s` copies to the host and waits for the GPU %s: compute the metric on the GPU, or copy every N steps", p.Line(at), hot.When()),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

// fixes keeps what is only collected on the GPU (`outputs.append(out.detach().cpu())`), and does every other statement that copies
// every N steps.
func fixes(p *rules.Pass, at *rules.Site, read *rules.HostRead) []rules.Fix {
	if collected(at) && read.Method != nil && read.Method.Attr != "numpy" {
		text := ""
		if inner, ok := read.Tensor.(*pyscan.Call); !ok || !detaches(inner) {
			text = ".detach()"
		}
		return []rules.Fix{{
			Title: fmt.Sprintf("Collect `%s` on the GPU and copy once after the loop", p.Line(read.Tensor)), Safety: rules.Unsafe,
			Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: p.DotOf(read.Method), End: at.Range().End}, New: text}},
		}}
	}
	if appended(at) {
		return nil // every N-th output only is another result
	}
	return p.EveryN(at, 100)
}

// appended reports whether a statement puts what it copies into a list.
func appended(at *rules.Site) bool {
	for up := range at.Ancestors() {
		if call, ok := up.Node.(*pyscan.Call); ok {
			if attr, ok := call.Func.(*pyscan.Attribute); ok && (attr.Attr == "append" || attr.Attr == "extend") {
				return true
			}
		}
	}
	return false
}

// collected: the copy is what a statement `list.append(…)` appends.
func collected(at *rules.Site) bool {
	call, ok := at.Parent.Node.(*pyscan.Call)
	if !ok || at.Parent.Parent == nil {
		return false
	}
	attr, isMethod := call.Func.(*pyscan.Attribute)
	_, isStmt := at.Parent.Parent.Node.(*pyscan.ExprStmt)
	return isStmt && isMethod && attr.Attr == "append" && len(call.Args) == 1 && call.Args[0] == at.Node
}

func detaches(call *pyscan.Call) bool {
	attr, ok := call.Func.(*pyscan.Attribute)
	return ok && attr.Attr == "detach"
}
