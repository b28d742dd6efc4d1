// Package prf005 holds the rule PRF005 cuda-event-misuse: CUDA events are asked before they have happened, cannot time, or enclose no GPU work.
package prf005

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF005.
var Rule = &rules.Rule{
	ID:       "PRF005",
	Name:     "cuda-event-misuse",
	Summary:  "CUDA events are asked before they have happened, cannot time, or enclose no GPU work",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	reported := map[*pyscan.Call]bool{}
	for _, pair := range p.EventPairs() {
		elapsed := p.Line(pair.Elapsed)
		untimed := false
		for _, made := range pair.Made {
			if enabled := rules.Argument(made, 0, "enable_timing"); enabled != nil && !rules.IsFalse(enabled) || rules.HasOpenArguments(made) {
				continue
			}
			untimed = true
			if reported[made] {
				continue
			}
			reported[made] = true
			p.Report(p.Site(made), rules.Finding{
				Message: fmt.Sprintf("`%s` raises an error: this event is made without `enable_timing=True`", elapsed),
				Related: []rules.Related{{File: p.File, Span: pair.Elapsed.Range(), Message: "timed here"}},
				Fixes:   []rules.Fix{{Title: "Add `enable_timing=True`", Safety: rules.Unsafe, Edits: []rules.TextEdit{timing(p, made)}}},
			})
		}
		if untimed || pair.EndRecord == nil || pair.StartRecord == nil {
			continue
		}
		if host := p.HostOnlyBetween(pair.StartRecord, pair.EndRecord); host != nil {
			p.Report(pair.StartRecord, rules.Finding{
				Message: fmt.Sprintf("these events enclose only host work (`%s`): they time the GPU's queue, which has nothing in it; read the host's clock instead", p.Line(host)),
				Related: []rules.Related{{File: p.File, Span: pair.EndRecord.Range(), Message: "up to here"}},
			})
			continue
		}
		if !p.WaitsBetween(pair.EndRecord, pair.Elapsed) {
			early(p, pair)
		}
	}
}

func early(p *rules.Pass, pair rules.EventPair) {
	end := p.Text(pair.Elapsed.Call().Args[0])
	f := rules.Finding{
		Message: fmt.Sprintf("`%s` is asked before the GPU has reached `%s`, and raises an error then: call `%s.synchronize()` first", p.Line(pair.Elapsed), p.Line(pair.EndRecord), end),
		Related: []rules.Related{{File: p.File, Span: pair.EndRecord.Range(), Message: "recorded here"}},
	}
	if edit, ok := p.InsertBefore(pair.Elapsed.Statement().Node.(pyscan.Stmt), end+".synchronize()"); ok {
		f.Fixes = []rules.Fix{{Title: fmt.Sprintf("Call `%s.synchronize()` first", end), Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
	}
	p.Report(pair.Elapsed, f)
}

func timing(p *rules.Pass, made *pyscan.Call) rules.TextEdit {
	if e := rules.Argument(made, 0, "enable_timing"); e != nil {
		return p.Tree.Replace(e, "True")
	}
	return p.Tree.AddKeyword(made, "enable_timing=True")
}
