// Package amp001 holds the rule AMP001 fp32-matmul-without-tf32: matrix products in full float32 on CUDA, without TF32 or autocast.
package amp001

import (
	_ "embed"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP001.
var Rule = &rules.Rule{
	ID:        "AMP001",
	Name:      "fp32-matmul-without-tf32",
	Summary:   "matrix products in full float32 on CUDA, without TF32 or autocast",
	Severity:  rules.Warning,
	Fix:       rules.Unsafe,
	NeedsGPU:  true,
	Price:     rules.PriceKernels,
	HostStays: true,
	Ops:       []string{"sgemm", "simt"},
	Page:      page,
	Check:     check,
}

func check(p *rules.Pass) {
	at := p.FullPrecisionTraining()
	if at == nil {
		return
	}
	p.Report(at, rules.Finding{
		Span:    p.HeaderSpan(at),
		Message: "this training runs its matrix products in full float32: no autocast, no bfloat16, and TF32 is off for them by default; `torch.set_float32_matmul_precision(\"high\")` lets tensor cores do them",
		Fixes:   fixes(p),
	})
}

// fixes sets the precision after the file's imports.
func fixes(p *rules.Pass) []rules.Fix {
	insert, ok := p.AfterImports()
	if !ok || !p.NameIsTorch("torch") {
		return nil
	}
	newline := p.Tree.Newline()
	text := newline + newline + `torch.set_float32_matmul_precision("high")`
	if !blankLineAt(strings.TrimPrefix(p.File.Text[insert:], newline)) {
		text += newline
	}
	return []rules.Fix{{
		Title: "Allow TF32: `torch.set_float32_matmul_precision(\"high\")`", Safety: rules.Unsafe,
		Edits: []rules.TextEdit{{File: p.File, Span: pyscan.Span{Start: insert, End: insert}, New: text}},
	}}
}

// blankLineAt reports whether a text begins with a line that holds nothing.
func blankLineAt(text string) bool {
	text = strings.TrimLeft(text, " \t\f")
	return text == "" || text[0] == '\n' || text[0] == '\r'
}
