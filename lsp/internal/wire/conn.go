package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// Codes of the LSP that jsonrpc2 does not name.
const (
	CodeRequestCancelled jsonrpc2.Code = -32800
	CodeContentModified  jsonrpc2.Code = -32801
	CodeServerCancelled  jsonrpc2.Code = -32802
	CodeRequestFailed    jsonrpc2.Code = -32803
)

// Work answers a request beside the reading goroutine. Its result is encoded by the connection's Marshal.
type Work func(ctx context.Context) (any, error)

// Handler is what a connection serves. Both methods run on the reading goroutine, in the order of the messages, and must
// not block. params is valid JSON and owned by the callee; it is nil where the message has none.
type Handler interface {
	// Notification handles a notification; its error is logged and nothing else.
	Notification(ctx context.Context, method string, params []byte) error
	// Request takes what the request needs from the state of this moment and returns how to answer it.
	Request(ctx context.Context, method string, params []byte) (Reply, error)
}

// Reply is how a request is answered: with Value at once, or by Work beside the reading.
type Reply struct {
	Value any
	Work  Work
	// Long gives the work a goroutine of its own, so that it keeps none of the short ones waiting.
	Long bool
}

// Conn is one client's connection. Make it with NewConn, run it with Run.
type Conn struct {
	frames  *FrameReader
	out     *writer
	log     *zap.Logger
	marshal func(any) ([]byte, error)
	handler Handler
	workers *pool
	posts   chan func()
	ended   chan struct{}

	mu       sync.Mutex
	incoming map[string]*request // by raw id
	outgoing map[int64]chan response
	nextID   int64
	closed   error
}

// request is a request being worked on.
type request struct {
	id     string
	cancel context.CancelCauseFunc
}

// response is the client's answer to a request of ours.
type response struct {
	result []byte
	err    error
}

// NewConn makes a connection reading in and writing out. marshal encodes results and params.
func NewConn(in io.Reader, out io.Writer, marshal func(any) ([]byte, error), log *zap.Logger) *Conn {
	return &Conn{
		frames:   NewFrameReader(in),
		out:      newWriter(out, log),
		log:      log,
		marshal:  marshal,
		workers:  newPool(8),
		posts:    make(chan func()),
		ended:    make(chan struct{}),
		incoming: map[string]*request{},
		outgoing: map[int64]chan response{},
	}
}

// ErrClosed is returned for calls on a connection that has ended.
var ErrClosed = errors.New("the connection to the client has ended")

// errStop ends Run without an error.
var errStop = errors.New("stop")

// Stop is returned by Handler.Notification to end the reading (the `exit` notification).
func Stop() error { return errStop }

// Run reads and dispatches until the stream ends, ctx is done or the handler stops it. It returns nil at a clean end of the
// stream and after Stop. All work has been cancelled and has ended when it returns, except work that ignores its context.
func (c *Conn) Run(ctx context.Context, handler Handler) error {
	c.handler = handler
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go c.out.run()
	bodies := make(chan frame)
	go c.read(ctx, bodies)
	err := c.dispatchAll(ctx, bodies)
	c.close(err)
	cancel()
	c.workers.wait()
	c.out.close()
	return err
}

type frame struct {
	body []byte
	err  error
}

// read is apart from dispatch so that Run can end while a read is blocked: an io.Reader cannot be interrupted.
func (c *Conn) read(ctx context.Context, bodies chan<- frame) {
	for {
		body, err := c.frames.Read()
		select {
		case bodies <- frame{body, err}:
		case <-ctx.Done():
			return
		}
		var bad *FrameError
		if err != nil && !errors.As(err, &bad) {
			return
		}
	}
}

func (c *Conn) dispatchAll(ctx context.Context, bodies <-chan frame) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case f := <-c.posts:
			c.runPost(f)
		case f := <-bodies:
			var bad *FrameError
			switch {
			case errors.As(f.err, &bad):
				c.log.Warn("a message was passed over", zap.String("reason", bad.Reason))
				c.out.send(item{body: errorBody("null", jsonrpc2.NewError(jsonrpc2.ParseError, bad.Reason))})
			case errors.Is(f.err, io.EOF):
				return nil
			case f.err != nil:
				return fmt.Errorf("reading from the client: %w", f.err)
			default:
				if err := c.dispatch(ctx, f.body); err != nil {
					if errors.Is(err, errStop) {
						return nil
					}
					return err
				}
			}
		}
	}
}

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
	for _, m := range members {
		if err := c.dispatchOne(ctx, m, b.promise()); err != nil {
			return err
		}
	}
	b.done()
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
	}
	how, err := guard(c.log, method, func() (Reply, error) { return c.handler.Request(ctx, method, params) })
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
		var encoded []byte
		if encoded, err = guard(c.log, method, func() ([]byte, error) { return c.marshal(result) }); err == nil {
			b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
			b = append(b, `,"result":`...)
			return append(append(b, encoded...), '}')
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

func errorBody(id string, e *jsonrpc2.Error) []byte {
	message, err := json.Marshal(e.Message)
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

func (c *Conn) envelope(id []byte, method string, params any) ([]byte, error) {
	b := []byte(`{"jsonrpc":"2.0"`)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(b, `,"method":`...)
	b = strconv.AppendQuote(b, method)
	if params != nil {
		encoded, err := c.marshal(params)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", method, err)
		}
		b = append(append(b, `,"params":`...), encoded...)
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

func (c *Conn) runPost(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a state change panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
		}
	}()
	f()
}

func (c *Conn) close(err error) {
	close(c.ended)
	if err == nil {
		err = ErrClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = err
	for id, answer := range c.outgoing {
		delete(c.outgoing, id)
		answer <- response{err: ErrClosed}
	}
}
