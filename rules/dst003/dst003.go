// Package dst003 holds the rule DST003 no-bucket-view: DistributedDataParallel keeps gradients and communication buckets as two copies.
package dst003

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST003.
var Rule = &rules.Rule{
	ID:       "DST003",
	Name:     "no-bucket-view",
	Summary:  "DistributedDataParallel keeps gradients and communication buckets as two copies",
	Severity: rules.Info,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceKernels,
	// The reducer's own range around the copy back (torch/csrc/distributed/c10d/reducer.cpp, finalize_bucket_dense). The way in is
	// no saving: views are divided in place instead, or copied into all the same after zero_grad (mark_variable_ready_dense).
	Ops: []string{"torch.distributed.ddp.reducer::copy_bucket_to_grad"}, Anywhere: true,
	Page:  page,
	Check: check,
}

func check(p *rules.Pass) {
	if p.InTests() || p.MentionsInProject(".grad.detach_(") || p.Torch.Under(1, 7) {
		return
	}
	for _, at := range p.CallsTo(rules.DDP) {
		call := at.Call()
		if rules.HasOpenArguments(call) || rules.Argument(call, 11, "gradient_as_bucket_view") != nil {
			continue
		}
		p.Report(at, rules.Finding{
			Span:    call.Func.Range(),
			Message: fmt.Sprintf("`%s` copies every gradient into its communication buckets and back and holds both: `gradient_as_bucket_view=True` lets `.grad` be a view of the bucket", p.Line(call.Func)),
			Fixes: []rules.Fix{{
				Title: "Let gradients be views of the buckets", Safety: rules.Unsafe,
				Edits: []rules.TextEdit{p.Tree.AddKeyword(call, "gradient_as_bucket_view=True")},
			}},
		})
	}
}
