package lsp

import (
	"context"
	"os"
	"slices"
	"sync"

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
	s.closed.mu.Lock()
	defer s.closed.mu.Unlock()
	known := s.closed.of(f, project)
	for _, file := range project.Files() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := f.keyOf(file.Path)
		if now.documents[key] != nil || now.folderOf(key) != f {
			continue // what is open was told already; what lies in a deeper folder is that folder's
		}
		findings, checked := known[file]
		if !checked {
			findings = f.workspace.CheckFile(file, f.costs())
			known[file] = findings
		}
		l := &locator{state: now, folder: f, enc: s.encoding}
		tell(string(l.uri(file.Path)), nil, s.closedDiagnostics(f, file, findings))
	}
	return nil
}

// closedChecks remembers what the files that are not open gave, as long as no file of their project changes: clients that
// pull the workspace do so every few seconds.
type closedChecks struct {
	mu    sync.Mutex
	roots map[string]*closedFolder
}

type closedFolder struct {
	project  *rules.Project
	trace    *loadedTrace
	findings map[*pyscan.File][]rules.Finding
}

func (c *closedChecks) of(f *folder, project *rules.Project) map[*pyscan.File][]rules.Finding {
	if c.roots == nil {
		c.roots = map[string]*closedFolder{}
	}
	k := c.roots[f.root]
	if k == nil || k.project != project || k.trace != f.trace {
		k = &closedFolder{project, f.trace, map[*pyscan.File][]rules.Finding{}}
		c.roots[f.root] = k
	}
	return k.findings
}
