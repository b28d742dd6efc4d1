// Package amp007 holds the rule AMP007 gemm-dims-not-multiple-of-8: a Linear layer's size is no multiple of 8 under half precision.
package amp007

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"stepline/pyscan"
	"stepline/rules"
)

//go:embed doc.md
var page string

// Rule is AMP007.
var Rule = &rules.Rule{
	ID:        "AMP007",
	Name:      "gemm-dims-not-multiple-of-8",
	Summary:   "a Linear layer's size is no multiple of 8 under half precision",
	Severity:  rules.Warning,
	Fix:       rules.Unsafe,
	NeedsGPU:  true,
	Price:     rules.PriceKernels,
	HostStays: true,
	Page:      page,
	Check:     check,
}

func check(p *rules.Pass) {
	if p.InTests() || !p.RunsInHalfPrecision() {
		return
	}
	for _, at := range p.CallsTo("torch.nn.Linear") {
		call := at.Call()
		in, out := size(rules.Argument(call, 0, "in_features")), size(rules.Argument(call, 1, "out_features"))
		switch {
		case in >= 32 && in%8 != 0:
			p.Report(at, rules.Finding{Message: message(p, at, "in_features", in)})
		case out >= 256 && out%8 != 0:
			p.Report(at, rules.Finding{Message: message(p, at, "out_features", out), Fixes: pad(p, call, out)})
		case out > 1 && out%8 != 0: // a classifier's head: small, but the padding is paid each step
			p.Report(at, rules.Finding{Severity: rules.Hint, Message: message(p, at, "out_features", out)})
		}
	}
}

func message(p *rules.Pass, at *rules.Site, name string, n int) string {
	return fmt.Sprintf("`%s`: `%s=%d` is no multiple of 8, and half-precision matrix products run best on such sizes; pad it to %d where the rest of the model allows", p.Line(at), name, n, (n+7)/8*8)
}

// size is a literal integer, 0 for anything else.
func size(e pyscan.Expr) int {
	c, ok := e.(*pyscan.Constant)
	if !ok || c.Kind != pyscan.ConstInt {
		return 0
	}
	n, err := strconv.Atoi(strings.ReplaceAll(c.Text, "_", ""))
	if err != nil {
		return 0
	}
	return n
}

// pad makes the layer wider by outputs that no target names. A layer whose weight is tied to another's keeps its size.
func pad(p *rules.Pass, call *pyscan.Call, out int) []rules.Fix {
	if p.MentionsTiedWeight() {
		return nil
	}
	padded := strconv.Itoa((out + 7) / 8 * 8)
	return []rules.Fix{{
		Title: fmt.Sprintf("Pad the outputs to %s", padded), Safety: rules.Unsafe,
		Edits: []rules.TextEdit{p.Tree.Replace(rules.Argument(call, 1, "out_features"), padded)},
	}}
}
