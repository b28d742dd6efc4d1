package lsp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"

	"stepline/lsp/internal/wire"
)

// Options configure a server.
type Options struct {
	// Version is told to the client as serverInfo.version.
	Version string
	// Log takes what the server has to say to its developers; nil means nothing is logged. It must not write to the
	// protocol's output.
	Log *zap.Logger
	// Directory is what relative traces are looked up in where the client names no folder; "" means the document's folder.
	Directory string
	// WatchParent makes the server end when the process named in initialize is gone.
	WatchParent bool
	// Record, if not nil, takes the client's messages, one JSON object a line, for Replay; documents' texts only with RecordTexts.
	Record      io.Writer
	RecordTexts bool
	// Pprof is a loopback address to serve the profiler's pages on, "" for none.
	Pprof string
	// NoWatch keeps the server from watching files with the operating system's means where the client cannot.
	NoWatch bool
	// Loading, if not nil, is told when a trace begins to load and none did, and when none does any more.
	Loading func(busy bool)
	// HugeText, if not nil, is told when a document is opened that is too large for quick checks (over a megabyte): its models are,
	// too. It may be told more than once.
	HugeText func()
	// Cache is the folder for finished trace indexes, "" for none.
	Cache string
}

// ErrExitWithoutShutdown is returned by Serve when the client sent exit before shutdown: the protocol wants exit status 1.
var ErrExitWithoutShutdown = errors.New("exit before shutdown")

// Serve runs one session over in and out until exit, the end of in, ctx, or the end of the client's process. out carries
// the protocol and nothing else. When it returns all work has been cancelled and has ended, except what is in the midst of
// something that cannot be cut short and takes longer than a client may be kept waiting at its exit; in and out are closed if
// they can be.
func Serve(ctx context.Context, in io.Reader, out io.Writer, options Options) error {
	s, err := newServer(ctx, in, out, options)
	if err != nil {
		return err
	}
	return s.serve()
}

// newServer makes a session that has not begun.
func newServer(ctx context.Context, in io.Reader, out io.Writer, options Options) (*server, error) {
	log := options.Log
	if log == nil {
		log = zap.NewNop()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if options.Pprof != "" {
		if err := servePprof(ctx, options.Pprof, log); err != nil {
			cancel(nil)
			return nil, err
		}
	}
	if options.Record != nil {
		in = recordInput(in, options, log)
	}
	s := &server{
		options: options,
		log:     log,
		in:      in,
		out:     out,
		conn:    wire.NewConn(in, out, appendJSON, log),
		ctx:     ctx,
		end:     cancel,
	}
	s.init()
	return s, nil
}

// serve runs the session to its end.
func (s *server) serve() error {
	err := s.conn.Run(s.ctx, s)
	s.end(nil)
	for _, end := range []any{s.in, s.out} {
		if c, ok := end.(io.Closer); ok {
			_ = c.Close() // the session is over whatever the stream thinks of it
		}
	}
	s.watch.stop()
	s.awaitWork()
	switch {
	case s.exitBeforeShutdown:
		return ErrExitWithoutShutdown
	case errors.Is(err, errClientGone):
		return nil
	}
	return err
}

// endTime is how long an ending session waits for its background work: to parse and check one file cannot be cut short, and
// takes a second where the file is huge.
const endTime = 300 * time.Millisecond

// awaitWork waits for the background work, at most for endTime.
func (s *server) awaitWork() {
	ended := make(chan struct{})
	go func() {
		s.shutdownTraces()
		s.background.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endTime):
		s.log.Info("the session ends while work is under way")
	}
}

// errClientGone ends a session whose client's process is gone.
var errClientGone = errors.New("the client's process is gone")

// spawn runs f on a goroutine that Serve waits for; f must end when its context does.
func (s *server) spawn(f func(ctx context.Context)) {
	s.background.Add(1)
	go func() {
		defer s.background.Done()
		defer s.recovered("background work")
		f(s.ctx)
	}()
}

// recovered keeps a panic of background work from taking the session down.
func (s *server) recovered(what string) {
	if p := recover(); p != nil {
		s.log.Error(what+" panicked", zap.Any("panic", p), zap.Stack("stack"))
	}
}

// once runs a function one time.
type once = sync.Once
