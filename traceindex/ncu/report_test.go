package ncu

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"
)

var update = flag.Bool("update", false, "rewrite golden files")

const caseFolder = "../../testdata/cases/73-ncu-csv"

func read(t *testing.T, path string) *Report {
	t.Helper()
	report, err := Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func parse(t *testing.T, text string) *Report {
	t.Helper()
	report, err := Parse(context.Background(), strings.NewReader(text), "test.csv")
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func wantNumber(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestCaseDetails(t *testing.T) {
	report := read(t, filepath.Join(caseFolder, "details.csv"))
	if len(report.Launches) != 2 || len(report.Warnings) != 0 {
		t.Fatalf("%d launches, warnings %v", len(report.Launches), report.Warnings)
	}
	gemm, add := report.Launches[0], report.Launches[1]
	if gemm.Kernel != "void gemm<float, 128, 64>(float *, int)" || add.Kernel != `add "quoted"` {
		t.Errorf("kernels %q, %q", gemm.Kernel, add.Kernel)
	}
	wantNumber(t, "gemm duration", gemm.Measures.DurationNs, 1234500)
	wantNumber(t, "gemm DRAM", gemm.Measures.DRAMPercent, 87.5)
	wantNumber(t, "gemm occupancy", gemm.Measures.AchievedOccupancyPercent, math.NaN())
	wantNumber(t, "add duration", add.Measures.DurationNs, 2048)
	if want := [3]int32{1024, 1, 1}; gemm.Grid != want {
		t.Errorf("grid %v", gemm.Grid)
	}
	if want := "limiter unknown: DRAM at 87.5 % of peak, the report has no compute throughput."; gemm.Sentence(DefaultThresholds) != want {
		t.Errorf("sentence %q", gemm.Sentence(DefaultThresholds))
	}
}

func TestCaseRaw(t *testing.T) {
	report := read(t, filepath.Join(caseFolder, "raw.csv"))
	if len(report.Launches) != 1 {
		t.Fatalf("%d launches", len(report.Launches))
	}
	wantNumber(t, "duration", report.Launches[0].Measures.DurationNs, 1234500)
	wantNumber(t, "SM throughput", report.Launches[0].Measures.ComputePercent, 71.2)
}

// TestGolden pins what is said about every launch of the recorded reports.
func TestGolden(t *testing.T) {
	for _, page := range []string{"details", "raw"} {
		t.Run(page, func(t *testing.T) {
			report := read(t, "testdata/gpt.ncu."+page+".csv.gz")
			var text strings.Builder
			fmt.Fprintf(&text, "device %q, %d launches, %d warnings\n", report.Device, len(report.Launches), len(report.Warnings))
			for i := range report.Launches {
				launch := &report.Launches[i]
				fmt.Fprintf(&text, "%d %s grid %v block %v %s\n  %s\n", launch.ID, parseName(launch.Kernel).base, launch.Grid, launch.Block, launch.Limiter(DefaultThresholds), launch.Sentence(DefaultThresholds))
				if advice := launch.Advice(); advice != nil {
					fmt.Fprintf(&text, "  %s: %s\n", advice.Name, advice.Short())
				}
			}
			golden := "testdata/gpt." + page + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const detailsHeader = `"ID","Process ID","Kernel Name","Block Size","Grid Size","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n"

func TestForms(t *testing.T) {
	tests := []struct {
		name, text string
		want       float64 // duration of the first launch, ns
	}{
		{"usecond of old versions", detailsHeader + `"0","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light","Duration","usecond","12.50"`, 12500},
		{"milliseconds", detailsHeader + `"0","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","Duration","ms","1.25"`, 1.25e6},
		{"German, semicolons", strings.ReplaceAll(detailsHeader, ",", ";") + `"0";"1";"k<1, 2>";"(1, 1, 1)";"(1, 1, 1)";"GPU Speed Of Light Throughput";"Duration";"us";"1.234,50"`, 1234500},
		{"German, ambiguous number", strings.ReplaceAll(detailsHeader, ",", ";") + `"0";"1";"k";"(1, 1, 1)";"(1, 1, 1)";"GPU Speed Of Light Throughput";"Duration";"us";"2,048"`, 2048},
		{"decimal comma in quoted cells", detailsHeader + `"0","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","Duration","us","2,048"` + "\n" +
			`"0","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","DRAM Throughput","%","87,51"`, 2048},
		{"narrow spaces", detailsHeader + "\"0\",\"1\",\"k\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"GPU Speed Of Light Throughput\",\"Duration\",\"ns\",\"1\u202f234,5\"", 1234.5},
		{"unquoted", strings.ReplaceAll(detailsHeader, `"`, "") + `0,1,k,"(1, 1, 1)","(1, 1, 1)",GPU Speed Of Light Throughput,Duration,ns,99`, 99},
		{"--metrics rows", detailsHeader + `"0","1","k","(1, 1, 1)","(1, 1, 1)","Command line profiler metrics","gpu__time_duration.sum","nsecond","1,000"`, 1000},
		{"CRLF", strings.ReplaceAll(detailsHeader+`"0","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","Duration","ns","7"`+"\n", "\n", "\r\n"), 7},
		{"text of the program glued to a row", detailsHeader + `loss 0.5, "0","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","Duration","ns","7"`, 7},
		{"row with a newline in a quoted cell", detailsHeader + "\"0\",\"1\",\"k\nl\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"GPU Speed Of Light Throughput\",\"Duration\",\"ns\",\"7\"", 7},
		{"raw, instances", `"ID","Kernel Name","gpu__time_duration.sum"` + "\n" + `"","","ns"` + "\n" + `"0","k","16 (4; 12)"`, 16},
		{"raw, better name wins", `"ID","Kernel Name","gpu__time_duration.avg","gpu__time_duration.sum"` + "\n" + `"","","ns","ns"` + "\n" + `"0","k","5","6"`, 6},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report := parse(t, test.text)
			if len(report.Launches) != 1 {
				t.Fatalf("%d launches", len(report.Launches))
			}
			wantNumber(t, "duration", report.Launches[0].Measures.DurationNs, test.want)
			if !Sniff([]byte(test.text)) {
				t.Error("Sniff refuses it")
			}
		})
	}
}

func TestUTF16(t *testing.T) {
	text := detailsHeader + `"0","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","Duration","ns","7"`
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Parse(context.Background(), strings.NewReader(wide), "powershell.csv")
	if err != nil {
		t.Fatal(err)
	}
	wantNumber(t, "duration", report.Launches[0].Measures.DurationNs, 7)
	if !Sniff([]byte(wide)) {
		t.Error("Sniff refuses UTF-16")
	}
}

func TestBrokenRows(t *testing.T) {
	good := `"1","1","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","Duration","ns","7"`
	report := parse(t, detailsHeader+`"0","1","k`+"\n"+good)
	if len(report.Launches) != 1 || report.Launches[0].ID != 1 {
		t.Fatalf("launches %v", report.Launches)
	}
	if len(report.Warnings) != 1 || report.Warnings[0].Code != "bad-row" || *report.Warnings[0].Byte != int64(len(detailsHeader)) {
		t.Errorf("warnings %+v", report.Warnings)
	}
}

func TestErrors(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "no rows": detailsHeader, "other text": "epoch 1, loss 0.5\n"} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(context.Background(), strings.NewReader(text), "x.csv")
			if err == nil || !strings.Contains(err.Error(), "x.csv: no kernel launch") {
				t.Errorf("error %v", err)
			}
		})
	}
	if Sniff([]byte("a,b\n1,2\n")) || Sniff([]byte(`{"traceEvents": [{"name": "Kernel Name"}]}`)) {
		t.Error("Sniff takes what is no ncu output")
	}
}

func TestRuleNumbers(t *testing.T) {
	const header = `"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"` + "\n"
	row := func(rule, text string) string {
		return fmt.Sprintf(`"0","k","S","","","","%s","OPT","%s","global","12.5"`+"\n", rule, text)
	}
	report := parse(t, header+
		row("SharedMemoryConflicts", "The memory access pattern for shared loads might not be optimal and causes on average a 8.0 - way bank conflict across all 1024 shared load requests.This results in 7168 bank conflicts,  which represent 87.50% of the overall 8192 wavefronts for shared loads.")+
		row("UncoalescedGlobalAccess", "This kernel has uncoalesced global accesses resulting in a total of 25165824 excessive sectors (75% of the total 33554432 sectors). Check the table.")+
		row("ThreadDivergence", "Instructions are executed in warps, which are groups of 32 threads. This kernel achieves an average of 9.5 threads being active per cycle."))
	sentence := report.Launches[0].Sentence(DefaultThresholds)
	for _, want := range []string{"bank conflicts make 87.5 % of its wavefronts", "uncoalesced access moves 75 % of its global sectors", "divergence leaves 9.5 of 32 threads"} {
		if !strings.Contains(sentence, want) {
			t.Errorf("%q lacks %q", sentence, want)
		}
	}
	if advice := report.Launches[0].Advice(); advice.Name != "SharedMemoryConflicts" || !strings.Contains(advice.Short(), "estimated speed-up 12.5 %") {
		t.Errorf("advice %+v", advice)
	}
}

func TestMerge(t *testing.T) {
	const rawHeader = `"ID","Process ID","Kernel Name","Block Size","Grid Size","sm__throughput.avg.pct_of_peak_sustained_elapsed"` + "\n" + `"","","","block","grid","%"` + "\n"
	details := parse(t, detailsHeader+`"0","9","k","(1, 1, 1)","(1, 1, 1)","GPU Speed Of Light Throughput","Memory Throughput","%","20"`)
	same := parse(t, rawHeader+`"0","9","k","(1, 1, 1)","(1, 1, 1)","80"`)
	other := parse(t, rawHeader+`"0","10","k","(1, 1, 1)","(1, 1, 1)","80"`)
	merged := Merge(details, same, other)
	if len(merged.Launches) != 2 {
		t.Fatalf("%d launches", len(merged.Launches))
	}
	if got := merged.Launches[0].Limiter(DefaultThresholds); got != LimiterCompute {
		t.Errorf("the two pages of one launch give %s", got)
	}
	if got := merged.Launches[1].Limiter(DefaultThresholds); got != LimiterUnknown {
		t.Errorf("the other process' launch gives %s", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"details.csv", "raw.csv"} {
		data, err := os.ReadFile(filepath.Join(caseFolder, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := Parse(context.Background(), bytes.NewReader(data), "fuzz.csv")
		if err != nil {
			return
		}
		for i := range report.Launches {
			launch := &report.Launches[i]
			if text := launch.Sentence(DefaultThresholds); strings.Contains(text, "NaN") {
				t.Errorf("%q", text)
			}
			if found, how := report.ForKernel(launch.Kernel, launch.Grid, launch.Block, 0); how == NotFound || found == nil {
				t.Errorf("launch %q does not find itself", launch.Kernel)
			}
		}
	})
}
