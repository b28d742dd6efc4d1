// Package cmp004 holds the rule CMP004 cudnn-benchmark-mismatch: cudnn.benchmark is on for inputs whose size keeps changing, or off for a convnet of fixed size.
package cmp004

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP004.
var Rule = &rules.Rule{
	ID:       "CMP004",
	Name:     "cudnn-benchmark-mismatch",
	Summary:  "cudnn.benchmark is on for inputs whose size keeps changing, or off for a convnet of fixed size",
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
	for _, at := range p.Tree.Sites {
		n, ok := at.Node.(*pyscan.Assign)
		if !ok || len(n.Targets) != 1 || !rules.IsTrue(n.Value) || p.Resolve(n.Targets[0]) != "torch.backends.cudnn.benchmark" {
			continue
		}
		if v := p.VaryingSizes(); v != nil && p.MentionsInProject("Conv1d", "Conv2d", "Conv3d", "torchvision.models", "timm.create_model") {
			p.Report(at, rules.Finding{
				Message: fmt.Sprintf("`%s` makes cuDNN time its algorithms again for every new input size, and here %s: leave it off, or give the inputs a few fixed sizes", p.Line(n), v.Why),
				Related: []rules.Related{{File: v.Place.File, Span: v.Place.Span, Message: v.Why}},
			}, rules.NotPeriodic)
		}
	}
	if !p.MentionsInProject("torchvision") || p.MentionsInProject("cudnn.benchmark", "cudnn.deterministic", "use_deterministic_algorithms", "benchmark=True", "benchmark=False", "interpolate(", "pad_sequence") {
		return
	}
	for _, at := range p.ModelCalls() {
		if !p.HasConvolutions(p.Value(at.Call().Func)) {
			continue
		}
		fixed := p.FixedSizes()
		if fixed == nil {
			return
		}
		p.ReportHot(at, p.Hot(at), rules.Finding{
			Message: fmt.Sprintf("`%s` runs convolutions on inputs of one size (%s), and `torch.backends.cudnn.benchmark` is off: set it to True before the loop, and cuDNN picks the fastest algorithm in the first step", p.Line(at), fixed.Why),
			Related: []rules.Related{{File: fixed.Place.File, Span: fixed.Place.Span, Message: fixed.Why}},
		})
		return
	}
}
