// Package prf006 holds the rule PRF006 nvtx-unbalanced: an NVTX range is pushed and never popped.
package prf006

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF006.
var Rule = &rules.Rule{
	ID:       "PRF006",
	Name:     "nvtx-unbalanced",
	Summary:  "an NVTX range is pushed and never popped",
	Severity: rules.Warning,
	Fix:      rules.Safe,
	NeedsGPU: true,
	Page:     page,
	Check:    check,
}

var (
	pushes = map[string]string{"torch.cuda.nvtx.range_push": "range_pop", "nvtx.push_range": "pop_range"}
	pops   = map[string]bool{"torch.cuda.nvtx.range_pop": true, "nvtx.pop_range": true}
)

func check(p *rules.Pass) {
	open := map[*pyscan.Function][]*rules.Site{}
	surplus := 0 // pops of functions that pop more than they push: another function's ranges end there
	order := []*pyscan.Function{}
	count := map[*pyscan.Function]int{}
	if !p.Mentions("range_push", "push_range") {
		return
	}
	for _, at := range p.FileCalls() {
		path := p.Resolve(at.Call().Func)
		def := at.Def()
		switch {
		case pushes[path] != "":
			if len(open[def]) == 0 && count[def] == 0 {
				order = append(order, def)
			}
			open[def] = append(open[def], at)
		case pops[path]:
			count[def]++
			if n := len(open[def]); n > 0 {
				open[def] = open[def][:n-1]
			} else {
				surplus++
			}
		}
	}
	for _, def := range order {
		for _, at := range open[def] {
			if surplus > 0 {
				surplus--
				continue
			}
			p.Report(at, rules.Finding{
				Message: fmt.Sprintf("`%s` opens an NVTX range that nothing closes: every range after it is shown inside it", p.Line(at)),
				Fixes:   fix(p, at),
			})
		}
	}
}

// fix closes the range behind the one statement that follows it in its block.
func fix(p *rules.Pass, at *rules.Site) []rules.Fix {
	stmt, ok := at.Parent.Node.(*pyscan.ExprStmt)
	if !ok {
		return nil
	}
	block := p.Block(at.Parent)
	i := slices.Index(block, pyscan.Stmt(stmt))
	if i < 0 || i+2 != len(block) {
		return nil
	}
	if _, leaves := block[i+1].(*pyscan.Return); leaves {
		return nil
	}
	name := p.Text(at.Call().Func)
	pop := name[:strings.LastIndexByte(name, '.')+1] + pushes[p.Resolve(at.Call().Func)]
	if !strings.Contains(name, ".") {
		return nil
	}
	edit, ok := p.InsertAfter(block[i+1], pop+"()")
	if !ok {
		return nil
	}
	return []rules.Fix{{Title: "Close the range behind the statement", Safety: rules.Safe, Edits: []rules.TextEdit{edit}}}
}
