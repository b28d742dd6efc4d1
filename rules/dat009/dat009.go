// Package dat009 holds the rule DAT009 sampler-without-set-epoch: a DistributedSampler shuffles every epoch in the same order.
package dat009

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT009.
var Rule = &rules.Rule{
	ID:       "DAT009",
	Name:     "sampler-without-set-epoch",
	Summary:  "a DistributedSampler shuffles every epoch in the same order",
	Severity: rules.Error,
	Fix:      rules.Unsafe,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.MentionsInProject("set_epoch", "lightning", "accelerate", "Trainer(") {
		return
	}
	for _, at := range p.CallsTo("torch.utils.data.DistributedSampler") {
		call := at.Call()
		if rules.HasOpenArguments(call) {
			continue
		}
		if shuffle := rules.Argument(call, 3, "shuffle"); shuffle != nil && !rules.IsTrue(shuffle) {
			continue
		}
		epochs := p.EpochLoopAfter(at)
		if epochs == nil {
			continue
		}
		p.Report(at, rules.Finding{
			Message: fmt.Sprintf("`%s` shuffles with its epoch number, and nothing calls `set_epoch`: every epoch sees the same order", p.Line(call.Func)),
			Related: []rules.Related{{File: p.File, Span: p.HeaderSpan(epochs), Message: "the loop over the epochs"}},
			Fixes:   fixes(p, at, epochs),
		})
	}
}

func fixes(p *rules.Pass, at, epochs *rules.Site) []rules.Fix {
	name := p.BoundName(at)
	loop, ok := epochs.Node.(*pyscan.For)
	if !ok || name == "" || len(loop.Body) == 0 {
		return nil
	}
	epoch, ok := loop.Target.(*pyscan.Name)
	first := p.Tree.Site(loop.Body[0])
	if !ok || !p.OwnLine(first) && p.Tree.LineNumber(first) == p.Tree.LineNumber(loop) {
		return nil
	}
	start := p.Tree.LineStart(first.Range().Start)
	return []rules.Fix{{
		Title: fmt.Sprintf("Call `%s.set_epoch(%s)` at the start of each epoch", name, epoch.ID), Safety: rules.Unsafe,
		Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: start, End: start}, New: p.Tree.Indent(first) + name + ".set_epoch(" + epoch.ID + ")" + p.Tree.Newline()}},
	}}
}
