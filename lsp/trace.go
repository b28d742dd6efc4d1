package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"stepline/analysis"
	"stepline/pyscan"
	"stepline/report"
)

// traceLoads are the loads on their way, one a folder; a new one overtakes the one before. It belongs to the session's
// goroutine.
type traceLoads struct {
	running map[string]*traceLoad
	wait    sync.WaitGroup
}

type traceLoad struct {
	cancel context.CancelFunc
}

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

func (s *server) shutdownTraces() { s.traces.wait.Wait() }

// loadRequest says what to load into which folder.
type loadRequest struct {
	root     string
	paths    []string // absolute
	explicit bool     // the user named them
	token    []byte   // the client's progress token, nil for one of ours
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
		done(loadDone{err: errors.New("the folder is not ready yet")})
		return
	}
	s.traces.cancel(r.root)
	ctx, cancel := context.WithCancel(ctx)
	load := &traceLoad{cancel: cancel}
	s.traces.running[r.root] = load
	s.setLoading(r.root, true)
	buffers := s.buffers(f)
	s.traces.wait.Add(1)
	go func() {
		defer s.traces.wait.Done()
		defer cancel()
		trace, err := s.load(ctx, cancel, f, r, buffers)
		posted := s.conn.Post(func() {
			current := s.traces.running[r.root] == load
			if current {
				delete(s.traces.running, r.root)
				s.loadEnded(r, trace)
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
	p := s.beginProgress(ctx, r.token, "stepline: loading "+traceNames(f, r.paths), cancel)
	loaded, err := f.workspace.LoadTrace(ctx, r.paths, analysis.LoadOptions{Progress: p.at, Buffer: buffers, BesideAlone: true})
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
	p.end("loaded")
	return newLoadedTrace(loaded, r.paths, r.explicit), nil
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

func sameTraceSettings(a, b analysis.Settings) bool {
	return strings.Join(a.Traces, "\x00") == strings.Join(b.Traces, "\x00") && a.AutoDiscover == b.AutoDiscover &&
		fmt.Sprint(a.PathMappings) == fmt.Sprint(b.PathMappings)
}

// loadConfiguredTraces loads what a folder's settings name, or else the newest run found in it.
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
	s.spawn(func(context.Context) {
		if len(f.settings.Traces) > 0 {
			paths, refused := f.workspace.TracesFromSettings()
			s.conn.Post(func() { s.loadNamed(root, paths, refused) })
			return
		}
		if found, ok := f.workspace.DiscoverTraces(!f.hidden); ok {
			s.conn.Post(func() { s.offerDiscovered(root, found) })
		}
	})
}

func (s *server) loadNamed(root string, paths, refused []string) {
	if len(refused) > 0 {
		s.showMessage(protocol.MessageTypeWarning, fmt.Sprintf("stepline: traces %s lie outside the folder that names them and are not read; set `traces` in the editor's settings to load them", strings.Join(refused, ", ")))
	}
	if len(paths) == 0 {
		return
	}
	s.startLoad(s.ctx, loadRequest{root: root, paths: paths, explicit: true}, func(d loadDone) {
		if d.err != nil && !errors.Is(d.err, context.Canceled) {
			s.showMessage(protocol.MessageTypeError, "stepline: "+d.err.Error())
		}
	})
}

// offerDiscovered loads a found run, or asks first where it is large.
func (s *server) offerDiscovered(root string, found analysis.Discovered) {
	f := s.current.Load().folderByRoot(root)
	if f == nil || f.trace != nil && (f.trace.explicit || !found.Newest.After(f.trace.loaded.LoadedAt) && sameFiles(f.trace.paths, found.Paths)) {
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
			s.conn.Post(load)
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
		if result := d.cell.peek(); result != nil && result.lines != nil && len(result.lines.changed) > 0 {
			return true
		}
	}
	return false
}

// noteStale sends the folder's status again when a document's staleness may have changed it. It runs on the checker.
func (s *server) noteStale(d *document, result *checked) {
	if d.folder.trace == nil || result.lines == nil {
		return
	}
	stale := len(result.lines.changed) > 0
	if s.checker.stale[d.key] == stale {
		return
	}
	s.checker.stale[d.key] = stale
	root := d.folder.root
	s.conn.Post(func() { s.sendStatus(root) })
}
