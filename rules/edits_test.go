package rules_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// TestEditsThroughWith: after any edits of any of its files, a project that took each one by With finds in every file what a new
// project of the same texts finds. The files are real training scripts; each imports from another.
func TestEditsThroughWith(t *testing.T) {
	scripts, err := filepath.Glob("../testdata/traces/*/*.py")
	if err != nil || len(scripts) < 5 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := map[string]string{
			"train.py":     "from lib.steps import *\n" + script(t, rapid.SampledFrom(scripts).Draw(t, "train.py")),
			"lib/steps.py": "from train import main, train\n" + script(t, rapid.SampledFrom(scripts).Draw(t, "lib/steps.py")),
			"evaluate.py":  "import torch\nfrom train import *\nfrom train import main\n\nfor x in range(3):\n    loss = main()\n    loss.backward()\n    print(loss.item())\n",
		}
		paths := slices.Sorted(maps.Keys(texts))
		parsed := func(path string) *pyscan.File { return pyscan.Parse(path, texts[path]) }
		var files []*pyscan.File
		for _, path := range paths {
			files = append(files, parsed(path))
		}
		project := rules.NewProject(files)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(paths)-1).Draw(t, "file")
			text := texts[paths[at]]
			start := rapid.IntRange(0, len(text)).Draw(t, "start")
			end := min(len(text), start+rapid.SampledFrom([]int{0, 0, 1, 3, 30, 400}).Draw(t, "cut"))
			texts[paths[at]] = text[:start] + rapid.SampledFrom(typed).Draw(t, "typed") + text[end:]
			files[at] = parsed(paths[at])
			project = project.With(files[at])
			if rapid.Bool().Draw(t, "typed on") { // the next edit comes before anybody asks
				continue
			}
			var anew []*pyscan.File
			for _, path := range paths {
				anew = append(anew, parsed(path))
			}
			fresh := rules.NewProject(anew)
			for i, file := range files {
				want := described(rules.Run(catalog.All(), rules.Target{File: anew[i], Project: fresh}, rules.Config{}))
				got := described(rules.Run(catalog.All(), rules.Target{File: file, Project: project}, rules.Config{}))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s after the edits (-new project +edited):\n%s", file.Path, diff)
				}
			}
		}
	})
}

func script(t *rapid.T, name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
