package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinesJSON runs the contract on every shipped trace: it fits the schema, and lines and unattributed rows sum to the
// trace's GPU time.
func TestLinesJSON(t *testing.T) {
	for _, test := range []struct {
		name, root string
		traces     []string
		ranks      float64
	}{
		{"gpt", "gpt", []string{"gpt/trace.json.gz"}, 1},
		{"gpt with call lines", "gpt", []string{"gpt_callers/trace.json.gz"}, 1},
		{"vision_workers", "vision", []string{"vision_workers/trace.json.gz"}, 1},
		{"compile", "compile", []string{"compile/trace.json.gz"}, 1},
		{"lit", "lit", []string{"lit/trace.json.gz"}, 1},
		{"ddp", "ddp", []string{"ddp/ddp.rank0.trace.json.gz", "ddp/ddp.rank1.trace.json.gz"}, 2},
		{"ddp as a folder", "ddp", []string{"ddp"}, 2},
		{"ddp as a glob", "ddp", []string{"ddp/*.trace.json.gz"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			arguments := append([]string{"lines", "--format", "json", "--root", test.root}, test.traces...)
			got := stepline(t, testdata(t, "traces"), "", nil, arguments...)
			if got.code != exitFine {
				t.Fatalf("exit %d: %s", got.code, got.errout)
			}
			document := fitsSchema(t, "lines", got.out)
			trace := document["trace"].(map[string]any)
			total, sum := trace["gpu_total_us"].(float64), 0.0
			for _, each := range document["lines"].([]any) {
				row := each.(map[string]any)
				gpu := row["cuda_self_us"].(float64) + row["cuda_backward_us"].(float64)
				sum += gpu
				parts := 0.0
				for _, part := range row["confidence_us"].(map[string]any) {
					parts += part.(float64)
				}
				if math.Abs(parts-gpu) > 0.002 {
					t.Errorf("%s:%v: confidence_us sums to %.3f µs, the line has %.3f µs", row["file"], row["line"], parts, gpu)
				}
			}
			for _, each := range document["unattributed"].([]any) {
				sum += each.(map[string]any)["cuda_us"].(float64)
			}
			if total == 0 || math.Abs(sum-total) > 0.01 {
				t.Errorf("lines and unattributed rows sum to %.3f µs, the trace has %.3f µs", sum, total)
			}
			if trace["ranks"] != test.ranks {
				t.Errorf("%v ranks, want %v", trace["ranks"], test.ranks)
			}
			for _, file := range trace["files"].([]any) {
				if filepath.IsAbs(file.(string)) {
					t.Errorf("file %s: want the name as given, relative", file)
				}
			}
		})
	}
}

func TestLinesOfOneRank(t *testing.T) {
	folder := testdata(t, "traces")
	total := func(arguments ...string) float64 {
		got := stepline(t, folder, "", nil, append([]string{"lines", "ddp", "--root", "ddp", "--format", "json"}, arguments...)...)
		if got.code != exitFine {
			t.Fatalf("exit %d: %s", got.code, got.errout)
		}
		return fitsSchema(t, "lines", got.out)["trace"].(map[string]any)["gpu_total_us"].(float64)
	}
	all, zero, one := total(), total("--rank", "0"), total("--rank", "1")
	if zero == 0 || one == 0 || math.Abs(all-zero-one) > 0.01 {
		t.Errorf("ranks have %.3f and %.3f µs, together %.3f µs", zero, one, all)
	}
	got := stepline(t, folder, "", nil, "lines", "ddp", "--root", "ddp", "--rank", "7")
	if got.code != exitUsage || got.out != "" {
		t.Errorf("exit %d with output %q", got.code, got.out)
	}
	oneLine(t, got.errout, "no rank 7", "0, 1")
}

func TestLinesText(t *testing.T) {
	folder := testdata(t, "traces", "gpt")
	for _, test := range []struct {
		columns   string
		arguments []string
		want      []string
	}{
		{"80", nil, []string{"NVIDIA H200", "2 steps of 58.6 ms", "MLP.forward", "return self.down(", "1.12 ms", "2.46 ms", "21.5 %", "exact", "gradient accumulation  gpt.py:133"}},
		{"160", []string{"--top", "1"}, []string{"return self.down(F.gelu(self.up(x)))", "████████████████ 1.12 ms  2.46 ms 21.5 %     288"}},
		{"160", []string{"--top", "1", "--sort", "idle"}, []string{"(loss / accum).backward()"}},
	} {
		got := stepline(t, folder, "", map[string]string{"COLUMNS": test.columns}, append([]string{"lines", "trace.json.gz"}, test.arguments...)...)
		if got.code != exitFine || got.errout != "" {
			t.Errorf("exit %d: %s", got.code, got.errout)
		}
		for _, part := range test.want {
			if !strings.Contains(got.out, part) {
				t.Errorf("%q is not in:\n%s", part, got.out)
			}
		}
		if strings.Contains(got.out, "\x1b") {
			t.Error("colour where no terminal is")
		}
	}
	coloured := stepline(t, folder, "", nil, "lines", "trace.json.gz", "--color", "always")
	if !strings.Contains(coloured.out, "\x1b[") {
		t.Error("no colour with --color always")
	}
}

func TestLinesCSV(t *testing.T) {
	got := stepline(t, testdata(t, "traces", "gpt"), "", nil, "lines", "trace.json.gz", "--format", "csv", "--top", "3", "--sort", "forward")
	rows, err := csv.NewReader(strings.NewReader(got.out)).ReadAll()
	if err != nil || got.code != exitFine {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.errout)
	}
	if len(rows) != 4 || rows[0][0] != "file" || rows[1][1] != "136" {
		t.Errorf("want a header and three rows, the optimizer's line first, got %v", rows)
	}
}

// TestLinesBadInput: one clear message each, exit 2 where nothing is usable, 0 with warnings where something is.
func TestLinesBadInput(t *testing.T) {
	cases := testdata(t, "cases")
	for _, test := range []struct {
		name      string
		arguments []string
		code      int
		says      []string
	}{
		{"no trace", nil, exitUsage, []string{"stepline record"}},
		{"missing", []string{"nowhere.json"}, exitUsage, []string{"nowhere.json"}},
		{"no match", []string{"*.nothing"}, exitUsage, []string{"*.nothing"}},
		{"not a trace", []string{"14-not-a-trace/vocab.json"}, exitUsage, []string{"14-not-a-trace/vocab.json: not a "}},
		{"execution graph", []string{"14-not-a-trace/execution-graph.json"}, exitUsage, []string{"execution graph"}},
		{"empty file", []string{"14-not-a-trace/zero-bytes.json"}, exitUsage, []string{"empty file"}},
		{"HTML", []string{"14-not-a-trace/html.json"}, exitUsage, []string{"HTML"}},
		{"LFS pointer", []string{"14-not-a-trace/lfs.json.gz"}, exitUsage, []string{"Git LFS"}},
		{"format", []string{"06-cut-short/input.json", "--format", "xml"}, exitUsage, []string{"text, json or csv"}},
		{"sort key", []string{"06-cut-short/input.json", "--sort", "size"}, exitUsage, []string{"gpu, forward"}},
		{"root", []string{"06-cut-short/input.json", "--root", "nowhere"}, exitUsage, []string{"nowhere"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := stepline(t, cases, "", nil, append([]string{"lines"}, test.arguments...)...)
			if got.code != test.code || got.out != "" {
				t.Errorf("exit %d with output %q, want %d and none", got.code, got.out, test.code)
			}
			oneLine(t, got.errout, test.says...)
		})
	}

	t.Run("cut short", func(t *testing.T) {
		got := stepline(t, cases, "", nil, "lines", "06-cut-short/input.json", "--format", "json", "--root", t.TempDir())
		if got.code != exitFine {
			t.Errorf("exit %d: %s", got.code, got.errout)
		}
		if !strings.Contains(got.errout, "warning") || !strings.Contains(got.errout, "1039") {
			t.Errorf("the warning names no byte 1039: %s", got.errout)
		}
		document := fitsSchema(t, "lines", got.out)
		if total := document["trace"].(map[string]any)["gpu_total_us"]; total != 40.0 {
			t.Errorf("GPU time %v µs, want 40", total)
		}
		if len(document["warnings"].([]any)) == 0 {
			t.Error("no warning in the JSON")
		}
	})

	t.Run("one good, one bad", func(t *testing.T) {
		got := stepline(t, cases, "", nil, "lines", "08-gzip-many-members/input.json.gz", "14-not-a-trace/vocab.json", "--format", "json", "--root", t.TempDir())
		if got.code != exitUsage || !strings.Contains(got.errout, "14-not-a-trace/vocab.json: not a ") {
			t.Errorf("exit %d: %s", got.code, got.errout)
		}
		if total := fitsSchema(t, "lines", got.out)["trace"].(map[string]any)["gpu_total_us"]; total != 70.0 {
			t.Errorf("GPU time %v µs of the good one, want 70", total)
		}
	})

	t.Run("another project", func(t *testing.T) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "other.py"), []byte("print('hello')\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := stepline(t, testdata(t, "traces"), "", nil, "lines", "gpt/trace.json.gz", "--root", folder)
		if got.code != exitFine || !strings.Contains(got.out, "No line of this folder ran in the trace") {
			t.Errorf("exit %d: %s", got.code, got.out)
		}
		if !strings.Contains(got.errout, "pathMappings") || strings.Count(got.errout, "\n") != 1 {
			t.Errorf("want one warning that says what to do, got:\n%s", got.errout)
		}
	})
}
