package lsp

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"stepline/analysis"
	"stepline/pyscan"
	"stepline/rules"
)

// closedItems are the diagnostics of a file that is not open, as it is on disk; nil for what is no file of a folder, and for
// notebooks: their findings are in cells, which are documents only while the notebook is open.
func (s *server) closedItems(ctx context.Context, key string) (*items, error) {
	p, isFile := keyPath(key)
	f := s.current.Load().folderOf(key)
	if !isFile || f == nil || f.hidden || analysis.IsNotebook(p) {
		return nil, nil
	}
	if f, _ = s.readyFolder(ctx, f.root); f == nil {
		return nil, ctx.Err()
	}
	if info, err := os.Stat(osPath(p)); err != nil || !info.Mode().IsRegular() || leadsOut(osPath(f.root), osPath(p)) {
		return nil, nil
	}
	if err := s.openTextsTaken(ctx, f); err != nil {
		return nil, err
	}
	file, err := f.workspace.FileOnDisk(ctx, osPath(p))
	if err != nil || file == nil {
		return nil, ctx.Err()
	}
	findings, _ := s.closed.check(f, f.workspace.Project(), file)
	return s.closedDiagnostics(f, file, findings), nil
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
func (s *server) closedDiagnostics(f *folder, file *pyscan.File, findings []rules.Finding) *items {
	d := &document{key: f.keyOf(file.Path), path: file.Path, folder: f}
	l := s.locatorFor(d)
	l.own = nil
	d.uri = string(l.uri(file.Path))
	w := s.itemsOf(l, d, nil).hashed()
	s.addAll(w, &checked{findings: findings})
	return w
}

// eachDocument tells the diagnostics of every document: those open as they are in the editor, and the folders' other files
// as they are on disk.
func (s *server) eachDocument(ctx context.Context, tell func(uri string, version *int32, list *items)) error {
	now := s.current.Load()
	for key := range now.documents {
		if err := s.openDiagnostics(ctx, key, tell); err != nil {
			return err
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

// openDiagnostics tells the diagnostics of a document as it is now, a notebook's cell by cell, none of one that is not open.
func (s *server) openDiagnostics(ctx context.Context, key string, tell func(uri string, version *int32, list *items)) error {
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
				tell(c.uri, &v, byCell[c.key])
			}
		}
	default:
		v := wireVersion(d.version)
		tell(d.uri, &v, s.hashedItems(d, result))
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

func (s *server) eachClosed(ctx context.Context, f *folder, tell func(uri string, version *int32, list *items)) error {
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
	end := time.Now().Add(patience)
	for {
		if s.closed.outdated(f) {
			if err := s.pause(ctx, end); err != nil {
				return err
			}
		}
		project := s.closed.begin(f)
		if project == nil {
			return nil
		}
		files := s.closedFiles(f, project)
		found, err := s.checkClosed(ctx, f, project, files, end)
		if err != nil {
			return err
		}
		if found == nil {
			continue // somebody typed meanwhile
		}
		l := &locator{state: s.current.Load(), folder: f, enc: s.encoding}
		for i, file := range files {
			tell(string(l.uri(file.Path)), nil, s.closedDiagnostics(f, file, found[i]))
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

// checkClosed finds what each of the files gives in a project, on all cores; nil if somebody types, but not after end.
func (s *server) checkClosed(ctx context.Context, f *folder, project *rules.Project, files []*pyscan.File, end time.Time) ([][]rules.Finding, error) {
	found, anew := make([][]rules.Finding, len(files)), make([]bool, len(files))
	var overtaken atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		group.Go(func() error {
			defer s.recovered("checking " + file.Path)
			if project != f.workspace.Project() && time.Now().Before(end) {
				overtaken.Store(true)
			} else {
				found[i], anew[i] = s.closed.check(f, project, file)
			}
			return ctx.Err()
		})
	}
	err := group.Wait()
	if entry := s.log.Check(zap.DebugLevel, "files that are not open were checked"); entry != nil {
		var linted []string
		for i, file := range files {
			if anew[i] {
				linted = append(linted, file.Path)
			}
		}
		entry.Write(zap.String("folder", f.root), zap.Int("files", len(files)), zap.Strings("linted", linted))
	}
	if overtaken.Load() {
		return nil, err
	}
	return found, err
}

// closedChecks remembers what the files that are not open gave: clients that pull the workspace do so every few seconds. What a
// file gave stays as long as it holds in the project as it is then.
type closedChecks struct {
	held chan struct{} // full while the whole workspace is pulled

	mu    sync.Mutex
	roots map[string]*closedFolder
}

// closedFolder is what is known of a folder's files with one trace.
type closedFolder struct {
	workspace *analysis.Workspace
	trace     *loadedTrace
	project   *rules.Project // of the last pull of all
	results   map[string]closedResult
}

type closedResult struct {
	file   *pyscan.File
	result rules.Result
	in     *rules.Project // where it holds
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

// of is what is known of a folder; to be called with mu locked.
func (c *closedChecks) of(f *folder) *closedFolder {
	k := c.roots[f.root]
	if k == nil || k.trace != f.trace || k.workspace != f.workspace {
		k = &closedFolder{workspace: f.workspace, trace: f.trace, results: map[string]closedResult{}}
		c.roots[f.root] = k
	}
	return k
}

// outdated tells whether the last pull of a folder's closed files saw other texts than there are now.
func (c *closedChecks) outdated(f *folder) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.roots[f.root]
	return k != nil && k.project != nil && !sameTexts(k.project, f.workspace.Project())
}

// begin begins a pull of a folder's closed files in its project as it is now; nil if there is none.
func (c *closedChecks) begin(f *folder) *rules.Project {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, project := c.of(f), f.workspace.Project()
	if k.project != project && k.project != nil && sameTexts(k.project, project) { // a file was opened or closed: all holds as it did
		for path, r := range k.results {
			if r.in == k.project {
				r.in = project
				k.results[path] = r
			}
		}
	}
	k.project = project
	if project != nil {
		maps.DeleteFunc(k.results, func(path string, _ closedResult) bool { return project.File(path) == nil })
	}
	return project
}

// check is what a file gives in a project; anew tells that it had to be linted for that.
func (c *closedChecks) check(f *folder, project *rules.Project, file *pyscan.File) (findings []rules.Finding, anew bool) {
	c.mu.Lock()
	k := c.of(f)
	r, known := k.results[file.Path]
	c.mu.Unlock()
	known = known && r.file == file
	if known && r.in == project {
		return r.result.Findings, false
	}
	if anew = !known || !r.result.Depends.Holds(project); anew {
		r = closedResult{file: file, result: f.workspace.LintIn(project, file, f.costs())}
	}
	r.in = project
	if project != nil && project.File(file.Path) == file {
		c.mu.Lock()
		k.results[file.Path] = r
		c.mu.Unlock()
	}
	return r.result.Findings, anew
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
