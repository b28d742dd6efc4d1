package rules

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"stepline/pyscan"
)

// Project is the workspace's files with what the rules need to follow names and calls across them. It is immutable and may
// be shared by goroutines: With makes a new one that shares everything about the files that did not change.
type Project struct {
	*projectFiles
	// notes take down what is asked of the project; nil where nobody wants to know.
	notes *notes
}

// projectFiles are a project's files and what is known of them together.
type projectFiles struct {
	serial uint64       // unlike any other project's
	files  []*fileIndex // by path
	paths  map[string]*fileIndex
	layout *layout
	// names indexes calls and definitions by name over the files it was made from; changed are the files since.
	names   *nameIndex
	changed []*fileIndex

	// training are the names mayTrain knows, made on first use.
	trainOnce sync.Once
	training  map[string]bool
	// texts keeps how many files hold a text that mentions was asked for, calls what callsOf answered, counts what defining did.
	texts, calls, counts sync.Map

	// idle holds data flows between runs: what they know about a project that never changes stays true.
	idleMu sync.Mutex
	idle   []*analysis

	// edit is set in a project with changed definitions of one of its files (see edited.go); before is the project without them.
	edit   *edit
	before *Project

	// compiled is what torch.compile traces, found on first use.
	compiledOnce sync.Once
	compiled     *compiledTable

	// usesGPU and torch tell whether any file names a GPU or torch.
	subjectOnce    sync.Once
	usesGPU, torch bool

	// since keeps what newSince answered.
	since sync.Map
}

// borrow takes an idle data flow of the project, or a new one; giveBack returns it.
func (p *Project) borrow() *analysis {
	p.idleMu.Lock()
	defer p.idleMu.Unlock()
	if n := len(p.idle); n > 0 {
		a := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return a
	}
	a := newAnalysis(p)
	a.project = &Project{p.projectFiles, &a.notes}
	return a
}

// maxKeptFlows bounds what an idle data flow may hold on to. It is for projects of millions of lines: all flows of one of a million
// are less, some 5 KB each, and whoever begins anew with every file that reaches far works them out a hundred times over (a minute
// instead of six seconds, and more memory, for half a million lines).
const maxKeptFlows = 400_000

func (p *Project) giveBack(a *analysis) {
	if len(a.flows) > maxKeptFlows {
		return
	}
	p.idleMu.Lock()
	defer p.idleMu.Unlock()
	p.idle = append(p.idle, a)
}

// lastPart is the last part of a dotted name.
func lastPart(module string) string { return module[strings.LastIndexByte(module, '.')+1:] }

// NewProject makes a project of parsed files. Their indexes are made when first needed.
func NewProject(files []*pyscan.File) *Project { return newProject(files, nil) }

// newProject is NewProject that takes the indexes of the files that another project (nil: none) holds, too.
func newProject(files []*pyscan.File, before *Project) *Project {
	p := projectOf(make(map[string]*fileIndex, len(files)))
	for _, f := range files {
		if p.paths[f.Path] != nil {
			continue
		}
		var x, old *fileIndex
		if before != nil {
			old = before.paths[f.Path]
		}
		if x = old; old == nil || old.file != f {
			x = newFileIndex(f, old)
		}
		p.files = append(p.files, x)
		p.paths[f.Path] = x
	}
	slices.SortFunc(p.files, byPath)
	p.names = &nameIndex{files: p.files}
	p.layout = newLayout(p.files)
	return p
}

var projects atomic.Uint64

func projectOf(paths map[string]*fileIndex) *Project {
	return &Project{projectFiles: &projectFiles{serial: projects.Add(1), paths: paths}}
}

func byPath(a, b *fileIndex) int { return strings.Compare(a.file.Path, b.file.Path) }

// Holding is the project with exactly the given files; what is known of those it has already is kept.
func (p *Project) Holding(files []*pyscan.File) *Project {
	if len(files) == len(p.files) && !slices.ContainsFunc(files, func(f *pyscan.File) bool { return p.paths[f.Path] == nil || p.paths[f.Path].file != f }) {
		return p
	}
	out := newProject(files, p)
	if sameFolders := len(out.files) == len(p.files); sameFolders {
		for i, x := range out.files {
			sameFolders = sameFolders && x.file.Path == p.files[i].file.Path
		}
		if sameFolders {
			out.layout = p.layout
		}
	}
	p.names.calls.Range(func(name, calls any) bool { // for where they still hold
		out.names.calls.Store(name, calls)
		return true
	})
	out.names.compiled.Store(p.names.compiled.Load())
	return out
}

// With is the project with one file added or replaced (by path).
func (p *Project) With(file *pyscan.File) *Project {
	old := p.paths[file.Path]
	if old != nil && old.file == file {
		return p
	}
	out := projectOf(maps.Clone(p.paths))
	out.files, out.names, out.layout = slices.Clone(p.files), p.names, p.layout
	x := newFileIndex(file, old)
	out.paths[file.Path] = x
	out.inheritTexts(p, old, x)
	for _, c := range p.changed {
		if c != old {
			out.changed = append(out.changed, c)
		}
	}
	out.changed = append(out.changed, x)
	at, found := slices.BinarySearchFunc(out.files, x, byPath)
	if found {
		out.files[at] = x
		return out
	}
	out.files = slices.Insert(out.files, at, x)
	out.layout = newLayout(out.files)
	return out
}

// Without is the project without a file.
func (p *Project) Without(path string) *Project {
	old := p.paths[path]
	if old == nil {
		return p
	}
	out := projectOf(make(map[string]*fileIndex, len(p.paths)))
	out.names, out.changed = p.names, p.changed
	for _, x := range p.files {
		if x != old {
			out.files = append(out.files, x)
			out.paths[x.file.Path] = x
		}
	}
	out.layout = newLayout(out.files)
	return out
}

// File is the project's file of a path, nil if there is none.
func (p *Project) File(path string) *pyscan.File {
	if x := p.paths[path]; x != nil {
		return x.file
	}
	return nil
}

// SameBeside tells whether two projects hold the same files, that of one path aside.
func (p *Project) SameBeside(other *Project, path string) bool {
	if p == other || other == nil {
		return p == other
	}
	return slices.EqualFunc(p.files, other.files, func(a, b *fileIndex) bool {
		return a == b || a.file.Path == path && b.file.Path == path
	})
}

// Files are the project's files, by path.
func (p *Project) Files() []*pyscan.File {
	out := make([]*pyscan.File, len(p.files))
	for i, x := range p.files {
		out[i] = x.file
	}
	return out
}

// index is the file's index, of the project or a lone one.
func (p *Project) index(file *pyscan.File) *fileIndex {
	if p.edit != nil && p.edit.index.file == file {
		return p.edit.index
	}
	if x := p.paths[file.Path]; x != nil && x.file == file {
		return x
	}
	return newFileIndex(file, nil)
}

// moduleFile finds the project's file of a module that a file imports.
func (p *Project) moduleFile(module string, level int, from *fileIndex) *fileIndex {
	p.notes.file(from, p.layout) // also for what is not found
	found := p.layout.find(module, level, from.file.Path)
	if found == "" {
		return nil
	}
	x := p.paths[found]
	p.notes.file(x, p.layout)
	return x
}

// definition is a function or class somewhere in the project.
type definition struct {
	index *fileIndex
	def   *pyscan.Function
	class *pyscan.Class
	// module is set for an imported module of the project.
	module *fileIndex
}

func (d definition) ok() bool { return d.index != nil }

// define finds the project's definition an expression names: a function, a class, or a module.
func (p *Project) define(x *fileIndex, e pyscan.Expr, from *pyscan.Function, depth int) definition {
	return p.settled(p.findDefinition(x, e, from, depth))
}

func (p *Project) findDefinition(x *fileIndex, e pyscan.Expr, from *pyscan.Function, depth int) definition {
	if depth > 6 {
		return definition{}
	}
	x.ready()
	switch e := e.(type) {
	case *pyscan.Name:
		b, where := x.lookup(e.ID, from)
		if b == nil {
			return definition{}
		}
		switch {
		case b.def != nil && b.path == "":
			return definition{index: x, def: b.def}
		case b.class != nil && b.path == "":
			return definition{index: x, class: b.class}
		case b.path != "":
			return p.imported(b.path, b.level, x, depth)
		case b.alias != nil && b.assigned == 1:
			switch b.alias.(type) {
			case *pyscan.Name, *pyscan.Attribute:
				return p.define(x, b.alias, where, depth+1)
			}
		}
	case *pyscan.Attribute:
		base := p.define(x, e.Value, from, depth+1)
		switch {
		case base.module != nil:
			return p.member(base.module, e.Attr, depth)
		case base.class != nil:
			if m, in := p.method(base, e.Attr, 0); m != nil {
				return definition{index: in, def: m}
			}
		}
	}
	return definition{}
}

// imported finds what a dotted import path names: a module file, or a member of one.
func (p *Project) imported(dotted string, level int, from *fileIndex, depth int) definition {
	if m := p.moduleFile(dotted, level, from); m != nil {
		return definition{index: m, module: m}
	}
	module, member := splitMember(dotted)
	m := p.moduleFile(module, level, from)
	if m == nil || m == from {
		return definition{}
	}
	return p.member(m, member, depth)
}

// member finds a top-level name of a module, through its own imports (packages re-export).
func (p *Project) member(m *fileIndex, name string, depth int) definition {
	m.ready()
	return p.define(m, &pyscan.Name{ID: name}, m.file.Module, depth+1)
}

// method finds a method of a class or of its bases in the project.
func (p *Project) method(c definition, name string, depth int) (*pyscan.Function, *fileIndex) {
	for _, m := range c.class.Methods {
		if m.Name == name {
			d := p.settled(definition{index: c.index, def: m})
			return d.def, d.index
		}
	}
	if depth > 8 {
		return nil, nil
	}
	for _, base := range c.class.Bases {
		if b := p.define(c.index, base, c.class.Parent, 0); b.class != nil && b.class != c.class {
			if m, in := p.method(b, name, depth+1); m != nil {
				return m, in
			}
		}
	}
	return nil, nil
}

// basePaths are the dotted paths of the classes outside the project that a class derives from, through the project's own.
func (p *Project) basePaths(c definition, depth int) []string {
	if depth > 8 {
		return nil
	}
	var out []string
	for _, base := range c.class.Bases {
		if b := p.define(c.index, base, c.class.Parent, 0); b.class != nil {
			if b.class != c.class {
				out = append(out, p.basePaths(b, depth+1)...)
			}
			continue
		}
		if sub, ok := base.(*pyscan.Subscript); ok { // Generic bases: Dataset[int]
			base = sub.Value
		}
		if path := c.index.ready().resolve(base, c.class.Parent, 0); path != "" {
			out = append(out, path)
		} else if name := lastName(base); name != "" {
			out = append(out, "?."+name)
		}
	}
	return out
}

// mentions reports whether any file of the project holds a text.
func (p *Project) mentions(text string) bool {
	if p.edit != nil {
		return p.mentionsEdited(text)
	}
	if p.notes != nil {
		return p.notes.mentions(p, text)
	}
	return p.holdsText(text)
}

func (p *Project) holdsText(text string) bool {
	if known, ok := p.texts.Load(text); ok {
		return known.(int) > 0
	}
	holding := 0
	for _, x := range p.files {
		if x.mentions(text) {
			holding++
		}
	}
	p.texts.Store(text, holding)
	return holding > 0
}

// inheritTexts takes over how many files hold a text from the project in which one file was another (nil where it was not there).
func (p *Project) inheritTexts(before *Project, was, is *fileIndex) {
	before.texts.Range(func(key, known any) bool {
		text, holding := key.(string), known.(int)
		if was != nil && was.mentions(text) {
			holding--
		}
		if is.mentions(text) {
			holding++
		}
		p.texts.Store(text, holding)
		return true
	})
}
