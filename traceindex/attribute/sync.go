package attribute

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"stepline/traceindex"
)

// Sync is one call that waits for the GPU: a *Synchronize, or a copy that returns only when it is done.
type Sync struct {
	Call traceindex.EventID
	// Copy tells that the call is a blocking copy.
	Copy bool
	// BubbleNs is the GPU's idle time that follows: from the call's end to the next GPU event, or to the end of the next such
	// call, which then has the rest.
	BubbleNs int64
}

// isSynchronize reports whether a runtime call waits for the device, a stream or an event (CUDA and HIP).
func isSynchronize(name string) bool { return strings.HasSuffix(name, "Synchronize") }

// Syncs are a rank's waiting calls on all threads, in order of their ends.
func (a *Attribution) Syncs(rank int) []Sync { return a.ranks[rank].syncs() }

func (p *rankPlaces) syncs() []Sync {
	ix := p.ix
	n := 0
	for range p.waitingCalls() {
		n++
	}
	out := make([]Sync, 0, n)
	for call, copies := range p.waitingCalls() {
		out = append(out, Sync{Call: call, Copy: copies})
	}
	slices.SortFunc(out, func(a, b Sync) int {
		return cmp.Or(cmp.Compare(ix.EndNs(a.Call), ix.EndNs(b.Call)), cmp.Compare(a.Call, b.Call))
	})
	p.measureBubbles(out)
	return out
}

// waitingCalls are the calls that wait for the GPU, in row order, with whether they are copies.
func (p *rankPlaces) waitingCalls() iter.Seq2[traceindex.EventID, bool] {
	ix := p.ix
	synchronizes, copies := make([]bool, len(ix.Names)), make([]bool, len(ix.Names))
	for i, name := range ix.Names {
		synchronizes[i], copies[i] = isSynchronize(name), strings.Contains(name, "emcpy")
	}
	return func(yield func(traceindex.EventID, bool) bool) {
		for _, t := range ix.HostThreads {
			first, end := ix.RowsOf(t)
			for row := first; row < end; row++ {
				if ix.Events.Category[row] != traceindex.CategoryRuntime {
					continue
				}
				name := ix.Events.Name[row]
				copied := copies[name] && !synchronizes[name]
				if (synchronizes[name] || copied && p.isBlockingCopy(row)) && !yield(row, copied) {
					return
				}
			}
		}
	}
}

// isBlockingCopy reports whether a copy's call returned only after the copy had run on the GPU: what cudaMemcpy does, and
// cudaMemcpyAsync to pageable memory (CUDA's "API synchronization behavior").
func (p *rankPlaces) isBlockingCopy(call traceindex.EventID) bool {
	for _, g := range p.ix.GPUOf(call) {
		if p.ix.Events.Category[g] == traceindex.CategoryMemcpy && p.ix.EndNs(call) >= p.ix.Events.StartNs[g]+p.ix.GPUDurNs(g) {
			return true
		}
	}
	return false
}

// measureBubbles fills the idle time after each call; each moment counts once.
func (p *rankPlaces) measureBubbles(syncs []Sync) {
	walk := p.ix.Busy()
	busy, more := walk.Next()
	for i := range syncs {
		end := p.ix.EndNs(syncs[i].Call)
		for more && busy.EndNs <= end {
			busy, more = walk.Next()
		}
		if !more || busy.StartNs <= end {
			continue // the GPU is at work, or never works again
		}
		until := busy.StartNs
		if i+1 < len(syncs) {
			until = min(until, p.ix.EndNs(syncs[i+1].Call))
		}
		syncs[i].BubbleNs = until - end
	}
}

// addSyncs adds a rank's waits and the bubbles after them to the lines that made them.
func (s *summing) addSyncs(p *rankPlaces) {
	for _, sync := range p.syncs() {
		row := s.row(p.of[sync.Call])
		if row == nil {
			continue
		}
		if !sync.Copy {
			row.SyncNs += p.ix.DurNs(sync.Call)
		}
		row.BubbleNs += sync.BubbleNs
	}
}
