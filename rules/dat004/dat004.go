// Package dat004 holds the rule DAT004 cuda-in-worker: a dataset or collate function works on the GPU inside a worker process.
package dat004

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT004.
var Rule = &rules.Rule{
	ID:       "DAT004",
	Name:     "cuda-in-worker",
	Summary:  "a dataset or collate function works on the GPU inside a worker process",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		if !p.UsesCUDA(at) {
			continue
		}
		item := p.PerItem(at)
		if item == nil || p.NoLoaderHasWorkers(item) {
			continue
		}
		severity := rules.Warning
		if item.Class != nil && len(p.LoadersOfDataset(item.Class)) == 0 || item.Class == nil && !p.CollatesInWorkers(item.Name) {
			severity = rules.Info // no loader in sight: its workers are not known
		}
		p.ReportHot(at, item, rules.Finding{
			Severity: severity,
			Fixes:    stayOnHost(p, at),
			Message:  fmt.Sprintf("`%s` uses the GPU %s: in a worker process CUDA raises (it cannot be re-initialised after fork) or makes a context and copies item by item; return CPU tensors and move the batch in the training loop", p.Line(at), item.When()),
		})
	}
}

// stayOnHost takes the move (or the device) out, so that the item stays on the host.
func stayOnHost(p *rules.Pass, at *rules.Site) []rules.Fix {
	call := at.Call()
	fix := func(edit rules.TextEdit) []rules.Fix {
		return []rules.Fix{{Title: "Leave the item on the host; move the batch in the training loop", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if ok && p.Resolve(attr) == "" {
		if attr.Attr == "to" && len(call.Args) != 1 {
			return nil
		}
		for _, k := range call.Keywords {
			if k.Name != "non_blocking" && k.Name != "device" {
				return nil
			}
		}
		return fix(rules.TextEdit{File: p.File, Span: pyscan.Span{Start: p.DotOf(attr), End: call.End}})
	}
	if k := rules.Keyword(call, "device"); k != nil {
		return fix(p.RemoveArgument(call, k.Span))
	}
	return nil
}
