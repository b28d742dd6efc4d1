package diagnose_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/diagnose"
)

// A trace without a GPU event (CUPTI not permitted, CPU activity alone) says nothing of the GPU: no idle time, no class, no finding.
func TestNoGPUEvents(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("train.py", "def step(x):\n    y = x.relu()\n    return y.item()\n")
	write("trace.json", `{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":1000},
{"ph":"X","cat":"python_function","name":"train.py(1): step","pid":1,"tid":1,"ts":10,"dur":900,"args":{"Python id":1,"Python parent id":null}},
{"ph":"X","cat":"python_function","name":"<built-in method relu of Tensor object at 0x1>","pid":1,"tid":1,"ts":20,"dur":100,"args":{"Python id":2,"Python parent id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":30,"dur":10,"args":{"correlation":1}},
{"ph":"X","cat":"python_function","name":"<built-in method item of Tensor object at 0x1>","pid":1,"tid":1,"ts":200,"dur":600,"args":{"Python id":3,"Python parent id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":1,"ts":300,"dur":400,"args":{"correlation":2}}]}`)
	a, d := diagnosedIn(t, root, ".", "trace.json")
	costs := a.Costs()
	if !slices.ContainsFunc(costs.Warnings, func(w traceindex.Warning) bool { return w.Code == "no-gpu-events" }) {
		t.Errorf("warnings %v", costs.Warnings)
	}
	if costs.Summary.GPUIdleNs != 0 || costs.Summary.GPUIdleNoLineNs != 0 {
		t.Errorf("idle %d, on no line %d", costs.Summary.GPUIdleNs, costs.Summary.GPUIdleNoLineNs)
	}
	for _, l := range costs.Lines {
		if l.GPUIdleNs != 0 || l.BubbleNs != 0 || l.CPUNs == 0 {
			t.Errorf("line %d: idle %d, bubble %d, CPU %d", l.Line, l.GPUIdleNs, l.BubbleNs, l.CPUNs)
		}
	}
	if d.Class != diagnose.Unknown || len(d.Evidence) > 0 || len(d.Findings) > 0 || d.Shares.Other != 1 || d.UnknownShare != 1 {
		t.Errorf("class %s, evidence %v, findings %v, shares %+v", d.Class, d.Evidence, d.Findings, d.Shares)
	}
	if s := d.Steps[0]; len(s.Gaps) != 1 || s.Gaps[0].DurNs() != s.DurNs() || s.Gaps[0].Cause != diagnose.CauseUnknown || s.Gaps[0].Known {
		t.Errorf("gaps %+v", s.Gaps)
	}
}

// A trace with no event at all is a trace: nothing bounds its step.
func TestNothingRecorded(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "trace.json"), []byte(`{"traceEvents":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, d := diagnosedIn(t, folder, ".", "trace.json")
	if d.Class != diagnose.Unknown || len(d.Findings) > 0 {
		t.Errorf("class %s, findings %v", d.Class, d.Findings)
	}
}
