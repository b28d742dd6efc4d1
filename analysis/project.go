package analysis

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stepline/pyscan"
	"stepline/rules"
)

// projectFiles are the workspace's files as the rules see across them: those on disk, and in their place those an editor
// holds open.
type projectFiles struct {
	mu      sync.Mutex
	project *rules.Project // nil until something was indexed or set
	open    map[string]bool
	disk    map[string]diskState
	deep    bool // the folders below the root were read, too
}

// diskState tells whether a file on disk has changed since it was read.
type diskState struct {
	modified time.Time
	size     int64
}

// maxIndexed bounds the files read for a project: a mistaken root like / must not be read to its end.
const maxIndexed = 10_000

// Index reads the workspace's Python files, so that findings follow calls across them. Files that did not change since the
// last Index are not read again; those set with SetFile stay as set. deep false looks at the root's own files only.
func (w *Workspace) Index(ctx context.Context, deep bool) error {
	names, err := w.indexNames(deep)
	if err != nil {
		return err
	}
	p := &w.files
	p.mu.Lock()
	old, states := p.project, maps.Clone(p.disk)
	p.mu.Unlock()
	known := map[string]*pyscan.File{}
	if old != nil {
		for _, f := range old.Files() {
			known[f.Path] = f
		}
	}
	files := make([]*pyscan.File, len(names))
	seen := make([]diskState, len(names))
	err = inParallel(ctx, len(names), func(i int) {
		path := w.DisplayPath(names[i])
		info, err := w.statFound(names[i])
		if err != nil || !info.Mode().IsRegular() { // a named pipe would be waited for
			return
		}
		seen[i] = diskState{info.ModTime(), info.Size()}
		if f := known[path]; f != nil && states[path] == seen[i] {
			files[i] = f
			return
		}
		if text, unusable := readSource(names[i]); unusable == nil {
			files[i] = pyscan.Parse(path, text)
		}
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disk, p.deep = map[string]diskState{}, p.deep || deep
	var all []*pyscan.File
	for i, f := range files {
		if f != nil {
			p.disk[f.Path] = seen[i]
			if !p.open[f.Path] {
				all = append(all, f)
			}
		}
	}
	if p.project != nil {
		for _, f := range p.project.Files() {
			if p.open[f.Path] {
				all = append(all, f)
			}
		}
		if slices.Equal(byPath(all), byPath(p.project.Files())) {
			return nil // nothing changed: what the project has worked out is kept
		}
		p.project = p.project.Holding(all)
		return nil
	}
	p.project = rules.NewProject(all)
	return nil
}

// statInside is os.Stat, but what lies outside the workspace's folder, links followed, counts as no file: a stranger's folder
// must not have files elsewhere read only because it was opened.
func (w *Workspace) statInside(name string) (fs.FileInfo, error) {
	if !w.insideRoot(name) {
		return nil, fs.ErrNotExist
	}
	return os.Stat(name)
}

// statFound is statInside for what was found in the workspace's folder. A search enters no links to folders, so that only the
// file itself can be one: to look at every element of thousands of paths takes four times as long.
func (w *Workspace) statFound(name string) (fs.FileInfo, error) {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return info, err
	}
	return w.statInside(name)
}

func byPath(files []*pyscan.File) []*pyscan.File {
	return slices.SortedFunc(slices.Values(files), func(a, b *pyscan.File) int { return strings.Compare(a.Path, b.Path) })
}

// indexNames are the files to index: notebooks are no modules that others import.
func (w *Workspace) indexNames(deep bool) ([]string, error) {
	var names []string
	if w.root == "" {
		return nil, nil
	}
	if deep {
		all, err := w.PythonFiles(nil)
		if err != nil {
			return nil, err
		}
		names = all
	} else {
		entries, err := os.ReadDir(w.root)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeType == 0 {
				names = append(names, filepath.Join(w.root, e.Name()))
			}
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !isModule(n) })
	return names[:min(len(names), maxIndexed)], nil
}

// SetFile puts a file of an editor into the project, in place of the one on disk. It is told whether anything changed.
func (w *Workspace) SetFile(file *pyscan.File) (changed bool) {
	p := &w.files
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[string]bool{}
	}
	p.open[file.Path] = true
	before := p.project
	if before == nil {
		p.project = rules.NewProject([]*pyscan.File{file})
		return true
	}
	p.project = before.With(file)
	return p.project != before
}

// DropFile takes an editor's file out of the project; the one on disk, if there is one, takes its place again.
func (w *Workspace) DropFile(path string) {
	p := &w.files
	p.mu.Lock()
	open := p.open[path]
	delete(p.open, path)
	p.mu.Unlock()
	if open {
		w.RefreshFile(path)
	}
}

// RefreshFile reads a file of the project again after it changed on disk; one that is open stays as the editor has it. What
// Index leaves out, git-ignored files and those of tools' folders, is left out here too.
func (w *Workspace) RefreshFile(path string) {
	file, seen := w.readOfProject(path)
	p := &w.files
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.open[path] || p.project == nil:
	case file == nil:
		delete(p.disk, path)
		p.project = p.project.Without(path)
	default:
		if p.disk == nil {
			p.disk = map[string]diskState{}
		}
		p.disk[path] = seen
		p.project = p.project.With(file)
	}
}

// readOfProject reads a file as Index does; nil for what is no file of the project.
func (w *Workspace) readOfProject(path string) (*pyscan.File, diskState) {
	name := filepath.Join(w.root, filepath.FromSlash(path))
	if w.root == "" || filepath.IsAbs(path) || !isModule(name) {
		return nil, diskState{}
	}
	info, err := w.statInside(name)
	if err != nil || !info.Mode().IsRegular() || w.leavesOutFile(path) {
		return nil, diskState{}
	}
	text, unusable := readSource(name)
	if unusable != nil {
		return nil, diskState{}
	}
	return pyscan.Parse(path, text), diskState{info.ModTime(), info.Size()}
}

// Project is the project as it is now, nil while nothing was read.
func (w *Workspace) Project() *rules.Project {
	w.files.mu.Lock()
	defer w.files.mu.Unlock()
	return w.files.project
}

// projectOf is the project for checking files: theirs, with what is known around them.
func (w *Workspace) projectOf(files []*pyscan.File) *rules.Project {
	base := w.Project()
	if base == nil {
		return rules.NewProject(files)
	}
	return projectAmong(base, files)
}

// projectAmong is a project with files in it, in the place of those of their paths.
func projectAmong(base *rules.Project, files []*pyscan.File) *rules.Project {
	if len(files) <= 8 {
		for _, f := range files {
			base = base.With(f)
		}
		return base
	}
	taken := map[string]bool{}
	for _, f := range files {
		taken[f.Path] = true
	}
	all := slices.Clone(files)
	for _, f := range base.Files() {
		if !taken[f.Path] {
			all = append(all, f)
		}
	}
	return rules.NewProject(all)
}
