package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/traceindex/load"
)

// described is what a user sees of a check.
func described(c *Checked) []string {
	var out []string
	for _, f := range c.Findings {
		line := fmt.Sprintf("%s:%d %s %v %s %v", f.File.Path, f.File.Line(f.Span.Start), f.Rule.ID, f.Severity, f.Message, f.Tags)
		for _, r := range f.Related {
			line += fmt.Sprintf("; %s:%d %s", r.File.Path, r.File.Line(r.Span.Start), r.Message)
		}
		for _, fix := range f.Fixes {
			line += "; " + fix.Title
			for _, e := range fix.Edits {
				line += fmt.Sprintf(" %s %v %q", e.File.Path, e.Span, e.New)
			}
		}
		out = append(out, line)
	}
	for _, w := range c.Warnings {
		out = append(out, w.Message)
	}
	return append(out, fmt.Sprint(len(c.Files), " files"))
}

// TestCheckRemembered: what comes from the cache is what a check anew says, whatever was changed, added or damaged since.
func TestCheckRemembered(t *testing.T) {
	for _, variable := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(variable, t.TempDir())
	}
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("../testdata/traces/gpt/gpt.py")
	if err != nil {
		t.Fatal(err)
	}
	put("train.py", "from steps import step\n"+string(script))
	put("steps.py", "import torch\n\ndef step(loss):\n    print(loss.item())\n"+strings.Repeat("# a long table\n", minKeptBytes/15))
	put("broken.py", "def f(:\n")
	put("binary.py", "\x00")
	put("no.ipynb", "{")
	put("book.ipynb", `{"cells":[{"cell_type":"code","metadata":{},"outputs":[],"execution_count":null,"source":["import torch\n","for x in y:\n","    loss = torch.ones(1).cuda()\n","    loss.backward()\n","    print(loss.item())\n"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`)
	folder, err := load.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, settings Settings, paths []string, kept int) {
		t.Helper()
		for _, turn := range []string{"first", "again"} {
			w, err := Open(context.Background(), root, settings)
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := w.Check(context.Background(), paths, nil)
			if err != nil {
				t.Fatal(err)
			}
			w, _ = Open(context.Background(), root, settings)
			got, err := w.CheckRemembered(context.Background(), paths)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(described(fresh), described(got)); diff != "" {
				t.Errorf("%s, %s (-check anew +remembered):\n%s", what, turn, diff)
			}
			if len(fresh.Findings) == 0 {
				t.Errorf("%s: no findings to remember", what)
			}
		}
		if n := len(keptChecks(folder)); n != kept {
			t.Errorf("%s: %d checks are kept, want %d", what, n, kept)
		}
	}
	same("a folder", DefaultSettings(), nil, 1)
	put("steps.py", strings.Replace(string(must(os.ReadFile(filepath.Join(root, "steps.py")))), "loss.item()", "loss", 1))
	same("a file changed", DefaultSettings(), nil, 1)
	put("later.py", string(script))
	same("a file added", DefaultSettings(), nil, 1)
	fewer := DefaultSettings()
	fewer.Rules = RuleSettings{Select: []string{"SYN"}}
	same("other settings", fewer, nil, 1)
	same("one path", DefaultSettings(), []string{filepath.Join(root, "train.py"), filepath.Join(root, "steps.py")}, 2)
	for _, info := range keptChecks(folder) {
		name := filepath.Join(folder, info.Name())
		data := string(must(os.ReadFile(name)))
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(data, `"Message":"`, `"Message":"kept: `)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(context.Background(), root, fewer)
	if err != nil {
		t.Fatal(err)
	}
	if kept := must(w.CheckRemembered(context.Background(), nil)); !strings.HasPrefix(kept.Findings[0].Message, "kept: ") {
		t.Error("the cache was not read")
	}
	for _, info := range keptChecks(folder) {
		name := filepath.Join(folder, info.Name())
		data := string(must(os.ReadFile(name)))
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(data, `"Start":`, `"Start":9`)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	same("damaged", DefaultSettings(), nil, 2)
	if n, bytes, err := ForgetChecks(); n != 2 || bytes == 0 || err != nil || len(keptChecks(folder)) != 0 {
		t.Errorf("forgot %d checks of %d bytes: %v", n, bytes, err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
