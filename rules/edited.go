package rules

import (
	"iter"
	"slices"
	"strings"

	"stepline/pyscan"
)

// While somebody types, one function changes and the rest of the file stays. An edit sees the changed definitions as a small
// file of their own, in front of the index that was made before: they have their own tree, scopes and data flow, and everything
// else (the names around them, their callers, what other functions return) is taken as it was found before the edit. That is how
// it still is while the changed definitions show the code around them the same as before: their footprint (footprint.go) says so.

// edit ties the index of changed definitions to the one of the file before.
type edit struct {
	patch *pyscan.Patch
	index *fileIndex // of the changed definitions
	base  *fileIndex // of the whole file before the edit
	// newOf and oldOf pair functions of the changed definitions, newClass classes, by their names.
	newOf, oldOf map[*pyscan.Function]*pyscan.Function
	newClass     map[*pyscan.Class]*pyscan.Class
	// lost: a finding names a place that the edit changed itself.
	lost bool
	// room is for the lists of findings that are carried.
	room findingRoom
}

// newEdit makes the index of changed definitions; base is the file's before the edit.
func newEdit(base *fileIndex, patch *pyscan.Patch) *edit {
	e := &edit{patch: patch, base: base.ready()}
	x := &fileIndex{file: patch.File, module: base.module, edit: e}
	e.index = x
	e.pair()
	x.namesGPU, x.torch = x.mentions(gpuWords...), x.mentions("torch", "lightning")
	return e
}

// pair finds which function of the changed definitions is which of before: by qualified name and order.
func (e *edit) pair() {
	e.newOf, e.oldOf = map[*pyscan.Function]*pyscan.Function{}, map[*pyscan.Function]*pyscan.Function{}
	e.newClass = map[*pyscan.Class]*pyscan.Class{}
	type nth struct {
		name string
		n    int
	}
	functions, count := map[nth]*pyscan.Function{}, map[string]int{}
	for _, fn := range e.base.file.Functions[1:] {
		if e.patch.ReplacesAll(fn.Span) {
			functions[nth{fn.QualName, count[fn.QualName]}] = fn
			count[fn.QualName]++
		}
	}
	clear(count)
	for _, fn := range e.patch.File.Functions[1:] {
		if old := functions[nth{fn.QualName, count[fn.QualName]}]; old != nil {
			e.newOf[old], e.oldOf[fn] = fn, old
		}
		count[fn.QualName]++
	}
	classes := map[string]*pyscan.Class{}
	for _, c := range e.base.file.Classes {
		if e.patch.ReplacesAll(c.Span) {
			classes[c.QualName] = c
		}
	}
	for _, c := range e.patch.File.Classes {
		if old := classes[c.QualName]; old != nil {
			e.newClass[old] = c
		}
	}
}

// classes are those whose methods are edited and that are not edited whole; none without an edit.
func (e *edit) classes() []*pyscan.Class {
	if e == nil {
		return nil
	}
	var out []*pyscan.Class
	for _, part := range e.patch.Parts {
		if part.Class != nil && !slices.Contains(out, part.Class) {
			out = append(out, part.Class)
		}
	}
	return out
}

// owns tells whether a function belongs to the changed definitions as they are now.
func (e *edit) owns(fn *pyscan.Function) bool {
	list := e.patch.File.Functions
	return fn != nil && fn.Index > 0 && fn.Index < len(list) && list[fn.Index] == fn
}

func (e *edit) ownsClass(c *pyscan.Class) bool {
	list := e.patch.File.Classes
	return c != nil && c.Index < len(list) && list[c.Index] == c
}

// function is the index a function belongs to, and what it is now if it was changed.
func (e *edit) function(x *fileIndex, fn *pyscan.Function) (*fileIndex, *pyscan.Function) {
	switch {
	case e.newOf[fn] != nil:
		return e.index, e.newOf[fn]
	case x == e.index && !e.owns(fn):
		return e.base, fn
	}
	return x, fn
}

func (e *edit) class(x *fileIndex, c *pyscan.Class) (*fileIndex, *pyscan.Class) {
	switch {
	case e.newClass[c] != nil:
		return e.index, e.newClass[c]
	case x == e.index && !e.ownsClass(c):
		return e.base, c
	}
	return x, c
}

// settled is a definition as it is after the edit, with the index it belongs to.
func (p *Project) settled(d definition) definition {
	if p.edit == nil {
		return d
	}
	switch {
	case d.def != nil:
		d.index, d.def = p.edit.function(d.index, d.def)
	case d.class != nil:
		d.index, d.class = p.edit.class(d.index, d.class)
	case d.module == p.edit.index:
		d.index, d.module = p.edit.base, p.edit.base
	}
	return d
}

// withEdit is the project with definitions of one of its files changed. It shares everything else with the project before.
func (p *Project) withEdit(e *edit) *Project {
	out := projectOf(p.paths)
	out.files, out.names, out.changed, out.layout, out.before, out.edit = p.files, p.names, p.changed, p.layout, p, e
	return out
}

// buildEdit builds an edited index: the tree hangs below the class the definitions stand in, if any.
func (x *fileIndex) buildEdit() {
	e := x.edit
	file := e.patch.File
	first, last := e.patch.Parts[0], e.patch.Parts[len(e.patch.Parts)-1]
	t := &Tree{File: file, base: e.base.tree, origin: first.New.Start, size: last.New.End - first.New.Start, Sites: make([]*Site, 0, 256), index: x}
	b := treeBuilder{tree: t}
	for _, part := range e.patch.Parts {
		within := file.Module
		var parent *Site
		if c := part.Class; c != nil {
			within = c.Parent
			parent = e.base.classSite(c)
		}
		b.stmts(part.After, parent, RoleBody, within, part.Class)
	}
	t.number()
	x.tree = t
}

// classSite is the statement that defines a class.
func (x *fileIndex) classSite(c *pyscan.Class) *Site {
	for i := x.tree.first[c.Start]; i > 0; i = x.tree.links[i-1].before {
		if def, ok := x.tree.links[i-1].node.(*pyscan.ClassDef); ok && def.Class == c {
			return x.tree.Sites[i-1]
		}
	}
	return nil
}

// own tells whether a node belongs to the tree itself, not to the one it was put in front of.
func (t *Tree) own(n pyscan.Node) bool {
	if t.base == nil {
		return true
	}
	switch n.(type) {
	case pyscan.Expr, pyscan.Stmt:
		return t.ownSite(n) != nil
	}
	return t.index.edit.patch.Holds(n.Range())
}

// outside tells whether a function's sites are in the tree that this one was put in front of.
func (t *Tree) outside(fn *pyscan.Function) bool { return t.base != nil && !t.index.edit.owns(fn) }

// findEdited is find in an edited index: only the changed definitions are searched.
func (x *fileIndex) findEdited(text string) int {
	patch := x.edit.patch
	for _, part := range patch.Parts {
		from, to := max(0, part.New.Start-len(text)+1), min(len(x.file.Text), part.New.End+len(text)-1)
		if at := strings.Index(x.file.Text[from:to], text); at >= 0 {
			return from + at
		}
	}
	at := x.edit.base.find(text)
	if at < 0 {
		return -1
	}
	if moved, ok := patch.ToNew(at); ok && strings.HasPrefix(x.file.Text[moved:], text) {
		return moved
	}
	return strings.Index(x.file.Text, text) // it stood first in what was changed
}

// mentionsEdited is mentions in a project with an edit.
func (p *Project) mentionsEdited(text string) bool {
	if p.edit.index.mentions(text) {
		return true
	}
	if !p.before.mentions(text) {
		return false
	}
	holding, _ := p.before.texts.Load(text)
	return !p.edit.base.mentions(text) || holding.(int) > 1
}

// within is the file whose text a class's positions are in.
func (f *Facts) within(c *pyscan.Class) *pyscan.File {
	if e := f.project.edit; e != nil && !e.ownsClass(c) {
		return e.base.file
	}
	return f.File
}

// newEditAnalysis is the data flow of an edited project; before is the one of the project before the edit.
func newEditAnalysis(p *Project, before *analysis) *analysis {
	a := newAnalysis(p)
	a.before = before
	return a
}

// elsewhere tells that a question about a function is one for the analysis before the edit, with the index to ask it of.
func (a *analysis) elsewhere(x *fileIndex, fn *pyscan.Function) (*fileIndex, *pyscan.Function, bool) {
	if a.before == nil || fn == nil {
		return x, fn, false
	}
	x, fn = a.project.edit.function(x, fn)
	return x, fn, x != a.project.edit.index
}

// elsewhereClass is elsewhere for a class.
func (a *analysis) elsewhereClass(d definition) (definition, bool) {
	if a.before == nil || d.class == nil {
		return d, false
	}
	d.index, d.class = a.project.edit.class(d.index, d.class)
	return d, d.index != a.project.edit.index
}

// editedCallers are the calls of a changed function: those found before the edit, and those in the changed definitions, in the order
// a full check has them in.
func (a *analysis) editedCallers(fn *pyscan.Function) []callSite {
	e := a.project.edit
	var out []callSite
	first, end := -1, -1 // of the file's own among them
	if old := e.oldOf[fn]; old != nil {
		for _, c := range a.before.callersOf(e.base, old) {
			own := c.index == e.base
			if own && first < 0 {
				first = len(out)
			}
			if !own || !e.patch.Replaces(c.site.Range().Start) {
				out = append(out, c)
			}
			if own {
				end = len(out)
			}
		}
	}
	if first < 0 {
		first, end = len(out), len(out)
	}
	for _, c := range e.callsNow(a, fn) {
		for first < end && e.startNow(out[first]) < c.site.Range().Start {
			first++
		}
		out = slices.Insert(out, first, c)
		first, end = first+1, end+1
	}
	return out
}

// startNow is where a call of the file stands after the edit.
func (e *edit) startNow(c callSite) int {
	start := c.site.Range().Start
	if c.index == e.base {
		start, _ = e.patch.ToNew(start)
	}
	return start
}

// callsNow are the calls of a changed function in the changed definitions.
func (e *edit) callsNow(a *analysis, fn *pyscan.Function) (out []callSite) {
	name := fn.Name
	if name == "__init__" && fn.Class != nil {
		name = fn.Class.Name
	}
	for _, site := range e.index.ready().calls[name] {
		callee := site.Call().Func
		d := a.project.define(e.index, callee, site.Function, 0)
		switch attr, isAttr := callee.(*pyscan.Attribute); {
		case d.def == fn:
			out = append(out, callSite{index: e.index, site: site})
		case d.class != nil && d.class == fn.Class && fn.Name == "__init__":
			out = append(out, callSite{index: e.index, site: site, skip: 1})
		case isAttr && fn.Class != nil && isSelfName(attr.Value, selfOf(site.Def())) && methodClass(site.Def()) == fn.Class:
			out = append(out, callSite{index: e.index, site: site, skip: 1})
		}
	}
	return out
}

// FileCalls are all calls of the file in source order, also those outside the definitions that are looked at while one is edited.
func (f *Facts) FileCalls() []*Site {
	e := f.project.edit
	if e == nil {
		return f.Calls
	}
	return e.joined(e.base.tree.Calls, f.Calls, nil)
}

// sitesOf are the sites within a class of the file.
func (f *Facts) sitesOf(c *pyscan.Class) []*Site {
	e := f.project.edit
	if e == nil || e.ownsClass(c) {
		return f.below(f.index.classSite(c))
	}
	return e.joined(e.base.tree.below(e.base.classSite(c)), f.Sites, func(p *pyscan.Part) bool {
		for in := p.Class; in != nil; in = in.Outer {
			if in == c {
				return true
			}
		}
		return false
	})
}

// joined puts sites of changed definitions, of those parts that belong there, in the place of those before.
func (e *edit) joined(around, changed []*Site, belongs func(*pyscan.Part) bool) []*Site {
	var out []*Site
	at := 0
	for i := range e.patch.Parts {
		part := &e.patch.Parts[i]
		if belongs != nil && !belongs(part) {
			continue
		}
		from := siteFrom(around, part.Old.Start)
		out = append(out, around[at:from]...)
		out = append(out, changed[siteFrom(changed, part.New.Start):siteFrom(changed, part.New.End)]...)
		at = siteFrom(around, part.Old.End)
	}
	return append(out, around[at:]...)
}

// siteFrom is the place of the first site that starts at an offset or behind it; sites are in source order.
func siteFrom(sites []*Site, offset int) int {
	i, _ := slices.BinarySearchFunc(sites, offset, func(s *Site, offset int) int { return s.Range().Start - offset })
	return i
}

// methods are a class's methods as they are now.
func (f *Facts) methods(c *pyscan.Class) []*pyscan.Function {
	if f.project.edit == nil {
		return c.Methods
	}
	out := make([]*pyscan.Function, len(c.Methods))
	for i, m := range c.Methods {
		out[i] = f.project.settled(definition{index: f.index, def: m}).def
	}
	return out
}

// eachSite yields the sites of a file in source order, those of the changed definitions as they are now.
func (p *Project) eachSite(x *fileIndex) iter.Seq2[int, *Site] {
	sites := x.ready().tree.Sites
	e := p.edit
	if e == nil || x != e.base {
		return slices.All(sites)
	}
	own := e.index.tree.Sites
	return func(yield func(int, *Site) bool) {
		each := func(list []*Site) bool {
			for i, s := range list {
				if !yield(i, s) {
					return false
				}
			}
			return true
		}
		at := 0
		for _, part := range e.patch.Parts {
			if !each(sites[at:siteFrom(sites, part.Old.Start)]) || !each(own[siteFrom(own, part.New.Start):siteFrom(own, part.New.End)]) {
				return
			}
			at = siteFrom(sites, part.Old.End)
		}
		each(sites[at:])
	}
}
