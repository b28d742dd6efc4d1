// Package prf008 holds the rule PRF008 stale-profiler-attribute: profiler averages are read through an attribute that torch 2.4 renamed.
package prf008

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is PRF008.
var Rule = &rules.Rule{
	ID:       "PRF008",
	Name:     "stale-profiler-attribute",
	Summary:  "profiler averages are read through an attribute that torch 2.4 renamed",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	Page:     page,
	Check:    check,
}

// renamed are FunctionEvent's attributes that torch 2.4 renamed from cuda to device. FunctionEventAvg, which key_averages()
// gives, kept only cuda_time; FunctionEvent kept them all as deprecated properties (torch/autograd/profiler_util.py).
var renamed = map[string]string{
	"cuda_time": "device_time", "cuda_time_str": "device_time_str", "cuda_time_total": "device_time_total", "cuda_time_total_str": "device_time_total_str",
	"self_cuda_time_total": "self_device_time_total", "self_cuda_time_total_str": "self_device_time_total_str",
	"cuda_memory_usage": "device_memory_usage", "self_cuda_memory_usage": "self_device_memory_usage",
}

func check(p *rules.Pass) {
	if p.Torch.Under(2, 4) || !p.MentionsInProject("profile") {
		return
	}
	for _, s := range p.Tree.Sites {
		attr, ok := s.Node.(*pyscan.Attribute)
		if !ok || renamed[attr.Attr] == "" || s.Role == rules.RoleTarget || p.AsksFor(s, attr) {
			continue
		}
		p.Report(s, rules.Finding{
			Span:    attr.AttrSpan,
			Message: fmt.Sprintf("`%s` has been `%s` since torch 2.4: on averages (`key_averages()`) the old name is gone and raises an AttributeError, on single events it warns", attr.Attr, renamed[attr.Attr]),
			Tags:    []rules.Tag{rules.TagDeprecated},
			Fixes: []rules.Fix{{Title: "Use " + renamed[attr.Attr], Safety: rules.Unsafe, Edits: []rules.TextEdit{
				{File: p.File, Span: attr.AttrSpan, New: renamed[attr.Attr]},
			}}},
		})
	}
}
