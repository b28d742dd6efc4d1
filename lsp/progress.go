package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"stepline/analysis"
	"stepline/report"
)

// progressTokens are the running progresses, so that the client can cancel them.
type progressTokens struct {
	mu     sync.Mutex
	cancel map[string]context.CancelFunc // by the token's JSON
	next   atomic.Int64
}

// progress tells the client how far some work is; nil tells nobody. Work waits only createTime for the client to take the
// progress: it then goes on, and is told of once the client answers.
type progress struct {
	s     *server
	token json.RawMessage

	mu    sync.Mutex
	shown bool // the client knows the token
	ended bool
	last  int // percent told last
}

// createTime is how long work waits for a client to take its progress.
const createTime = time.Second

// beginProgress opens a progress on the client's token, or on one of ours where the client can show it. cancel is called
// when the user cancels.
func (s *server) beginProgress(ctx context.Context, token json.RawMessage, title string, cancel context.CancelFunc) *progress {
	ours := len(token) == 0 || string(token) == "null"
	if ours {
		if !s.client.can.Window.WorkDoneProgress {
			return nil
		}
		token = json.RawMessage(encode(fmt.Sprintf("stepline-%d", s.tokens.next.Add(1))))
	}
	s.tokens.mu.Lock()
	s.tokens.cancel[string(token)] = cancel
	s.tokens.mu.Unlock()
	p := &progress{s: s, token: token, last: -1}
	if !ours {
		p.show(title)
		return p
	}
	answered := make(chan struct{})
	s.spawn(func(ctx context.Context) {
		defer close(answered)
		ctx, done := context.WithTimeout(ctx, time.Minute)
		defer done()
		if _, err := s.conn.Call(ctx, "window/workDoneProgress/create", map[string]json.RawMessage{"token": token}); err != nil {
			s.log.Info("the client takes no progress", zap.Error(err))
			return
		}
		p.show(title)
	})
	select {
	case <-answered:
	case <-ctx.Done():
	case <-time.After(createTime):
	}
	return p
}

func (p *progress) show(title string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	yes, percent := true, uint32(max(0, p.last))
	p.tell(&protocol.WorkDoneProgressBegin{Kind: "begin", Title: title, Cancellable: &yes, Percentage: &percent})
	if p.ended { // what began must end
		p.tell(&protocol.WorkDoneProgressEnd{Kind: "end"})
	}
}

// tell sends a value to a client that knows the token; p.mu is held, so that begin, reports and end keep their order.
func (p *progress) tell(value any) {
	if !p.shown {
		return
	}
	encoded, err := protocol.Marshal(value)
	if err != nil {
		p.s.log.Error("a progress could not be encoded", zap.Error(err))
		return
	}
	p.s.notify("$/progress", map[string]json.RawMessage{"token": p.token, "value": encoded}, "")
}

// at tells how far a load is, at most once a per cent.
func (p *progress) at(now analysis.Progress) {
	if p == nil {
		return
	}
	percent, message := 100, now.Stage
	if now.Stage == "reading" && now.TotalBytes > 0 {
		percent = int(95 * now.DoneBytes / now.TotalBytes)
		message = fmt.Sprintf("read %s of %s", report.Bytes(now.DoneBytes), report.Bytes(now.TotalBytes))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if percent <= p.last && now.Stage == "reading" {
		return
	}
	p.last = percent
	u := uint32(min(max(percent, 0), 100))
	p.tell(&protocol.WorkDoneProgressReport{Kind: "report", Message: &message, Percentage: &u})
}

func (p *progress) end(message string) {
	if p == nil {
		return
	}
	p.s.tokens.mu.Lock()
	delete(p.s.tokens.cancel, string(p.token))
	p.s.tokens.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.tell(&protocol.WorkDoneProgressEnd{Kind: "end", Message: &message})
}

func (s *server) cancelProgress(params []byte) error {
	var p struct {
		Token json.RawMessage `json:"token"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	s.tokens.mu.Lock()
	cancel := s.tokens.cancel[string(p.Token)]
	s.tokens.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return nil
}
