// Package amp005 holds the rule AMP005 broad-autocast: backward and optimizer work inside an autocast block.
package amp005

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP005.
var Rule = &rules.Rule{
	ID:       "AMP005",
	Name:     "broad-autocast",
	Summary:  "backward, optimizer or gradient work runs inside an autocast block",
	Severity: rules.Warning,
	Fix:      rules.Safe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Ops:      []string{"aten::to", "aten::_to_copy"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Sites {
		with, ok := at.Node.(*pyscan.With)
		if !ok || p.Autocast(with) == nil || insideAutocast(p, at) {
			continue
		}
		checkBlock(p, at, with)
	}
}

func insideAutocast(p *rules.Pass, at *rules.Site) bool {
	for up := range at.Ancestors() {
		if with, ok := up.Node.(*pyscan.With); ok && p.Autocast(with) != nil {
			return true
		}
		if _, ok := up.Node.(*pyscan.FunctionDef); ok {
			return false
		}
	}
	return false
}

func checkBlock(p *rules.Pass, at *rules.Site, with *pyscan.With) {
	first, twice := misplaced(p, with.Body)
	if first == nil || twice {
		return
	}
	site := p.Tree.Site(first)
	hot := p.Hot(site)
	if hot == nil || hot.Kind == rules.InForward {
		return
	}
	p.ReportHot(site, hot, rules.Finding{
		Message: fmt.Sprintf("`%s` runs under autocast, which is meant for the forward pass and the loss: end the `with` block before it", p.Line(first)),
		Related: []rules.Related{{File: p.File, Span: with.Header, Message: "the autocast block"}},
		Fixes:   fixes(p, at, with),
	})
}

// misplaced finds the call in the block that costs most to have there: a backward, else the first other one. twice tells that
// a gradient is differentiated again, which belongs under autocast.
func misplaced(p *rules.Pass, body []pyscan.Stmt) (first *pyscan.Call, twice bool) {
	backward := false
	for _, s := range body {
		rules.EachExprIn(s, func(e pyscan.Expr) bool {
			call, ok := e.(*pyscan.Call)
			if !ok {
				return true
			}
			if k := rules.Keyword(call, "create_graph"); k != nil && !rules.IsFalse(k.Value) {
				twice = true
			}
			kind := p.GradientWork(call)
			if kind != "" && (first == nil || kind == "backward" && !backward) {
				first, backward = call, kind == "backward"
			}
			return true
		})
	}
	return first, twice
}

// fixes moves the statements after the loss out of the block, if nothing of the forward pass comes after them.
func fixes(p *rules.Pass, at *rules.Site, with *pyscan.With) []rules.Fix {
	from := -1
	plain := len(with.Items) == 1
	for i, s := range with.Body {
		work := onlyGradientWork(p, s)
		if from < 0 && !work && !containsGradientWork(p, s) {
			continue
		}
		if from < 0 {
			from = i
		}
		if p.ForwardWork(s) {
			return nil
		}
		plain = plain && work
	}
	if from <= 0 {
		return nil
	}
	edit, ok := p.DedentFrom(at, with, from)
	if !ok {
		return nil
	}
	safety, title := rules.Safe, "End the autocast block before the backward pass"
	if !plain {
		safety = rules.Unsafe
	}
	return []rules.Fix{{Title: title, Safety: safety, Edits: []rules.TextEdit{edit}}}
}

// onlyGradientWork: a statement that is one backward, step, update, zero_grad or clipping call, or an if around such.
func onlyGradientWork(p *rules.Pass, s pyscan.Stmt) bool {
	switch s := s.(type) {
	case *pyscan.ExprStmt:
		call, ok := s.Value.(*pyscan.Call)
		return ok && p.GradientWork(call) != ""
	case *pyscan.Assign:
		call, ok := s.Value.(*pyscan.Call)
		return ok && p.GradientWork(call) == "clip"
	case *pyscan.If:
		if p.IsTensor(s.Test) {
			return false
		}
		for _, inner := range append(append([]pyscan.Stmt(nil), s.Body...), s.Else...) {
			if !onlyGradientWork(p, inner) {
				return false
			}
		}
		return true
	}
	return false
}

func containsGradientWork(p *rules.Pass, s pyscan.Stmt) bool {
	first, _ := misplaced(p, []pyscan.Stmt{s})
	return first != nil
}
