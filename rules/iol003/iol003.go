// Package iol003 holds the rule IOL003 torch-load-runs-code: torch.load can run code hidden in the file it reads.
package iol003

import (
	_ "embed"
	"fmt"

	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is IOL003.
var Rule = &rules.Rule{
	ID:       "IOL003",
	Name:     "torch-load-runs-code",
	Summary:  "torch.load can run code hidden in the file it reads",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	for _, at := range p.CallsTo("torch.load") {
		call := at.Call()
		given := rules.Keyword(call, "weights_only")
		switch {
		case given != nil && rules.IsFalse(given.Value):
			p.Report(at, rules.Finding{
				Severity: rules.Info,
				Message:  fmt.Sprintf("`%s` turns the check off: whoever made the file can run code here; use `weights_only=True` unless the file is your own", p.Line(at)),
				Fixes:    fix(p.Tree.Replace(given, "weights_only=True")),
			})
		case given == nil && !rules.HasOpenArguments(call) && !p.Torch.AtLeast(2, 6):
			p.Report(at, rules.Finding{
				Message: fmt.Sprintf("`%s` unpickles the file without `weights_only=True`: before torch 2.6 whoever made the file can run code here", p.Line(at)),
				Fixes:   fix(p.Tree.AddKeyword(call, "weights_only=True")),
			})
		}
	}
}

func fix(edit rules.TextEdit) []rules.Fix {
	return []rules.Fix{{Title: "Load with `weights_only=True`", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
}
