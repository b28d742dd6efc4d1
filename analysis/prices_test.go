package analysis

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex/diagnose"
)

// pricedRun lints a recorded run's files with its trace and returns the worst finding of each rule.
func pricedRun(t *testing.T, root, trace string) map[string]rules.Finding {
	t.Helper()
	base, err := filepath.Abs("../testdata/traces")
	if err != nil {
		t.Fatal(err)
	}
	_, checked := checkedRun(t, filepath.Join(base, root), filepath.Join(base, trace))
	found := map[string]rules.Finding{}
	for _, f := range checked.Findings {
		found[f.Rule.ID] = worse(found[f.Rule.ID], f)
	}
	return found
}

// worse is the finding with the higher lower end.
func worse(a, b rules.Finding) rules.Finding {
	if a.Rule != nil && a.Cost.LowNs >= b.Cost.LowNs {
		return a
	}
	return b
}

// TestPromisesAgainstMeasuredSavings holds every price against what mending really saved, measured without a profiler
// (testdata/traces/savings.json): the lower end promises no more than that by 15 % and half a millisecond.
func TestPromisesAgainstMeasuredSavings(t *testing.T) {
	data, err := os.ReadFile("../testdata/traces/savings.json")
	if err != nil {
		t.Fatal(err)
	}
	var measured map[string]map[string][]float64 // ms
	if err := json.Unmarshal(data, &measured); err != nil {
		t.Fatal(err)
	}
	mean := func(run, variant string) float64 {
		values := measured[run][variant]
		if len(values) == 0 {
			t.Fatalf("savings.json has no %s of %s", variant, run)
		}
		var sum float64
		for _, v := range values {
			sum += v
		}
		return sum / float64(len(values))
	}
	for _, c := range []struct {
		run, root, trace, base string
		mended                 map[string]string // rule → variant
	}{
		{"gpt", "gpt", "gpt/trace.json.gz", "base", map[string]string{"CMP006": "sdpa_everywhere", "XFR005": "mask_on_device", "SYN006": "grad_norm_one_sync", "SYN001": "no_print_no_isnan", "SYN002": "no_print_no_isnan", "MEM001": "no_empty_cache", "OPT002": "fused_adamw", "XFR001": "pinned_batches"}},
		{"vision", "vision", "vision/trace.json.gz", "base_no_workers", map[string]string{"DAT001": "workers8", "DAT005": "workers8"}},
		{"vision", "vision", "vision_workers/trace.json.gz", "workers8", map[string]string{"XFR001": "workers8_pin", "SYN001": "workers8_no_item", "SYN004": "workers8_no_synchronize", "OPT002": "workers8_foreach", "OPT001": "workers8_zero_grad_none", "AMP005": "workers8_narrow_autocast"}},
	} {
		found := pricedRun(t, c.root, c.trace)
		for rule, variant := range c.mended {
			f, ok := found[rule]
			if !ok {
				t.Errorf("%s: no %s", c.trace, rule)
				continue
			}
			saved := mean(c.run, c.base) - mean(c.run, variant)
			if low := float64(f.Cost.LowNs) / 1e6; low > max(0, saved)*1.15+0.5 {
				t.Errorf("%s: %s promises at least %.2f ms a step, %s saved %.2f ms", c.trace, rule, low, variant, saved)
			}
		}
	}
}

// TestVerdicts holds what is known of the planted mistakes: which matter, which do not, and in which order.
func TestVerdicts(t *testing.T) {
	gpt := pricedRun(t, "gpt", "gpt/trace.json.gz")
	for _, rule := range []string{"SYN001", "SYN002", "XFR001"} { // print(loss.item()), isnan and the copies saved nothing
		if gpt[rule].Verdict != rules.Refuted || gpt[rule].Severity != rules.Hint {
			t.Errorf("gpt: %s is %v with severity %v, want refuted and a hint; %+v", rule, gpt[rule].Verdict, gpt[rule].Severity, gpt[rule].Cost)
		}
	}
	if mask, cache, norm := gpt["XFR005"].Cost.LowNs, gpt["MEM001"].Cost.LowNs, gpt["SYN006"].Cost.LowNs; mask <= cache || cache <= norm {
		t.Errorf("gpt: mask %d, empty_cache %d, grad norm %d ns a step; measured savings are in this order", mask, cache, norm)
	}
	for rule, f := range gpt {
		if rule != "CMP006" && f.Cost.LowNs >= gpt["CMP006"].Cost.LowNs {
			t.Errorf("gpt: %s costs %d ns a step, more than the unfused attention (%d)", rule, f.Cost.LowNs, gpt["CMP006"].Cost.LowNs)
		}
	}
	vision := pricedRun(t, "vision", "vision/trace.json.gz")
	for rule, f := range vision {
		if rule != "DAT001" && f.Cost.LowNs >= vision["DAT001"].Cost.LowNs {
			t.Errorf("vision: %s costs %d ns a step, more than the loader without workers (%d)", rule, f.Cost.LowNs, vision["DAT001"].Cost.LowNs)
		}
	}
	if f := vision["SYN004"]; f.Verdict != rules.Refuted {
		t.Errorf("vision: synchronize() is %v although the GPU had nothing left to do; %+v", f.Verdict, f.Cost)
	}
}

// TestPromisesOfTheSavingsLab holds prices against pairs measured on two GPUs (testdata/lab/savings).
func TestPromisesOfTheSavingsLab(t *testing.T) {
	data, err := os.ReadFile("../testdata/lab/savings/savings.json")
	if err != nil {
		t.Fatal(err)
	}
	var measured map[string]map[string][]float64 // ms
	if err := json.Unmarshal(data, &measured); err != nil {
		t.Fatal(err)
	}
	mean := func(values []float64) float64 {
		var sum float64
		for _, v := range values {
			sum += v
		}
		return sum / float64(len(values))
	}
	loader := pricedRun(t, "../lab/savings", "../lab/savings/loader0.trace.json.gz")["DAT001"]
	saved := mean(measured["loader"]["0"]) - mean(measured["loader"]["4"])
	if low := float64(loader.Cost.LowNs) / 1e6; loader.Verdict != rules.Confirmed || low <= 0 || low > saved*1.15+0.5 {
		t.Errorf("the loader is %v and promises at least %.2f ms a step; four workers saved %.2f ms", loader.Verdict, low, saved)
	}

	folder, err := filepath.Abs("../testdata/lab/savings")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Open(context.Background(), folder, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := w.LoadTrace(context.Background(), []string{"ddp_sync.rank0.trace.json.gz", "ddp_sync.rank1.trace.json.gz"}, LoadOptions{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	backward := []diagnose.Line{{File: "pair.py", Line: 67}} // (loss / accum).backward(): the reductions hang there
	price := diagnose.NewPrices(loaded.Attribution, loaded.Diagnosis).Communication(backward)
	saved = mean(measured["ddp"]["sync"]) - mean(measured["ddp"]["no_sync"])
	// Three of four micro-batches stop reducing.
	if low := 0.75 * float64(price.LowNs/loaded.StepCount()) / 1e6; price.Count == 0 || low <= 0 || low > saved*1.15+0.5 {
		t.Errorf("%d collectives promise at least %.2f ms a step; no_sync saved %.2f ms", price.Count, low, saved)
	}
}

// truthOf is what the ranges around statements measured, summed over lines, by the keys of truth.json.
func truthOf(t *testing.T, file string, lines ...string) map[string]float64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../testdata/traces", file))
	if err != nil {
		t.Fatal(err)
	}
	var truth struct {
		Lines map[string]map[string]float64 `json:"lines"`
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	sum := map[string]float64{}
	for _, line := range lines {
		if truth.Lines[line] == nil {
			t.Fatalf("%s has no %s", file, line)
		}
		for key, value := range truth.Lines[line] {
			sum[key] += value
		}
	}
	return sum
}

// near fails unless a price in nanoseconds a step is a truth in microseconds over some steps, to a part of it.
func near(t *testing.T, what string, priceNs int64, truthUs float64, steps int, part float64) {
	t.Helper()
	if price := float64(priceNs) / 1e3; math.Abs(price-truthUs/float64(steps)) > part*truthUs/float64(steps) {
		t.Errorf("%s: %.1f µs a step, measured were %.1f µs", what, price, truthUs/float64(steps))
	}
}

// TestPricesOfCompilationAgainstTruth holds the prices of CMP rules against the ranges that were around every statement.
func TestPricesOfCompilationAgainstTruth(t *testing.T) {
	attention := truthOf(t, "gpt/truth.json", "gpt.py:23", "gpt.py:24", "gpt.py:25", "gpt.py:26", "gpt.py:27")
	unfused := pricedRun(t, "gpt", "gpt/trace.json.gz")["CMP006"]
	all := attention["cuda_fwd_us"] + attention["cuda_bwd_us"] + attention["gpu_idle_us"]
	near(t, "CMP006 at most", unfused.Cost.HighNs, all, 2, 0.02)
	near(t, "CMP006 at least", unfused.Cost.LowNs, 0.6*all, 2, 0.02) // the fused kernel keeps two fifths

	compiled := pricedRun(t, "compile", "compile/trace.json.gz")
	read := truthOf(t, "compile/truth.json", "compiled.py:18")
	near(t, "CMP002's wait", compiled["CMP002"].Cost.WaitNs, read["sync_us"], 4, 0.01)
	if c := compiled["CMP002"]; c.Verdict != rules.Confirmed || c.Cost.HighNs > c.Cost.WaitNs || c.Cost.LowNs > c.Cost.HighNs {
		t.Errorf("CMP002 is %v with %+v: no more than the wait can be lost by it", c.Verdict, c.Cost)
	}
	// The sizes repeat, and all were compiled before the recording.
	if c := compiled["CMP003"]; c.Rule == nil || c.Verdict != rules.NotObserved || c.Cost != (rules.Cost{}) {
		t.Errorf("CMP003 is %v with %+v although nothing was compiled", c.Verdict, c.Cost)
	}
	// What other algorithms would save is in no trace.
	if c := pricedRun(t, "vision", "vision/trace.json.gz")["CMP004"]; c.Rule == nil || c.Verdict != rules.VerdictNone || c.Severity != rules.Info {
		t.Errorf("CMP004 is %v, %v", c.Verdict, c.Severity)
	}
}

// TestPricesOfCommunicationAgainstTruth holds the prices of DST rules against the ranges that were around every statement of both
// ranks: a collective's time is at least that of the rank that waits least, at most that of the one that waits most.
func TestPricesOfCommunicationAgainstTruth(t *testing.T) {
	findings := pricedRanks(t, "ddp", "ddp.rank0.trace.json.gz", "ddp.rank1.trace.json.gz")
	const steps = 3
	gpu := func(line string) (least, most float64) {
		a, b := truthOf(t, "ddp/ddp.rank0.truth.json", line), truthOf(t, "ddp/ddp.rank1.truth.json", line)
		return min(a["cuda_fwd_us"]+a["cuda_bwd_us"], b["cuda_fwd_us"]+b["cuda_bwd_us"]), max(a["cuda_fwd_us"]+a["cuda_bwd_us"], b["cuda_fwd_us"]+b["cuda_bwd_us"])
	}
	for _, line := range []int{25, 50} { // the metric's all-reduce; the barrier, whose kernels are not all collectives
		f := findings[fmt.Sprintf("DST005:%d", line)]
		least, most := gpu(fmt.Sprintf("ddp.py:%d", line))
		near(t, fmt.Sprintf("DST005 on line %d at least", line), f.Cost.LowNs, least, steps, 0.02)
		near(t, fmt.Sprintf("DST005 on line %d at most", line), f.Cost.HighNs, most, steps, 0.01)
	}

	// All that hangs at backward: the reductions, less what compute hides, and the copies out of the buckets.
	least, most := gpu("<backward:torch::autograd::AccumulateGrad>")
	reduced := findings["DST001:46"].Cost
	if low := float64(reduced.LowNs) / 1e3; low <= 0 || low > 0.5*least/steps {
		t.Errorf("DST001 promises %.1f µs a step of two micro-batches that took %.1f µs", low, least/steps)
	}
	if high := float64(reduced.HighNs) / 1e3; high < float64(reduced.LowNs)/1e3 || high > most/steps {
		t.Errorf("DST001 could save %.1f µs a step of %.1f µs", high, most/steps)
	}
	// Summed over the kernels launched in the reducer's ranges, by correlation, with a script of a few lines.
	near(t, "DST003", findings["DST003:33"].Cost.LowNs, (1660.611+1658.548)/2, steps, 0.001)
	if c := findings["DST002:33"]; c.Verdict != rules.NotObserved {
		t.Errorf("DST002 is %v with %+v although its constructor ran before the recording", c.Verdict, c.Cost)
	}
}

// checkedRun checks what ran in the traces of a folder.
func checkedRun(t *testing.T, folder string, traces ...string) (*Loaded, *Checked) {
	t.Helper()
	w, err := Open(context.Background(), folder, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := w.LoadTrace(context.Background(), traces, LoadOptions{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := w.CheckRun(context.Background(), loaded)
	if err != nil {
		t.Fatal(err)
	}
	return loaded, checked
}

// pricedRanks is pricedRun of several ranks; findings are by rule and line.
func pricedRanks(t *testing.T, root string, traces ...string) map[string]rules.Finding {
	t.Helper()
	_, checked := checkedRun(t, filepath.Join("../testdata/traces", root), traces...)
	found := map[string]rules.Finding{}
	for _, f := range checked.Findings {
		found[fmt.Sprintf("%s:%d", f.Rule.ID, f.File.Line(f.Span.Start))] = f
	}
	return found
}

// TestQuestionsOfOps: what a narrowed question says where none of its operations ran, and where they run elsewhere.
func TestQuestionsOfOps(t *testing.T) {
	loaded, _ := checkedRun(t, "../testdata/traces/gpt", "trace.json.gz")
	file := loaded.Attribution.Files["gpt.py"]
	at := strings.Index(file.Text, "torch.cuda.empty_cache()")
	span := pyscan.Span{Start: at, End: at + len("torch.cuda.empty_cache()")}
	for _, test := range []struct {
		question       rules.Question
		observed, free bool
	}{
		{rules.Question{Kind: rules.PriceHost, Ops: []string{"cudaFree"}}, true, false},
		{rules.Question{Kind: rules.PriceHost, Ops: []string{"cudaFree"}, AbsenceProvesNothing: true}, true, false},
		{rules.Question{Kind: rules.PriceHost, Ops: []string{"entire_frame_compile"}}, true, true},
		{rules.Question{Kind: rules.PriceHost, Ops: []string{"entire_frame_compile"}, AbsenceProvesNothing: true}, false, true},
		{rules.Question{Kind: rules.PriceKernels, Ops: []string{"aten::mm"}}, true, true},
		{rules.Question{Kind: rules.PriceKernels, Ops: []string{"aten::mm"}, Anywhere: true}, true, false},
		{rules.Question{Kind: rules.PriceKernels, Ops: []string{"copy_bucket_to_grad"}, Anywhere: true}, false, true},
	} {
		test.question.File, test.question.Span = file, span
		cost := loaded.RuleCosts().Measure(test.question)
		if cost.Observed != test.observed || (cost.HighNs == 0) != test.free {
			t.Errorf("%v of %v (anywhere %v, absence proves nothing %v): %+v", test.question.Kind, test.question.Ops, test.question.Anywhere,
				test.question.AbsenceProvesNothing, cost)
		}
	}
}
