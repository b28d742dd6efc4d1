// Package dst001 holds the rule DST001 accumulate-without-no-sync: gradients are summed over all ranks after every micro-batch although the optimizer steps only after several.
package dst001

import (
	_ "embed"
	"fmt"
	"strconv"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST001.
var Rule = &rules.Rule{
	ID:       "DST001",
	Name:     "accumulate-without-no-sync",
	Summary:  "gradients are summed over all ranks after every micro-batch although the optimizer steps only after several",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceComm,
	Keeps:    0.5, // of k micro-batches the last one still reduces: (k−1)/k goes, half of it for k = 2
	Ops:      []string{"ncclDevKernel_AllReduce", "ncclKernel_AllReduce"},
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, a := range p.Accumulations() {
		model, last := p.Line(a.Model), "behind the loop"
		if a.Guard != nil {
			last = fmt.Sprintf("under `%s`", p.Line(a.Guard.Test))
		}
		p.Report(a.Backward, rules.Finding{
			Message: fmt.Sprintf("`%s` sums the gradients over all ranks for every micro-batch, but `%s` runs only %s: put forward and backward of all micro-batches but the last under `%s.no_sync()`",
				p.Line(a.Backward), p.Line(a.Step), last, model),
			Related: []rules.Related{
				{File: p.File, Span: p.HeaderSpan(a.Loop), Message: "the loop over micro-batches"},
				{File: a.WrapperTree.File, Span: a.Wrapper.Func.Range(), Message: "wrapped in DistributedDataParallel here"},
				{File: p.File, Span: a.Step.Range(), Message: "the optimizer steps here"},
			},
			Fixes: fixes(p, a),
		})
	}
}

// fixes puts the statements from forward to backward under no_sync for all turns but the one the step follows.
func fixes(p *rules.Pass, a rules.Accumulation) []rules.Fix {
	last := lastTurn(p, a)
	body := p.LoopBody(a.Loop)
	from, to := indexOf(body, a.Forward), indexOf(body, a.Backward)
	if last == "" || from < 0 || to < from || p.OnlyIfDistributed(a.Wrapper, a.WrapperTree) {
		return nil
	}
	tested := to + 1 // names of the test must keep their values from the new line up to the step's own test
	if at := indexOf(body, a.Step); at >= tested {
		tested = at
	}
	if p.AssignsAny(body[from:tested], last) {
		return nil
	}
	null, edits := p.NullContext()
	header := fmt.Sprintf("with %s() if %s else %s.no_sync():", null, last, p.Text(a.Model))
	edit, ok := p.WrapIn(body, from, to+1, header)
	if !ok {
		return nil
	}
	return []rules.Fix{{
		Title:  fmt.Sprintf("Put forward and backward under `%s.no_sync()` except for the last micro-batch", p.Text(a.Model)),
		Safety: rules.Unsafe,
		Edits:  append(edits, edit),
	}}
}

// lastTurn is the test that is true in the turn the optimizer steps after, "" where the source does not show it.
func lastTurn(p *rules.Pass, a rules.Accumulation) string {
	if a.Guard != nil {
		return p.Text(a.Guard.Test)
	}
	loop, ok := a.Loop.Node.(*pyscan.For)
	if !ok {
		return ""
	}
	name, ok := loop.Target.(*pyscan.Name)
	call, isCall := loop.Iter.(*pyscan.Call)
	if !ok || !isCall || p.Resolve(call.Func) != "builtins.range" || len(call.Args) != 1 || len(call.Keywords) > 0 {
		return ""
	}
	switch n := call.Args[0].(type) {
	case *pyscan.Name, *pyscan.Attribute:
		return fmt.Sprintf("%s == %s - 1", name.ID, p.Text(n))
	case *pyscan.Constant:
		if count, err := strconv.Atoi(n.Text); err == nil {
			return fmt.Sprintf("%s == %d", name.ID, count-1)
		}
	}
	return ""
}

// indexOf is the statement of the body that holds a site, −1 if none does.
func indexOf(body []pyscan.Stmt, s *rules.Site) int {
	for i, stmt := range body {
		if stmt.Range().Covers(s.Range()) {
			return i
		}
	}
	return -1
}
