package kineto

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two parsers find in real traces what one does, to the last field.
func TestForkedRealTraces(t *testing.T) {
	for _, name := range []string{"gpt/trace.json.gz", "compile/trace.json.gz", "ddp/ddp.rank0.trace.json.gz", "lab_moe/moe.trace.json.gz"} {
		data := unpacked(t, name)
		one, err := readAll(data, blockBytes, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		two, err := readForked(data, blockBytes, 1<<20, forkBytes)
		if err != nil {
			t.Fatal(err)
		}
		if describe(one) != describe(two) {
			t.Errorf("%s: %s", name, cmp.Diff(strings.Split(describe(one), "\n"), strings.Split(describe(two), "\n")))
		}
		if d := cmp.Diff(one.Threads, two.Threads); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Both parsers are at work, and what one cannot take in order is read in order.
func TestForkFallsBack(t *testing.T) {
	var events []string
	for i := range 400 {
		events = append(events, eventText(i))
	}
	nested := strings.Replace(eventText(1000), `"External id": 1000`, `"External id": 1000, "x": [`+strings.Join(events[:20], ",")+`]`, 1)
	for name, list := range map[string][]string{
		"sound":            events,
		"events in events": append(append([]string{}, events...), strings.Split(strings.Repeat(nested+"\x00", 60), "\x00")[:60]...),
		"damaged":          append(append([]string{}, events...), `{"ph": "X", "cat": "cpu_op", "name": "broken"`, eventText(2000)),
		"begin and end":    append(append([]string{}, events...), `{"ph":"B","cat":"cpu_op","name":"b","pid":1,"tid":9,"ts":1}`, eventText(2000), `{"ph":"E","cat":"cpu_op","pid":1,"tid":9,"ts":4}`, eventText(2001)),
	} {
		data := []byte(trace(list...))
		one, err := readAll(data, blockBytes, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, fork := range []int{1, 500, 5000, len(data) / 2} {
			for _, block := range []int{blockBytes, 3000} {
				two, err := readForked(data, block, 1<<20, fork)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(describe(one), describe(two)); d != "" {
					t.Errorf("%s, fork at %d, blocks of %d: %s", name, fork, block, d)
				}
			}
		}
	}
	w := newWindow(t.Context(), bytes.NewReader([]byte(trace(events...))), blockBytes)
	defer w.close()
	d := newDocument(w, "trace")
	d.forkBytes = 1
	if err := d.read(); err != nil {
		t.Fatal(err)
	}
	defer d.stopHelper()
	if d.helper == nil || d.helper.p.b.Len() < 150 || d.p.b.Len() < 150 || d.helper.failures > 0 {
		t.Errorf("the parsers took %d events and the rest", d.p.b.Len())
	}
	d.joinHelper()
	if d.p.b.Len() != len(events) || d.forkBytes == math.MaxInt {
		t.Errorf("%d events", d.p.b.Len())
	}
}
