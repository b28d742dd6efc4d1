package wire

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// envelope is a message with its members undecoded.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (c *Conn) dispatch(ctx context.Context, body []byte) error {
	switch jsontext.Value(body).Kind() {
	case '{':
		return c.dispatchOne(ctx, body, func(b []byte) { c.out.send(item{body: b, answer: true}) })
	case '[':
		return c.dispatchBatch(ctx, body)
	}
	c.out.send(item{body: errorBody("null", jsonrpc2.NewError(jsonrpc2.InvalidRequest, "a message must be an object"))})
	return nil
}

// dispatchBatch answers a JSON-RPC batch with one array, in no particular order, when its last request is done.
func (c *Conn) dispatchBatch(ctx context.Context, body []byte) error {
	var members []json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || len(members) == 0 {
		c.out.send(item{body: errorBody("null", jsonrpc2.NewError(jsonrpc2.InvalidRequest, "an empty batch"))})
		return nil
	}
	b := &batch{open: 1, send: func(b []byte) { c.out.send(item{body: b, answer: true}) }}
	defer b.done() // after an exit too: what came before it is answered
	for _, m := range members {
		if err := c.dispatchOne(ctx, m, b.promise()); err != nil {
			return err
		}
	}
	return nil
}

// batch gathers the answers of one batch.
type batch struct {
	mu   sync.Mutex
	open int
	got  [][]byte
	send func([]byte)
}

// promise returns what the member's answer goes to; it may be called any number of times, or never for notifications
// (then nil must be passed by dispatchOne to settle it).
func (b *batch) promise() func([]byte) {
	b.mu.Lock()
	b.open++
	b.mu.Unlock()
	return func(answer []byte) {
		if answer != nil {
			b.mu.Lock()
			b.got = append(b.got, answer)
			b.mu.Unlock()
		}
		b.done()
	}
}

func (b *batch) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open--; b.open > 0 || len(b.got) == 0 {
		return
	}
	all := []byte{'['}
	for i, a := range b.got {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, a...)
	}
	b.send(append(all, ']'))
}

// dispatchOne handles one message and calls reply exactly once: with the answer, or with nil where none is due.
func (c *Conn) dispatchOne(ctx context.Context, body []byte, answer func([]byte)) error {
	reply := func(b []byte) {
		if b != nil || answer != nil {
			answer(b)
		}
	}
	var m envelope
	if jsontext.Value(body).Kind() != '{' || json.Unmarshal(body, &m) != nil {
		reply(errorBody("null", jsonrpc2.NewError(jsonrpc2.InvalidRequest, "a message must be an object")))
		return nil
	}
	id, idOK := rawID(m.ID)
	var method string
	switch {
	case m.Method == nil && (m.Result != nil || m.Error != nil):
		c.deliver(m)
		reply(nil)
		return nil
	case m.Method == nil || json.Unmarshal(m.Method, &method) != nil || method == "" || !idOK:
		reply(errorBody(id, jsonrpc2.NewError(jsonrpc2.InvalidRequest, "a request needs a method (a string) and an id that is a string or a number")))
		return nil
	}
	params := []byte(m.Params)
	if string(params) == "null" {
		params = nil
	}
	if m.ID == nil {
		err := c.notification(ctx, method, params)
		reply(nil)
		return err
	}
	c.request(ctx, id, method, params, reply)
	return nil
}

// rawID returns the id's JSON text, "null" if it has none or a bad one. An absent id is fine, a null one is not.
func rawID(raw json.RawMessage) (id string, ok bool) {
	if raw == nil {
		return "null", true
	}
	switch jsontext.Value(raw).Kind() {
	case '"', '0':
		return string(raw), true
	}
	return "null", false
}
