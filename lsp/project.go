package lsp

import (
	"context"

	"go.uber.org/zap"

	"stepline/analysis"
)

// beginIndex reads a folder's files beside, so that findings see across files; the channel is closed when it has ended.
func (s *server) beginIndex(f *folder, w *analysis.Workspace) <-chan struct{} {
	ended := make(chan struct{})
	if f.root == "" {
		close(ended)
		return ended
	}
	deep := !f.hidden // a loose file's folder may be a home directory: its own files are enough
	s.spawn(func(ctx context.Context) {
		defer close(ended)
		if err := w.Index(ctx, deep); err != nil {
			s.log.Info("a folder could not be read whole", zap.String("folder", f.root), zap.Error(err))
		}
	})
	return ended
}

// documentsOf are the open documents of a workspace.
func (s *server) documentsOf(w *analysis.Workspace) []string {
	var keys []string
	for k, d := range s.current.Load().documents {
		if d.folder.workspace == w {
			keys = append(keys, k)
		}
	}
	return keys
}

// sourceChanged sees to a Python file that changed on disk and is not open.
func (s *server) sourceChanged(f *folder, key string) {
	w, path := f.workspace, f.pathOf(key)
	if w == nil {
		return
	}
	s.spawn(func(context.Context) {
		before := w.Project()
		w.RefreshFile(path)
		if w.Project() == before {
			return
		}
		s.recheckLater(s.documentsOf(w))
		s.conn.Post(s.refreshClient)
	})
}
