package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestReplicateKeepsCopiesApart replicates a launch with its kernel and frame and looks at the ids and times of the copies.
func TestReplicateKeepsCopiesApart(t *testing.T) {
	const trace = `{"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 100.5, "dur": 50, "args": {"External id": 9}},
{"ph": "X", "cat": "python_function", "name": "a.py(1): f", "pid": 1, "tid": 1, "ts": 110.0, "dur": 20, "args": {"Python id": 2, "Python parent id": null}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 112.0, "dur": 2, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 115.0, "dur": 5, "args": {"correlation": 7}}
]}`
	var out bytes.Buffer
	if err := replicate(bytes.NewReader([]byte(trace)), &out, 3); err != nil {
		t.Fatal(err)
	}
	var document struct {
		TraceEvents []struct {
			Ph, Name string
			Ts       float64
			Args     map[string]any
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if got, want := len(document.TraceEvents), 1+3*4; got != want {
		t.Fatalf("%d events, want %d (metadata once, the rest three times)", got, want)
	}
	correlations, steps, lastEnd := map[float64]int{}, map[string]bool{}, 0.0
	for _, event := range document.TraceEvents {
		if correlation, ok := event.Args["correlation"].(float64); ok {
			correlations[correlation]++
		}
		if event.Name[0] == 'P' {
			steps[event.Name] = true
			if event.Ts < lastEnd {
				t.Errorf("step at %.1f µs begins before the copy before it ends at %.1f µs", event.Ts, lastEnd)
			}
			lastEnd = event.Ts + 50
		}
		if parent, ok := event.Args["Python parent id"]; ok && parent != nil {
			t.Errorf("a null parent id became %v", parent)
		}
	}
	if len(correlations) != 3 || len(steps) != 3 {
		t.Errorf("correlations %v and steps %v must differ between copies", correlations, steps)
	}
	for correlation, uses := range correlations {
		if uses != 2 {
			t.Errorf("correlation %v joins %d events, want launch and kernel", correlation, uses)
		}
	}
}
