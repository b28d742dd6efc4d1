package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"stepline/analysis"
	"stepline/pyscan"
	"stepline/report"
	"stepline/traceindex"
)

// traceLoads are the loads on their way, one a folder; a new one overtakes the one before, unless it has less to say (see
// traceOrigin). It belongs to the session's goroutine.
type traceLoads struct {
	running map[string]*traceLoad
	// commands counts the user's words about a folder's trace (load and unload commands), pending those of them still being
	// worked on: what was found or configured before them, or comes while they run, makes way.
	commands, pending map[string]int
	// passedOver are the folders where something made way for a command that is still being worked on; should that fail, it
	// gets its turn after all.
	passedOver map[string]bool
	// active counts the loads that have not ended, those overtaken too; loading is told of the first and after the last.
	active  int
	loading func(busy bool)
	wait    sync.WaitGroup
}

// count adds to the active loads.
func (t *traceLoads) count(n int) {
	before := t.active
	t.active += n
	if t.loading != nil && (before == 0 || t.active == 0) {
		t.loading(t.active > 0)
	}
}

type traceLoad struct {
	cancel context.CancelFunc
	paths  []string
	// again tells that a file changed while it was read: it is read once more.
	again bool
}

// traceOrigin is who wants a trace; later ones have the last word over earlier ones.
type traceOrigin uint8

const (
	originFound    traceOrigin = iota // the newest run under the usual names
	originSettings                    // the settings name it
	originCommand                     // the user asked for it by a command
)

func (t *traceLoads) cancel(root string) {
	if l := t.running[root]; l != nil {
		l.cancel()
	}
}

func (t *traceLoads) cancelAll() {
	for _, l := range t.running {
		l.cancel()
	}
}

// commanded notes a word of the user's about a folder's trace; finished must be called when it was done.
func (t *traceLoads) commanded(root string) {
	t.commands[root]++
	t.pending[root]++
}

// finished ends what commanded began and tells whether something that made way for it is to get its turn: it failed.
func (t *traceLoads) finished(root string, failed bool) (next bool) {
	if t.pending[root]--; t.pending[root] > 0 {
		return false
	}
	next = failed && t.passedOver[root]
	delete(t.pending, root)
	delete(t.passedOver, root)
	return next
}

// makesWay tells whether what was looked for when the folder had had so many commands is to be left: there was another one.
func (t *traceLoads) makesWay(root string, commands int) bool {
	if t.pending[root] > 0 {
		t.passedOver[root] = true
	}
	return t.pending[root] > 0 || t.commands[root] != commands
}

func (s *server) shutdownTraces() { s.traces.wait.Wait() }

// loadRequest says what to load into which folder.
type loadRequest struct {
	root   string
	paths  []string // absolute
	origin traceOrigin
	token  []byte // the client's progress token, nil for one of ours
}

// loadDone is what a load gave, told when the state holds it.
type loadDone struct {
	trace *loadedTrace
	err   error
}

// startLoad begins to load a trace beside; done is told once, when the state holds the result (or at its failure).
// Session's goroutine only.
func (s *server) startLoad(ctx context.Context, r loadRequest, done func(loadDone)) {
	f := s.current.Load().folderByRoot(r.root)
	if f == nil || f.workspace == nil {
		done(loadDone{err: errors.New("its folder is no longer open")})
		return
	}
	if s.traces.running[r.root] != nil && r.origin == originCommand {
		s.traces.passedOver[r.root] = true
	}
	s.traces.cancel(r.root)
	ctx, cancel := context.WithCancel(ctx)
	load := &traceLoad{cancel: cancel, paths: r.paths}
	s.traces.running[r.root] = load
	s.setLoading(r.root, true)
	buffers := s.buffers(f)
	s.traces.count(1)
	s.traces.wait.Add(1)
	go func() {
		defer s.traces.wait.Done()
		defer cancel()
		trace, err := s.load(ctx, cancel, f, r, buffers)
		posted := s.conn.Post(func() {
			s.traces.count(-1)
			current := s.traces.running[r.root] == load
			if current {
				delete(s.traces.running, r.root)
				s.loadEnded(r, trace)
				if load.again && !errors.Is(err, context.Canceled) {
					defer s.startLoad(s.ctx, loadRequest{root: r.root, paths: r.paths, origin: r.origin}, func(loadDone) {})
				}
			}
			if !current && err == nil {
				err = context.Canceled // a newer load has overtaken this one
			}
			done(loadDone{trace, err})
		})
		if !posted {
			done(loadDone{err: context.Canceled})
		}
	}()
}

// buffers gives the open documents of a folder, so that lines are those the user sees.
func (s *server) buffers(f *folder) func(string) (*pyscan.File, bool) {
	state := s.current.Load()
	open := map[string]*document{}
	for _, d := range state.documents {
		if d.folder.root == f.root {
			open[d.path] = d
		}
	}
	return func(path string) (*pyscan.File, bool) {
		d := open[path]
		if d == nil {
			return nil, false
		}
		if result := d.cell.peek(); result != nil && result.file != nil {
			return result.file, true
		}
		return pyscan.Parse(path, d.text.String()), true
	}
}

// load runs on a goroutine of its own.
func (s *server) load(ctx context.Context, cancel context.CancelFunc, f *folder, r loadRequest, buffers func(string) (*pyscan.File, bool)) (trace *loadedTrace, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("loading a trace panicked", zap.Any("panic", p), zap.Stack("stack"))
			trace, err = nil, fmt.Errorf("loading %s failed inside stepline: %v", traceNames(f, r.paths), p)
		}
	}()
	if err := irregular(r.paths); err != nil {
		return nil, err
	}
	p := s.beginProgress(ctx, r.token, "stepline: loading "+traceNames(f, r.paths), cancel)
	loaded, err := f.workspace.LoadTrace(ctx, r.paths, analysis.LoadOptions{Progress: p.at, Buffer: buffers, BesideAlone: true, Serving: true})
	switch {
	case loaded == nil && errors.Is(err, context.Canceled):
		p.end("cancelled")
		return nil, context.Canceled
	case loaded == nil:
		p.end("failed: " + err.Error())
		s.log.Warn("a trace could not be loaded", zap.Strings("paths", r.paths), zap.Error(err))
		return nil, err
	}
	if err != nil { // what of the run could be used is there
		s.showMessage(protocol.MessageTypeWarning, "stepline: part of the run could not be loaded: "+err.Error())
	}
	message := damage(loaded.Warnings())
	if message != "" {
		s.showMessage(protocol.MessageTypeWarning, "stepline: "+message)
		if r.origin == originFound && loaded.Costs.Summary.GPUTotalNs == 0 && len(loaded.Costs.Lines) == 0 {
			// A file of which nothing is left must not take the place of the run that is shown: it may still be being written.
			p.end("failed: " + message)
			return nil, errors.New(message)
		}
	}
	p.end("loaded")
	return newLoadedTrace(loaded, r.paths, r.origin), nil
}

// damage is the one message about what was lost of a damaged trace, "" where nothing was.
func damage(warnings []traceindex.Warning) string {
	damaged := slices.DeleteFunc(slices.Clone(warnings), func(w traceindex.Warning) bool { return w.Byte == nil })
	if len(damaged) == 0 {
		return ""
	}
	message := damaged[0].Message
	if name := filepath.Base(damaged[0].File); !strings.Contains(message, name) {
		message = name + ": " + message
	}
	if more := len(damaged) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more; the report lists them)", more)
	}
	return message
}

// irregular is the error of a path that is neither a file nor a folder: to open a named pipe would wait for ever.
func irregular(paths []string) error {
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s: not a regular file", p)
		}
	}
	return nil
}

// traceNames names files for people: relative to the folder where they are in it.
func traceNames(f *folder, paths []string) string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = filepath.ToSlash(p)
		if rel, ok := relativeTo(f.root, names[i]); ok && f.root != "" {
			names[i] = rel
		}
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
	return strings.Join(names, ", ")
}

func (s *server) setLoading(root string, loading bool) {
	s.update(func(next *state) {
		if f := next.folderByRoot(root); f != nil {
			changed := *f
			changed.loading = loading
			next.putFolder(&changed)
		}
	})
	s.sendStatus(root)
}

// loadEnded puts a load's result into the state; nil keeps what was there.
func (s *server) loadEnded(r loadRequest, trace *loadedTrace) {
	if trace == nil {
		s.setLoading(r.root, false)
		return
	}
	s.replaceFolder(r.root, func(f *folder) { f.trace, f.loading = trace, false })
	s.watch.traces(r.root, r.paths)
	s.sendStatus(r.root)
	s.refreshClient()
}

// unload takes a folder's trace away; false if it had none.
func (s *server) unload(root string) bool {
	s.traces.cancel(root)
	f := s.current.Load().folderByRoot(root)
	if f == nil || f.trace == nil && !f.loading {
		return false
	}
	delete(s.traces.running, root)
	s.replaceFolder(root, func(f *folder) { f.trace, f.loading = nil, false })
	s.watch.traces(root, nil)
	s.sendStatus(root)
	s.refreshClient()
	return true
}

// traceSettingsChanged sees to a folder's trace after its settings were changed: the user's newest word.
func (s *server) traceSettingsChanged(root string, before, now analysis.Settings) {
	f := s.current.Load().folderByRoot(root)
	mapped := !slices.Equal(before.PathMappings, now.PathMappings)
	switch {
	case !mapped && slices.Equal(before.Traces, now.Traces) && before.AutoDiscover == now.AutoDiscover:
	case f.trace != nil && f.trace.origin != originSettings && mapped && slices.Equal(before.Traces, now.Traces):
		s.reload(f)
	default:
		if len(now.Traces) == 0 && f.trace != nil && f.trace.origin == originSettings {
			s.unload(root)
		}
		s.loadConfiguredTraces(root)
	}
}

// loadConfiguredTraces loads what a folder's settings name, or else the newest run found in it. A command the user gives
// meanwhile has the last word.
func (s *server) loadConfiguredTraces(root string) {
	f := s.current.Load().folderByRoot(root)
	if f == nil || f.workspace == nil {
		return
	}
	if len(f.settings.Traces) == 0 && (!f.settings.AutoDiscover || s.client.untrusted) {
		return
	}
	if s.client.untrusted && f.settings.TracesFromFile {
		s.log.Info("traces named by an untrusted folder are not loaded", zap.String("folder", root))
		return
	}
	commands := s.traces.commands[root]
	post := func(load func()) {
		s.conn.Post(func() {
			if !s.traces.makesWay(root, commands) {
				load()
			}
		})
	}
	s.spawn(func(context.Context) {
		if len(f.settings.Traces) > 0 {
			paths, refused := f.workspace.TracesFromSettings()
			post(func() { s.loadNamed(root, paths, refused) })
			return
		}
		if found, ok := f.workspace.DiscoverTraces(!f.hidden); ok {
			post(func() { s.offerDiscovered(root, found, post) })
		}
	})
}

// giveTurn does for a folder what made way for a command that failed.
func (s *server) giveTurn(root string) {
	f := s.current.Load().folderByRoot(root)
	switch {
	case f == nil || f.workspace == nil:
	case f.trace != nil && f.trace.origin != originFound:
		s.reload(f)
	default:
		s.loadConfiguredTraces(root)
	}
}

// reload reads a folder's trace again.
func (s *server) reload(f *folder) {
	s.startLoad(s.ctx, loadRequest{root: f.root, paths: f.trace.paths, origin: f.trace.origin}, func(loadDone) {})
}

func (s *server) loadNamed(root string, paths, refused []string) {
	if len(refused) > 0 {
		s.showMessage(protocol.MessageTypeWarning, fmt.Sprintf("stepline: traces %s lie outside the folder that names them and are not read; set `traces` in the editor's settings to load them", strings.Join(refused, ", ")))
	}
	if len(paths) == 0 {
		return
	}
	s.startLoad(s.ctx, loadRequest{root: root, paths: paths, origin: originSettings}, func(d loadDone) {
		if d.err != nil && !errors.Is(d.err, context.Canceled) {
			s.showMessage(protocol.MessageTypeError, "stepline: "+d.err.Error())
		}
	})
}

// offerDiscovered loads a found run, or asks first where it is large; later posts what the user's answer starts.
func (s *server) offerDiscovered(root string, found analysis.Discovered, later func(func())) {
	f := s.current.Load().folderByRoot(root)
	if f == nil || f.trace != nil && (f.trace.origin != originFound || !found.Newest.After(f.trace.loaded.LoadedAt) && sameFiles(f.trace.paths, found.Paths)) {
		return
	}
	r := loadRequest{root: root, paths: found.Paths}
	load := func() {
		s.startLoad(s.ctx, r, func(d loadDone) {
			if d.err != nil && !errors.Is(d.err, context.Canceled) {
				// Nobody asked for this file: it is no reason to interrupt.
				s.log.Info("the newest trace found could not be loaded", zap.Error(d.err))
			}
		})
	}
	if found.Bytes <= f.settings.AutoLoadLimitBytes {
		load()
		return
	}
	name := traceNames(f, found.Paths)
	s.spawn(func(ctx context.Context) {
		question := fmt.Sprintf("stepline: load %s (%s)? It is larger than trace.autoLoadLimit.", name, report.Bytes(found.Bytes))
		if s.askUser(ctx, question, "Load") == "Load" {
			later(load)
		}
	})
}

func sameFiles(a, b []string) bool { return strings.Join(a, "\x00") == strings.Join(b, "\x00") }

// askUser shows a question with one action and returns the action chosen, "" for none.
func (s *server) askUser(ctx context.Context, question, action string) string {
	answer, err := s.conn.Call(ctx, "window/showMessageRequest", &protocol.ShowMessageRequestParams{
		Type: protocol.MessageTypeInfo, Message: question, Actions: []protocol.MessageActionItem{{Title: action}},
	})
	if err != nil {
		return ""
	}
	var item protocol.MessageActionItem
	if protocol.Unmarshal(answer, &item) != nil {
		return ""
	}
	return item.Title
}

// status is the params of stepline/status.
type status struct {
	// Folder is the folder's URI, so that a client with several can tell them apart.
	Folder  string  `json:"folder"`
	Trace   *string `json:"trace"`
	Steps   int     `json:"steps"`
	StepUs  float64 `json:"step_us"`
	Class   *string `json:"class"`
	Stale   bool    `json:"stale"`
	Loading bool    `json:"loading"`
}

// sendStatus tells the client how a folder stands.
func (s *server) sendStatus(root string) {
	f := s.current.Load().folderByRoot(root)
	if f == nil {
		return
	}
	st := status{Folder: f.uri, Loading: f.loading}
	if f.trace != nil {
		name := traceNames(f, f.trace.paths)
		st.Trace = &name
		st.Steps = f.trace.loaded.Costs.Summary.Steps
		st.StepUs = report.Microseconds(f.trace.loaded.StepNs())
		st.Class = f.trace.class()
		st.Stale = s.staleIn(f)
	}
	s.notify("stepline/status", rawJSON{st}, "status "+root)
}

// staleIn tells whether an open document of a folder changed inside a function the trace has costs for.
func (s *server) staleIn(f *folder) bool {
	for _, d := range s.current.Load().documents {
		if d.folder.root != f.root {
			continue
		}
		if result := d.cell.soonest(); result != nil && result.lines != nil && len(result.lines.changed) > 0 {
			return true
		}
	}
	return false
}

// noteStale notes whether a document is stale, and tells whether that may have changed its folder's status; to be called with
// telling locked.
func (c *checker) noteStale(d *document, result *checked) (changed bool) {
	if d.folder.trace == nil || result.lines == nil {
		return false
	}
	stale := len(result.lines.changed) > 0
	changed = c.stale[d.key] != stale
	c.stale[d.key] = stale
	return changed
}
