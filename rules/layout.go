package rules

import (
	"path"
	"strings"
	"sync"
)

// layout is which files a project has, whatever they hold: what an imported module's name leads to rests on it alone. Projects
// that differ in their files' texts share it.
type layout struct {
	paths map[string]bool
	// modules lists the files by the last part of their module's name.
	modules map[string][]modulePlace
	// found are the answers of find so far, by moduleFrom; files are linted on several goroutines.
	found sync.Map
}

// moduleFrom is a module that files of a folder import.
type moduleFrom struct {
	module string
	level  int
	folder string
}

type modulePlace struct{ module, path string }

func newLayout(files []*fileIndex) *layout {
	l := &layout{paths: make(map[string]bool, len(files)), modules: make(map[string][]modulePlace, len(files))}
	for _, x := range files {
		l.paths[x.file.Path] = true
		last := lastPart(x.module)
		l.modules[last] = append(l.modules[last], modulePlace{x.module, x.file.Path})
	}
	return l
}

// find is the path of an imported module: relative to the importing file, at its side, from the root, or, when only one file
// fits, by the end of its path (src layouts). "" for a module that is no file of the project.
func (l *layout) find(module string, level int, from string) string {
	if module != "" && len(l.modules[lastPart(module)]) == 0 {
		return ""
	}
	key := moduleFrom{module, level, path.Dir(from)}
	if known, ok := l.found.Load(key); ok {
		return known.(string)
	}
	found := l.search(key)
	l.found.Store(key, found)
	return found
}

func (l *layout) search(wanted moduleFrom) string {
	module, level, dir := wanted.module, wanted.level, wanted.folder
	slashed := strings.ReplaceAll(module, ".", "/")
	try := func(base string) string {
		base = path.Clean(base)
		for _, file := range [...]string{base + ".py", base + "/__init__.py"} {
			if l.paths[file] {
				return file
			}
		}
		return ""
	}
	if level > 0 {
		for range level - 1 {
			dir = path.Dir(dir)
		}
		return try(path.Join(dir, slashed))
	}
	if module == "" {
		return ""
	}
	for at := dir; ; at = path.Dir(at) { // the file's own folder, then the folders above it
		if file := try(path.Join(at, slashed)); file != "" {
			return file
		}
		if at == "." || at == "/" {
			break
		}
	}
	found := ""
	for _, m := range l.modules[lastPart(module)] {
		if m.module == module || strings.HasSuffix(m.module, "."+module) {
			if found != "" {
				return ""
			}
			found = m.path
		}
	}
	return found
}

// splitMember splits what `from module import member` binds.
func splitMember(dotted string) (module, member string) {
	if i := strings.LastIndexByte(dotted, '.'); i >= 0 {
		return dotted[:i], dotted[i+1:]
	}
	return "", dotted
}

// importsAlike reports whether what a file imports is in two layouts of the same paths.
func (x *fileIndex) importsAlike(a, b *layout) bool {
	if a == b {
		return true
	}
	alike := func(module string, level int) bool {
		return a.find(module, level, x.file.Path) == b.find(module, level, x.file.Path)
	}
	for _, names := range x.ready().scopes {
		for _, bound := range names {
			if bound.path == "" {
				continue
			}
			if module, _ := splitMember(bound.path); !alike(bound.path, bound.level) || !alike(module, bound.level) {
				return false
			}
		}
	}
	return true
}

// modulePath is the dotted module a file is: "pkg/sub/mod.py" → "pkg.sub.mod", "pkg/__init__.py" → "pkg".
func modulePath(file string) string {
	file = strings.TrimSuffix(strings.TrimSuffix(file, ".ipynb"), ".py")
	file = strings.TrimSuffix(file, "/__init__")
	return strings.ReplaceAll(strings.TrimPrefix(file, "/"), "/", ".")
}
