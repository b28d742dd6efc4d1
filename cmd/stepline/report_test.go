package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReportOfEveryTrace: the JSON fits its schema, busy time and gaps sum to each step, the shares to 1.
func TestReportOfEveryTrace(t *testing.T) {
	for _, test := range []struct{ name, root, trace, class string }{
		{"gpt", "gpt", "gpt/trace.json.gz", "launch-bound"},
		{"vision_workers", "vision", "vision_workers/trace.json.gz", ""},
		{"compile", "compile", "compile/trace.json.gz", ""},
		{"lit", "lit", "lit/trace.json.gz", ""},
		{"ddp", "ddp", "ddp", "communication-stall"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := stepline(t, testdata(t, "traces"), "", nil, "report", test.trace, "--root", test.root, "--format", "json")
			if got.code != exitFine {
				t.Fatalf("exit %d: %s", got.code, got.errout)
			}
			document := fitsSchema(t, "report", got.out)
			bottleneck := document["bottleneck"].(map[string]any)
			if class := bottleneck["class"]; test.class != "" && class != test.class {
				t.Errorf("class %v, want %s", class, test.class)
			}
			sum := 0.0
			for _, part := range bottleneck["shares"].(map[string]any) {
				sum += part.(float64)
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("the shares sum to %v", sum)
			}
			steps := document["steps"].([]any)
			if len(steps) == 0 {
				t.Fatal("no steps")
			}
			for _, each := range steps {
				step := each.(map[string]any)
				duration := step["duration_us"].(float64)
				all := step["gpu_busy"].(float64) * duration
				for _, gap := range step["gaps"].([]any) {
					all += gap.(map[string]any)["duration_us"].(float64)
				}
				if math.Abs(all-duration) > 0.01 {
					t.Errorf("step %v of rank %v: busy and gaps sum to %.3f µs of %.3f µs", step["index"], step["rank"], all, duration)
				}
			}
		})
	}
}

func TestReportFormats(t *testing.T) {
	folder := testdata(t, "traces")
	for format, parts := range map[string][]string{
		"text":       {"LAUNCH BOUND", "gpt.py:133", "Do first", "forward GPT", "waiting for a launch", "return self.down(F.gelu("},
		"markdown":   {"**Bottleneck type: launch bound**", "## Fix", "| forward GPT |", "stepline diff gpt/trace.json.gz --with after"},
		"html":       {"<!doctype html>", "launch bound", `data-file="gpt.py" data-line="133"`, "<svg"},
		"prometheus": {`stepline_bottleneck_info{class="launch-bound"} 1`, "# TYPE stepline_step_duration_seconds gauge"},
	} {
		t.Run(format, func(t *testing.T) {
			got := stepline(t, folder, "", nil, "report", "gpt/trace.json.gz", "--root", "gpt", "--format", format)
			if got.code != exitFine || got.errout != "" {
				t.Errorf("exit %d: %s", got.code, got.errout)
			}
			for _, part := range parts {
				if !strings.Contains(got.out, part) {
					t.Errorf("%q is not in the %s report", part, format)
				}
			}
		})
	}
}

func TestReportOutput(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "report.html")
	got := stepline(t, testdata(t, "traces"), "", nil, "report", "gpt/trace.json.gz", "--root", "gpt", "--format", "html", "--output", path)
	if got.code != exitFine || got.out != "" || !strings.Contains(read(t, path), "<!doctype html>") {
		t.Errorf("exit %d with output %q: %s", got.code, got.out, got.errout)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("files left beside the report: %v, %v", left, err)
	}
	missing := stepline(t, testdata(t, "traces"), "", nil, "report", "gpt/trace.json.gz", "--root", "gpt", "--output", filepath.Join(folder, "no", "such", "folder.txt"))
	if missing.code != exitUsage {
		t.Errorf("exit %d", missing.code)
	}
	oneLine(t, missing.errout, "there is no folder")
}

func TestReportBadInput(t *testing.T) {
	cases := testdata(t, "cases")
	for _, test := range []struct {
		arguments []string
		says      string
	}{
		{nil, "stepline report trace.json.gz"},
		{[]string{"nowhere.json"}, "nowhere.json"},
		{[]string{"14-not-a-trace/html.json"}, "HTML"},
		{[]string{"06-cut-short/input.json", "--format", "pdf"}, "prometheus"},
		{[]string{"06-cut-short/input.json", "--label", "run=today"}, "--format prometheus"},
		{[]string{"06-cut-short/input.json", "--format", "prometheus", "--label", "run"}, "name=value"},
		{[]string{"06-cut-short/input.json", "--format", "prometheus", "--label", "rank=1"}, "rank"},
	} {
		got := stepline(t, cases, "", nil, append([]string{"report"}, test.arguments...)...)
		if got.code != exitUsage || got.out != "" {
			t.Errorf("%v: exit %d with output %q", test.arguments, got.code, got.out)
		}
		oneLine(t, got.errout, test.says)
	}
	// No steps and next to no events: still a report.
	for _, format := range reportFormats {
		got := stepline(t, cases, "", nil, "report", "14-not-a-trace/empty-trace.json", "--format", format, "--root", t.TempDir())
		if got.code != exitFine || got.out == "" {
			t.Errorf("%s of an empty trace: exit %d: %s", format, got.code, got.errout)
		}
	}
}
