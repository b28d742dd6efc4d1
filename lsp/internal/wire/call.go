package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// Notify sends a notification. Those of one non-empty key replace each other while they wait to be written; a droppable one
// is left out when the client does not read.
func (c *Conn) Notify(method string, params any, key string) error {
	body, err := c.envelope(nil, method, params)
	if err != nil {
		return err
	}
	c.out.send(item{body: body, key: key, droppable: true})
	return nil
}

// Sized are params or results with large JSON, sent often: the bytes of such a message are used again once they are written.
type Sized interface {
	// JSONSize is about how many bytes it takes.
	JSONSize() int
}

// room is an empty slice to write the message of v into.
func (c *Conn) room(v any) []byte {
	if s, ok := v.(Sized); ok {
		return c.out.room(s.JSONSize())
	}
	return nil
}

func (c *Conn) envelope(id []byte, method string, params any) ([]byte, error) {
	b := append(c.room(params), `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(b, `,"method":`...)
	b = strconv.AppendQuote(b, method)
	if params != nil {
		var err error
		if b, err = c.encode(append(b, `,"params":`...), params); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", method, err)
		}
	}
	return append(b, '}'), nil
}

// Call sends a request and waits for its answer, ctx or the end of the connection. The result is the answer's JSON.
func (c *Conn) Call(ctx context.Context, method string, params any) ([]byte, error) {
	answer := make(chan response, 1)
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return nil, c.closed
	}
	c.nextID++
	id := c.nextID
	c.outgoing[id] = answer
	c.mu.Unlock()
	body, err := c.envelope(strconv.AppendInt(nil, id, 10), method, params)
	if err == nil {
		c.out.send(item{body: body})
		select {
		case r := <-answer:
			return r.result, r.err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	c.mu.Lock()
	delete(c.outgoing, id)
	c.mu.Unlock()
	return nil, err
}

// deliver hands an answer to the Call that waits for it; one that nobody waits for is dropped.
func (c *Conn) deliver(m envelope) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		c.log.Debug("an answer to no request", zap.ByteString("id", m.ID))
		return
	}
	c.mu.Lock()
	answer := c.outgoing[id]
	delete(c.outgoing, id)
	c.mu.Unlock()
	if answer == nil {
		return
	}
	r := response{result: m.Result}
	if m.Error != nil && string(m.Error) != "null" {
		var e jsonrpc2.Error
		if json.Unmarshal(m.Error, &e) != nil || e.Message == "" {
			e.Message = "the client answered with an error: " + string(m.Error)
		}
		r.err = &e
	}
	answer <- r
}
