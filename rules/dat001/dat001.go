// Package dat001 holds the rule DAT001 dataloader-no-workers: batches are made by the training process between two steps.
package dat001

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DAT001.
var Rule = &rules.Rule{
	ID:       "DAT001",
	Name:     "dataloader-no-workers",
	Summary:  "a DataLoader without workers makes every batch between two steps",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceData,
	Keeps:    0.4, // four workers leave at best a quarter, and recording Python frames makes loading look longer than it is
	Page:     page,
	Check:    check,
}

const advice = "begin with the CPU cores this process may use divided by its GPUs (often 4 to 8) and raise it until the loader's wait stops shrinking"

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, l := range p.Loaders() {
		workers, given := l.Workers()
		if !p.SingleProcess(l) || p.InMemory(l.Data) || p.UnshardedStream(l.Data) {
			continue
		}
		f := rules.Finding{Span: l.Call.Func.Range()}
		switch {
		case workers == rules.WorkersUnknown:
			f.Message = "the trace shows that this DataLoader ran without workers (`_SingleProcessDataLoaderIter`): every batch is made between two steps; " + advice
			if given != nil {
				f.Span = argumentSpan(l.Call, given)
				f.Message = fmt.Sprintf("`%s` was 0 in the trace (`_SingleProcessDataLoaderIter`): every batch is made between two steps; %s", p.Text(given), advice)
			}
		case given != nil:
			f.Span = argumentSpan(l.Call, given)
			f.Message = "`num_workers=0` makes every batch in the training process, between two steps: " + advice
			f.Fixes = fix(p.Tree.Replace(given, "4"))
		default:
			f.Message = "this DataLoader has no `num_workers`: every batch is made in the training process, between two steps; " + advice
			f.Fixes = fix(p.Tree.AddKeyword(l.Call, "num_workers=4"))
		}
		if l.ForEvaluation() {
			f.Severity = rules.Info
		}
		p.Report(l.Site, f, rules.NotPeriodic)
	}
}

func fix(edit rules.TextEdit) []rules.Fix {
	return []rules.Fix{{Title: "Load with workers: `num_workers=4`", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
}

func argumentSpan(call *pyscan.Call, value pyscan.Expr) pyscan.Span {
	if k := rules.Keyword(call, "num_workers"); k != nil {
		return k.Span
	}
	return value.Range()
}
