package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// indexDDP indexes the two ranks of the shipped DDP run, each on its own, and returns the set's folder.
func indexDDP(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	for _, rank := range []string{"1", "0"} {
		got := stepline(t, testdata(t, "traces", "ddp"), "", map[string]string{"SLURM_JOB_ID": "4711"}, "index", "--parquet", dir, "--host", "node"+rank, "ddp.rank"+rank+".trace.json.gz")
		if got.code != exitFine || !strings.HasPrefix(got.out, "rank "+rank+" → ") {
			t.Fatalf("exit %d: %s%s", got.code, got.out, got.errout)
		}
	}
	return dir
}

func decoded(t *testing.T, document string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(document), &out); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, document)
	}
	return out
}

// TestIndexedRanksReportAsTheTraces: the report on indexed ranks has the numbers of the report on their traces.
func TestIndexedRanksReportAsTheTraces(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir, folder := indexDDP(t), testdata(t, "traces", "ddp")
	traces := stepline(t, folder, "", nil, "report", "--format", "json", "ddp.rank0.trace.json.gz", "ddp.rank1.trace.json.gz")
	// The set needs no sources: it is read from a folder without any.
	indexed := stepline(t, t.TempDir(), "", nil, "report", "--format", "json", dir)
	if traces.code != exitFine || indexed.code != exitFine {
		t.Fatalf("exit %d and %d: %s%s", traces.code, indexed.code, traces.errout, indexed.errout)
	}
	want, got := decoded(t, traces.out), fitsSchema(t, "report", indexed.out)
	for _, part := range []string{"bottleneck", "steps", "lines", "unattributed", "stragglers", "quality", "warnings"} {
		if diff := cmp.Diff(want[part], got[part]); diff != "" {
			t.Errorf("%s differs (−traces +indexed):\n%s", part, diff)
		}
	}
	for key, value := range want["trace"].(map[string]any) {
		if key != "files" && !cmp.Equal(value, got["trace"].(map[string]any)[key]) {
			t.Errorf("trace.%s: %v of the traces, %v indexed", key, value, got["trace"].(map[string]any)[key])
		}
	}
	set := got["set"].(map[string]any)
	if !cmp.Equal(set["run_ids"], []any{"4711"}) || set["hosts"] != 2.0 || !cmp.Equal(set["detailed_ranks"], []any{0.0, 1.0}) || len(set["not_carried"].([]any)) == 0 {
		t.Errorf("set: %v", set)
	}
	sameFindings(t, want["findings"].([]any), got["findings"].([]any))
}

// sameFindings compares findings by rule and place. Costs of a run are means of its ranks' to within the nanoseconds of rounding.
func sameFindings(t *testing.T, want, got []any) {
	t.Helper()
	key := func(f map[string]any) string {
		file, _ := f["file"].(string)
		return f["rule"].(string) + " " + file + ":" + number(f["line"]) + " " + f["verdict"].(string)
	}
	indexed := map[string]map[string]any{}
	for _, each := range got {
		indexed[key(each.(map[string]any))] = each.(map[string]any)
	}
	if len(indexed) != len(want) {
		t.Errorf("%d findings of the traces, %d indexed", len(want), len(indexed))
	}
	for _, each := range want {
		f := each.(map[string]any)
		other := indexed[key(f)]
		if other == nil {
			t.Errorf("%s is not among the indexed findings", key(f))
			continue
		}
		for _, cost := range []string{"cost_us_per_step", "cost_high_us_per_step"} {
			a, _ := f[cost].(float64)
			b, _ := other[cost].(float64)
			if math.Abs(a-b) > 0.01 {
				t.Errorf("%s: %s is %v of the traces, %v indexed", key(f), cost, a, b)
			}
		}
	}
}

// TestIndexedRanksInEveryFormat: text, Markdown, HTML and Prometheus say the same class and name the late rank.
func TestIndexedRanksInEveryFormat(t *testing.T) {
	dir := indexDDP(t)
	for format, says := range map[string][]string{
		"text":       {"COMMUNICATION STALL", "rank 1 is in ddp.py:46 then", "ddp.py:20 runs 18.9 ms a step on rank 1, 10.3 ms on rank 0", "indexed ranks carry sums", "loss.backward()"},
		"markdown":   {"**Bottleneck type: communication stall**", "rank 0 waits for rank 1", "indexed ranks carry sums"},
		"html":       {"communication stall", "rank 0 waits for rank 1", "indexed ranks carry sums"},
		"prometheus": {`stepline_bottleneck_info{class="communication-stall"} 1`, `stepline_exposed_communication_seconds{rank="0"} 0.014`},
	} {
		got := stepline(t, t.TempDir(), "", nil, "report", "--format", format, dir)
		if got.code != exitFine {
			t.Fatalf("%s: exit %d: %s", format, got.code, got.errout)
		}
		flat := strings.Join(strings.Fields(got.out), " ")
		for _, part := range says {
			if !strings.Contains(flat, part) {
				t.Errorf("%s does not say %q", format, part)
			}
		}
	}
}

// TestIndexedRanksDiffAsTheTraces: a comparison gives the same numbers whether either side is indexed or not.
func TestIndexedRanksDiffAsTheTraces(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir, folder := indexDDP(t), testdata(t, "traces", "ddp")
	both := []string{"ddp.rank0.trace.json.gz", "ddp.rank1.trace.json.gz"}
	run := func(base []string, new string) map[string]any {
		got := stepline(t, folder, "", nil, append(append([]string{"diff", "--format", "json"}, base...), "--with", new)...)
		if got.code != exitFine {
			t.Fatalf("exit %d: %s", got.code, got.errout)
		}
		return fitsSchema(t, "diff", got.out)
	}
	want := run(both, both[1])
	got := run([]string{dir}, both[1])
	for _, part := range []string{"step", "gpu_busy", "causes", "lines", "ops", "kernels"} {
		if diff := cmp.Diff(want[part], got[part], approximately); diff != "" {
			t.Errorf("%s differs (−traces +indexed):\n%s", part, diff)
		}
	}
	if same := run([]string{dir}, dir); same["step"].(map[string]any)["delta_us"] != 0.0 {
		t.Errorf("a set differs from itself: %v", same["step"])
	}
}

// approximately allows for the last digits, which depend on the order of a sum.
var approximately = cmp.Comparer(func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*math.Max(1, math.Abs(a)) })

// TestIndexedLines: lines of a set, of all ranks and of one, are those of the traces.
func TestIndexedLines(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir, folder := indexDDP(t), testdata(t, "traces", "ddp")
	for _, more := range [][]string{nil, {"--rank", "1"}} {
		traces := stepline(t, folder, "", nil, append([]string{"lines", "--format", "csv", "ddp.rank0.trace.json.gz", "ddp.rank1.trace.json.gz"}, more...)...)
		indexed := stepline(t, folder, "", nil, append([]string{"lines", "--format", "csv", dir}, more...)...)
		if diff := cmp.Diff(traces.out, indexed.out); diff != "" {
			t.Errorf("lines %v differ:\n%s", more, diff)
		}
	}
	fitsSchema(t, "lines", stepline(t, folder, "", nil, "lines", "--format", "json", dir).out)
	none := stepline(t, folder, "", nil, "lines", "--rank", "7", dir)
	if none.code != exitUsage {
		t.Errorf("exit %d", none.code)
	}
	oneLine(t, none.errout, "no rank 7")
}

func TestIndexWrongUsage(t *testing.T) {
	dir, folder := indexDDP(t), testdata(t, "traces", "ddp")
	for _, test := range []struct {
		arguments []string
		says      string
	}{
		{[]string{"index", "ddp.rank0.trace.json.gz"}, "--parquet"},
		{[]string{"index", "--parquet", "x"}, "name a trace"},
		{[]string{"index", "--parquet", "x", "--rank", "-3", "ddp.rank0.trace.json.gz"}, "counts from 0"},
		{[]string{"index", "--parquet", "x", "--rank", "3", "ddp.rank0.trace.json.gz", "ddp.rank1.trace.json.gz"}, "--rank names one"},
		{[]string{"index", "--parquet", "x", "nowhere.json"}, "nowhere.json"},
		{[]string{"report", dir, "ddp.rank0.trace.json.gz"}, "not both"},
		{[]string{"lines", "--memory", dir}, "memory snapshot"},
		{[]string{"report", filepath.Join(dir, "lines", "rank=0", "part.parquet")}, "folder"},
	} {
		got := stepline(t, folder, "", nil, test.arguments...)
		if got.code != exitUsage || got.out != "" {
			t.Errorf("%v: exit %d with output %q", test.arguments, got.code, got.out)
		}
		oneLine(t, got.errout, test.says)
	}
	if _, err := os.Stat(filepath.Join(folder, "x")); err == nil {
		t.Error("wrong usage wrote a folder")
	}
}

// TestDamagedRankIsTold: one damaged file costs its rank, named on standard error, and the report stands.
func TestDamagedRankIsTold(t *testing.T) {
	dir := indexDDP(t)
	if err := os.Truncate(filepath.Join(dir, "gpu", "rank=1", "part.parquet"), 500); err != nil {
		t.Fatal(err)
	}
	got := stepline(t, t.TempDir(), "", nil, "report", "--format", "json", dir)
	if got.code != exitFine || !strings.Contains(got.errout, "rank 1 is left out") {
		t.Errorf("exit %d: %s", got.code, got.errout)
	}
	document := fitsSchema(t, "report", got.out)
	if document["set"].(map[string]any)["ranks_left_out"] != 1.0 || document["trace"].(map[string]any)["ranks"] != 1.0 {
		t.Errorf("set %v", document["set"])
	}
}
