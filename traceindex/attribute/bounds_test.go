package attribute_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/load"
)

// traceEvent is one event of a made-up Kineto file.
type traceEvent struct {
	Phase string         `json:"ph"`
	Cat   string         `json:"cat"`
	Name  string         `json:"name"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Ts    float64        `json:"ts"`
	Dur   float64        `json:"dur"`
	Args  map[string]any `json:"args"`
}

// traceBuilder makes Kineto files of nested calls. Every call launches one kernel of 1 µs.
type traceBuilder struct {
	events []traceEvent
	nowUs  float64
	id     int
	stack  []int
	cid    int
}

func (b *traceBuilder) call(name string, body func()) {
	b.id++
	id, parent := b.id, 0
	if n := len(b.stack); n > 0 {
		parent = b.stack[n-1]
	}
	start := b.nowUs
	b.nowUs++
	b.stack = append(b.stack, id)
	at := len(b.events)
	b.events = append(b.events, traceEvent{})
	if body != nil {
		body()
	} else {
		b.launch()
	}
	b.stack = b.stack[:len(b.stack)-1]
	b.nowUs++
	b.events[at] = traceEvent{"X", "python_function", name, 1, 1, start, b.nowUs - start, map[string]any{"Python id": id, "Python parent id": parent}}
	b.nowUs++
}

func (b *traceBuilder) launch() {
	b.cid++
	b.events = append(b.events,
		traceEvent{"X", "cuda_runtime", "cudaLaunchKernel", 1, 1, b.nowUs, 1, map[string]any{"correlation": b.cid}},
		traceEvent{"X", "kernel", "work", 0, 7, b.nowUs + 1, 1, map[string]any{"correlation": b.cid, "device": 0, "stream": 7}})
	b.nowUs += 2
}

// costs writes the trace and attributes it to a project.
func (b *traceBuilder) costs(t *testing.T, files map[string]string) *traceindex.Costs {
	t.Helper()
	data, err := json.Marshal(map[string]any{"schemaVersion": 1, "traceEvents": b.events})
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "made.json")
	if err := os.WriteFile(trace, data, 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := load.Open(context.Background(), []string{trace}, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := attribute.Directory(project(t, files), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	costs, err := attribute.Run(context.Background(), run, src)
	if err != nil {
		t.Fatal(err)
	}
	checkAccounted(t, costs, nil)
	return costs
}

// TestBounds shows that a function too large for the alignment is told as a whole, with a warning, and that a long loop is not too large.
func TestBounds(t *testing.T) {
	const calls = 3000
	t.Run("3,000 calls in a row", func(t *testing.T) {
		var text strings.Builder
		text.WriteString("def work(x):\n    return x\n\n\ndef main(x):\n")
		for i := range calls {
			fmt.Fprintf(&text, "    if x > %d:\n        work(x[%d])\n", i, i)
		}
		b := &traceBuilder{}
		b.call("big.py(5): main", func() {
			for range calls {
				b.call("big.py(1): work", nil)
			}
		})
		costs := b.costs(t, map[string]string{"big.py": text.String()})
		found := false
		for _, w := range costs.Warnings {
			found = found || w.Code == "function-too-large" && strings.Contains(w.Message, "big.py:5 main")
		}
		if !found {
			t.Errorf("no warning about the function: %v", costs.Warnings)
		}
	})
	t.Run("its own launches", func(t *testing.T) {
		var text strings.Builder
		text.WriteString("def main(x):\n")
		for i := range calls {
			fmt.Fprintf(&text, "    if x > %d:\n        torch.relu(x[%d])\n", i, i)
		}
		b := &traceBuilder{}
		b.call("big.py(1): main", func() {
			for range calls {
				b.call("<built-in method relu of type object at 0x1>", nil)
			}
		})
		costs := b.costs(t, map[string]string{"big.py": text.String()})
		if len(costs.Lines) != 1 || costs.Lines[0].Line != 1 || costs.Lines[0].Confidence != traceindex.ConfidenceFunction || costs.Lines[0].SelfNs != calls*1000 {
			t.Errorf("%d lines: %+v", len(costs.Lines), costs.Lines)
		}
	})
	t.Run("a loop of 3,000 turns", func(t *testing.T) {
		b := &traceBuilder{}
		b.call("loop.py(1): main", func() {
			for range calls {
				b.call("<built-in method relu of type object at 0x1>", nil)
				b.call("<built-in method tanh of type object at 0x1>", nil)
			}
		})
		costs := b.costs(t, map[string]string{"loop.py": "def main(x):\n    for i in range(3000):\n        y = torch.relu(x)\n        x = torch.tanh(y)\n"})
		for _, l := range costs.Lines {
			if (l.Line == 3 || l.Line == 4) && (l.SelfNs != calls*1000 || l.Confidence != traceindex.ConfidenceExact || l.Calls != calls) {
				t.Errorf("line %d: %+v", l.Line, l)
			}
		}
		if len(costs.Warnings) > 0 || len(costs.Unattributed) > 0 {
			t.Errorf("warnings %v, unattributed %v", costs.Warnings, costs.Unattributed)
		}
	})
}
