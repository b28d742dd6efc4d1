// Package prf007 holds the rule PRF007 debug-left-on: a debugging switch that slows every step is left on.
package prf007

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF007.
var Rule = &rules.Rule{
	ID:       "PRF007",
	Name:     "debug-left-on",
	Summary:  "a debugging switch that slows every step is left on",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	AnyFile:  true,
	Page:     page,
	Check:    check,
}

func check(p *rules.Pass) {
	if p.InTests() {
		return
	}
	for _, at := range p.CallsWhere(func(path string) bool {
		return strings.HasSuffix(path, "detect_anomaly") || strings.HasPrefix(path, "lightning.")
	}) {
		call := at.Call()
		path := p.Resolve(call.Func)
		if askedFor(p, at) {
			continue
		}
		switch {
		case (path == "torch.autograd.set_detect_anomaly" || path == "torch.autograd.anomaly_mode.set_detect_anomaly") && rules.IsTrue(rules.Argument(call, 0, "mode")):
			f := rules.Finding{Message: anomaly(p, at)}
			if _, ok := at.Parent.Node.(*pyscan.ExprStmt); ok {
				f.Fixes = fix("Delete it", p.DeleteStatement(at.Parent))
			} else {
				f.Fixes = fix("Switch it off", p.Tree.Replace(rules.Argument(call, 0, "mode"), "False"))
			}
			p.Report(at, f, rules.NotPeriodic)
		case path == "torch.autograd.detect_anomaly" || path == "torch.autograd.anomaly_mode.detect_anomaly":
			if at.Role == rules.RoleContext {
				p.Report(at, rules.Finding{Message: anomaly(p, at), Fixes: fix("Switch it off", p.Tree.Replace(call, p.Text(call.Func)[:len(p.Text(call.Func))-len("detect_anomaly")]+"set_detect_anomaly(False)"))}, rules.NotPeriodic)
			}
		case strings.HasPrefix(path, "lightning.") && strings.HasSuffix(path, "Trainer"):
			if k := rules.Keyword(call, "detect_anomaly"); k != nil && rules.IsTrue(k.Value) {
				p.Report(at, rules.Finding{Span: k.Span, Message: "`detect_anomaly=True` makes autograd keep a stack for every operation and check every gradient for NaN, which waits for the GPU each time: drop it once the NaN is found", Fixes: fix("Drop it", p.RemoveArgument(call, k.Span))}, rules.NotPeriodic)
			}
		}
	}
	for _, s := range p.EnvironmentSettings() {
		message := ""
		switch {
		case s.Name == "CUDA_LAUNCH_BLOCKING" && s.Value == "1":
			message = "`CUDA_LAUNCH_BLOCKING=1` makes the host wait for every kernel: nothing overlaps, and the GPU is idle between any two; delete it once the failing kernel is found"
		case s.Name == "TORCH_DISTRIBUTED_DEBUG" && strings.EqualFold(s.Value, "DETAIL"):
			message = "`TORCH_DISTRIBUTED_DEBUG=DETAIL` checks every collective with one more before it: delete it once the mismatch is found"
		default:
			continue
		}
		p.Report(s.Site, rules.Finding{Span: s.NameSpan, Message: message, Fixes: p.DeleteSetting(s)}, rules.NotPeriodic)
	}
}

// askedFor reports whether a switch is thrown by a setting that names it: `if config.detect_anomaly:`.
func askedFor(p *rules.Pass, at *rules.Site) bool {
	for up := at; up.Parent != nil; up = up.Parent {
		branch, ok := up.Parent.Node.(*pyscan.If)
		if ok && up.Role == rules.RoleBody && switchWords.MatchString(p.Text(branch.Test)) {
			return true
		}
	}
	return false
}

var switchWords = regexp.MustCompile(`(?i)anomal|debug|nan`)

func anomaly(p *rules.Pass, at *rules.Site) string {
	return fmt.Sprintf("`%s` makes autograd keep a stack for every operation and check every gradient for NaN, which waits for the GPU each time: drop it once the NaN is found", p.Line(at))
}

func fix(title string, edit rules.TextEdit) []rules.Fix {
	return []rules.Fix{{Title: title, Safety: rules.Unsafe, Edits: []rules.TextEdit{edit}}}
}
