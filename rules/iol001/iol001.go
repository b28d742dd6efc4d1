// Package iol001 holds the rule IOL001 checkpoint-every-step: a checkpoint is written in every training step.
package iol001

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is IOL001.
var Rule = &rules.Rule{
	ID:       "IOL001",
	Name:     "checkpoint-every-step",
	Summary:  "a checkpoint is written in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		if !saves(p, at.Call()) || p.UnderComparison(at) {
			continue
		}
		hot := p.HotOrSaving(at)
		if hot == nil || hot.Kind != rules.InLoop && hot.Kind != rules.Reached && hot.Kind != rules.InHook || p.InEvaluation(at) {
			continue
		}
		severity := rules.Warning
		if len(hot.Calls) > 0 {
			severity = rules.Info // a function that saves: what decides when to call it is often out of sight
		}
		p.ReportHot(at, hot, rules.Finding{
			Severity: severity,
			Message:  fmt.Sprintf("`%s` writes a checkpoint %s: every tensor is copied to the host and pickled while the GPU waits; save every N steps", p.Line(at.Call().Func), hot.When()),
			Fixes:    p.EveryN(at, 1000),
		}, rules.NotPeriodic)
	}
}

func saves(p *rules.Pass, call *pyscan.Call) bool {
	switch p.Resolve(call.Func) {
	case "torch.save", "torch.distributed.checkpoint.save", "torch.distributed.checkpoint.save_state_dict", "safetensors.torch.save_file":
		return true
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	return ok && (attr.Attr == "save_pretrained" || attr.Attr == "save_checkpoint" || attr.Attr == "save_state")
}
