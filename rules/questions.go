package rules

import (
	"slices"
	"sync"

	"stepline/pyscan"
)

// The questions about other files whose answers an edit of those files mostly leaves as they are: each is asked again before
// what rests on it is given up (see Dependencies).

// kept is what the answers an analysis remembers rest on.
type kept struct {
	kinds, framework, bases map[*pyscan.Class]*dependencies
	loops                   map[*Site]*dependencies
	steps                   map[*pyscan.Function]*dependencies
	callers                 map[*pyscan.Function]dependency
	heats                   map[heatKey]dependency // callers is sureHeat where no number cut the search short
	asked                   map[any]keptAnswer
}

type keptAnswer struct {
	answer any
	on     dependency
}

const sureHeat = -1

func newKept() kept {
	return kept{
		kinds: map[*pyscan.Class]*dependencies{}, framework: map[*pyscan.Class]*dependencies{}, bases: map[*pyscan.Class]*dependencies{},
		loops: map[*Site]*dependencies{}, steps: map[*pyscan.Function]*dependencies{},
		callers: map[*pyscan.Function]dependency{},
		heats:   map[heatKey]dependency{}, asked: map[any]keptAnswer{},
	}
}

// loop is what stepLoop's answer of a loop rests on. While it is being worked out (its function calls itself), what reads it rests
// on more than can be told.
func (k *kept) loop(loop *Site) *dependencies {
	on, done := k.loops[loop]
	if !done {
		return &dependencies{on: []dependency{&never{}}}
	}
	return on
}

// ask answers a question, once for each key, and takes it down as one: it is the same in another project where same says so of
// the answers. find must hold nothing of the analysis it was made in.
func ask[K comparable, V any](a *analysis, key K, about *fileIndex, same func(V, V) bool, find func(a *analysis) V) V {
	if k, ok := a.kept.asked[key]; ok {
		a.notes.useAnswer(k.on)
		return k.answer.(V)
	}
	a.notes.begin()
	v := find(a)
	on := a.notes.asked(about, func(b *analysis) bool { return same(v, ask(b, key, about, same, find)) })
	a.kept.asked[key] = keptAnswer{v, on}
	return v
}

func equal[V comparable](a, b V) bool { return a == b }

// newFlow is a flow that knows nothing yet.
func (a *analysis) newFlow(x *fileIndex, fn *pyscan.Function, level int) *flow {
	vars := &x.tree.functionParts(fn).variables
	f := &flow{a: a, x: x, fn: fn, level: level, vars: vars, env: make(env, len(vars.listed)+1), uses: x.usesOf(fn)}
	if len(fn.Params) > 0 && fn.Class != nil {
		f.selfName = fn.Params[0].Name
	}
	return f
}

// bound is what a function's parameters are bound to.
type bound struct {
	values []*Value
	open   bool
	depth  int
}

func (f *flow) bound() bound {
	b := bound{open: f.open, depth: f.depth}
	for _, p := range f.fn.Params {
		b.values = append(b.values, f.env[f.named(p.Name)])
	}
	return b
}

// bind is bindParameters, taken down as a question: what callers pass mostly stays the same when they are edited.
func (a *analysis) bind(f *flow) {
	x, fn, level := f.x, f.fn, f.level
	a.notes.begin()
	f.bindParameters()
	if len(fn.Params) == 0 {
		a.notes.use(a.notes.end())
		return
	}
	was := f.bound()
	a.notes.asked(x, func(b *analysis) bool {
		again := b.newFlow(x, fn, level) // its body is not looked at
		again.bindParameters()
		is := again.bound()
		return is.open == was.open && is.depth == was.depth && slices.EqualFunc(is.values, was.values, sameValue)
	})
}

// maxValueDepth bounds how deep sameValue looks: what lies deeper counts as different.
const maxValueDepth = 12

func sameValue(a, b *Value) bool { return sameValues(a, b, maxValueDepth) }

func sameValues(a, b *Value, depth int) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || depth == 0 || a.unique() || b.unique() {
		return false
	}
	return a.Kind == b.Kind && a.OnCPU == b.OnCPU && a.Unpinned == b.Unpinned && a.Pinned == b.Pinned && a.Def == b.Def &&
		a.Made == b.Made && a.MadeIn == b.MadeIn && a.MadeFrom == b.MadeFrom && a.Framework == b.Framework &&
		a.Compiled == b.Compiled && a.Distributed == b.Distributed && a.CompiledBy == b.CompiledBy && a.CompiledIn == b.CompiledIn &&
		a.Wrapper == b.Wrapper && a.WrappedIn == b.WrappedIn && a.WrapperPath == b.WrapperPath && a.Path == b.Path &&
		sameValues(a.Elem, b.Elem, depth-1) && sameValues(a.Self, b.Self, depth-1) && sameValues(a.Data, b.Data, depth-1) &&
		slices.EqualFunc(a.Elems, b.Elems, func(a, b *Value) bool { return sameValues(a, b, depth-1) })
}

// unique reports whether a value is told from others by being itself.
func (v *Value) unique() bool { return v == noneValue || v == numberValue }

// functionHeat is the context a function is called in.
func (a *analysis) functionHeat(x *fileIndex, fn *pyscan.Function, callers int) (h *Heat, sure bool) {
	x, fn, other := a.elsewhere(x, fn)
	if other {
		return a.before.functionHeat(x, fn, callers)
	}
	key := heatKey{fn, callers}
	if _, known := a.heats[fn]; known {
		a.notes.useAnswer(a.kept.heats[heatKey{fn, sureHeat}])
		return a.findHeat(x, fn, callers)
	}
	if _, known := a.cutHeats[key]; known {
		a.notes.useAnswer(a.kept.heats[key])
		return a.findHeat(x, fn, callers)
	}
	return a.askHeat(x, key)
}

// askHeat is findHeat, taken down as a question.
func (a *analysis) askHeat(x *fileIndex, key heatKey) (*Heat, bool) {
	a.notes.begin()
	h, sure := a.findHeat(x, key.fn, key.callers)
	on := a.notes.asked(x, func(b *analysis) bool {
		again, sureAgain := b.functionHeat(x, key.fn, key.callers)
		return sureAgain == sure && sameHeat(again, h)
	})
	if sure {
		a.kept.heats[heatKey{key.fn, sureHeat}] = on
	} else {
		a.kept.heats[key] = on
	}
	return h, sure
}

func sameHeat(a, b *Heat) bool {
	if a == nil || b == nil {
		return a == b
	}
	if (a.Loop == nil) != (b.Loop == nil) || a.Loop != nil && *a.Loop != *b.Loop {
		return false
	}
	return a.Kind == b.Kind && a.Name == b.Name && a.Class == b.Class && a.Evaluation == b.Evaluation && a.Saves == b.Saves && slices.Equal(a.Calls, b.Calls)
}

// askCallers is findCallers, taken down as a question.
func (a *analysis) askCallers(x *fileIndex, fn *pyscan.Function) []callSite {
	a.notes.begin()
	out := a.findCallers(x, fn)
	a.kept.callers[fn] = a.notes.asked(x, func(b *analysis) bool {
		return slices.EqualFunc(out, b.callersOf(x, fn), func(a, b callSite) bool { return a.site == b.site && a.index == b.index && a.skip == b.skip })
	})
	return out
}

type (
	hasCallersOf   struct{ fn *pyscan.Function }
	withoutGradFor struct{ fn *pyscan.Function }
)

// hasCallers reports whether the project calls a function.
func (a *analysis) hasCallers(x *fileIndex, fn *pyscan.Function) bool {
	return ask(a, hasCallersOf{fn}, x, equal[bool], func(a *analysis) bool { return len(a.callersOf(x, fn)) > 0 })
}

// isCalledWithoutGrad is calledWithoutGrad, taken down as a question.
func (a *analysis) isCalledWithoutGrad(x *fileIndex, fn *pyscan.Function) bool {
	return ask(a, withoutGradFor{fn}, x, equal[bool], func(a *analysis) bool { return a.calledWithoutGrad(x, fn) })
}

// resolved is when the calls of a name were resolved: in which files, and what that rests on.
type resolved struct {
	once  sync.Once
	files []*fileIndex
	on    *dependencies
}

// knownCalls are the calls of a name: those of an earlier project where nothing about them has changed.
func (p *Project) knownCalls(name string) *namedCalls {
	if known, ok := p.calls.Load(name); ok {
		n := known.(*namedCalls)
		n.once.Do(func() { p.resolveCalls(name, n) })
		return n
	}
	files := p.callingFiles(name)
	if known, ok := p.names.calls.Load(name); ok {
		if n := known.(*namedCalls); slices.Equal(n.files, files) && (&checking{p: p}).holds(n.on) {
			kept, _ := p.calls.LoadOrStore(name, n)
			return kept.(*namedCalls)
		}
	}
	made, _ := p.calls.LoadOrStore(name, &namedCalls{resolved: resolved{files: files}})
	n := made.(*namedCalls)
	n.once.Do(func() { p.resolveCalls(name, n) })
	return n
}

func (p *Project) resolveCalls(name string, n *namedCalls) {
	var taken notes
	taken.begin()
	(&Project{p.projectFiles, &taken}).sortCalls(name, n)
	n.on = taken.end()
	p.names.calls.Store(name, n) // only now: what it rests on is complete
}
