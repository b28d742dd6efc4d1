package rules

import (
	"stepline/pyscan"
)

// analysis is the data flow of a project: what the values of expressions are. It goes as far into other functions and files
// as the questions asked make it, remembers what it found, and is used by one goroutine at a time.
//
// A function's flow has a level. At level n its parameters come from its callers' flows of level n−1, and so do the results
// of the functions it calls and the attributes its class's methods set; at level 0 nothing is known of other functions. So no
// flow depends on itself, and what is found does not depend on the order of the questions. A flow that used nothing a
// higher level could improve is final and serves for all levels above.
type analysis struct {
	project *Project
	before  *analysis // of the project before an edit; nil elsewhere
	flows   map[flowKey]*flow
	final   map[*pyscan.Function]*flow
	attrs   map[attrKey]attrValue
	callers map[*pyscan.Function][]callSite

	stepLoops map[*Site]bool
	oneSteps  map[*pyscan.Function]bool
	heats     map[*pyscan.Function]*Heat
	cutHeats  map[heatKey]*Heat // of functions whose callers go on beyond the search
	kinds     map[*pyscan.Class]Kind
	framework map[*pyscan.Class]bool
	bases     map[*pyscan.Class][]definition

	arguments []*Value // those of the calls that are being evaluated

	notes notes // what the answers rest on
	kept  kept
}

// topLevel is the level rules ask at: values are followed through at most four calls.
const topLevel = 4

type flowKey struct {
	fn    *pyscan.Function
	level int
}

type attrValue struct {
	value *Value
	final bool
	depth int // how many levels it takes of who asks, like a flow's
	on    *dependencies
}

type attrKey struct {
	class *pyscan.Class
	name  string
	level int
}

func newAnalysis(p *Project) *analysis {
	return &analysis{
		project: p, flows: map[flowKey]*flow{}, final: map[*pyscan.Function]*flow{}, attrs: map[attrKey]attrValue{},
		callers: map[*pyscan.Function][]callSite{}, stepLoops: map[*Site]bool{}, oneSteps: map[*pyscan.Function]bool{}, heats: map[*pyscan.Function]*Heat{}, cutHeats: map[heatKey]*Heat{},
		kinds: map[*pyscan.Class]Kind{}, framework: map[*pyscan.Class]bool{}, bases: map[*pyscan.Class][]definition{}, kept: newKept(),
	}
}

// flow is the data flow of one function: values of its expressions, of its variables at the end, of what it returns.
type flow struct {
	a  *analysis
	x  *fileIndex
	fn *pyscan.Function
	// level is the flow's own; open tells that a higher level may know more, depth how many levels below its own it has used.
	level   int
	open    bool
	depth   int
	on      *dependencies
	values  []*Value // by the expressions' places in the function
	vars    *variables
	env     env
	spare   []env // copies of env that nothing needs any more
	returns *Value
	yields  *Value
	*uses
	loops    int
	selfName string
}

// at is a function's flow at a level; nil below level 0.
func (a *analysis) at(x *fileIndex, fn *pyscan.Function, level int) *flow {
	x, fn, other := a.elsewhere(x, fn)
	if other {
		return a.before.at(x, fn, level)
	}
	if f := a.final[fn]; f != nil && f.depth <= level {
		a.notes.use(f.on)
		return f
	}
	if level < 0 || fn == nil {
		return nil
	}
	key := flowKey{fn, level}
	if f := a.flows[key]; f != nil {
		a.notes.use(f.on)
		return f
	}
	a.notes.begin()
	x.ready()
	f := a.newFlow(x, fn, level)
	f.values = make([]*Value, len(x.tree.in(fn)))
	a.bind(f)
	if fn.Value != nil {
		f.returns = f.eval(fn.Value)
	} else {
		f.block(fn.Body)
	}
	f.on = a.notes.end()
	a.notes.use(f.on)
	if f.open {
		a.flows[key] = f
	} else {
		a.final[fn] = f
	}
	return f
}

// below is another function's flow one level down; nil at level 0. It notes whether more could be known.
func (f *flow) below(x *fileIndex, fn *pyscan.Function) *flow {
	other := f.a.at(x, fn, f.level-1)
	if other == nil || other.open {
		f.open = true
	} else {
		f.depth = max(f.depth, other.depth+1)
	}
	return other
}

// value is what an expression of the file is.
func (a *analysis) value(x *fileIndex, s *Site) *Value {
	e, ok := s.Node.(pyscan.Expr)
	if !ok {
		return unknownValue
	}
	f := a.at(x, s.Def(), topLevel)
	if f == nil {
		return unknownValue
	}
	if sites := f.x.tree.Sites; int(s.at) >= len(sites) || sites[s.at] != s || DefOf(s.Function) != f.fn {
		return f.noted(e) // of a definition as it was, or in the header of an edited one
	}
	if v := f.keptAt(s); v != nil {
		return v
	}
	return unknownValue
}

// envKey is the variable an expression names: "x", "self.x", `state["step"]`; "" for anything else.
func envKey(e pyscan.Expr) string {
	switch e := e.(type) {
	case *pyscan.Name:
		return e.ID
	case *pyscan.Attribute:
		if base := envKey(e.Value); base != "" {
			return base + "." + e.Attr
		}
	case *pyscan.Subscript:
		c, ok := e.Index.(*pyscan.Constant)
		if !ok {
			return ""
		}
		if base := envKey(e.Value); base != "" {
			if text, ok := StringValue(c); ok {
				return base + "[" + text + "]"
			}
			return base + "[" + c.Text + "]"
		}
	}
	return ""
}

// block runs statements in order. It reports whether control can leave the block at its end.
func (f *flow) block(list []pyscan.Stmt) bool {
	for _, s := range list {
		if !f.stmt(s) {
			return false
		}
	}
	return true
}

func (f *flow) stmt(s pyscan.Stmt) bool {
	switch s := s.(type) {
	case *pyscan.Assign:
		f.assignment(s)
	case *pyscan.AugAssign:
		f.assign(s.Target, f.arithmetic(f.eval(s.Target), f.eval(s.Value)))
	case *pyscan.ExprStmt:
		f.eval(s.Value)
	case *pyscan.Return:
		if s.Value != nil {
			f.returns = join(f.returns, f.eval(s.Value))
		}
		return false
	case *pyscan.Raise:
		f.eval(s.Exc)
		f.eval(s.Cause)
		return false
	case *pyscan.Simple:
		return s.Keyword == "pass"
	case *pyscan.If:
		return f.branch(s)
	case *pyscan.For:
		f.loop(func() {
			f.assign(s.Target, f.iterated(f.eval(s.Iter)))
			f.block(s.Body)
		})
		f.block(s.Else)
	case *pyscan.While:
		f.loop(func() {
			f.eval(s.Test)
			f.block(s.Body)
		})
		f.block(s.Else)
	case *pyscan.With:
		for _, item := range s.Items {
			v := f.eval(item.Context)
			if item.Target != nil {
				f.assign(item.Target, entered(v))
			}
		}
		return f.block(s.Body)
	case *pyscan.Try:
		f.try(s)
	case *pyscan.Match:
		f.eval(s.Subject)
		before := f.copyEnv(f.env)
		branch := f.env
		for _, c := range s.Cases {
			f.env = f.copyEnv(before)
			f.eval(c.Guard)
			f.block(c.Body)
			branch.merge(f.env)
			f.dropEnv(f.env)
		}
		f.env = branch
		f.dropEnv(before)
	case *pyscan.Assert:
		f.eval(s.Test)
		f.eval(s.Message)
	case *pyscan.Delete:
		for _, t := range s.Targets {
			f.eval(t)
		}
	case *pyscan.FunctionDef:
		for _, d := range s.Function.Decorators {
			f.eval(d)
		}
		for _, p := range s.Function.Params {
			f.eval(p.Default)
		}
		f.set(f.number(f.site(s)), &Value{Kind: Callable, Def: definition{index: f.x, def: s.Function}})
	case *pyscan.ClassDef:
		for _, d := range s.Class.Decorators {
			f.eval(d)
		}
		around := f.copyEnv(f.env)
		f.block(s.Class.Body)
		f.dropEnv(f.env)
		f.env = around
		f.set(f.number(f.site(s)), &Value{Kind: Callable, Def: definition{index: f.x, class: s.Class}})
	case *pyscan.BadStmt:
		for _, e := range s.Exprs {
			f.eval(e)
		}
		f.block(s.Stmts)
	}
	return true
}

func (f *flow) assignment(s *pyscan.Assign) {
	if s.Value == nil {
		if len(s.Targets) == 1 {
			if v := f.annotated(s.Annotation); v != nil {
				f.assign(s.Targets[0], v)
			}
		}
		return
	}
	v := f.eval(s.Value)
	for _, t := range s.Targets {
		if tuple := elementsOf(t); tuple != nil { // x, y = a.cuda(), b.cuda()
			if values := elementsOf(s.Value); len(values) == len(tuple) {
				for i := range tuple {
					f.assign(tuple[i], f.noted(values[i]))
				}
				continue
			}
		}
		f.assign(t, v)
	}
}

func elementsOf(e pyscan.Expr) []pyscan.Expr {
	switch e := e.(type) {
	case *pyscan.Tuple:
		return e.Elems
	case *pyscan.List:
		return e.Elems
	}
	return nil
}

// assign binds a target; what hung on the variable before (its attributes, its items) is forgotten.
func (f *flow) assign(target pyscan.Expr, v *Value) {
	if v == nil {
		v = unknownValue
	}
	at := f.site(target)
	f.note(at, v)
	switch t := target.(type) {
	case *pyscan.Name:
		f.bindName(f.number(at), v)
	case *pyscan.Attribute:
		f.eval(t.Value)
		f.set(f.number(at), v)
	case *pyscan.Subscript:
		f.eval(t.Value)
		f.eval(t.Index)
		f.set(f.number(at), v)
	case *pyscan.Tuple, *pyscan.List:
		for i, e := range elementsOf(target) {
			if star, ok := e.(*pyscan.Starred); ok {
				f.assign(star.Value, sequenceOf(v.element()))
				continue
			}
			f.assign(e, v.at(i))
		}
	case *pyscan.Starred:
		f.assign(t.Value, sequenceOf(v))
	}
}

// loop runs a loop's body twice, so that what one turn leaves reaches the next, and joins in the case of no turn at all.
func (f *flow) loop(body func()) {
	before := f.copyEnv(f.env)
	f.loops++
	body()
	f.env.merge(before)
	if f.loops <= 2 {
		body()
		f.env.merge(before)
	}
	f.loops--
	f.dropEnv(before)
}

func (f *flow) try(s *pyscan.Try) {
	before := f.copyEnv(f.env)
	f.block(s.Body)
	f.block(s.Else)
	after := f.env
	for _, h := range s.Handlers {
		f.env = f.copyEnv(before)
		f.eval(h.Type)
		if h.Name != "" {
			f.set(f.named(h.Name), hostValue)
		}
		if f.block(h.Body) {
			after.merge(f.env)
		}
		f.dropEnv(f.env)
	}
	f.env = after
	f.dropEnv(before)
	f.block(s.Finally)
}

// iterated is what a for loop's target gets.
func (f *flow) iterated(v *Value) *Value { return v.element() }

// entered is what `with v as x` binds.
func entered(v *Value) *Value {
	switch v.Kind {
	case Bar, Profiler, Instance, Loader, Writer:
		return v
	}
	return unknownValue
}
