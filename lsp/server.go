package lsp

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"

	"stepline/lsp/internal/text"
	"stepline/lsp/internal/wire"
)

// server is one session. Unless a comment says otherwise its fields belong to the session's goroutine (the one that reads
// messages and runs what was posted); others read current.
type server struct {
	options    Options
	log        *zap.Logger
	in         io.Reader
	out        io.Writer
	conn       *wire.Conn
	ctx        context.Context // of the session
	end        context.CancelCauseFunc
	background sync.WaitGroup

	phase              phase
	exitBeforeShutdown bool
	client             client
	encoding           text.Encoding // set by initialize, read-only after
	settingsFromClient clientSettings

	// current is the newest state; written by the session's goroutine, read by all.
	current atomic.Pointer[state]
	checker *checker
	traces  traceLoads
	watch   watcher
	// waitingForFolder are called once a folder's settings are there, by its root.
	waitingForFolder map[string][]func()
	// pulls is set once the client pulls diagnostics (or says it will): it is pushed none from then on.
	pulls atomic.Bool
	// lastEdit is when a document was last opened, changed or closed, in nanoseconds since 1970.
	lastEdit atomic.Int64
	closed   closedChecks
	tokens   progressTokens
	latency  latencies
}

// phase is where the session stands in its life.
type phase uint8

const (
	fresh phase = iota
	initialized
	shuttingDown
)

func (s *server) init() {
	s.current.Store(&state{documents: map[string]*document{}, notebooks: map[string]*notebook{}, hiddenFolders: map[string]*folder{}})
	s.checker = newChecker(s)
	s.traces = traceLoads{running: map[string]*traceLoad{}, commands: map[string]int{}, pending: map[string]int{}, passedOver: map[string]bool{}, loading: s.options.Loading}
	s.closed = closedChecks{held: make(chan struct{}, 1), roots: map[string]*closedFolder{}}
	s.tokens.cancel = map[string]context.CancelFunc{}
	s.waitingForFolder = map[string][]func(){}
	s.watch.init(s)
}

// requestHandlers and notificationHandlers are the protocol as this server speaks it. Handlers run on the session's
// goroutine; what takes time goes into the reply's work.
var (
	requestHandlers      map[string]func(*server, context.Context, []byte) (wire.Reply, error)
	notificationHandlers map[string]func(*server, []byte) error
)

func init() {
	requestHandlers = map[string]func(*server, context.Context, []byte) (wire.Reply, error){
		"shutdown":                 (*server).shutdown,
		"textDocument/hover":       (*server).hover,
		"textDocument/codeAction":  (*server).codeAction,
		"codeAction/resolve":       (*server).resolveCodeAction,
		"textDocument/inlayHint":   (*server).inlayHint,
		"inlayHint/resolve":        (*server).resolveInlayHint,
		"textDocument/codeLens":    (*server).codeLens,
		"codeLens/resolve":         (*server).resolveCodeLens,
		"textDocument/diagnostic":  (*server).pullDocument,
		"workspace/diagnostic":     (*server).pullWorkspace,
		"workspace/executeCommand": (*server).executeCommand,
		"stepline/lineCosts":       (*server).lineCosts,
		"stepline/latency":         (*server).tellLatency,
		"stepline/report":          (*server).report,
	}
	notificationHandlers = map[string]func(*server, []byte) error{
		"initialized":                         (*server).onInitialized,
		"textDocument/didOpen":                (*server).didOpen,
		"textDocument/didChange":              (*server).didChange,
		"textDocument/didClose":               (*server).didClose,
		"textDocument/didSave":                (*server).didSave,
		"notebookDocument/didOpen":            (*server).didOpenNotebook,
		"notebookDocument/didChange":          (*server).didChangeNotebook,
		"notebookDocument/didClose":           (*server).didCloseNotebook,
		"notebookDocument/didSave":            func(*server, []byte) error { return nil },
		"workspace/didChangeConfiguration":    (*server).didChangeConfiguration,
		"workspace/didChangeWorkspaceFolders": (*server).didChangeWorkspaceFolders,
		"workspace/didChangeWatchedFiles":     (*server).didChangeWatchedFiles,
		"window/workDoneProgress/cancel":      (*server).cancelProgress,
		"$/setTrace":                          func(*server, []byte) error { return nil },
	}
}

// Request implements wire.Handler.
func (s *server) Request(ctx context.Context, method string, params []byte) (wire.Reply, error) {
	switch {
	case method == "initialize" && s.phase == fresh:
		return s.initialize(params)
	case s.phase == fresh:
		return wire.Reply{}, jsonrpc2.Errorf(jsonrpc2.ServerNotInitialized, "%s came before initialize", method)
	case s.phase == shuttingDown:
		return wire.Reply{}, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "%s came after shutdown; only exit may", method)
	case method == "initialize":
		return wire.Reply{}, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "the session is initialized already")
	}
	handle, known := requestHandlers[method]
	if !known {
		return wire.Reply{}, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "stepline has no method %q", method)
	}
	reply, err := handle(s, ctx, params)
	reply.Answered = func(took time.Duration) { s.latency.answered(method, took) }
	return reply, err
}

// Notification implements wire.Handler.
func (s *server) Notification(_ context.Context, method string, params []byte) error {
	if method == "exit" {
		s.exitBeforeShutdown = s.phase != shuttingDown
		return wire.Stop()
	}
	if s.phase != initialized {
		s.log.Debug("a notification outside the session's life was ignored", zap.String("method", method))
		return nil
	}
	handle, known := notificationHandlers[method]
	if !known {
		if !strings.HasPrefix(method, "$/") {
			s.log.Debug("an unknown notification was ignored", zap.String("method", method))
		}
		return nil
	}
	return handle(s, params)
}

// update changes the state: f gets a copy to change, which then becomes the current one. Session's goroutine only.
func (s *server) update(f func(*state)) *state {
	next := s.current.Load().clone()
	f(next)
	s.current.Store(next)
	return next
}

// notify sends a notification; see wire.Conn.Notify for key.
func (s *server) notify(method string, params any, key string) {
	if err := s.conn.Notify(method, params, key); err != nil {
		s.log.Error("a notification could not be sent", zap.String("method", method), zap.Error(err))
	}
}

// failed makes the answer to a well-formed request that cannot be done.
func failed(format string, args ...any) error {
	return jsonrpc2.Errorf(wire.CodeRequestFailed, format, args...)
}
