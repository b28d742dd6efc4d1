package memsnap

import (
	"bufio"
	"context"
	"runtime"
	"strings"
	"testing"
)

// floods are pickles of one kind of object over and over: before, over and over, after.
var floods = map[string][3]string{
	"numbers":             {"\x80\x02(", "K\x01", "l."},
	"lists":               {"\x80\x02(", "]", "l."},
	"tuples":              {"\x80\x02(", ")", "l."},
	"dictionaries":        {"\x80\x02(", "}", "l."},
	"lists in one list":   {"\x80\x02]", "]a", "."},
	"numbers in one list": {"\x80\x02]", "K\x01a", "."},
	"tuples of one":       {"\x80\x02]", "K\x01\x850", "."},
	"nested tuples":       {"\x80\x02)", "\x85", "."},
	"dictionaries of one": {"\x80\x02]", "}K\x01K\x02sa", "."},
	"one dictionary":      {"\x80\x02}", "K\x01K\x02s", "."},
	"memo":                {"\x80\x04]", "\x94", "."},
	"events":              {"\x80\x02]", "}U\x06actionU\x05allocsa", "."},
	"blocks":              {"\x80\x02]", "}U\x05stateU\x08inactivesa", "."},
	"segments":            {"\x80\x02]", "}U\x06blocks]sa", "."},
	"stacks":              {"\x80\x02]", "}U\x06actionU\x05allocsU\x06frames]sa", "."},
}

// TestFloodsEnd: a small archive of endless objects ends with what to do, before it takes the machine's memory.
func TestFloodsEnd(t *testing.T) {
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			text := flood[0] + strings.Repeat(flood[1], 300_000) + flood[2]
			for bounded, limits := range map[string]limits{
				"bytes": {bytes: 2 << 20, items: usualLimits.items},
				"items": {bytes: usualLimits.bytes, items: 10_000},
			} {
				d := &decoder{in: bufio.NewReader(strings.NewReader(text)), limits: limits, heap: newHeap()}
				_, err := d.decode(context.Background())
				if err == nil && bounded == "items" && oneAtATime[name] {
					continue
				}
				if err == nil || !strings.Contains(err.Error(), "record less history") {
					t.Errorf("bounded by %s: %v", bounded, err)
				}
			}
		})
	}
}

// oneAtATime are the floods that never put much into one place.
var oneAtATime = map[string]bool{"tuples of one": true, "nested tuples": true, "memo": true}

// TestObjectsAreAccountedFor: what the limit is held against is what the objects really take.
func TestObjectsAreAccountedFor(t *testing.T) {
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			text := flood[0] + strings.Repeat(flood[1], 100_000) + flood[2]
			d := &decoder{in: bufio.NewReader(strings.NewReader(text)), limits: usualLimits, heap: newHeap()}
			before := inUse()
			if _, err := d.decode(context.Background()); err != nil {
				t.Fatal(err)
			}
			taken := inUse() - before
			if taken > d.heap.bytes*5/4+1<<16 || taken < d.heap.bytes*1/2-1<<16 {
				t.Errorf("%d bytes are taken, %d are accounted for", taken, d.heap.bytes)
			}
			runtime.KeepAlive(d)
		})
	}
}

// inUse is what is reachable now, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what the first one found dead is swept
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
