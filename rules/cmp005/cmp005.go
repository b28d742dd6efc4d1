// Package cmp005 holds the rule CMP005 channels-last-half-applied: only one of the model and its input is in channels_last.
package cmp005

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is CMP005.
var Rule = &rules.Rule{
	ID:       "CMP005",
	Name:     "channels-last-half-applied",
	Summary:  "only one of the model and its input is in channels_last",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.InTests() || !p.MentionsInProject("channels_last") {
		return
	}
	var modules, tensors []rules.FormatUse
	for _, u := range p.ChannelsLast() {
		switch {
		case u.Module:
			modules = append(modules, u)
		case u.Tensor:
			tensors = append(tensors, u)
		default:
			return // what is converted there is unknown
		}
	}
	calls := p.ModelCalls()
	switch {
	case len(modules) > 0 && len(tensors) == 0:
		for _, at := range calls {
			if !p.HasConvolutions(p.Value(at.Call().Func)) {
				continue
			}
			f := rules.Finding{
				Message: fmt.Sprintf("the weights are in channels_last but the input of `%s` is not: the first convolution converts it in every step; convert it where it is copied to the device", p.Line(at)),
				Related: []rules.Related{{File: modules[0].Place.File, Span: modules[0].Place.Span, Message: "the model is converted here"}},
			}
			if moved := p.MovedInput(at); moved != nil {
				f.Fixes = fix(p.Tree.AddKeyword(moved, "memory_format=torch.channels_last"))
			}
			p.ReportHot(at, p.Hot(at), f, rules.NotPeriodic)
			return
		}
	case len(tensors) > 0 && len(modules) == 0:
		for _, at := range calls {
			if !p.HasConvolutions(p.Value(at.Call().Func)) {
				continue
			}
			p.ReportHot(at, p.Hot(at), rules.Finding{
				Message: fmt.Sprintf("the input of `%s` is in channels_last but the weights are not: every convolution converts its weights in every step; call `.to(memory_format=torch.channels_last)` on the model once", p.Line(at)),
				Related: []rules.Related{{File: tensors[0].Place.File, Span: tensors[0].Place.Span, Message: "the input is converted here"}},
			}, rules.NotPeriodic)
			return
		}
	}
}

func fix(edit rules.TextEdit) []rules.Fix {
	return []rules.Fix{{Title: "Convert the input as it is copied", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
}
