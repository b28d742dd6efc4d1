package lsp

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"

	"stepline/analysis"
)

// Recordings are written into folders of their own, runs/2026-11-30T09-00-00/train.trace.json.gz, and not every client that
// watches files tells of them: Helix names only what it has saved itself, Emacs and VS Code's server miss what is written
// into a folder that was made a moment before. So the server watches the folders of the workspace for traces itself.

// mostWatched bounds the folders watched here; the system's own bound is per user (Linux: 8192 and more).
const mostWatched = 1024

// folder has a workspace folder watched, and those below it where a watched folder costs no open file for each of its own
// (kqueue's do).
func (w *watcher) folder(root string) {
	if w.fs == nil || root == "" {
		return
	}
	w.add(osPath(root))
	if runtime.GOOS == "linux" || runtime.GOOS == "windows" {
		w.s.spawn(func(context.Context) { w.below(osPath(root)) })
	}
}

// changed sees to an event of a watched folder. The watching goroutine only.
func (w *watcher) changed(e fsnotify.Event) {
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			w.made(e.Name)
			return
		}
	}
	if !w.tracesOnly || analysis.UsualTraceName(filepath.Base(e.Name)) {
		w.tell(e.Name)
	}
}

func (w *watcher) tell(path string) {
	key := documentKey(pathURI(path))
	w.s.conn.Post(func() { w.s.fileChanged(key) })
}

// made watches a folder that has just been made, and tells of the traces that were in it before it was watched.
func (w *watcher) made(folder string) {
	for _, f := range w.below(folder) {
		entries, err := os.ReadDir(f)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Type().IsRegular() && analysis.UsualTraceName(e.Name()) {
				w.tell(filepath.Join(f, e.Name()))
			}
		}
	}
}

// below watches a folder and those below it and returns them. It lists them again until nothing is new: a folder that was made
// between the listing and the watching of the one above it is in no event.
func (w *watcher) below(folder string) []string {
	var watched []string
	known := map[string]bool{}
	for {
		before := len(watched)
		for _, f := range analysis.TraceFolders(folder, mostWatched-len(w.fs.WatchList())+len(watched)) {
			if known[f] {
				continue
			}
			if err := w.fs.Add(f); err != nil {
				w.s.log.Info("a folder cannot be watched", zap.String("folder", f), zap.Error(err))
				return watched
			}
			known[f] = true
			watched = append(watched, f)
		}
		if len(watched) == before {
			return watched
		}
	}
}
