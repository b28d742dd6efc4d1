package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/fsnotify/fsnotify"
	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"stepline/analysis"
)

// watcher tells the session of files that change on disk: traces that are written or written anew, sources that are not
// open, the settings file. The client watches where it can (it knows the workspace); otherwise the server does. For traces
// the server looks at the workspace's folders in either case (see watch_folders.go).
type watcher struct {
	s  *server
	fs *fsnotify.Watcher
	// tracesOnly tells that the client watches the rest.
	tracesOnly bool
	// watched are the folders watched here.
	watched map[string]bool
	// asked are the registrations by which the client watches folders' traces, by root.
	asked         map[string]string
	registrations int
	// settling are timers of files that are still being written, by path.
	settling map[string]*time.Timer
}

func (w *watcher) init(s *server) {
	w.s, w.watched, w.asked, w.settling = s, map[string]bool{}, map[string]string{}, map[string]*time.Timer{}
}

// registerWatchers asks the client to watch, or starts to watch here.
func (s *server) registerWatchers() {
	var registrations []protocol.Registration
	if s.client.can.Workspace.DidChangeWatchedFiles.DynamicRegistration {
		globs := []map[string]string{}
		for _, g := range []string{"**/*.py", "**/*.ipynb", "**/stepline.toml", "**/pyproject.toml", "**/*trace.json", "**/*trace.json.gz", "**/*.sqlite"} {
			globs = append(globs, map[string]string{"globPattern": g})
		}
		registrations = append(registrations, protocol.Registration{ID: "stepline-files", Method: "workspace/didChangeWatchedFiles",
			RegisterOptions: encode(map[string]any{"watchers": globs})})
		s.watch.tracesOnly = true
	}
	if !s.options.NoWatch {
		s.watch.startHere()
	}
	if s.client.can.Workspace.DidChangeConfiguration.DynamicRegistration {
		registrations = append(registrations, protocol.Registration{ID: "stepline-settings", Method: "workspace/didChangeConfiguration",
			RegisterOptions: encode(map[string]any{"section": "stepline"})})
	}
	if len(registrations) > 0 {
		s.ask("client/registerCapability", &protocol.RegistrationParams{Registrations: registrations})
	}
}

func (s *server) didChangeWatchedFiles(params []byte) error {
	var p struct {
		Changes []struct {
			URI string `json:"uri"`
		} `json:"changes"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	for _, c := range p.Changes {
		s.fileChanged(documentKey(c.URI))
	}
	return nil
}

// fileChanged sees to a file that was made, changed or removed on disk. Session's goroutine only.
func (s *server) fileChanged(key string) {
	p, isFile := keyPath(key)
	if !isFile {
		return
	}
	for _, f := range s.current.Load().allFolders() {
		if f.trace != nil && f.trace.has(osPath(p)) {
			s.watch.settle(p, func() { s.traceChanged(f.root, osPath(p)) })
			return
		}
	}
	f := s.current.Load().folderOf(key)
	if f == nil {
		return
	}
	name := p[len(parentOf(p))+1:]
	if parentOf(p) == "/" {
		name = p[1:]
	}
	switch {
	case name == "stepline.toml" || name == "pyproject.toml":
		if parentOf(p) == f.root {
			s.configure(f.root)
		}
	case filepath.Ext(name) == ".py" || filepath.Ext(name) == ".ipynb":
		if s.current.Load().documents[key] == nil {
			s.sourceChanged(f, key)
		}
	case analysis.UsualTraceName(name), s.traces.running[f.root] != nil && anyHolds(s.traces.running[f.root].paths, osPath(p)):
		s.watch.settle(p, func() { s.traceChanged(f.root, osPath(p)) })
	}
}

func (t *loadedTrace) has(path string) bool { return anyHolds(t.paths, path) }

// anyHolds tells whether a file is one of the paths a trace was asked for by: files, folders of ranks, globs.
func anyHolds(paths []string, file string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		if p == file || strings.HasPrefix(file, strings.TrimSuffix(p, string(filepath.Separator))+string(filepath.Separator)) {
			return true
		}
		matched, err := doublestar.PathMatch(p, file)
		return err == nil && matched
	})
}

// settleTime is how long a trace must not change before it is read: profilers write for a while.
const settleTime = time.Second

// settle calls f on the session's goroutine when a file has not changed for a while.
func (w *watcher) settle(path string, f func()) {
	if t := w.settling[path]; t != nil {
		t.Reset(settleTime)
		return
	}
	w.settling[path] = time.AfterFunc(settleTime, func() {
		w.s.conn.Post(func() {
			delete(w.settling, path)
			f()
		})
	})
}

func (w *watcher) stop() {
	for _, t := range w.settling {
		t.Stop()
	}
}

// traceChanged reloads a loaded trace that was written anew, or takes a new one where traces are discovered.
func (s *server) traceChanged(root, path string) {
	f := s.current.Load().folderByRoot(root)
	switch {
	case f == nil || f.workspace == nil:
	case s.traces.running[root] != nil && anyHolds(s.traces.running[root].paths, path):
		s.traces.running[root].again = true
	case s.traces.pending[root] > 0:
		s.traces.passedOver[root] = true
	case f.trace != nil && f.trace.has(path):
		s.log.Info("a loaded trace was written anew", zap.String("path", path))
		s.reload(f)
	case f.trace == nil || f.trace.origin == originFound:
		s.loadConfiguredTraces(root)
	}
}

// startHere watches with the operating system's means.
func (w *watcher) startHere() {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		w.s.log.Info("files cannot be watched", zap.Error(err))
		return
	}
	w.fs = fs
	w.s.spawn(func(ctx context.Context) {
		defer fs.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-fs.Events:
				if !ok {
					return
				}
				if e.Op != fsnotify.Chmod {
					w.changed(e)
				}
			case err, ok := <-fs.Errors:
				if !ok {
					return
				}
				w.s.log.Info("watching files", zap.Error(err))
			}
		}
	})
	for _, f := range w.s.current.Load().folders {
		w.folder(f.root)
	}
}

// askFor registers a folder's loaded traces with the client, in place of those before.
func (w *watcher) askFor(root string, paths []string, relative bool) {
	if id := w.asked[root]; id != "" {
		delete(w.asked, root)
		w.s.ask("client/unregisterCapability", map[string]any{"unregisterations": []map[string]string{{"id": id, "method": "workspace/didChangeWatchedFiles"}}}) // the protocol's spelling
	}
	var watchers []map[string]any
	for _, p := range paths {
		if _, inside := relativeTo(root, filepath.ToSlash(p)); inside && analysis.UsualTraceName(filepath.Base(p)) {
			continue // the globs of registerWatchers have it
		}
		dir, pattern := filepath.Dir(p), filepath.Base(p)
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			dir, pattern = p, "**"
		}
		var glob any = strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/" + pattern
		if relative {
			glob = map[string]string{"baseUri": pathURI(dir), "pattern": pattern}
		}
		watchers = append(watchers, map[string]any{"globPattern": glob})
	}
	if len(watchers) > 0 {
		w.registrations++
		id := fmt.Sprintf("stepline-traces-%d", w.registrations)
		w.asked[root] = id
		w.s.ask("client/registerCapability", &protocol.RegistrationParams{Registrations: []protocol.Registration{
			{ID: id, Method: "workspace/didChangeWatchedFiles", RegisterOptions: encode(map[string]any{"watchers": watchers})}}})
	}
}

func (w *watcher) add(dir string) {
	if w.fs == nil || dir == "" || w.watched[dir] {
		return
	}
	w.watched[dir] = true
	if err := w.fs.Add(dir); err != nil {
		w.s.log.Info("a folder cannot be watched", zap.String("folder", dir), zap.Error(err))
	}
}

// traces has the folders of a folder's loaded traces watched. A client that watches is asked for those that its globs miss.
func (w *watcher) traces(root string, paths []string) {
	can := w.s.client.can.Workspace.DidChangeWatchedFiles
	if can.DynamicRegistration {
		w.askFor(root, paths, can.RelativePatternSupport)
		return
	}
	w.add(osPath(root))
	for _, p := range paths {
		w.add(filepath.Dir(p))
	}
}
