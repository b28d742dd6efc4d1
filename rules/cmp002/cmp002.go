// Package cmp002 holds the rule CMP002 graph-break-in-compiled: a compiled function reads a tensor on the host or prints, which splits its graph.
package cmp002

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP002.
var Rule = &rules.Rule{
	ID:       "CMP002",
	Name:     "graph-break-in-compiled",
	Summary:  "a compiled function reads a tensor on the host or prints, which splits its graph",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceSync,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if !p.Compiles() || !p.HasCompiledCode() {
		return
	}
	capture := p.MentionsInProject("capture_scalar_outputs = True", "capture_scalar_outputs=True", "CAPTURE_SCALAR_OUTPUTS")
	for _, at := range p.Tree.Calls {
		by := p.CompiledAt(at)
		if by == nil || p.UnderCompilerTest(at) {
			continue
		}
		read := p.HostRead(at)
		switch {
		case read != nil && !read.Copy && p.OnGPU(read.Tensor) && !capture && !p.InsideHostRead(at):
			report(p, at, by, "keep the value a tensor, or move the read out of the compiled code")
		case p.Prints(at):
			report(p, at, by, "print outside the compiled code")
		}
	}
	for _, test := range p.TensorTests() {
		if by := p.CompiledAt(test); by != nil && !p.UnderCompilerTest(test) && !inAssert(test) {
			report(p, test, by, "choose with `torch.where`, or with `torch.cond` where both sides are large")
		}
	}
}

func report(p *rules.Pass, at *rules.Site, by *rules.CompiledCode, do string) {
	what := fmt.Sprintf("splits the graph of `%s`: the parts run one after the other with Python in between, and nothing is fused across", by.Name)
	if by.FullGraph {
		what = fmt.Sprintf("cannot be in a graph, and `%s` is compiled with `fullgraph=True`: compiling raises an error", by.Name)
	}
	p.Report(at, rules.Finding{
		Message: fmt.Sprintf("`%s` %s; %s", p.Line(at), what, do),
		Related: []rules.Related{by.Related()},
	}, rules.NotPeriodic)
}

// inAssert: assertions on tensors are traced as torch._assert_async calls (torch._dynamo.config.rewrite_assert_with_torch_assert).
func inAssert(s *rules.Site) bool {
	for up := range s.Ancestors() {
		if _, ok := up.Node.(*pyscan.Assert); ok {
			return true
		}
	}
	return false
}
