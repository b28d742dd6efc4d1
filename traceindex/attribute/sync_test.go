package attribute_test

import (
	"path/filepath"
	"testing"

	"stepline/traceindex"
)

// TestSyncs checks waits, the bubbles after them and the copies of the gpt script: `.item()` per parameter on line 111, `.cuda()` of
// pageable batches on line 104, a mask copied from pageable memory on line 24.
func TestSyncs(t *testing.T) {
	a := attributeTrace(t, filepath.Join(tracesFolder, "gpt/trace.json.gz"), "gpt")
	ix := a.Run.Ranks[0]
	lines := map[int]traceindex.LineCost{}
	var bubbles int64
	for _, l := range a.Costs().Lines {
		lines[l.Line] = l
		bubbles += l.BubbleNs
	}
	for _, line := range []int{24, 104} {
		if l := lines[line]; l.CopyBytes == 0 || l.PageableBytes != l.CopyBytes || l.PageableNs != l.CopyNs {
			t.Errorf("line %d copies %d bytes, %d of them pageable", line, l.CopyBytes, l.PageableBytes)
		}
	}
	if l := lines[111]; l.BubbleNs == 0 || l.SyncNs == 0 {
		t.Errorf("line 111 waits %d ns, then the GPU idles %d", l.SyncNs, l.BubbleNs)
	}
	if l := lines[63]; l.SyncNs != 0 || l.BubbleNs != 0 || l.CopyNs != 0 {
		t.Errorf("line 63 neither waits nor copies: %+v", l)
	}
	// No moment is in two bubbles, and the GPU is idle in all of them.
	busy := ix.BusyIntervals()
	var last, sum int64
	for _, s := range a.Syncs(0) {
		if s.BubbleNs == 0 {
			continue
		}
		from, to := ix.EndNs(s.Call), ix.EndNs(s.Call)+s.BubbleNs
		if from < last {
			t.Errorf("bubbles overlap at %d", from)
		}
		last = to
		sum += s.BubbleNs
		for _, b := range busy {
			if b.StartNs < to && from < b.EndNs {
				t.Fatalf("the GPU works in the bubble after call %d", s.Call)
			}
		}
	}
	if sum < bubbles || bubbles == 0 {
		t.Errorf("bubbles of lines sum to %d ns, of all calls to %d", bubbles, sum)
	}
}
