// Package opt002 holds the rule OPT002 slow-optimizer-impl: the optimizer runs one kernel per parameter and operation, or could be fused.
package opt002

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is OPT002.
var Rule = &rules.Rule{
	ID:       "OPT002",
	Name:     "slow-optimizer-impl",
	Summary:  "the optimizer runs one kernel per parameter and operation, or could be fused",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Ops:      []string{"Optimizer.step"},
	Keeps:    1, // the fused kernel reads and writes the same memory: what it saves is in the launches, which a trace does not show
	Page:     page,
	Check:    check,
}

// fusable are the optimizers with a fused implementation, with the torch version that brought it.
var fusable = map[string]rules.Version{
	"torch.optim.Adam": {Major: 2, Minor: 0}, "torch.optim.AdamW": {Major: 2, Minor: 0},
	"torch.optim.SGD": {Major: 2, Minor: 3}, "torch.optim.Adagrad": {Major: 2, Minor: 4},
}

// foreachOnly are the others of torch.optim that take foreach.
var foreachOnly = map[string]bool{
	"torch.optim.Adadelta": true, "torch.optim.Adamax": true, "torch.optim.ASGD": true, "torch.optim.NAdam": true,
	"torch.optim.RAdam": true, "torch.optim.RMSprop": true, "torch.optim.Rprop": true,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsWhere(settable) {
		call := at.Call()
		name := optimizerClass(p.Resolve(call.Func))
		since, canFuse := fusable[name]
		short := name[strings.LastIndexByte(name, '.')+1:]
		foreach, fused := rules.Keyword(call, "foreach"), rules.Keyword(call, "fused")
		switch {
		case foreach != nil && rules.IsFalse(foreach.Value) && (fused == nil || rules.IsFalse(fused.Value) || rules.IsNone(fused.Value)):
			p.Report(at, rules.Finding{
				Span:    foreach.Span,
				Message: fmt.Sprintf("`foreach=False` makes `%s` launch several kernels per parameter in every step: drop it", short),
				Fixes: []rules.Fix{{
					Title: "Drop `foreach=False`", Safety: rules.Unsafe,
					Edits: []rules.TextEdit{p.Tree.RemoveArgument(call, foreach.Span)},
				}},
			})
		case canFuse && fused == nil && foreach == nil && !rules.HasOpenArguments(call) && !differentiable(call) && (!p.Torch.Known() || p.Torch.AtLeast(since.Major, since.Minor)) && p.TrainsOnCUDA() && !p.TrainsOnHost():
			p.Report(at, rules.Finding{
				Severity: rules.Info,
				Span:     call.Func.Range(),
				Message:  fmt.Sprintf("`%s` can run as one fused kernel per group on CUDA: `fused=True`", short),
				Fixes: []rules.Fix{{
					Title: "Add `fused=True`", Safety: rules.Unsafe,
					Edits: []rules.TextEdit{p.Tree.AddKeyword(call, "fused=True")},
				}},
			})
		}
	}
}

// optimizerClass maps `torch.optim.adamw.AdamW` to `torch.optim.AdamW`.
// settable: an optimizer that can be told how to run.
func settable(path string) bool {
	name := optimizerClass(path)
	_, canFuse := fusable[name]
	return canFuse || foreachOnly[name]
}

func optimizerClass(path string) string {
	parts := strings.Split(path, ".")
	if len(parts) == 4 && parts[0] == "torch" && parts[1] == "optim" {
		return "torch.optim." + parts[3]
	}
	return path
}

func differentiable(call *pyscan.Call) bool {
	return rules.Keyword(call, "differentiable") != nil || rules.Keyword(call, "capturable") != nil
}
