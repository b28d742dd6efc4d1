// Package dst002 holds the rule DST002 find-unused-parameters: find_unused_parameters=True walks the autograd graph after every forward.
package dst002

import (
	_ "embed"
	"fmt"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is DST002.
var Rule = &rules.Rule{
	ID:       "DST002",
	Name:     "find-unused-parameters",
	Summary:  "find_unused_parameters=True walks the autograd graph after every forward",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

// decides: what takes the setting.
func decides(path string) bool {
	return path == rules.DDP || configuresDDP(path) || strings.HasPrefix(path, "lightning.") || strings.HasSuffix(path, "TrainingArguments")
}

// configuresDDP: what a framework wraps the model by.
func configuresDDP(path string) bool {
	return strings.HasSuffix(path, "DDPStrategy") || strings.HasSuffix(path, "DistributedDataParallelKwargs") || strings.HasSuffix(path, "DDPPlugin")
}

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, at := range p.CallsWhere(decides) {
		call := at.Call()
		k := rules.Keyword(call, "find_unused_parameters")
		path := p.Resolve(call.Func)
		switch {
		case path == rules.DDP:
			if e := rules.Argument(call, 9, "find_unused_parameters"); rules.IsTrue(e) {
				wrapped(p, at, e, k)
			}
		case configuresDDP(path):
			if k != nil && rules.IsTrue(k.Value) {
				framework(p, at, k.Span, p.RemoveArgument(call, k.Span))
			}
		case strings.HasPrefix(path, "lightning.") || strings.HasSuffix(path, "TrainingArguments"):
			if k := rules.Keyword(call, "ddp_find_unused_parameters"); k != nil && rules.IsTrue(k.Value) {
				framework(p, at, k.Span, p.Replace(k.Value, "False"))
			}
			if k := rules.Keyword(call, "strategy"); k != nil {
				if text, ok := rules.StringValue(k.Value); ok && text == "ddp_find_unused_parameters_true" {
					framework(p, at, k.Span, p.Replace(k.Value, `"ddp"`))
				}
			}
		}
	}
}

const cost = "makes DistributedDataParallel walk the autograd graph after every forward"

func wrapped(p *rules.Pass, at *rules.Site, e pyscan.Expr, k *pyscan.Keyword) {
	call := at.Call()
	span := e.Range()
	if k != nil {
		span = k.Span
	}
	f := rules.Finding{Span: span}
	use := p.ParameterUse(rules.Argument(call, 0, "module"))
	switch {
	case use.Conditional:
		return
	case len(use.Unused) > 0:
		f.Message = fmt.Sprintf("`%s` %s; here it is needed only because `%s` of `%s` takes no part in forward: remove or freeze that, then drop the argument", p.Text(e.(pyscan.Node)), cost, use.Unused[0].Name, use.Class.Name)
		if k != nil {
			f.Message = fmt.Sprintf("`find_unused_parameters=True` %s; here it is needed only because `self.%s` of `%s` takes no part in forward: remove it (or set requires_grad to False on it), then drop the argument", cost, use.Unused[0].Name, use.Class.Name)
		}
		f.Related = append(f.Related, rules.Related{File: use.File, Span: use.Unused[0].Span, Message: "never used outside `__init__`"})
	case use.Class != nil:
		f.Message = fmt.Sprintf("`find_unused_parameters=True` %s, and `%s` uses all its layers each time: drop it", cost, use.Class.Name)
		f.Related = append(f.Related, rules.Related{File: use.File, Span: use.Class.NameSpan, Message: "the model"})
		f.Fixes = fix(p.RemoveArgument(call, span))
	default:
		f.Severity = rules.Info
		f.Message = fmt.Sprintf("`find_unused_parameters=True` %s: drop it unless some parameters get no gradient in some steps", cost)
		f.Fixes = fix(p.RemoveArgument(call, span))
	}
	p.Report(at, f)
}

func framework(p *rules.Pass, at *rules.Site, span pyscan.Span, edit rules.TextEdit) {
	p.Report(at, rules.Finding{
		Span: span, Severity: rules.Info,
		Message: fmt.Sprintf("`%s` %s: drop it unless some parameters get no gradient in some steps", p.File.Text[span.Start:span.End], cost),
		Fixes:   fix(edit),
	})
}

func fix(edit rules.TextEdit) []rules.Fix {
	return []rules.Fix{{Title: "Do not search for unused parameters", Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
}
