package wire

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

func (c *Conn) notification(ctx context.Context, method string, params []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a notification's handler panicked", zap.String("method", method), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = nil
		}
	}()
	if method == "$/cancelRequest" {
		c.cancelRequest(params)
		return nil
	}
	if err := c.handler.Notification(ctx, method, params); errors.Is(err, errStop) {
		return err
	} else if err != nil {
		c.log.Warn("a notification could not be handled", zap.String("method", method), zap.Error(err))
	}
	return nil
}

func (c *Conn) cancelRequest(params []byte) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	r := c.incoming[string(p.ID)]
	c.mu.Unlock()
	if r != nil {
		r.cancel(context.Canceled)
	}
}

func (c *Conn) request(ctx context.Context, id, method string, params []byte, reply func([]byte)) {
	received := c.received
	var answered func(took time.Duration)
	ctx, cancel := context.WithCancelCause(ctx)
	r := &request{id: id, cancel: cancel}
	c.mu.Lock()
	c.incoming[id] = r
	c.mu.Unlock()
	finish := func(result any, err error) {
		cancel(nil)
		c.mu.Lock()
		if c.incoming[id] == r {
			delete(c.incoming, id)
		}
		c.mu.Unlock()
		reply(c.answer(id, method, result, err))
		if answered != nil {
			answered(time.Since(received))
		}
	}
	how, err := guard(c.log, method, func() (Reply, error) { return c.handler.Request(ctx, method, params) })
	answered = how.Answered
	if err != nil || how.Work == nil {
		finish(how.Value, err)
		return
	}
	c.workers.do(how.Long, func() {
		if ctx.Err() != nil {
			finish(nil, context.Canceled)
			return
		}
		result, err := guard(c.log, method, func() (any, error) { return how.Work(ctx) })
		if err == nil && ctx.Err() != nil {
			// The client has given up; the answer it gets says so whether the work noticed or not.
			err = context.Canceled
		}
		finish(result, err)
	})
}

// guard turns a panic of f into an error.
func guard[T any](log *zap.Logger, method string, f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("a request's handler panicked", zap.String("method", method), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = jsonrpc2.Errorf(jsonrpc2.InternalError, "%s failed inside stepline: %v", method, p)
		}
	}()
	return f()
}

func (c *Conn) answer(id, method string, result any, err error) []byte {
	if err == nil {
		b := append(append(c.room(result), `{"jsonrpc":"2.0","id":`...), id...)
		b = append(b, `,"result":`...)
		if b, err = guard(c.log, method, func() ([]byte, error) { return c.encode(b, result) }); err == nil {
			return append(b, '}')
		}
	}
	var coded *jsonrpc2.Error
	switch {
	case errors.As(err, &coded):
		coded = &jsonrpc2.Error{Code: coded.Code, Message: err.Error(), Data: coded.Data}
	case errors.Is(err, context.Canceled):
		coded = jsonrpc2.NewError(CodeRequestCancelled, "cancelled")
	default:
		c.log.Warn("a request failed", zap.String("method", method), zap.Error(err))
		coded = jsonrpc2.NewError(jsonrpc2.InternalError, err.Error())
	}
	return errorBody(id, coded)
}

// maxMessage bounds an error's message, in bytes: it may quote what the client sent, of any length.
const maxMessage = 4 << 10

func errorBody(id string, e *jsonrpc2.Error) []byte {
	said := e.Message
	if len(said) > maxMessage {
		said = strings.ToValidUTF8(said[:maxMessage], "") + "…"
	}
	message, err := json.Marshal(said)
	if err != nil {
		message = []byte(`"error"`)
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = append(b, `,"message":`...)
	b = append(b, message...)
	if len(e.Data) > 0 {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	return append(b, '}', '}')
}
