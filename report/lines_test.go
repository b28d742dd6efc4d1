package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"stepline/report"
	"stepline/traceindex"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update and read the change:\n%s", path, diff)
	}
}

// sampleCosts is a small run: two files, all confidences, every kind of unattributed row, a name with an escape sequence.
func sampleCosts() *traceindex.Costs {
	line := func(file string, number int, function string, confidence traceindex.Confidence, self, backward, idle int64) traceindex.LineCost {
		return traceindex.LineCost{
			File: file, Line: number, Function: function, Calls: 24, SelfNs: self, BackwardNs: backward, Kernels: 576,
			CPUNs: 11_080_800, GPUIdleNs: idle, Confidence: confidence,
			ByConfidence: map[traceindex.Confidence]int64{confidence: self + backward},
		}
	}
	copied := line("train.py", 8, "train", traceindex.ConfidenceLikely, 1_000_000, 0, 9_000_000)
	copied.CopyNs, copied.CopyBytes, copied.SyncNs, copied.BubbleNs = 900_000, 1<<20, 300_000, 250_001
	return &traceindex.Costs{
		Summary: traceindex.Summary{
			Files: []string{"run/trace.json.gz"}, Ranks: 1, Device: "NVIDIA H200", Steps: 2, StepMeanNs: 58_628_000,
			GPUTotalNs: 12_100_000, GPUBusyNs: 12_000_000, GPUIdleNs: 83_993_500, GPUIdleNoLineNs: 1_008_400,
		},
		Lines: []traceindex.LineCost{
			line("model/gpt.py", 3, "MLP.forward", traceindex.ConfidenceExact, 2_245_500, 4_911_900, 6_912_800),
			line("model/gpt.py", 4, "MLP.forward", traceindex.ConfidenceExact, 2_000, 0, 0),
			line("model/gpt.py", 9, "Block\x1b[31m.forward", traceindex.ConfidenceFunction, 1_500_000, 1_000_000, 0),
			copied,
		},
		Unattributed: []traceindex.Unattributed{
			{Reason: "gradient accumulation", Ns: 419_000, File: "train.py", Line: 10, Function: "train"},
			{Reason: "ambiguous", Ns: 12_000, File: "model/gpt.py", Function: "Layer.forward", Candidates: []int{75, 76}},
			{Reason: "no Python frame", Ns: 1_009_600},
		},
		Warnings: []traceindex.Warning{{Code: "cut-short", Message: "the file ends early", File: "run/trace.json.gz"}},
	}
}

func sampleSource(file string, line int) string {
	sources := map[string][]string{
		"model/gpt.py": {"", "", "        return self.down(F.gelu(self.up(x)))  # 前向き: the hot line of this model, and a long one", "\tx = x\x1b[31m + 1"},
		"train.py":     {"", "", "", "", "", "", "", "    x, y = batch.cuda(), target.cuda()"},
	}
	if lines := sources[file]; line <= len(lines) {
		return lines[line-1]
	}
	return ""
}

func TestLinesText(t *testing.T) {
	coloured := lipgloss.NewRenderer(&bytes.Buffer{})
	coloured.SetColorProfile(termenv.ANSI256)
	noSteps := sampleCosts()
	noSteps.Summary.Steps, noSteps.Summary.StepMeanNs = 0, 0
	ranks := sampleCosts()
	ranks.Summary.Ranks, ranks.Summary.Files = 2, []string{"r0.json", "r1.json"}
	tests := []struct {
		golden string
		costs  *traceindex.Costs
		view   report.LinesView
	}{
		{"lines-80.txt", sampleCosts(), report.LinesView{Width: 80}},
		{"lines-100-all.txt", sampleCosts(), report.LinesView{Width: 100, All: true}},
		{"lines-160.txt", sampleCosts(), report.LinesView{Width: 160}},
		{"lines-160-colour.txt", sampleCosts(), report.LinesView{Width: 160, Style: report.NewStyle(coloured)}},
		{"lines-80-top-idle.txt", sampleCosts(), report.LinesView{Width: 80, Top: 2, Order: report.OrderIdle}},
		{"lines-no-steps.txt", noSteps, report.LinesView{Width: 80, Order: report.OrderLine}},
		{"lines-ranks.txt", ranks, report.LinesView{Width: 120}},
		{"lines-no-lines.txt", &traceindex.Costs{Summary: traceindex.Summary{GPUTotalNs: 1000}}, report.LinesView{Width: 80}},
		{"lines-no-gpu.txt", &traceindex.Costs{}, report.LinesView{Width: 80}},
	}
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			test.view.Source = sampleSource
			var out bytes.Buffer
			if err := report.WriteLinesText(&out, test.costs, test.view); err != nil {
				t.Fatal(err)
			}
			golden(t, test.golden, out.Bytes())
			for number, row := range strings.Split(out.String(), "\n") {
				if width := ansi.StringWidth(row); width > test.view.Width {
					t.Errorf("row %d is %d cells wide, over %d: %q", number+1, width, test.view.Width, row)
				}
			}
			plain := ansi.Strip(out.String())
			if strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Error("a control character from the input reached the output")
			}
		})
	}
}

func TestLinesJSONKeepsEveryNanosecond(t *testing.T) {
	costs := sampleCosts()
	var out bytes.Buffer
	if err := report.WriteJSON(&out, report.NewLinesDocument(costs, report.RankLines(costs.Lines, report.OrderGPU, 0))); err != nil {
		t.Fatal(err)
	}
	golden(t, "lines.json", out.Bytes())
	var document report.LinesDocument
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	var totalNs int64
	for _, row := range document.Lines {
		totalNs += int64(row.CudaSelfUs*1000+0.5) + int64(row.CudaBackwardUs*1000+0.5)
	}
	for _, row := range document.Unattributed {
		totalNs += int64(row.CudaUs*1000 + 0.5)
	}
	if totalNs != costs.Summary.GPUTotalNs {
		t.Errorf("lines and unattributed rows sum to %d ns, the trace has %d ns", totalNs, costs.Summary.GPUTotalNs)
	}
}

func TestLinesCSV(t *testing.T) {
	var out bytes.Buffer
	if err := report.WriteLinesCSV(&out, sampleCosts().Lines); err != nil {
		t.Fatal(err)
	}
	golden(t, "lines.csv", out.Bytes())
}

func TestRankLines(t *testing.T) {
	lines := sampleCosts().Lines
	numbers := func(order report.LineOrder, top int) []int {
		var list []int
		for _, line := range report.RankLines(lines, order, top) {
			list = append(list, line.Line)
		}
		return list
	}
	for _, test := range []struct {
		order report.LineOrder
		top   int
		want  []int
	}{
		{report.OrderGPU, 0, []int{3, 9, 8, 4}},
		{report.OrderForward, 2, []int{3, 9}},
		{report.OrderIdle, 1, []int{8}},
		{report.OrderCopy, 1, []int{8}},
		{report.OrderLine, 0, []int{3, 4, 9, 8}},
	} {
		if diff := cmp.Diff(test.want, numbers(test.order, test.top)); diff != "" {
			t.Errorf("order %s, top %d (-want +got):\n%s", test.order, test.top, diff)
		}
	}
	if _, err := report.ParseLineOrder("size"); err == nil || !strings.Contains(err.Error(), "gpu, forward") {
		t.Errorf("an unknown key must list the known ones, got %v", err)
	}
}

func TestUnits(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{report.Duration(0), "0"},
		{report.Duration(125), "125 ns"},
		{report.Duration(999.6), "1.00 µs"},
		{report.Duration(412_300), "412 µs"},
		{report.Duration(3_578_700), "3.58 ms"},
		{report.Duration(58_628_000), "58.6 ms"},
		{report.Duration(999_600_000), "1.00 s"},
		{report.Duration(-2_500), "-2.50 µs"},
		{report.Percent(0), "0 %"},
		{report.Percent(0.0001), "<0.1 %"},
		{report.Percent(0.2152), "21.5 %"},
		{report.Bytes(512), "512 B"},
		{report.Bytes(1 << 20), "1.00 MiB"},
		{report.Bytes(33_600_000), "32.0 MiB"},
		{report.Count(576), "576"},
		{report.Count(1234), "1234"},
		{report.Count(799_104), "799 104"},
		{report.Printable("a\x1b[31m\tb"), `a\x1b[31m    b`},
		{report.Printable("\xff\u202ex"), `\xff\u202ex`},
		{report.Printable("前向き"), "前向き"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
