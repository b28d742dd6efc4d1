package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/pyscan"
	"stepline/rules"
)

const testdata = "../../testdata"

// loaded is a trace that proves how the loaders ran and saw nothing else.
type loaded rules.LoaderEvidence

func (loaded) StepNs() int64                     { return 0 }
func (loaded) Measure(rules.Question) rules.Cost { return rules.Cost{} }
func (l loaded) Loader() rules.LoaderEvidence    { return rules.LoaderEvidence(l) }

// lint runs the whole catalogue over the Python files of a folder, one project, and lists "file:line RULE".
func lint(t *testing.T, dir string, config rules.Config, costs rules.Costs) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no Python files in %s: %v", dir, err)
	}
	var files []*pyscan.File
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, pyscan.Parse(filepath.Base(p), string(text)))
	}
	project := rules.NewProject(files)
	var out []string
	for _, f := range files {
		for _, found := range rules.Run(All(), rules.Target{File: f, Project: project, Costs: costs}, config).Findings {
			out = append(out, fmt.Sprintf("%s:%d %s", f.Path, f.Line(found.Span.Start), found.Rule.ID))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestPlantedFindings: the scripts of the real traces give the findings that were planted in them, and no others.
func TestPlantedFindings(t *testing.T) {
	tests := []struct {
		dir   string
		costs rules.Costs
		want  string
	}{
		{"gpt", nil, `
			gpt.py:104 XFR001
			gpt.py:111 SYN006
			gpt.py:119 OPT002
			gpt.py:138 SYN001
			gpt.py:139 SYN002
			gpt.py:141 MEM001
			gpt.py:24 XFR005`},
		{"vision", nil, `
			model.py:45 XFR006
			train.py:16 SYN001
			train.py:25 XFR001
			train.py:26 XFR001
			train.py:30 OPT001
			train.py:31 AMP005
			train.py:34 SYN001
			train.py:36 SYN004
			train.py:48 OPT002`},
		{"vision", loaded(rules.LoaderSingleProcess), `
			data.py:38 DAT005
			model.py:45 XFR006
			train.py:16 SYN001
			train.py:25 XFR001
			train.py:26 XFR001
			train.py:30 OPT001
			train.py:31 AMP005
			train.py:34 SYN001
			train.py:36 SYN004
			train.py:45 DAT001
			train.py:48 OPT002`},
		{"lit", nil, `
			lit.py:21 SYN008
			lit.py:25 OPT002`},
		{"ddp", nil, `
			ddp.py:26 SYN001
			ddp.py:34 OPT002
			ddp.py:43 XFR005`},
		{"compile", nil, `
			compiled.py:18 SYN001`},
	}
	for _, test := range tests {
		name := test.dir
		if test.costs != nil {
			name += " with a trace"
		}
		t.Run(name, func(t *testing.T) {
			got := lint(t, filepath.Join(testdata, "traces", test.dir), rules.Config{}, test.costs)
			// what other families hold of these scripts has tests of its own
			got = slices.DeleteFunc(got, func(s string) bool {
				for _, family := range []string{"DST", "CMP", "PRF", "AMP001"} {
					if strings.Contains(s, " "+family) {
						return true
					}
				}
				return false
			})
			if diff := cmp.Diff(strings.Fields(test.want), strings.Fields(strings.Join(got, "\n"))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTorchLoadCase is case 80: what is flagged depends on the torch version.
func TestTorchLoadCase(t *testing.T) {
	dir := filepath.Join(testdata, "cases", "80-torch-load")
	read := func(name string) rules.TorchRange {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		project := t.TempDir()
		if err := os.WriteFile(filepath.Join(project, "requirements.txt"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		return rules.TorchFromFiles(os.DirFS(project), ".")
	}
	for _, test := range []struct {
		name  string
		torch rules.TorchRange
		want  []string
	}{
		{"unknown", rules.TorchRange{}, []string{"code.py:10 IOL003", "code.py:13 IOL003", "code.py:14 IOL003", "code.py:8 IOL003"}},
		{"old", read("requirements-old.txt"), []string{"code.py:10 IOL003", "code.py:13 IOL003", "code.py:14 IOL003", "code.py:8 IOL003"}},
		{"new", read("requirements-new.txt"), []string{"code.py:10 IOL003"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := lint(t, dir, rules.Config{TargetTorch: test.torch}, nil)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPinnedCopiesCase is case 82: non_blocking copies follow a name's flow.
func TestPinnedCopiesCase(t *testing.T) {
	got := lint(t, filepath.Join(testdata, "cases", "82-pinned-copies"), rules.Config{Select: []string{"XFR002"}}, nil)
	want := []string{"code.py:26 XFR002", "code.py:27 XFR002", "code.py:5 XFR002", "code.py:7 XFR002"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	all := lint(t, filepath.Join(testdata, "cases", "82-pinned-copies"), rules.Config{}, nil)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("with the whole catalogue (-want +got):\n%s", diff)
	}
}
