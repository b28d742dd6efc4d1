package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

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

// progress tells the client how far some work is; nil tells nobody.
type progress struct {
	s     *server
	token json.RawMessage
	last  int // percent told last
}

// beginProgress opens a progress on the client's token, or on one of ours where the client can show it. cancel is called
// when the user cancels.
func (s *server) beginProgress(ctx context.Context, token json.RawMessage, title string, cancel context.CancelFunc) *progress {
	if len(token) == 0 || string(token) == "null" {
		if !s.client.can.Window.WorkDoneProgress {
			return nil
		}
		token = json.RawMessage(encode(fmt.Sprintf("stepline-%d", s.tokens.next.Add(1))))
		if _, err := s.conn.Call(ctx, "window/workDoneProgress/create", map[string]json.RawMessage{"token": token}); err != nil {
			s.log.Info("the client takes no progress", zap.Error(err))
			return nil
		}
	}
	s.tokens.mu.Lock()
	s.tokens.cancel[string(token)] = cancel
	s.tokens.mu.Unlock()
	p := &progress{s: s, token: token, last: -1}
	yes, zero := true, uint32(0)
	p.tell(&protocol.WorkDoneProgressBegin{Kind: "begin", Title: title, Cancellable: &yes, Percentage: &zero})
	return p
}

func (p *progress) tell(value any) {
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
