package rules_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// typed are the texts the random edits insert: pieces of code, and words that decide whether rules look at all.
var typed = []string{
	"0", "\n", "    ", "#", "x", "(", ")", ".item()", ".cuda()", "cuda", "torch", "softmax", "profile", "DataLoader",
	"set_default_device", "MultiheadAttention", "num_workers=4, ", "import torch\n", "with torch.no_grad():\n", "loss.backward()\n",
	"# noqa\n", "scaled_dot_product_attention", "def f(x):\n    return x\n",
}

// TestEditsThroughWith: after any edits, a project that took each one by With finds what a new project of the same text finds,
// in the edited file and in the one that imports it.
func TestEditsThroughWith(t *testing.T) {
	script, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
	if err != nil {
		t.Fatal(err)
	}
	other := pyscan.Parse("evaluate.py", "import torch\nfrom train import *\nfrom train import main\n\nfor x in range(3):\n    loss = main()\n    loss.backward()\n    print(loss.item())\n")
	rapid.Check(t, func(t *rapid.T) {
		text := string(script)
		project := rules.NewProject([]*pyscan.File{pyscan.Parse("train.py", text), other})
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			start := rapid.IntRange(0, len(text)).Draw(t, "start")
			end := min(len(text), start+rapid.SampledFrom([]int{0, 0, 1, 3, 30, 400}).Draw(t, "cut"))
			text = text[:start] + rapid.SampledFrom(typed).Draw(t, "typed") + text[end:]
			file := pyscan.Parse("train.py", text)
			project = project.With(file)
			fresh := rules.NewProject([]*pyscan.File{pyscan.Parse("train.py", text), other})
			for i, at := range []*pyscan.File{file, other} {
				want := described(rules.Run(catalog.All(), rules.Target{File: fresh.Files()[i], Project: fresh}, rules.Config{}))
				got := described(rules.Run(catalog.All(), rules.Target{File: at, Project: project}, rules.Config{}))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s after the edits (-new project +edited):\n%s", at.Path, diff)
				}
			}
		}
	})
}

// described is what a user sees of findings.
func described(result rules.Result) []string {
	var out []string
	for _, f := range result.Findings {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %d-%d %v %s", f.Rule.ID, f.Span.Start, f.Span.End, f.Severity, f.Message)
		for _, r := range f.Related {
			fmt.Fprintf(&b, "; %s %v %s", r.File.Path, r.Span, r.Message)
		}
		for _, fix := range f.Fixes {
			fmt.Fprintf(&b, "; %s:", fix.Title)
			for _, e := range fix.Edits {
				fmt.Fprintf(&b, " %s %v %q", e.File.Path, e.Span, e.New)
			}
		}
		out = append(out, b.String())
	}
	return out
}
