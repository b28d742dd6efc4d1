package attribute_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/load"
)

// TestCases attributes the inputs of testdata/cases whose EXPECT.md speaks of lines. Rows are "file:line function ns", with
// "backward" or the reason where there is one; sources are the case's own and those made here.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources map[string]string
		want    []string
	}{
		{"41-cuda-graph/input.json", nil, []string{"infer.py:30 decode 120000 no source in the workspace"}},
		{"46-external-id-lies/input.json", nil, []string{"a.py:3 fa 70000 no source in the workspace", "b.py:8 fb 30000 no source in the workspace"}},
		{"40-old-category-names/old.json", map[string]string{"train.py": strings.Repeat("\n", 18) + "def step(x, w):\n    y = x\n    z = y @ w\n    return z\n" + strings.Repeat("\n", 17) + "step(1, 2)\n"},
			[]string{" 5000 no launch in the trace", "train.py:21 step 25000 exact"}},
		{"49-definition-line/input.json", map[string]string{"train.py": ""}, []string{"train.py:12 Net.step 30000 exact", "train.py:13 Net.step 40000 exact"}},
		{"47-backward-thread/input.json", nil, []string{"model.py:20 forward 20000 no source in the workspace", "model.py:20 forward 50000 no source in the workspace, backward",
			"model.py:33 head 10000 no source in the workspace", "model.py:33 head 25000 no source in the workspace, backward", "train.py:10 step 5000 gradient accumulation"}},
		{"44-rocm/input.json", nil, []string{" 100000 no launch in the trace", "train.py:10 step 55000 no source in the workspace"}},
		{"27-child-outlives-parent/input.json", nil, []string{"train.py:10 step 60000 no source in the workspace"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("../../testdata/cases", filepath.FromSlash(c.name))
			root := filepath.Dir(path)
			if c.sources != nil && c.sources["train.py"] != "" {
				root = project(t, c.sources)
			}
			got := costRows(t, path, root)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func costRows(t *testing.T, trace, root string) []string {
	t.Helper()
	if _, err := os.Stat(trace); err != nil {
		t.Fatal(err)
	}
	run, err := load.Open(context.Background(), []string{trace}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := attribute.Directory(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	costs, err := attribute.Run(context.Background(), run, src)
	if err != nil {
		t.Fatal(err)
	}
	checkAccounted(t, costs, nil)
	return rowsOf(costs)
}

func rowsOf(costs *traceindex.Costs) []string {
	var rows []string
	for _, l := range costs.Lines {
		if l.SelfNs > 0 {
			rows = append(rows, fmt.Sprintf("%s:%d %s %d %s", l.File, l.Line, l.Function, l.SelfNs, l.Confidence))
		}
		if l.BackwardNs > 0 {
			rows = append(rows, fmt.Sprintf("%s:%d %s %d backward", l.File, l.Line, l.Function, l.BackwardNs))
		}
	}
	for _, u := range costs.Unattributed {
		place := ""
		if u.File != "" {
			place = fmt.Sprintf("%s:%d %s", u.File, u.Line, u.Function)
		}
		rows = append(rows, fmt.Sprintf("%s %d %s", place, u.Ns, u.Reason))
	}
	slices.SortFunc(rows, cmp.Compare[string])
	return rows
}
