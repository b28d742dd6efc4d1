package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"stepline/report"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
)

// sampleRun is two ranks of two steps with every kind of row, and names that no format may take for markup.
func sampleRun() *report.Run {
	place := func(file string, line int, function string) attribute.Place {
		return attribute.Place{File: file, Line: line, Function: function, Confidence: traceindex.ConfidenceExact}
	}
	at := func(start, end int64) traceindex.Interval {
		return traceindex.Interval{StartNs: start * 1000, EndNs: end * 1000}
	}
	backward := place("train.py", 10, "train")
	step := func(rank, number int, start int64) diagnose.Step {
		return diagnose.Step{
			Rank: rank, Step: traceindex.Step{Number: number, StartNs: start * 1000, EndNs: (start + 1000) * 1000, Source: "ProfilerStep"},
			BusyNs: 600_000, ComputeNs: 450_000, CopyNs: 50_000, ExposedCommunicationNs: 100_000,
			Gaps: []diagnose.Gap{
				{Interval: at(start, start+250), Cause: diagnose.CauseLoader, Place: place("data.py", 4, "Images.__getitem__"), Known: true, Doing: "PIL.Image.open"},
				{Interval: at(start+500, start+600), Cause: diagnose.CauseSync, Place: backward, Known: true, Doing: "cudaStreamSynchronize"},
				{Interval: at(start+900, start+950), Cause: diagnose.CauseUnknown},
			},
			Phases: []diagnose.Phase{
				{Interval: at(start, start+300), Op: "data loading", GPUBusyNs: 50_000, DependsOn: "the step before", Note: "GPU idle 250 µs, most of it: waiting for the loader (data.py:4)"},
				{Interval: at(start+300, start+1000), Op: "forward <Net|x>", GPUBusyNs: 550_000, DependsOn: "data loading"},
			},
		}
	}
	costs := sampleCosts()
	costs.Summary.Ranks, costs.Summary.Files = 2, []string{"run/<rank0>.json.gz", "run/rank1.json.gz"}
	costs.Warnings = nil
	findings := sampleFindings()
	findings.Findings[0].Cost.Evidence = "<b>148</b> waits | in 2 steps"
	return &report.Run{
		Costs: costs, RankNumbers: []int{0, 1}, Findings: findings, Source: sampleSource, Version: "1.2.3",
		Warnings: []traceindex.Warning{{Code: "cut-short", Message: "run/rank1.json.gz: the file ends early, at byte 1039"}},
		Diagnosis: &diagnose.Diagnosis{
			Class: diagnose.DataStall, StepMeanNs: 1_000_000, UnknownShare: 0.125,
			Shares:     diagnose.Shares{Data: 0.25, Communication: 0.1, Sync: 0.1, Copy: 0.05, Compute: 0.45, Other: 0.05},
			Evidence:   []diagnose.Evidence{{Message: "decode at data.py:4 holds the GPU idle 250 µs of each 1.00 ms step", Place: place("data.py", 4, "Images.__getitem__"), Known: true, NsPerStep: 250_000, Share: 0.25}, {Message: "no place <here>", NsPerStep: 1000, Share: 0.001}},
			Steps:      []diagnose.Step{step(0, 7, 5000), step(1, 7, 5100), step(0, 8, 6000), step(1, 8, 6100)},
			Stragglers: []diagnose.Straggler{{Rank: 1, Name: "rank 1", WaitNs: 200_000, WaitingName: "rank 0", Collectives: 6, Steps: 2, Place: backward, Known: true}},
			Findings:   []diagnose.Finding{{Rule: "TRC01", Name: "loader-gaps", Message: "the loader holds the GPU idle 250 µs a step", NsPerStep: 250_000, Share: 0.25}, {Rule: "TRC14", Name: "layout-conversions", Message: "2 layout conversions", Place: place("model/gpt.py", 3, "MLP.forward"), Known: true, Info: true}},
			Quality:    []traceindex.Warning{{Code: "cold-steps", Message: "the first step is 3 times as long as the others"}},
		},
	}
}

func TestRunFormats(t *testing.T) {
	for _, test := range []struct {
		golden string
		write  func(*bytes.Buffer, *report.Run) error
	}{
		{"run-80.txt", func(out *bytes.Buffer, r *report.Run) error {
			return report.WriteRunText(out, r, report.RunView{Width: 80})
		}},
		{"run.md", func(out *bytes.Buffer, r *report.Run) error { return report.WriteRunMarkdown(out, r) }},
		{"run.html", func(out *bytes.Buffer, r *report.Run) error { return report.WriteRunHTML(out, r) }},
		{"run.json", func(out *bytes.Buffer, r *report.Run) error { return report.WriteJSON(out, report.NewRunDocument(r)) }},
		{"run.prom", func(out *bytes.Buffer, r *report.Run) error { return report.WriteRunPrometheus(out, r, nil) }},
	} {
		t.Run(test.golden, func(t *testing.T) {
			var out bytes.Buffer
			if err := test.write(&out, sampleRun()); err != nil {
				t.Fatal(err)
			}
			golden(t, test.golden, out.Bytes())
			if strings.ContainsFunc(out.String(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Error("a control character from the input reached the output")
			}
		})
	}
}

func TestRunTextKeepsToItsWidth(t *testing.T) {
	for _, width := range []int{80, 120, 160} {
		var out bytes.Buffer
		if err := report.WriteRunText(&out, sampleRun(), report.RunView{Width: width}); err != nil {
			t.Fatal(err)
		}
		for number, row := range strings.Split(out.String(), "\n") {
			if got := ansi.StringWidth(row); got > width {
				t.Errorf("width %d: row %d is %d cells wide: %q", width, number+1, got, row)
			}
		}
	}
}

// TestRunHTMLIsSelfContained: nothing is fetched, the policy allows our script alone, and no name became markup.
func TestRunHTMLIsSelfContained(t *testing.T) {
	var out bytes.Buffer
	if err := report.WriteRunHTML(&out, sampleRun()); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, pattern := range []string{`(?i)https?://`, `(?i)<link\b`, `(?i)<img\b`, `(?i)<iframe\b`, `(?i)@import`, `(?i)url\(`, `(?i)<b>148`, `<here>`, `<Net`} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page holds %q", found)
		}
	}
	_, script, _ := strings.Cut(page, "<script>")
	script, _, found := strings.Cut(script, "</script>")
	hash := sha256.Sum256([]byte(script))
	page = html.UnescapeString(page)
	if policy := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"; !found || !strings.Contains(page, policy) {
		t.Errorf("the policy does not name the script's hash %s", policy)
	}
	if strings.Count(out.String(), "<script") != 1 {
		t.Error("more than one script")
	}
	if !strings.Contains(page, `data-file="data.py" data-line="4"`) {
		t.Error("no link to a line")
	}
}

func TestRunJSONFitsItsSchemaAndAddsUp(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schema", "report.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.WriteJSON(&out, report.NewRunDocument(sampleRun())); err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Error(err)
	}
	for _, each := range document["steps"].([]any) {
		step := each.(map[string]any)
		sum := step["gpu_busy"].(float64) * step["duration_us"].(float64)
		for _, gap := range step["gaps"].([]any) {
			sum += gap.(map[string]any)["duration_us"].(float64)
		}
		if math.Abs(sum-step["duration_us"].(float64)) > 0.001 {
			t.Errorf("busy and gaps sum to %.3f µs of %v µs", sum, step["duration_us"])
		}
	}
	document["bottleneck"].(map[string]any)["class"] = "slow"
	if schema.Validate(document) == nil {
		t.Error("the schema accepts a class that does not exist")
	}
}

func TestRunPrometheusIsReadByPrometheus(t *testing.T) {
	var out bytes.Buffer
	if err := report.WriteRunPrometheus(&out, sampleRun(), map[string]string{"run": "today"}); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, metric := range families["stepline_step_share_ratio"].GetMetric() {
		sum += metric.GetGauge().GetValue()
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the parts of the step sum to %v", sum)
	}
	if got := families["stepline_step_duration_seconds"].GetMetric()[1].GetGauge().GetValue(); got != 0.001 {
		t.Errorf("step of rank 1 is %v s, want 0.001", got)
	}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			if !slices.ContainsFunc(metric.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "run" && l.GetValue() == "today" }) {
				t.Errorf("%s has a series without the label given: %v", name, metric)
			}
		}
	}
	for _, label := range []string{"rank", "1run", "__name", "a-b", ""} {
		if err := report.WriteRunPrometheus(io.Discard, sampleRun(), map[string]string{label: "x"}); err == nil {
			t.Errorf("label %q is taken", label)
		}
	}
}

// A trace without GPU events says nothing of the GPU, so neither does a report of it.
func TestRunWithoutGPUEventsClaimsNothingOfTheGPU(t *testing.T) {
	run := sampleRun()
	run.Diagnosis.Class, run.Diagnosis.Evidence, run.Diagnosis.Findings, run.Diagnosis.Stragglers = diagnose.Unknown, nil, nil, nil
	run.Costs.Summary.GPUTotalNs, run.Costs.Summary.GPUIdleNs, run.Costs.Summary.Ranks = 0, 0, 1
	run.Costs.Lines, run.Costs.Unattributed, run.Findings = nil, nil, &report.Findings{}
	for name, write := range map[string]func(io.Writer, *report.Run) error{
		"text":     func(w io.Writer, r *report.Run) error { return report.WriteRunText(w, r, report.RunView{Width: 100}) },
		"markdown": report.WriteRunMarkdown,
		"html":     report.WriteRunHTML,
	} {
		var out strings.Builder
		if err := write(&out, run); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(out.String(), "<body") // a page's style names its parts
		if name != "html" {
			body = out.String()
		}
		if !strings.Contains(strings.ToLower(body), "nothing of the gpu") {
			t.Errorf("%s does not say that nothing is known:\n%s", name, body)
		}
		for _, claim := range []string{"GPU busy", "GPU use", "is idle", "Idle time", "Longest gaps", "waiting for the loader", "What costs most"} {
			if strings.Contains(body, claim) {
				t.Errorf("%s claims %q of a GPU that nothing is known of:\n%s", name, claim, body)
			}
		}
	}
	var out strings.Builder
	if err := report.WriteRunPrometheus(&out, run, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `stepline_bottleneck_info{class="unknown"} 1`) || !strings.Contains(out.String(), "stepline_step_duration_seconds{") {
		t.Errorf("Prometheus gets neither the class nor the steps:\n%s", &out)
	}
	if series := regexp.MustCompile(`(?m)^stepline_(gpu_|step_share|exposed|straggler).*`).FindString(out.String()); series != "" {
		t.Errorf("Prometheus gets %s of a GPU that nothing is known of", series)
	}
}
