// Package dst006 holds the rule DST006 object-collective-in-loop: Python objects are pickled and sent between all ranks in every step.
package dst006

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST006.
var Rule = &rules.Rule{
	ID:       "DST006",
	Name:     "object-collective-in-loop",
	Summary:  "Python objects are pickled and sent between all ranks in every step",
	Severity: rules.Warning,
	Fix:      rules.NoFix,
	NeedsGPU: true,
	Price:    rules.PriceComm,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		name := p.Collective(at)
		if !strings.Contains(name, "object") {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || p.InHandler(at) {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` pickles objects on the host, copies the bytes to the GPU and waits for them on all ranks %s: send a tensor with %s, or do it every N steps on all ranks", p.Line(at), hot.When(), tensorKin[name]),
		}, rules.NotPeriodic, rules.QuieterInEval)
	}
}

var tensorKin = map[string]string{
	"all_gather_object": "`all_gather_into_tensor`", "gather_object": "`gather`",
	"broadcast_object_list": "`broadcast`", "scatter_object_list": "`scatter`",
}
