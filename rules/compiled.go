package rules

import (
	"slices"
	"strings"

	"stepline/pyscan"
)

// CompiledCode says which torch.compile a function is traced by.
type CompiledCode struct {
	// By is the call or decorator that compiles, in File.
	By   pyscan.Node
	File *pyscan.File
	// Name is what is compiled, as people call it: a class or a function.
	Name string
	// FullGraph: a graph break is an error there.
	FullGraph bool
}

// Related is the place of the torch.compile for a finding.
func (c *CompiledCode) Related() Related {
	return Related{File: c.File, Span: c.By.Range(), Message: "compiled here"}
}

// CompiledAt is the torch.compile that traces the function of a site: the function itself, a module's forward, or what they
// call; nil if there is none in sight.
func (f *Facts) CompiledAt(s *Site) *CompiledCode {
	return f.compiledAs(s.Def())
}

// HasCompiledCode reports whether torch.compile traces any function of the file.
func (f *Facts) HasCompiledCode() bool {
	if f.project.edit != nil {
		return slices.ContainsFunc(f.File.Functions, func(fn *pyscan.Function) bool { return f.compiledAs(fn) != nil })
	}
	x := f.index
	return ask(f.analysis, compiledIn{x}, x, equal[bool], func(a *analysis) bool {
		code := a.compiledCode()
		return len(code) > 0 && slices.ContainsFunc(x.file.Functions, func(fn *pyscan.Function) bool { return code[fn] != nil })
	})
}

// compiledAs is what is known of a function, or, where it is being edited, of what it was before.
func (f *Facts) compiledAs(fn *pyscan.Function) *CompiledCode {
	x := f.index
	if e := f.project.edit; e != nil && e.oldOf[fn] != nil {
		x, fn = e.base, e.oldOf[fn]
	}
	return f.analysis.compiledBy(x, fn)
}

// Compiles reports whether the project compiles anything.
func (f *Facts) Compiles() bool { return f.MentionsInProject(compileWords...) }

var compileWords = []string{"torch.compile", "import compile", ".compile("}

// compiledTable is what torch.compile traces in a project, and what that rests on.
type compiledTable struct {
	code map[*pyscan.Function]*CompiledCode
	on   *dependencies
}

// compiledCode is what torch.compile traces in the project.
func (a *analysis) compiledCode() map[*pyscan.Function]*CompiledCode {
	if a.before != nil {
		return a.before.compiledCode()
	}
	p := a.project
	p.compiledOnce.Do(func() {
		if before := p.names.compiled.Load(); before != nil && (&checking{p: p, a: a}).holds(before.on) {
			p.compiled = before
			return
		}
		p.compiled = &compiledTable{on: &dependencies{on: []dependency{&never{}}}} // where a panic ends the search
		a.notes.begin()
		found := &compiledSearch{analysis: a, code: map[*pyscan.Function]*CompiledCode{}}
		compiling := func(x *fileIndex) bool { return x.mentions(compileWords...) && !testPath.MatchString(x.file.Path) }
		for _, x := range p.filesWith(compiling) {
			found.file(x.ready())
		}
		p.compiled = &compiledTable{found.code, a.notes.end()}
		p.names.compiled.Store(p.compiled)
	})
	a.notes.share(p.compiled.on)
	return p.compiled.code
}

type (
	compiledFunction struct{ fn *pyscan.Function }
	compiledIn       struct{ x *fileIndex }
)

// compiledBy is the torch.compile that traces a function, nil if there is none in sight.
func (a *analysis) compiledBy(x *fileIndex, fn *pyscan.Function) *CompiledCode {
	same := func(a, b *CompiledCode) bool { return a == b || a != nil && b != nil && *a == *b }
	return ask(a, compiledFunction{fn}, x, same, func(a *analysis) *CompiledCode { return a.compiledCode()[fn] })
}

// compiledSearch collects compiled functions.
type compiledSearch struct {
	*analysis
	code map[*pyscan.Function]*CompiledCode
}

func (a *compiledSearch) file(x *fileIndex) {
	for _, s := range x.tree.Sites {
		switch n := s.Node.(type) {
		case *pyscan.FunctionDef:
			for _, d := range n.Function.Decorators {
				if call := compileDecorator(x, d, s.Function); call != nil {
					a.addCompiled(definition{index: x, def: n.Function}, &CompiledCode{By: call, File: x.file, Name: n.Function.Name, FullGraph: fullGraph(call)})
				}
			}
		case *pyscan.Call:
			a.compileCall(x, s, n)
		}
	}
}

// compileDecorator is a decorator that compiles: `@torch.compile`, `@torch.compile(…)`, `@partial(torch.compile, …)`.
func compileDecorator(x *fileIndex, d pyscan.Expr, from *pyscan.Function) pyscan.Expr {
	if x.resolve(d, from, 0) == "torch.compile" {
		return d
	}
	call, ok := d.(*pyscan.Call)
	if !ok {
		return nil
	}
	if x.resolve(call.Func, from, 0) == "torch.compile" {
		return call
	}
	if x.resolve(call.Func, from, 0) == "functools.partial" && len(call.Args) > 0 && x.resolve(call.Args[0], from, 0) == "torch.compile" {
		return call
	}
	return nil
}

func fullGraph(e pyscan.Expr) bool {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return false
	}
	k := Keyword(call, "fullgraph")
	return k != nil && IsTrue(k.Value)
}

// compileCall adds what `torch.compile(x)` and `module.compile()` compile.
func (a *compiledSearch) compileCall(x *fileIndex, s *Site, call *pyscan.Call) {
	var target pyscan.Expr
	if x.resolve(call.Func, s.Function, 0) == "torch.compile" {
		target = Argument(call, 0, "model")
	} else if attr, ok := call.Func.(*pyscan.Attribute); ok && attr.Attr == "compile" && len(call.Args) == 0 {
		target = attr.Value
	}
	if target == nil || x.tree.Site(target) == nil {
		return
	}
	if k := Keyword(call, "disable"); k != nil && !IsFalse(k.Value) {
		return
	}
	v := a.value(x, x.tree.Site(target))
	by := &CompiledCode{By: call, File: x.file, FullGraph: fullGraph(call)}
	switch {
	case v.Kind == Module && v.Def.class != nil:
		by.Name = v.Def.class.Name
		a.addCompiledModule(v.Def, by)
	case v.Kind == Callable && v.Def.def != nil:
		by.Name = v.Def.def.Name
		a.addCompiled(v.Def, by)
	default:
		if d := a.project.define(x, target, s.Function, 0); d.def != nil {
			by.Name = d.def.Name
			a.addCompiled(d, by)
		}
	}
}

// addCompiledModule adds the forward of a module and of the project's modules it makes.
func (a *compiledSearch) addCompiledModule(d definition, by *CompiledCode) {
	for _, m := range a.modulesBelow(d) {
		if fwd, in := a.project.method(m, "forward", 0); fwd != nil {
			a.addCompiled(definition{index: in, def: fwd}, by)
		}
	}
}

// maxCompiled bounds how many functions are followed.
const maxCompiled = 2000

func (a *compiledSearch) addCompiled(d definition, by *CompiledCode) {
	if d.def == nil || a.code[d.def] != nil || len(a.code) > maxCompiled || notTraced(d.def) {
		return
	}
	a.code[d.def] = by
	x := d.index.ready()
	for _, c := range x.tree.callsIn(d.def) {
		if c.Def() != d.def || x.underCompilerTest(c) {
			continue
		}
		if callee := a.callee(x, c); callee.def != nil {
			a.addCompiled(callee, by)
			continue
		}
		if v := a.value(x, x.tree.Site(c.Call().Func)); v.Kind == Module && v.Def.class != nil {
			a.addCompiledModule(v.Def, by)
		}
	}
}

// notTraced: torch.compiler.disable and the marks of torch.jit keep a function out of graphs.
func notTraced(fn *pyscan.Function) bool {
	for _, d := range fn.Decorators {
		switch lastName(d) {
		case "disable", "ignore", "unused", "allow_in_graph", "assume_constant_result", "custom_op":
			return true
		}
	}
	return fn.Generator
}

// underCompilerTest: a branch that asks whether code is being compiled (or scripted) does what fits.
func (x *fileIndex) underCompilerTest(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		var test pyscan.Expr
		if stmt, ok := at.Node.(pyscan.Stmt); ok {
			for _, before := range blockOf(at, x.file) { // what follows `if is_compiling(): return`
				if before == stmt {
					break
				}
				branch, ok := before.(*pyscan.If)
				if ok && len(branch.Body) > 0 && leaves(branch.Body[len(branch.Body)-1]) && asksCompiler(x.tree.Text(branch.Test)) {
					return true
				}
			}
		}
		switch n := at.Parent.Node.(type) {
		case *pyscan.If:
			test = n.Test
		case *pyscan.IfExp:
			test = n.Test
		case *pyscan.FunctionDef:
			return false
		}
		if test != nil && at.Role != RoleTest && asksCompiler(x.tree.Text(test)) {
			return true
		}
	}
	return false
}

func asksCompiler(test string) bool {
	return strings.Contains(test, "is_compiling") || strings.Contains(test, "is_dynamo_compiling") || strings.Contains(test, "is_scripting") || strings.Contains(test, "is_tracing")
}

// UnderCompilerTest reports whether a site is in a branch that asks whether code is being compiled.
func (f *Facts) UnderCompilerTest(s *Site) bool { return f.index.underCompilerTest(s) }

// IsCompile reports whether an expression compiles what it is given or decorates: `torch.compile(…)`, or a decorator.
func (f *Facts) IsCompile(s *Site) bool {
	e, ok := s.Node.(pyscan.Expr)
	if !ok {
		return false
	}
	if s.Role == RoleDecorator {
		return compileDecorator(f.index, e, s.Function) != nil
	}
	call, ok := e.(*pyscan.Call)
	return ok && f.Resolve(call.Func) == "torch.compile"
}

// TrainingLoopAround is the outermost loop around a site that trains: a step loop, or one over epochs that holds or calls
// one; nil if there is none.
func (f *Facts) TrainingLoopAround(s *Site) *Site {
	var out *Site
	for loop := enclosingLoop(s); loop != nil; loop = enclosingLoop(loop) {
		if f.trainsBelow(loop) {
			out = loop
		}
	}
	return out
}

func (f *Facts) trainsBelow(loop *Site) bool {
	if f.analysis.stepLoop(f.index, loop) {
		return true
	}
	for _, c := range f.callsIn(loop.Def()) {
		if !c.Under(loop) || c.Def() != loop.Def() {
			continue
		}
		if trainingCall(c.Call()) {
			return true
		}
		if d := f.analysis.callee(f.index, c); d.def != nil && f.analysis.trains(d) {
			return true
		}
	}
	return false
}

// trains reports whether a function holds a training call of its own.
func (a *analysis) trains(d definition) bool {
	for _, c := range d.index.ready().tree.callsIn(d.def) {
		if c.Def() == d.def && trainingCall(c.Call()) {
			return true
		}
	}
	return false
}

// CompiledCallee is the torch.compile behind a call: the called object is a compiled module or function; nil otherwise.
func (f *Facts) CompiledCallee(s *Site) *CompiledCode {
	call := s.Call()
	v := f.Value(call.Func)
	if v.CompiledBy != nil && v.CompiledIn != nil {
		by := &CompiledCode{By: v.CompiledBy, File: v.CompiledIn.file, FullGraph: fullGraph(v.CompiledBy), Name: f.Line(call.Func)}
		switch {
		case v.Def.class != nil:
			by.Name = v.Def.class.Name
		case v.Def.def != nil:
			by.Name = v.Def.def.Name
		}
		return by
	}
	if v.Kind == Callable && v.Def.def != nil { // a decorated function
		if by := f.analysis.compiledBy(v.Def.index, v.Def.def); by != nil && by.Name == v.Def.def.Name {
			return by
		}
	}
	return nil
}

// Prints reports whether a call writes text: print, or a logger above the debug level.
func (f *Facts) Prints(s *Site) bool {
	call := s.Call()
	switch fn := call.Func.(type) {
	case *pyscan.Name:
		return fn.ID == "print" && f.makesText(call)
	case *pyscan.Attribute:
		return logLevels[fn.Attr] && f.makesText(call)
	}
	return false
}

// StartsAsInt reports whether `self.x` is set to an int literal in its class and to nothing that is known otherwise.
func (f *Facts) StartsAsInt(target *pyscan.Attribute, at *Site) bool {
	class := methodClass(at.Def())
	if class == nil || !isSelfName(target.Value, selfOf(at.Def())) {
		return false
	}
	found := false
	for _, m := range f.methods(class) {
		for _, e := range f.Tree.attributeTargets(m)[target.Attr] {
			site := f.Site(e)
			switch n := site.Parent.Node.(type) {
			case *pyscan.AugAssign:
			case *pyscan.Assign:
				c, ok := n.Value.(*pyscan.Constant)
				if !ok || c.Kind != pyscan.ConstInt {
					return false
				}
				found = true
			default:
				return false
			}
		}
	}
	return found
}

// BoundInLoop reports whether a loop binds the variable an expression names, other than in the given statement.
func (f *Facts) BoundInLoop(loop *Site, e pyscan.Expr, except pyscan.Stmt) bool {
	names := map[string]bool{}
	EachExpr(e, func(e pyscan.Expr) bool {
		if n, ok := e.(*pyscan.Name); ok {
			names[n.ID] = true
		}
		return true
	})
	for _, s := range f.below(loop) {
		if !s.Under(loop) {
			continue
		}
		if n, ok := s.Node.(*pyscan.Name); ok && names[n.ID] && s.Role == RoleTarget && s.Statement().Node != except {
			return true
		}
		if fn, ok := s.Node.(*pyscan.FunctionDef); ok && names[fn.Function.Name] {
			return true
		}
	}
	return false
}

// CapturesGraph reports whether the function captures a CUDA graph.
func (f *Facts) CapturesGraph(s *Site) bool {
	fn := s.Def()
	if fn == nil {
		return false
	}
	text := f.File.Text[fn.Start:min(fn.End, len(f.File.Text))]
	return strings.Contains(text, "CUDAGraph") || strings.Contains(text, "cuda.graph(") || strings.Contains(text, "make_graphed_callables")
}
