package analysis

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"stepline/traceindex/load"
)

// usualNames are what profilers call their traces.
var usualNames = []string{"*.pt.trace.json", "*.pt.trace.json.gz", "*trace.json.gz", "*trace.json", "*.sqlite"}

// UsualTraceName tells whether a file is called as traces usually are.
func UsualTraceName(name string) bool {
	if strings.HasSuffix(name, ".callers.json.gz") {
		return false
	}
	return slices.ContainsFunc(usualNames, func(glob string) bool {
		ok, err := doublestar.Match(glob, name)
		return err == nil && ok
	})
}

// Discovered is a run found in a folder.
type Discovered struct {
	// Paths are the run's files, one a rank, absolute.
	Paths []string
	// Bytes is their size as stored; Newest the latest time one of them was written.
	Bytes  int64
	Newest time.Time
}

// rankInName is the part of a file name that tells ranks of one run apart.
var rankInName = regexp.MustCompile(`(?i)(rank|worker|proc|process|gpu|local_rank)([-_.=]?)\d+`)

// maxWalked bounds the search for traces: a mistaken root like / must not be walked to its end.
const maxWalked = 100_000

// DiscoverTraces finds the newest run under the usual names in the workspace's folder; ok is false where there is none.
// Files of one folder whose names differ in their rank alone are one run. deep false looks at the root's own files only.
func (w *Workspace) DiscoverTraces(deep bool) (found Discovered, ok bool) {
	if w.root == "" {
		return Discovered{}, false
	}
	runs := map[string]*Discovered{}
	walked := 0
	// A folder that cannot be read is passed over.
	_ = filepath.WalkDir(w.root, func(path string, e fs.DirEntry, err error) error {
		if walked++; walked > maxWalked {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			if path != w.root && (!deep || skipsTraces(e.Name())) {
				return fs.SkipDir
			}
			return nil
		case !e.Type().IsRegular() || !UsualTraceName(e.Name()):
			return nil
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			return nil
		}
		key := filepath.Join(filepath.Dir(path), rankInName.ReplaceAllString(e.Name(), "$1$2#"))
		r := runs[key]
		if r == nil {
			r = &Discovered{}
			runs[key] = r
		}
		r.Paths = append(r.Paths, path)
		r.Bytes += info.Size()
		if info.ModTime().After(r.Newest) {
			r.Newest = info.ModTime()
		}
		return nil
	})
	for _, r := range runs {
		newer := r.Newest.After(found.Newest) || r.Newest.Equal(found.Newest) && len(found.Paths) > 0 && r.Paths[0] < found.Paths[0]
		if !ok || newer {
			found, ok = *r, true
		}
	}
	return found, ok
}

// TracesFromSettings are the files the setting traces names, absolute. Where the folder's own file set it, what lies outside
// the folder is left out: opening a stranger's folder must not read other files.
func (w *Workspace) TracesFromSettings() (paths, refused []string) {
	for _, t := range w.settings.Traces {
		p := t
		if !filepath.IsAbs(p) && w.root != "" {
			p = filepath.Join(w.root, p)
		}
		if w.settings.TracesFromFile && !w.staysInside(p) {
			refused = append(refused, t)
			continue
		}
		paths = append(paths, p)
	}
	return paths, refused
}

// staysInside tells whether a path, and what is found by it (a folder's files, those a glob matches), lies in the folder.
func (w *Workspace) staysInside(p string) bool {
	if !w.insideRoot(p) {
		return false
	}
	info, err := os.Stat(p)
	switch {
	case err == nil && info.IsDir():
		leads := false
		walked := 0
		_ = filepath.WalkDir(p, func(name string, e fs.DirEntry, err error) error { // what cannot be read is not loaded either
			if walked++; walked > maxWalked {
				return fs.SkipAll
			}
			if err == nil && e.Type()&fs.ModeSymlink != 0 && !w.insideRoot(name) {
				leads = true
				return fs.SkipAll
			}
			return nil
		})
		return !leads && walked <= maxWalked
	case err == nil:
		return true
	}
	found, err := load.Glob(p)
	return err != nil || !slices.ContainsFunc(found, func(name string) bool { return !w.insideRoot(name) })
}

// insideRoot tells whether a path (or the fixed part of a glob) lies in the folder, links followed.
func (w *Workspace) insideRoot(p string) bool {
	base, _ := doublestar.SplitPattern(filepath.ToSlash(filepath.Clean(p)))
	if _, err := os.Lstat(p); err == nil {
		base = p
	}
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		real = filepath.Clean(base)
	}
	root, err := filepath.EvalSymlinks(w.root)
	if err != nil {
		root = w.root
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
