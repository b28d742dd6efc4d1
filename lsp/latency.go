package lsp

import (
	"context"
	"slices"
	"sync"
	"time"

	"stepline/lsp/internal/wire"
)

// latencyKept is how many edits, and answers of each method, the server remembers the times of: the last ones.
const latencyKept = 1 << 12

// latencies are how long the server itself took: for edits, from the message read to the diagnostics handed to the writer; for
// requests to the answer handed to it. Edits that a later one overtook count with that one.
type latencies struct {
	mu      sync.Mutex
	edits   latency
	answers map[string]*latency // by method
}

func (l *latencies) edited(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edits.add(took)
}

func (l *latencies) answered(method string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.answers[method]
	if of == nil {
		if l.answers == nil {
			l.answers = map[string]*latency{}
		}
		of = &latency{}
		l.answers[method] = of
	}
	of.add(took)
}

type latency struct {
	took  []time.Duration // in no order
	count int
}

func (l *latency) add(took time.Duration) {
	if len(l.took) < latencyKept {
		l.took = append(l.took, took)
	} else {
		l.took[l.count%latencyKept] = took
	}
	l.count++
}

// latencyTold is what is told of times: how many there were, and, of the last ones, what half and 95 % of them were within, and the
// longest, in milliseconds.
type latencyTold struct {
	Count  int     `json:"count"`
	P50Ms  float64 `json:"p50_ms"`
	P95Ms  float64 `json:"p95_ms"`
	MostMs float64 `json:"most_ms"`
}

func (l *latency) told() latencyTold {
	if l.count == 0 {
		return latencyTold{}
	}
	took := slices.Sorted(slices.Values(l.took))
	at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1e3 }
	return latencyTold{Count: l.count, P50Ms: at(0.5), P95Ms: at(0.95), MostMs: at(1)}
}

// latenciesTold is the answer to stepline/latency.
type latenciesTold struct {
	Edits   latencyTold            `json:"edits"`
	Answers map[string]latencyTold `json:"answers"`
}

func (l *latencies) told() latenciesTold {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := latenciesTold{Edits: l.edits.told(), Answers: map[string]latencyTold{}}
	for method, of := range l.answers {
		out.Answers[method] = of.told()
	}
	return out
}

// tellLatency answers stepline/latency: for a report of a slow editor, and for the bench.
func (s *server) tellLatency(context.Context, []byte) (wire.Reply, error) {
	return wire.Reply{Value: rawJSON{s.latency.told()}}, nil
}
