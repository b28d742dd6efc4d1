package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

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

// Work answers a request beside the reading goroutine. Its result is encoded by the connection's encode.
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
	// Answered, if not nil, is told when the answer was handed to the writer, and how long after its request had been read.
	Answered func(took time.Duration)
	// Long gives the work a goroutine of its own, so that it keeps none of the short ones waiting.
	Long bool
}

// Conn is one client's connection. Make it with NewConn, run it with Run.
type Conn struct {
	frames  *FrameReader
	out     *writer
	log     *zap.Logger
	encode  func(b []byte, v any) ([]byte, error)
	handler Handler
	workers *pool
	posts   chan func()
	ended   chan struct{}
	// received is when the message that is dispatched had been read; the dispatching goroutine's.
	received time.Time

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

// NewConn makes a connection reading in and writing out. encode appends the JSON of results and params to b.
func NewConn(in io.Reader, out io.Writer, encode func(b []byte, v any) ([]byte, error), log *zap.Logger) *Conn {
	return &Conn{
		frames:   NewFrameReader(in),
		out:      newWriter(out, log),
		log:      log,
		encode:   encode,
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

// graceTime is how long requests get to be answered at the session's end before they are cancelled: whoever writes a whole
// session into the server's input reads the answers. workTime is how long what was cancelled is waited for: a client that says
// exit wants it now.
const (
	graceTime = 200 * time.Millisecond
	workTime  = 300 * time.Millisecond
)

// Run reads and dispatches until the stream ends, ctx is done or the handler stops it. It returns nil at a clean end of the
// stream and after Stop. All work has been cancelled and has ended when it returns, except work that does not heed its context.
func (c *Conn) Run(ctx context.Context, handler Handler) error {
	c.handler = handler
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go c.out.run()
	bodies := make(chan frame)
	go c.read(ctx, bodies)
	err := c.dispatchAll(ctx, bodies)
	if err == nil {
		c.finish(ctx)
	}
	c.close(err)
	cancel()
	c.workers.wait(workTime, true)
	c.out.close()
	return err
}

// finish lets short work end; it may need what is posted.
func (c *Conn) finish(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		c.workers.wait(graceTime, false)
		close(ended)
	}()
	for {
		select {
		case f := <-c.posts:
			c.runPost(f)
		case <-ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

type frame struct {
	body     []byte
	err      error
	received time.Time // when its last byte was read
}

// Received is when the message that is being handled had been read. To be called by Handler's methods only.
func (c *Conn) Received() time.Time { return c.received }

// read is apart from dispatch so that Run can end while a read is blocked: an io.Reader cannot be interrupted.
//
// Having handed a message over it yields. Sending makes the dispatching goroutine the next one of this processor (Go's P), and the
// next read, of a pipe, keeps that processor in a system call: while all others are at work (a trace loads, memory is collected)
// nobody takes it from there before the runtime's monitor looks, up to 10 ms later. Yielding lets the message be dispatched, its
// work be done and the answer be written at once, by this processor, before it reads on. It yields twice: in one turn of 61 Go's
// scheduler takes the oldest of all waiting goroutines first, which may be the one that yields.
func (c *Conn) read(ctx context.Context, bodies chan<- frame) {
	for {
		body, err := c.frames.Read()
		select {
		case bodies <- frame{body, err, time.Now()}:
			runtime.Gosched()
			runtime.Gosched()
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
			c.received = f.received
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
