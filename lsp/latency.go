package lsp

import (
	"context"
	"slices"
	"sync"
	"time"

	"stepline/lsp/internal/wire"
)

// latencyKept is how many edits the server remembers the times of.
const latencyKept = 1 << 13

// latency is how long edits took, from the message read to its diagnostics handed to the writer: the server's own share of what the
// user waits for. Edits that a later one overtook count with that one. The last latencyKept are kept.
type latency struct {
	mu    sync.Mutex
	took  []time.Duration
	count int
}

func (l *latency) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) < latencyKept {
		l.took = append(l.took, took)
	} else {
		l.took[l.count%latencyKept] = took
	}
	l.count++
}

// latencyTold is the answer to stepline/latency. Times are in milliseconds, over the last 8,192 edits.
type latencyTold struct {
	Edits  int     `json:"edits"`
	P50Ms  float64 `json:"p50_ms"`
	P95Ms  float64 `json:"p95_ms"`
	MostMs float64 `json:"most_ms"`
}

func (l *latency) told() latencyTold {
	l.mu.Lock()
	took, count := slices.Clone(l.took), l.count
	l.mu.Unlock()
	if count == 0 {
		return latencyTold{}
	}
	slices.Sort(took)
	at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1e3 }
	return latencyTold{Edits: count, P50Ms: at(0.5), P95Ms: at(0.95), MostMs: at(1)}
}

// tellLatency answers stepline/latency: for a report of a slow editor, and for the bench.
func (s *server) tellLatency(context.Context, []byte) (wire.Reply, error) {
	return wire.Reply{Value: rawJSON{s.latency.told()}}, nil
}
