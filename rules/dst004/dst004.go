// Package dst004 holds the rule DST004 dataparallel: nn.DataParallel copies the model to every GPU in each step, from one Python process.
package dst004

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST004.
var Rule = &rules.Rule{
	ID:       "DST004",
	Name:     "dataparallel",
	Summary:  "nn.DataParallel copies the model to every GPU in each step, from one Python process",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.InTests() || !strings.Contains(p.File.Text, ".backward(") && !strings.Contains(p.File.Text, "optim") {
		return
	}
	for _, at := range p.CallsTo("torch.nn.DataParallel", "torch.nn.parallel.DataParallel") {
		call := at.Call()
		if oneDevice(call) || p.ModuleOnCPU(call) {
			continue
		}
		p.Report(at, rules.Finding{
			Span:    call.Func.Range(),
			Message: fmt.Sprintf("`%s` copies all parameters to every GPU in each forward and runs all GPUs from threads of one Python process: use one process per GPU with DistributedDataParallel", p.Line(at)),
		}, rules.QuieterInEval)
	}
}

// oneDevice: a wrapper of one GPU only calls its module.
func oneDevice(call *pyscan.Call) bool {
	switch ids := rules.Argument(call, 1, "device_ids").(type) {
	case *pyscan.List:
		return len(ids.Elems) == 1
	case *pyscan.Tuple:
		return len(ids.Elems) == 1
	}
	return false
}
