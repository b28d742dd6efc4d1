// Package xfr001 holds the rule XFR001 unpinned-batch-copy: batches are copied to the GPU from ordinary host memory.
package xfr001

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is XFR001.
var Rule = &rules.Rule{
	ID:       "XFR001",
	Name:     "unpinned-batch-copy",
	Summary:  "a batch is copied to the GPU from ordinary host memory",
	Severity: rules.Warning,
	Fix:      rules.Safe,
	NeedsGPU: true,
	Price:    rules.PriceCopy,
	Ops:      []string{"Memcpy HtoD"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		tensor := p.Moves(at)
		if tensor == nil {
			continue
		}
		switch v := p.Value(tensor); v.Kind {
		case rules.Batch:
			if l := p.LoaderOf(v); l != nil {
				checkBatch(p, at, l)
			}
		case rules.CPUTensor:
			checkHostTensor(p, at, tensor, v)
		}
	}
}

// checkBatch reports the copy of a loader's batch.
func checkBatch(p *rules.Pass, at *rules.Site, l *rules.LoaderCall) {
	pin := l.PinMemory()
	if rules.HasOpenArguments(l.Call) || pin != nil && !rules.IsFalse(pin) || p.InMemoryOnGPU(l.Data) || p.CollatesOwnType(l) {
		return
	}
	f := rules.Finding{
		Message: fmt.Sprintf("`%s` copies a batch from ordinary host memory: the loader at %s has no `pin_memory=True`, so the host waits for the copy", p.Line(at), p.PlaceOf(l)),
		Related: []rules.Related{{File: l.File, Span: l.Call.Span, Message: "the loader"}},
	}
	if p.SingleProcess(l) { // the main thread would pin: it saves less
		f.Severity = rules.Info
	}
	pinning := l.Tree.AddKeyword(l.Call, "pin_memory=True")
	if pin != nil {
		pinning = l.Tree.Replace(pin, "True")
	}
	f.Fixes = []rules.Fix{{Title: "Pin the loader's batches: `pin_memory=True`", Safety: rules.Safe, Edits: []rules.TextEdit{pinning}}}
	if rules.Keyword(at.Call(), "non_blocking") == nil {
		f.Fixes = append(f.Fixes, rules.Fix{
			Title:  "Pin the batches and copy without waiting: `non_blocking=True`",
			Safety: rules.Unsafe,
			Edits:  []rules.TextEdit{pinning, p.Tree.AddKeyword(at.Call(), "non_blocking=True")},
		})
	}
	p.Report(at, f, rules.NotPeriodic, rules.QuieterInEval)
}

// checkHostTensor reports the copy of a batch that the step itself puts together on the host.
func checkHostTensor(p *rules.Pass, at *rules.Site, tensor pyscan.Expr, v *rules.Value) {
	if v.Pinned || rules.Keyword(at.Call(), "non_blocking") != nil || madeHere(p, tensor) {
		return
	}
	hot := p.Hot(at)
	if hot == nil || hot.Kind != rules.InLoop && hot.Kind != rules.Reached && hot.Kind != rules.InHook {
		return
	}
	p.ReportHot(at, hot, rules.Finding{
		Message: fmt.Sprintf("`%s` copies from ordinary host memory %s, and the host waits for the copy: let a DataLoader with `pin_memory=True` make the batch, or gather it into a pinned buffer", p.Line(at), hot.When()),
	}, rules.NotPeriodic, rules.QuieterInEval)
}

// madeHere: `torch.zeros(…).to(device)` is XFR005's and XFR006's.
func madeHere(p *rules.Pass, e pyscan.Expr) bool {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return false
	}
	path := p.Resolve(call.Func)
	return strings.HasPrefix(path, "torch.") && p.IsCreation(path)
}
