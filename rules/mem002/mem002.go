// Package mem002 holds the rule MEM002 history-keeps-graph: a loss is kept with its graph, so that memory grows with every step.
package mem002

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is MEM002.
var Rule = &rules.Rule{
	ID:       "MEM002",
	Name:     "history-keeps-graph",
	Summary:  "a loss is kept with its graph, so that memory grows with every step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Sites {
		var kept pyscan.Expr
		var where string
		switch n := at.Node.(type) {
		case *pyscan.AugAssign:
			if n.Op != "+" || !p.OutlivesStep(at, n.Target) {
				continue
			}
			kept, where = n.Value, p.Line(n.Target)
		case *pyscan.Call:
			attr, ok := n.Func.(*pyscan.Attribute)
			if !ok || attr.Attr != "append" || len(n.Args) != 1 || !p.OutlivesStep(at, attr.Value) {
				continue
			}
			kept, where = n.Args[0], p.Line(attr.Value)
		default:
			continue
		}
		if !p.HoldsGraph(kept) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind != rules.InLoop && hot.Kind != rules.Reached || p.InEvaluation(at) {
			continue
		}
		end := p.Tree.EndOf(kept)
		fixed := []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: end, End: end}, New: ".detach()"}}
		if _, simple := kept.(*pyscan.BinOp); simple {
			fixed = []rules.TextEdit{p.Tree.Replace(kept, "("+p.Text(kept)+").detach()")}
		}
		p.ReportHot(at, hot, rules.Finding{
			Span:    kept.Range(),
			Message: fmt.Sprintf("`%s` keeps `%s` together with the graph of its step: memory grows %s; keep `.detach()` of it", where, p.Line(kept), hot.When()),
			Fixes:   []rules.Fix{{Title: "Keep a detached value: `.detach()`", Safety: rules.Unsafe, Edits: fixed}},
		})
	}
}
