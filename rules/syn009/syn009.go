// Package syn009 holds the rule SYN009 iterate-gpu-tensor: Python loops over a GPU tensor, or counts with one.
package syn009

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is SYN009.
var Rule = &rules.Rule{
	ID:       "SYN009",
	Name:     "iterate-gpu-tensor",
	Summary:  "Python loops over a GPU tensor, or counts with one",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Sites {
		if at.Role != rules.RoleIter {
			continue
		}
		expr, ok := at.Node.(pyscan.Expr)
		if !ok {
			continue
		}
		tensor, how := looped(p, expr)
		if tensor == nil || !p.OnGPU(tensor) {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind == rules.OptimizerStep {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf(how, p.Line(tensor), hot.When()),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

const (
	counts   = "`range` needs the value of `%s`, and the host waits for the GPU %s: keep the lengths on the host too"
	iterates = "looping over the GPU tensor `%s` launches a small copy per element %s: work on the whole tensor, or loop over a copy on the host"
)

// looped finds the GPU tensor a loop's iterable needs: `range(t.max())` or the tensor itself.
func looped(p *rules.Pass, e pyscan.Expr) (pyscan.Expr, string) {
	call, ok := e.(*pyscan.Call)
	if !ok {
		if name, isName := e.(*pyscan.Name); isName && p.IsTensor(name) && !p.HoldsList(name) && p.MadeAsTensor(name) {
			return name, iterates
		}
		return nil, ""
	}
	if name, isName := call.Func.(*pyscan.Name); isName && name.ID == "range" {
		for _, a := range call.Args {
			inner := a
			if c, isCall := a.(*pyscan.Call); isCall {
				if read := p.HostReadOf(c); read != nil && !read.Copy {
					inner = read.Tensor
				}
			}
			if p.OnGPU(inner) {
				return inner, counts
			}
		}
	}
	return nil, ""
}
