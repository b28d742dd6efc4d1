package lsp

import (
	"context"

	"go.uber.org/zap"

	"stepline/analysis"
)

// indexWorkspace reads a folder's files beside, so that findings see across files; then its documents are checked again.
func (s *server) indexWorkspace(root string, w *analysis.Workspace) {
	f := s.current.Load().folderByRoot(root)
	if f == nil || root == "" {
		return
	}
	deep := !f.hidden // a loose file's folder may be a home directory: its own files are enough
	s.spawn(func(ctx context.Context) {
		if err := w.Index(ctx, deep); err != nil {
			s.log.Info("a folder could not be read whole", zap.String("folder", root), zap.Error(err))
			return
		}
		s.recheckLater(s.documentsOf(w))
	})
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
