package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"stepline/lsp/internal/wire"
)

// ReplayResult is how long a replayed session's requests took, by method.
type ReplayResult struct {
	Method string
	Count  int
	// P50, P95 and Max are from the writing of a request to its answer; for textDocument/didChange to the diagnostics.
	P50, P95, Max time.Duration
}

// Replay runs a recorded session against a server of its own, each message as soon as the one before is answered, and says
// how long the answers took. Settings and traces named in the session are used as they are on this machine.
func Replay(ctx context.Context, session io.Reader, options Options) ([]ReplayResult, error) {
	serverIn, toServer := io.Pipe()
	fromServer, serverOut := io.Pipe()
	options.WatchParent, options.Record = false, nil
	served := make(chan error, 1)
	go func() {
		err := Serve(ctx, serverIn, serverOut, options)
		_ = serverOut.Close()
		served <- err
	}()
	p := &player{to: toServer, from: wire.NewFrameReader(fromServer), answered: map[string]chan struct{}{}, times: map[string][]time.Duration{}, ended: make(chan struct{})}
	go p.read()
	err := p.play(ctx, session)
	_ = toServer.Close()
	if serveErr := <-served; err == nil && !errors.Is(serveErr, ErrExitWithoutShutdown) {
		err = serveErr
	}
	<-p.ended
	return p.results(), err
}

// player is the client of a replay.
type player struct {
	to   io.Writer
	from *wire.FrameReader

	mu       sync.Mutex
	answered map[string]chan struct{} // by raw id, or "diagnostics" and the URI
	times    map[string][]time.Duration
	ended    chan struct{}
}

func (p *player) read() {
	defer close(p.ended)
	for {
		body, err := p.from.Read()
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				URI   string            `json:"uri"`
				Items []json.RawMessage `json:"items"`
			} `json:"params"`
		}
		if json.Unmarshal(body, &m) != nil {
			continue
		}
		switch {
		case m.Method == "textDocument/publishDiagnostics":
			p.signal("diagnostics " + m.Params.URI)
		case m.Method != "" && m.ID != nil:
			result := "null"
			if m.Method == "workspace/configuration" {
				result = "[" + strings.TrimSuffix(strings.Repeat("null,", len(m.Params.Items)), ",") + "]"
			}
			id := m.ID
			go func() {
				_, _ = p.to.Write(wire.AppendFrame(nil, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)))
			}()
		case m.Method == "":
			p.signal(string(m.ID))
		}
	}
}

func (p *player) signal(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ch := p.answered[key]; ch != nil {
		close(ch)
		delete(p.answered, key)
	}
}

// answerTime is how long a replay waits for one answer.
const answerTime = 30 * time.Second

func (p *player) play(ctx context.Context, session io.Reader) error {
	lines := bufio.NewReader(session)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			if err := p.send(ctx, line); err != nil {
				return fmt.Errorf("line %d of the session: %w", n, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the session: %w", err)
		}
	}
}

func (p *player) send(ctx context.Context, line []byte) error {
	var r recorded
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("this is no recorded message: %w", err)
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			TextDocument struct {
				URI string `json:"uri"`
			} `json:"textDocument"`
		} `json:"params"`
	}
	if err := json.Unmarshal(r.Message, &m); err != nil {
		return fmt.Errorf("this is no message: %w", err)
	}
	key := ""
	switch {
	case m.Method == "": // an answer of the client's: the replay gives its own
		return nil
	case m.ID != nil:
		key = string(m.ID)
	case m.Method == "textDocument/didChange":
		key = "diagnostics " + m.Params.TextDocument.URI
	}
	done := make(chan struct{})
	if key != "" {
		p.mu.Lock()
		p.answered[key] = done
		p.mu.Unlock()
	}
	began := time.Now()
	if _, err := p.to.Write(wire.AppendFrame(nil, r.Message)); err != nil || key == "" {
		return err
	}
	select {
	case <-done:
		p.times[m.Method] = append(p.times[m.Method], time.Since(began))
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
	case <-time.After(answerTime): // told by its absence in the counts
	}
	return nil
}

func (p *player) results() []ReplayResult {
	var out []ReplayResult
	for method, times := range p.times {
		slices.Sort(times)
		out = append(out, ReplayResult{Method: method, Count: len(times), P50: times[len(times)/2], P95: times[len(times)*95/100], Max: times[len(times)-1]})
	}
	slices.SortFunc(out, func(a, b ReplayResult) int { return strings.Compare(a.Method, b.Method) })
	return out
}
