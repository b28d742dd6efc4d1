package lsp

import (
	"context"
	"os"
	"slices"

	"go.lsp.dev/protocol"

	"stepline/pyscan"
	"stepline/rules"
)

// closedItems are the diagnostics of a file that is not open, as it is on disk; empty for what is no file of a folder.
func (s *server) closedItems(ctx context.Context, key string) ([]protocol.Diagnostic, error) {
	none := []protocol.Diagnostic{}
	p, isFile := keyPath(key)
	f := s.current.Load().folderOf(key)
	if !isFile || f == nil || f.workspace == nil || f.hidden {
		return none, nil
	}
	if info, err := os.Stat(osPath(p)); err != nil || !info.Mode().IsRegular() {
		return none, nil
	}
	checked, err := f.workspace.Check(ctx, []string{osPath(p)}, f.costs())
	if err != nil || len(checked.Files) == 0 {
		return none, ctx.Err()
	}
	return s.closedDiagnostics(f, checked.Files[0], checked.Findings), nil
}

// closedDiagnostics writes the findings of a file that is not open.
func (s *server) closedDiagnostics(f *folder, file *pyscan.File, findings []rules.Finding) []protocol.Diagnostic {
	d := &document{key: f.keyOf(file.Path), path: file.Path, folder: f}
	l := s.locatorFor(d)
	l.own = nil
	d.uri = string(l.uri(file.Path))
	out := []protocol.Diagnostic{}
	for i := range findings {
		if f := &findings[i]; f.File == file && !hidden(d.folder, f) && len(out) < maxDiagnostics {
			out = append(out, s.diagnostic(l, d, f))
		}
	}
	return out
}

// eachDocument tells the diagnostics of every document: those open as they are in the editor, and the folders' other files
// as they are on disk.
func (s *server) eachDocument(ctx context.Context, tell func(uri string, version *int32, items []protocol.Diagnostic)) error {
	now := s.current.Load()
	for key := range now.documents {
		d, result, err := s.checkedNow(ctx, key)
		switch {
		case err != nil:
			return err
		case d == nil:
		case d.notebook != nil:
			byCell := s.byCell(d, result)
			for _, c := range d.notebook.cells {
				if c.start >= 0 {
					v := wireVersion(c.version)
					tell(c.uri, &v, slices.Concat([]protocol.Diagnostic{}, byCell[c.key]))
				}
			}
		default:
			v := wireVersion(d.version)
			tell(d.uri, &v, s.diagnosticsOf(d, result))
		}
	}
	for _, f := range now.folders {
		if f.workspace == nil {
			continue
		}
		if err := s.eachClosed(ctx, now, f, tell); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) eachClosed(ctx context.Context, now *state, f *folder, tell func(uri string, version *int32, items []protocol.Diagnostic)) error {
	if err := f.workspace.Index(ctx, true); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return failed("the folder cannot be read: %v", err)
	}
	project := f.workspace.Project()
	if project == nil {
		return nil
	}
	for _, file := range project.Files() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := f.keyOf(file.Path)
		if now.documents[key] != nil || now.folderOf(key) != f {
			continue // what is open was told already; what lies in a deeper folder is that folder's
		}
		l := &locator{state: now, folder: f, enc: s.encoding}
		tell(string(l.uri(file.Path)), nil, s.closedDiagnostics(f, file, f.workspace.CheckFile(file, f.costs())))
	}
	return nil
}
