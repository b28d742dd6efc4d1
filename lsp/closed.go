package lsp

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"go.lsp.dev/protocol"
	"golang.org/x/sync/errgroup"

	"stepline/analysis"
	"stepline/pyscan"
	"stepline/rules"
)

// closedItems are the diagnostics of a file that is not open, as it is on disk; empty for what is no file of a folder.
func (s *server) closedItems(ctx context.Context, key string) ([]protocol.Diagnostic, error) {
	none := []protocol.Diagnostic{}
	p, isFile := keyPath(key)
	f := s.current.Load().folderOf(key)
	if !isFile || f == nil || f.hidden {
		return none, nil
	}
	if f, _ = s.readyFolder(ctx, f.root); f == nil {
		return none, ctx.Err()
	}
	if info, err := os.Stat(osPath(p)); err != nil || !info.Mode().IsRegular() || leadsOut(osPath(f.root), osPath(p)) {
		return none, nil
	}
	if err := s.openTextsTaken(ctx, f); err != nil {
		return nil, err
	}
	checked, err := f.workspace.Check(ctx, []string{osPath(p)}, f.costs())
	if err != nil || len(checked.Files) == 0 {
		return none, ctx.Err()
	}
	return s.closedDiagnostics(f, checked.Files[0], checked.Findings), nil
}

// openTextsTaken waits until the texts of a folder's open documents, as they are now, are in its project.
func (s *server) openTextsTaken(ctx context.Context, f *folder) error {
	for key, d := range s.current.Load().documents {
		if d.folder.root == f.root && d.python() {
			if _, _, err := s.checkedNow(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// leadsOut tells whether a path in a folder is, links followed, outside it: a stranger's folder must not have other files read.
func leadsOut(root, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // it cannot be read either
	}
	if realRoot, err := filepath.EvalSymlinks(root); err == nil {
		root = realRoot
	}
	_, inside := relativeTo(filepath.ToSlash(root), filepath.ToSlash(real))
	return !inside
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
		f, err := s.readyFolder(ctx, f.root)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // it was closed meanwhile
		}
		if err := s.eachClosed(ctx, f, tell); err != nil {
			return err
		}
	}
	return nil
}

// readyFolder is a folder once its settings are there.
func (s *server) readyFolder(ctx context.Context, root string) (*folder, error) {
	if f := s.current.Load().folderByRoot(root); f != nil && f.workspace != nil {
		return f, nil
	}
	if err := s.folderReady(ctx, root); err != nil {
		return nil, err
	}
	if f := s.current.Load().folderByRoot(root); f != nil && f.workspace != nil {
		return f, nil
	}
	return nil, failed("the folder is no longer open")
}

// pauseTime is how long nobody must have typed before the files that are not open are checked again: what they hold is judged
// by what the open ones say, and every keystroke would be a reason. patience is how long typing may put that off.
const (
	pauseTime = 500 * time.Millisecond
	patience  = 10 * time.Second
)

func (s *server) eachClosed(ctx context.Context, f *folder, tell func(uri string, version *int32, items []protocol.Diagnostic)) error {
	if err := f.workspace.Index(ctx, true); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return failed("the folder cannot be read: %v", err)
	}
	if err := s.closed.lock(ctx); err != nil {
		return err
	}
	defer s.closed.unlock()
	began := time.Now()
	for {
		if s.closed.outdated(f) {
			if err := s.pause(ctx, began.Add(patience)); err != nil {
				return err
			}
		}
		known := s.closed.of(f)
		if known.project == nil {
			return nil
		}
		files := s.closedFiles(f, known.project)
		if err := s.checkClosed(ctx, f, known, files); err != nil {
			return err
		}
		if known.project != f.workspace.Project() && time.Since(began) < patience {
			continue // somebody typed meanwhile
		}
		l := &locator{state: s.current.Load(), folder: f, enc: s.encoding}
		for _, file := range files {
			tell(string(l.uri(file.Path)), nil, s.closedDiagnostics(f, file, known.findings[file]))
		}
		return nil
	}
}

// pause waits until nobody has typed for a while, but not beyond a time.
func (s *server) pause(ctx context.Context, end time.Time) error {
	for {
		wait := min(pauseTime-time.Since(time.Unix(0, s.lastEdit.Load())), time.Until(end))
		if wait <= 0 {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// closedFiles are a folder's files that are not open and not those of a folder within.
func (s *server) closedFiles(f *folder, project *rules.Project) []*pyscan.File {
	now := s.current.Load()
	var files []*pyscan.File
	for _, file := range project.Files() {
		key := f.keyOf(file.Path)
		if holder := now.folderOf(key); now.documents[key] == nil && holder != nil && holder.root == f.root {
			files = append(files, file)
		}
	}
	return files
}

// checkClosed checks those of the files that were not yet, on all cores, until somebody types.
func (s *server) checkClosed(ctx context.Context, f *folder, known *closedFolder, files []*pyscan.File) error {
	found := make([][]rules.Finding, len(files))
	done := make([]bool, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		if _, checked := known.findings[file]; checked {
			continue
		}
		group.Go(func() error {
			defer s.recovered("checking " + file.Path)
			if known.project == f.workspace.Project() {
				found[i], done[i] = f.workspace.CheckFile(file, f.costs()), true
			}
			return ctx.Err()
		})
	}
	err := group.Wait()
	for i, file := range files {
		if done[i] {
			known.findings[file] = found[i]
		}
	}
	return err
}

// closedChecks remembers what the files that are not open gave, as long as no file of their project changes: clients that
// pull the workspace do so every few seconds.
type closedChecks struct {
	held  chan struct{} // full while a pull uses what follows
	roots map[string]*closedFolder
}

type closedFolder struct {
	workspace *analysis.Workspace
	project   *rules.Project
	trace     *loadedTrace
	findings  map[*pyscan.File][]rules.Finding
}

func (c *closedChecks) lock(ctx context.Context) error {
	select {
	case c.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *closedChecks) unlock() { <-c.held }

// outdated tells whether what is known of a folder's closed files is of an older project.
func (c *closedChecks) outdated(f *folder) bool {
	k := c.roots[f.root]
	return k != nil && !sameTexts(k.project, f.workspace.Project())
}

// sameTexts tells whether two projects hold the same texts under the same paths, as when a file was opened and not yet changed.
func sameTexts(a, b *rules.Project) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	before := map[string]*pyscan.File{}
	for _, file := range a.Files() {
		before[file.Path] = file
	}
	now := b.Files()
	return len(now) == len(before) && !slices.ContainsFunc(now, func(file *pyscan.File) bool {
		old := before[file.Path]
		return old == nil || old != file && old.Text != file.Text
	})
}

// of is what is known of a folder's closed files in its project as it is now.
func (c *closedChecks) of(f *folder) *closedFolder {
	k := c.roots[f.root]
	project := f.workspace.Project()
	switch {
	case k == nil || k.trace != f.trace || k.workspace != f.workspace || !sameTexts(k.project, project):
		k = &closedFolder{f.workspace, project, f.trace, map[*pyscan.File][]rules.Finding{}}
	case k.project != project:
		k = &closedFolder{f.workspace, project, f.trace, k.findings}
	}
	c.roots[f.root] = k
	return k
}
