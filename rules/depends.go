package rules

import (
	"slices"
	"sync/atomic"
)

// What a run finds in one file rests on what it asked of others: what their names stand for, who calls a function and with
// what, whether any file names a GPU. Each answer is taken down as a dependency, so that after an edit it can be told whether
// the findings still stand without finding them anew.
//
// A dependency is a plain fact (the project has this very file, holds this text) or a question. A question also keeps its
// answer: when what it rests on no longer holds, it is asked again in the new project, and if the answer is the same nothing
// above it has changed. That matters for what calls a function: a script that calls a helper of five hundred others passes the
// same kinds of values after most edits.
//
// Answers that are kept between runs (data flows, contexts) keep their dependencies with them: whoever reads one rests on the same.

// Dependencies are what the findings of one run rest on.
type Dependencies struct {
	x      *fileIndex
	layout *layout
	on     *dependencies
}

// Holds reports whether a run over the same file in another project finds the same, with the same rules, configuration and
// costs. true is certain; false means that the file is to be linted anew. nil never holds. It may be called from any goroutine.
func (d *Dependencies) Holds(project *Project) (holds bool) {
	if d == nil || project == nil || project.paths[d.x.file.Path] != d.x || !d.x.importsAlike(d.layout, project.layout) {
		return false
	}
	c := &checking{p: project}
	defer func() {
		if recover() != nil { // a mistake in what was asked again: Run reports it, where it matters
			holds = false
		}
	}()
	holds = c.holds(d.on)
	if c.a != nil {
		project.giveBack(c.a)
	}
	return holds
}

// depends is what the run rests on; to be asked once, at its end.
func (f *Facts) depends() *Dependencies {
	if f.analysis.notes.top == nil {
		return nil // a rule panicked
	}
	return &Dependencies{f.index, f.project.layout, f.analysis.notes.end()}
}

// unwind drops the lists that a panic left open.
func (f *Facts) unwind() {
	for a := f.analysis; a != nil; a = a.before {
		a.notes.unwind()
	}
}

// checking tells what holds in a project.
type checking struct {
	p *Project
	a *analysis // to ask again in; made when needed
}

func (c *checking) analysis() *analysis {
	if c.a == nil {
		c.a = c.p.borrow()
	}
	return c.a
}

// dependency is one thing an answer rests on. It belongs to the analysis that took it down, but may be checked by any goroutine.
type dependency interface {
	holdsIn(c *checking) bool
	base() *noted
}

// noted is what all dependencies have.
type noted struct {
	// verdict is whether it holds, in the lowest bit, in the project of the serial number above it.
	verdict atomic.Uint64
	// in is the list that has it already.
	in uint64
}

func (n *noted) base() *noted { return n }

// holds checks a dependency, once for each project.
func (c *checking) holds(d dependency) bool {
	if on, ok := d.(*dependencies); ok && on == nil {
		return true
	}
	verdict := &d.base().verdict
	if v := verdict.Load(); v>>1 == c.p.serial {
		return v&1 == 1
	}
	holds := d.holdsIn(c)
	v := c.p.serial << 1
	if holds {
		v |= 1
	}
	verdict.Store(v)
	return holds
}

// dependencies are several, in the order they were taken down: an earlier one decides whether a later one can be asked at all.
type dependencies struct {
	noted
	on []dependency
}

func (d *dependencies) holdsIn(c *checking) bool {
	return !slices.ContainsFunc(d.on, func(on dependency) bool { return !c.holds(on) })
}

// notes take down dependencies: a stack of lists, one for each answer that is being worked out. nil takes down nothing.
type notes struct {
	top   *noteList
	lists uint64    // how many there were
	spare *noteList // used up, to be used again
	// What is noted often is one dependency each.
	files    map[*fileIndex]*sameFile
	texts    map[string]*sameText
	calls    map[*namedCalls]*sameCalls
	harmless map[string]*trainsNothing
}

type noteList struct {
	up *noteList
	id uint64
	on []dependency
}

// begin opens a list; what is asked from now on goes there.
func (n *notes) begin() {
	list := n.spare
	if list == nil {
		list = &noteList{}
	} else {
		n.spare = list.up
	}
	n.lists++
	list.up, list.id = n.top, n.lists
	n.top = list
}

// end closes the list. It is on nobody else's list yet; nil if there is nothing on it.
func (n *notes) end() *dependencies {
	list := n.top
	on := list.on
	n.top, n.spare, list.up, list.on = list.up, list, n.spare, on[:0]
	switch len(on) {
	case 0:
		return nil
	case 1:
		if only, ok := on[0].(*dependencies); ok {
			return only
		}
	}
	d := &dependencies{on: slices.Clone(on)}
	clear(on)
	return d
}

// unwind drops the lists that a panic left open, and all that were asked for it.
func (n *notes) unwind() { n.top = nil }

func (n *notes) add(d dependency) {
	if n == nil || n.top == nil {
		return
	}
	if base := d.base(); base.in != n.top.id {
		base.in = n.top.id
		n.top.on = append(n.top.on, d)
	}
}

// use notes that an answer was read that rests on what is given.
func (n *notes) use(d *dependencies) {
	if d != nil {
		n.add(d)
	}
}

// share is use for what another analysis has taken down.
func (n *notes) share(d *dependencies) {
	if d != nil {
		n.add(&dependencies{on: []dependency{d}})
	}
}

// useAnswer is use for an answer that asked noted.
func (n *notes) useAnswer(d dependency) {
	if d != nil {
		n.add(d)
	}
}

// keep works out an answer that is kept under a key, and keeps there what it rests on.
func keep[K comparable, V any](n *notes, on map[K]*dependencies, key K, find func() V) V {
	n.begin()
	v := find()
	d := n.end()
	on[key] = d
	n.use(d)
	return v
}

// question is a dependency that can be asked again.
type question struct {
	noted
	about *fileIndex // whose file it is about: where that is another one, it cannot be asked. May be nil
	rests atomic.Pointer[dependencies]
	// same asks again and tells whether the answer is the same. It holds nothing of the analysis it was first asked in.
	same func(a *analysis) bool
}

// asked closes the list of an answer that was worked out, and notes the answer as a question; nil if it rests on nothing.
func (n *notes) asked(about *fileIndex, same func(a *analysis) bool) dependency {
	on := n.end()
	if on == nil {
		return nil
	}
	q := &question{about: about, same: same}
	q.rests.Store(on)
	n.add(q)
	return q
}

func (q *question) holdsIn(c *checking) bool {
	if c.holds(q.rests.Load()) {
		return true
	}
	if q.about != nil && c.p.paths[q.about.file.Path] != q.about {
		return false
	}
	a := c.analysis()
	a.notes.begin()
	same := q.same(a)
	on := a.notes.end()
	if !same {
		return false
	}
	if on != nil && len(on.on) == 1 { // the same question, as the analysis keeps it
		if again, ok := on.on[0].(*question); ok {
			on = again.rests.Load()
		}
	}
	q.rests.Store(on)
	return true
}

// sameFile: the project has the very file under its path, and its imports lead to the same files.
type sameFile struct {
	noted
	x      *fileIndex
	layout *layout
}

func (d *sameFile) holdsIn(c *checking) bool {
	return c.p.paths[d.x.file.Path] == d.x && d.x.importsAlike(d.layout, c.p.layout)
}

func (n *notes) file(x *fileIndex, l *layout) {
	if n == nil {
		return
	}
	d := n.files[x]
	if d == nil {
		d = &sameFile{x: x, layout: l}
		if n.files == nil {
			n.files = map[*fileIndex]*sameFile{}
		}
		n.files[x] = d
	}
	n.add(d)
}

// sameText: some file of the project holds a text, or none does.
type sameText struct {
	noted
	text string
	held bool
}

func (d *sameText) holdsIn(c *checking) bool { return c.p.holdsText(d.text) == d.held }

// mentions asks a project for a text.
func (n *notes) mentions(p *Project, text string) bool {
	d := n.texts[text]
	if d == nil {
		d = &sameText{text: text, held: p.holdsText(text)}
		if n.texts == nil {
			n.texts = map[string]*sameText{}
		}
		n.texts[text] = d
	}
	n.add(d)
	return d.held
}

// sameCalls: the calls of a name, and what they call, are the same.
type sameCalls struct {
	noted
	name  string
	calls *namedCalls
}

func (d *sameCalls) holdsIn(c *checking) bool { return c.p.knownCalls(d.name) == d.calls }

func (n *notes) callsOf(name string, calls *namedCalls) {
	if n == nil {
		return
	}
	d := n.calls[calls]
	if d == nil {
		d = &sameCalls{name: name, calls: calls}
		if n.calls == nil {
			n.calls = map[*namedCalls]*sameCalls{}
		}
		n.calls[calls] = d
	}
	n.add(d)
}

// trainsNothing: no function of a name makes a training step.
type trainsNothing struct {
	noted
	name string
}

func (d *trainsNothing) holdsIn(c *checking) bool { return !c.p.trainingName(d.name) }

func (n *notes) trainsNothing(name string) {
	if n == nil {
		return
	}
	d := n.harmless[name]
	if d == nil {
		d = &trainsNothing{name: name}
		if n.harmless == nil {
			n.harmless = map[string]*trainsNothing{}
		}
		n.harmless[name] = d
	}
	n.add(d)
}

// callingFiles: these are the files that call a name.
type callingFiles struct {
	noted
	name  string
	files []*fileIndex
}

func (d *callingFiles) holdsIn(c *checking) bool {
	return slices.Equal(c.p.callingFiles(d.name), d.files)
}

// definedTimes: the project has n functions of a name.
type definedTimes struct {
	noted
	name string
	n    int
}

func (d *definedTimes) holdsIn(c *checking) bool { return c.p.countDefined(d.name) == d.n }

// sameSubject: the project names a GPU, and torch, or does not.
type sameSubject struct {
	noted
	usesGPU, torch bool
}

func (d *sameSubject) holdsIn(c *checking) bool {
	usesGPU, torch := c.p.subjects()
	return usesGPU == d.usesGPU && torch == d.torch
}

// subjects tells whether any file of the project names a GPU, and torch.
func (p *Project) subjects() (usesGPU, torch bool) {
	p.subjectOnce.Do(func() {
		for _, x := range p.files {
			p.usesGPU = p.usesGPU || x.namesGPU
			p.torch = p.torch || x.torch
		}
	})
	return p.usesGPU, p.torch
}

// subject is subjects, taken down.
func (p *Project) subject() (usesGPU, torch bool) {
	usesGPU, torch = p.subjects()
	p.notes.add(&sameSubject{usesGPU: usesGPU, torch: torch})
	return usesGPU, torch
}

// never holds in any other project.
type never struct{ noted }

func (*never) holdsIn(*checking) bool { return false }

// filesWith are the project's files that have something which can be told from the file alone, in the order of their paths.
func (p *Project) filesWith(has func(*fileIndex) bool) []*fileIndex {
	var found []*fileIndex
	for _, x := range p.files {
		if has(x) {
			found = append(found, x)
		}
	}
	d := &sameFiles{has: has, found: found}
	d.among.Store(&p.files)
	p.notes.add(d)
	return found
}

// anyFile reports whether any file of the project has something which can be told from the file alone.
func (p *Project) anyFile(has func(*fileIndex) bool) bool {
	d := &sameFiles{has: has}
	d.among.Store(&p.files)
	if i := slices.IndexFunc(p.files, has); i >= 0 { // that this one has it is enough
		d.found, d.has = []*fileIndex{p.files[i]}, func(*fileIndex) bool { return false }
	}
	p.notes.add(d)
	return len(d.found) > 0
}

// sameFiles: the files that have something are the same.
type sameFiles struct {
	noted
	has   func(*fileIndex) bool
	found []*fileIndex
	// among are all files of the project where it was last asked.
	among atomic.Pointer[[]*fileIndex]
}

func (d *sameFiles) holdsIn(c *checking) bool {
	if slices.ContainsFunc(d.found, func(x *fileIndex) bool { return c.p.paths[x.file.Path] != x }) ||
		slices.ContainsFunc(c.p.newSince(*d.among.Load()), d.has) {
		return false
	}
	d.among.Store(&c.p.files)
	return true
}

// newSince are the project's files that were not among the files (not empty) of another one.
func (p *Project) newSince(before []*fileIndex) []*fileIndex {
	if len(before) == 0 {
		return p.files
	}
	key := &before[0]
	if known, ok := p.since.Load(key); ok {
		return known.([]*fileIndex)
	}
	had := make(map[*fileIndex]bool, len(before))
	for _, x := range before {
		had[x] = true
	}
	var out []*fileIndex
	for _, x := range p.files {
		if !had[x] {
			out = append(out, x)
		}
	}
	p.since.Store(key, out)
	return out
}
