// Package iol002 holds the rule IOL002 heavy-log-every-step: histograms, figures or images are logged in every training step.
package iol002

import (
	_ "embed"
	"fmt"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is IOL002.
var Rule = &rules.Rule{
	ID:       "IOL002",
	Name:     "heavy-log-every-step",
	Summary:  "histograms, figures or images are logged in every training step",
	Severity: rules.Warning,
	Fix:      rules.Unsafe,
	NeedsGPU: true,
	Price:    rules.PriceHost,
	Page:     page,
	Check:    check,
}

var methods = map[string]string{
	"add_histogram": "a histogram", "add_figure": "a figure", "add_image": "an image", "add_images": "images", "add_video": "a video",
	"add_embedding": "an embedding", "add_pr_curve": "a curve", "add_mesh": "a mesh", "add_graph": "the graph", "log_image": "an image", "log_figure": "a figure",
}

var functions = map[string]string{
	"matplotlib.pyplot.savefig": "a figure", "wandb.Image": "an image", "wandb.Histogram": "a histogram", "wandb.Video": "a video",
	"wandb.Table": "a table", "torchvision.utils.save_image": "an image",
}

func check(p *rules.Pass) {
	for _, at := range p.Tree.Calls {
		call := at.Call()
		path := p.Resolve(call.Func)
		what := functions[path]
		if attr, ok := call.Func.(*pyscan.Attribute); ok && path == "" {
			what = methods[attr.Attr]
		}
		if what == "" {
			continue
		}
		hot := p.Hot(at)
		if hot == nil || hot.Kind != rules.InLoop && hot.Kind != rules.Reached && hot.Kind != rules.InHook || p.InEvaluation(at) {
			continue
		}
		p.ReportHot(at, hot, rules.Finding{
			Message: fmt.Sprintf("`%s` makes %s %s: the tensors are copied to the host and encoded there while the GPU waits; log it every N steps", p.Line(call.Func), what, hot.When()),
			Fixes:   p.EveryN(at, 1000),
		}, rules.NotPeriodic)
	}
}
