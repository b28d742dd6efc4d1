package attribute_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/load"
)

// truthFile is the truth.json beside a trace; testdata/traces/README.md says how it was made.
type truthFile struct {
	Lines    map[string]truthLine `json:"lines"`
	IdleUs   float64              `json:"gpu_idle_us"`
	NoLineUs float64              `json:"gpu_idle_no_line_us"`
	TotalUs  float64              `json:"gpu_total_us"`
}

type truthLine struct {
	ForwardUs   float64 `json:"cuda_fwd_us"`
	BackwardUs  float64 `json:"cuda_bwd_us"`
	IdleUs      float64 `json:"gpu_idle_us"`
	SyncUs      float64 `json:"sync_us"`
	CPUUs       float64 `json:"cpu_total_us"`
	Calls       float64 `json:"calls"`
	MemcpyUs    float64 `json:"memcpy_us"`
	MemcpyBytes float64 `json:"memcpy_bytes"`
}

type truthCase struct {
	name, trace, truth, sources string
	// unmeasured is a line whose statement began before the recording, so that the truth has nothing on it.
	unmeasured string
	// alone leaves the recorded call lines out.
	alone bool
	// backward is the bar for backward time, 0.995 if 0.
	backward float64
}

var truthCases = []truthCase{
	{name: "gpt", trace: "gpt/trace.json.gz", truth: "gpt/truth.json", sources: "gpt"},
	{name: "vision", trace: "vision/trace.json.gz", truth: "vision/truth.json", sources: "vision"},
	{name: "compile", trace: "compile/trace.json.gz", truth: "compile/truth.json", sources: "compile"},
	// All of lit runs inside trainer.fit, line 47. Its truth has 2.7 us of DivBackward0 on line 21: the division is Lightning's own
	// (loss / accumulate_grad_batches), made after the script's last statement, and the truth knows only ops within statements.
	{name: "lit", trace: "lit/trace.json.gz", truth: "lit/truth.json", sources: "lit", unmeasured: "lit.py:47", backward: 0.991},
	{name: "ddp rank 0", trace: "ddp/ddp.rank0.trace.json.gz", truth: "ddp/ddp.rank0.truth.json", sources: "ddp"},
	{name: "ddp rank 1", trace: "ddp/ddp.rank1.trace.json.gz", truth: "ddp/ddp.rank1.truth.json", sources: "ddp"},
}

const tracesFolder = "../../testdata/traces"

func attributeTrace(t testing.TB, trace, sources string) *attribute.Attribution {
	t.Helper()
	run, err := load.Open(context.Background(), []string{trace}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := attribute.Directory(filepath.Join(tracesFolder, sources), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	a, err := attribute.Attribute(context.Background(), run, src)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// withoutSidecar copies a trace to where its recorded call lines are not beside it.
func withoutSidecar(t testing.TB, trace string) string {
	t.Helper()
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), filepath.Base(trace))
	if err := os.WriteFile(alone, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return alone
}

// score is Σ min(truth, told) / Σ truth over lines.
type score struct{ shared, truth, told float64 }

func (s *score) add(truth, told float64) {
	s.shared += min(truth, told)
	s.truth += truth
	s.told += told
}

func (s *score) rate() float64 {
	if s.truth == 0 {
		return 1
	}
	return s.shared / s.truth
}

func readTruth(t testing.TB, name string) *truthFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(tracesFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	truth := &truthFile{}
	if err := json.Unmarshal(data, truth); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return truth
}

func us(ns int64) float64 { return float64(ns) / 1000 }

// labCases are scripts written to be hard: wrappers, decorators, routing, detection with much control flow, FSDP, a trainer class.
var labCases = []truthCase{
	{name: "vit", trace: "lab_vit/vit.trace.json.gz", truth: "lab_vit/vit.truth.json", sources: "lab_vit"},
	{name: "detect", trace: "lab_detect/detect.trace.json.gz", truth: "lab_detect/detect.truth.json", sources: "lab_detect"},
	{name: "moe", trace: "lab_moe/moe.trace.json.gz", truth: "lab_moe/moe.truth.json", sources: "lab_moe"},
	{name: "gan", trace: "lab_gan/gan.trace.json.gz", truth: "lab_gan/gan.truth.json", sources: "lab_gan"},
	{name: "trainer", trace: "lab_trainer/train.trace.json.gz", truth: "lab_trainer/train.truth.json", sources: "lab_trainer"},
	{name: "ddp rank 0", trace: "lab_ddp/ddp.rank0.trace.json.gz", truth: "lab_ddp/ddp.rank0.truth.json", sources: "lab_ddp"},
	{name: "ddp rank 1", trace: "lab_ddp/ddp.rank1.trace.json.gz", truth: "lab_ddp/ddp.rank1.truth.json", sources: "lab_ddp"},
	{name: "fsdp rank 0", trace: "lab_fsdp/fsdp.rank0.trace.json.gz", truth: "lab_fsdp/fsdp.rank0.truth.json", sources: "lab_fsdp"},
	{name: "fsdp rank 1", trace: "lab_fsdp/fsdp.rank1.trace.json.gz", truth: "lab_fsdp/fsdp.rank1.truth.json", sources: "lab_fsdp"},
}

// TestLabs is TestTruth over the lab recordings, by the alignment alone and with the recorded call lines.
func TestLabs(t *testing.T) {
	for _, c := range labCases {
		t.Run(c.name+" recorded", func(t *testing.T) { checkTruth(t, c) })
		alone := c
		alone.alone = true
		t.Run(c.name+" alone", func(t *testing.T) { checkTruth(t, alone) })
	}
}

// TestTruth compares every line of the recorded traces with the truth beside them.
func TestTruth(t *testing.T) {
	for _, c := range truthCases {
		t.Run(c.name, func(t *testing.T) { checkTruth(t, c) })
	}
}

func checkTruth(t *testing.T, c truthCase) {
	truth := readTruth(t, c.truth)
	trace := filepath.Join(tracesFolder, c.trace)
	if c.alone {
		trace = withoutSidecar(t, trace)
	}
	costs := attributeTrace(t, trace, c.sources).Costs()
	told := map[string]*traceindex.LineCost{}
	for i := range costs.Lines {
		l := &costs.Lines[i]
		told[l.File+":"+strconv.Itoa(l.Line)] = l
	}
	scores := map[string]*score{}
	for _, k := range []string{"forward", "backward", "idle", "sync", "copy", "bytes", "cpu", "calls"} {
		scores[k] = &score{}
	}
	var wrongExact, exact float64
	for key, l := range told {
		tl := truth.Lines[key]
		if key == c.unmeasured {
			continue
		}
		wrongExact += max(0, us(l.ByConfidence[traceindex.ConfidenceExact])-tl.ForwardUs-tl.BackwardUs)
		exact += us(l.ByConfidence[traceindex.ConfidenceExact])
	}
	for key, tl := range truth.Lines {
		if strings.HasPrefix(key, "<") {
			continue
		}
		l := told[key]
		if l == nil {
			l = &traceindex.LineCost{}
		}
		scores["forward"].add(tl.ForwardUs, us(l.SelfNs))
		scores["backward"].add(tl.BackwardUs, us(l.BackwardNs))
		scores["idle"].add(tl.IdleUs, us(l.GPUIdleNs))
		scores["sync"].add(tl.SyncUs, us(l.SyncNs))
		scores["copy"].add(tl.MemcpyUs, us(l.CopyNs))
		scores["bytes"].add(tl.MemcpyBytes, float64(l.CopyBytes))
		scores["calls"].add(tl.Calls, float64(l.Calls))
	}
	report := fmt.Sprintf("exact %.1f us, wrong %.2f us;", exact, wrongExact)
	for _, k := range []string{"forward", "backward", "idle", "sync", "copy", "bytes", "calls"} {
		report += fmt.Sprintf(" %s %.2f %%", k, 100*scores[k].rate())
	}
	t.Log(report)
	for k, bar := range map[string]float64{"forward": 0.995, "backward": cmp.Or(c.backward, 0.995), "idle": 0.97, "sync": 0.995, "copy": 0.995, "bytes": 0.995} {
		if r := scores[k].rate(); r < bar {
			t.Errorf("%s: %.2f %% on the right line, want %.1f %%", k, 100*r, 100*bar)
		}
	}
	if wrongExact > 0.001*exact {
		t.Errorf("%.2f us labelled exact are on a wrong line, of %.1f", wrongExact, exact)
	}
	if os.Getenv("STEPLINE_SHOW") != "" {
		showTruth(t, truth, told, costs)
	}
	checkAccounted(t, costs, truth)
}

// checkAccounted checks that no microsecond is lost or counted twice.
func checkAccounted(t *testing.T, costs *traceindex.Costs, truth *truthFile) {
	t.Helper()
	var lines, none, idle int64
	for _, l := range costs.Lines {
		lines += l.GPUNs()
		idle += l.GPUIdleNs
		var byConfidence int64
		for _, ns := range l.ByConfidence {
			byConfidence += ns
		}
		if byConfidence != l.GPUNs() {
			t.Errorf("%s:%d: confidences sum to %d ns, the line has %d", l.File, l.Line, byConfidence, l.GPUNs())
		}
	}
	for _, u := range costs.Unattributed {
		none += u.Ns
	}
	if lines+none != costs.Summary.GPUTotalNs {
		t.Errorf("lines %d + unattributed %d ≠ total %d ns", lines, none, costs.Summary.GPUTotalNs)
	}
	if idle+costs.Summary.GPUIdleNoLineNs != costs.Summary.GPUIdleNs {
		t.Errorf("idle of lines %d + of no line %d ≠ idle %d ns", idle, costs.Summary.GPUIdleNoLineNs, costs.Summary.GPUIdleNs)
	}
	if truth == nil {
		return
	}
	if d := us(costs.Summary.GPUTotalNs) - truth.TotalUs; d > 1 || d < -1 {
		t.Errorf("gpu total %.1f us, truth %.1f", us(costs.Summary.GPUTotalNs), truth.TotalUs)
	}
}

// showTruth prints every line's numbers beside the truth.
func showTruth(t *testing.T, truth *truthFile, told map[string]*traceindex.LineCost, costs *traceindex.Costs) {
	keys := map[string]bool{}
	for k := range told {
		keys[k] = true
	}
	for k := range truth.Lines {
		keys[k] = true
	}
	var sorted []string
	for k := range keys {
		sorted = append(sorted, k)
	}
	sort.Strings(sorted)
	for _, k := range sorted {
		tl, l := truth.Lines[k], told[k]
		if l == nil {
			l = &traceindex.LineCost{}
		}
		t.Logf("%-16s fwd %9.1f/%9.1f bwd %9.1f/%9.1f idle %9.1f/%9.1f cpu %9.1f/%9.1f calls %4.0f/%4d sync %7.1f/%7.1f copy %.0f/%d %v", k, tl.ForwardUs, us(l.SelfNs), tl.BackwardUs, us(l.BackwardNs), tl.IdleUs, us(l.GPUIdleNs), tl.CPUUs, us(l.CPUNs), tl.Calls, l.Calls, tl.SyncUs, us(l.SyncNs), tl.MemcpyBytes, l.CopyBytes, l.ByConfidence)
	}
	for _, u := range costs.Unattributed {
		t.Logf("unattributed %+v", u)
	}
	t.Logf("idle %.1f (truth %.1f) none %.1f (truth %.1f) warnings %v", us(costs.Summary.GPUIdleNs), truth.IdleUs, us(costs.Summary.GPUIdleNoLineNs), truth.NoLineUs, costs.Warnings)
}

// TestQueries checks that the queries of an Attribution agree with its costs.
func TestQueries(t *testing.T) {
	a := attributeTrace(t, filepath.Join(tracesFolder, "gpt/trace.json.gz"), "gpt")
	costs := a.Costs()
	ix := a.Run.Ranks[0]
	gpu, idle := map[int]int64{}, map[int]int64{}
	for _, g := range a.GPU(0) {
		if p, ok := a.OnLine(g); ok {
			gpu[p.Line] += ix.GPUDurNs(g.Event)
		}
	}
	for _, s := range a.Idle(0) {
		if s.Known {
			idle[s.Place.Line] += s.DurNs()
		}
		if mid := (s.StartNs + s.EndNs) / 2; s.DurNs() > 1 {
			if p, ok := a.At(0, mid); ok != s.Known || ok && p.Line != s.Place.Line {
				t.Fatalf("at %d: %+v %v, the interval around says %+v", mid, p, ok, s)
			}
		}
	}
	for _, l := range costs.Lines {
		if gpu[l.Line] != l.GPUNs() || idle[l.Line] != l.GPUIdleNs {
			t.Errorf("line %d: GPU %d and idle %d ns by queries, %d and %d by costs", l.Line, gpu[l.Line], idle[l.Line], l.GPUNs(), l.GPUIdleNs)
		}
	}
	// The host events of a line hold all its launches, and only its own.
	const line = 63
	launches := map[traceindex.EventID]bool{}
	for _, e := range a.HostEvents(0, "gpt.py", line) {
		for row := e; row < ix.SubtreeEnd(e); row++ {
			launches[row] = true
		}
	}
	for _, g := range a.GPU(0) {
		if p, ok := a.OnLine(g); ok && !g.Backward && (p.Line == line) != launches[g.Call] {
			t.Fatalf("launch %d of line %d: among the events of line %d: %v", g.Call, p.Line, line, launches[g.Call])
		}
	}
}
