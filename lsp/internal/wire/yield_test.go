package wire

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
)

// askedInTurn gives one request a read, and counts those whose answer had been written when the next read began.
type askedInTurn struct {
	requests, asked, answeredFirst int
	written                        atomic.Int64
}

func (a *askedInTurn) Read(p []byte) (int, error) {
	if a.asked > 0 && int(a.written.Load()) == a.asked {
		a.answeredFirst++
	}
	if a.asked == a.requests {
		return 0, io.EOF
	}
	a.asked++
	return copy(p, frameOf(fmt.Sprintf(`{"id":%d,"method":"work"}`, a.asked))), nil
}

func (a *askedInTurn) Write(p []byte) (int, error) {
	a.written.Add(1)
	return len(p), nil
}

// TestAnAnswerDoesNotWaitForTheNextRead has one processor only, as when all others are at work: what a message sets off must run
// there before the next read may block it.
func TestAnAnswerDoesNotWaitForTheNextRead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a := &askedInTurn{requests: 200}
	conn := NewConn(a, a, encodeJSON, zap.NewNop())
	if err := conn.Run(context.Background(), &script{}); err != nil {
		t.Fatal(err)
	}
	if a.answeredFirst < a.requests*95/100 {
		t.Errorf("%d of %d answers were written before the next read began", a.answeredFirst, a.requests)
	}
}
