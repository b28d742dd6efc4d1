package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stepline/pyscan"
)

// footprint is what definitions show to the code around them: names and parameters, what they return and keep in attributes, what
// they pass to the project's functions and in which loops, and what rules ask of a whole file or project (loaders, compiled
// functions, profilers, words). While an edit leaves the footprint as it was, nothing outside the edited definitions can have
// other findings, as far as values are followed.
type footprint struct {
	strings.Builder
	a *analysis
	x *fileIndex
	// inside are the functions of the definitions.
	inside map[*pyscan.Function]bool
}

// footprintOf is the footprint of functions and classes of an index; sites are all of theirs.
func footprintOf(a *analysis, x *fileIndex, functions []*pyscan.Function, classes []*pyscan.Class, sites []*Site) string {
	f := &footprint{a: a, x: x, inside: make(map[*pyscan.Function]bool, len(functions))}
	for _, fn := range functions {
		f.inside[fn] = true
	}
	for _, c := range classes {
		f.class(c)
	}
	for _, fn := range functions {
		if fn.Comprehension == nil {
			f.function(fn)
		}
	}
	layers := x.attributeNames()
	for _, s := range sites {
		switch n := s.Node.(type) {
		case *pyscan.Call:
			f.call(s, n)
		case *pyscan.Attribute:
			if layers[n.Attr] {
				f.line("attribute", n.Attr)
			}
		case *pyscan.Import, *pyscan.Scope:
			f.line(x.tree.Text(s.Node))
		case *pyscan.Assign:
			f.assign(n)
		}
	}
	return f.String()
}

func (f *footprint) line(words ...string) {
	for _, w := range words {
		f.WriteString(w)
		f.WriteByte(' ')
	}
	f.WriteByte('\n')
}

func (f *footprint) class(c *pyscan.Class) {
	f.line("class", c.QualName)
	for _, e := range slices.Concat(c.Decorators, c.Bases) {
		f.line(f.x.tree.Text(e))
	}
}

func (f *footprint) function(fn *pyscan.Function) {
	fmt.Fprintf(f, "def %s %v %v\n", fn.QualName, fn.Async, fn.Generator)
	for _, e := range fn.Decorators {
		f.line(f.x.tree.Text(e))
	}
	for _, p := range fn.Params {
		f.line("parameter", f.x.file.Text[p.Start:p.End])
	}
	trains := f.x.loopInfo().functions[fn]
	fmt.Fprintf(f, "steps %v %v\n", trains, f.a.oneStep(definition{index: f.x, def: fn}))
	fl := f.a.at(f.x, fn, topLevel)
	if fl == nil {
		return
	}
	f.value("returns", fl.returns)
	f.value("yields", fl.yields)
	targets := f.x.tree.attributeTargets(fn)
	names := make([]string, 0, len(targets))
	for name := range targets {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, target := range targets[name] {
			f.value("keeps "+name, fl.noted(target))
		}
	}
	registered := []string{}
	for name := range f.x.tree.buffers(fn) {
		registered = append(registered, name)
	}
	slices.Sort(registered)
	f.line(registered...)
	if fn.Name == "forward" && fn.Class != nil {
		fmt.Fprintf(f, "conditional %v\n", f.x.callsConditionally(fn))
		if f.x.mentions("Norm") {
			f.layers(fn)
		}
	}
}

// layers are the statements of a forward that call layers, and whether others stand between them: a rule about the layers, which
// are made in another method, reads from it which follows which.
func (f *footprint) layers(fn *pyscan.Function) {
	self, between := selfOf(fn), false
	for _, s := range f.x.tree.in(fn) {
		stmt, ok := s.Node.(pyscan.Stmt)
		if !ok {
			continue
		}
		if len(pyscan.Bodies(stmt)) > 0 {
			f.header(s)
			between = false
			continue
		}
		calls := false
		EachExprIn(stmt, func(e pyscan.Expr) bool {
			if call, ok := e.(*pyscan.Call); ok {
				calls = calls || selfCall(call, self) != ""
			}
			return !calls
		})
		switch {
		case calls:
			f.line("layer", f.x.tree.Text(stmt))
			between = false
		case !between:
			f.line("between")
			between = true
		}
	}
}

// assign: environment variables and settings of modules hold for the whole program.
func (f *footprint) assign(n *pyscan.Assign) {
	for _, t := range n.Targets {
		at := t
		if item, ok := t.(*pyscan.Subscript); ok { // os.environ["X"]
			at = item.Value
		}
		if _, name := at.(*pyscan.Name); name && at == t {
			continue // a variable
		}
		if s := f.x.tree.Site(at); s != nil && f.x.path(s) != "" {
			f.line(f.x.tree.Text(n))
		}
	}
}

var (
	// localCalls are functions of libraries whose calls concern nothing but the function they are in, as far as rules go: what they
	// give back is followed by value. globalCalls are those among them that rules do ask the whole file for.
	localCalls  = regexp.MustCompile(`^(builtins|math|time|random|numpy|np|itertools|functools|logging|warnings|torch\.nn\.functional|torch\.linalg|torch\.fft)\.|^torch\.[a-z0-9_]+$`)
	globalCalls = regexp.MustCompile(`^torch\.(compile|autocast|set_.*|use_.*|load|save|manual_seed|device)$|\.interpolate$|^builtins\.(setattr|getattr|exec|eval|__import__|open)$`)
	// globalMethods mean something outside the function whatever they are called on.
	globalMethods = wordSet("compile set_epoch prepare setup register_buffer register_parameter register_module add_module setdefault putenv update children modules named_modules named_children")
)

// call notes a call that the code around may have to do with, and how it runs.
func (f *footprint) call(s *Site, call *pyscan.Call) {
	if !f.inside[s.Def()] { // a decorator or a default: it runs where the definition stands
		f.line(f.x.tree.Text(call))
		return
	}
	name := lastName(call.Func)
	path := f.x.calleePath(s)
	switch {
	case path != "" && localCalls.MatchString(path) && !globalCalls.MatchString(path):
		if !trainingCall(call) {
			return
		}
	case path != "":
		f.line("calls", f.x.tree.Text(call))
	case !f.reaches(s, call, name) && !trainingCall(call) && !globalMethods[name] && Keyword(call, "memory_format") == nil:
		return
	}
	f.line("runs", f.x.tree.Text(call.Func))
	for _, arg := range call.Args {
		f.value("with", f.known(arg))
	}
	for _, k := range call.Keywords {
		f.value(k.Name+"=", f.known(k.Value))
	}
	if globalMethods[name] || Keyword(call, "memory_format") != nil {
		f.line(f.x.tree.Text(call))
	}
	loops := 0
	for loop := enclosingLoop(s); loop != nil; loop = enclosingLoop(loop) {
		loops++
		if f.a.stepLoop(f.x, loop) {
			f.line("in a training loop")
		}
	}
	f.uses(s)
	fmt.Fprintf(f, "%d %v %v %v\n", loops, f.x.tree.Periodic(s), f.a.evaluation(f.x, s), underComparison(s))
}

// uses are the statements that have to do with what a call gives back: what is only logged, and what decides something.
func (f *footprint) uses(call *Site) {
	f.header(call)
	names := boundNames(call)
	if len(names) == 0 {
		return
	}
	for _, s := range f.x.tree.in(call.Def()) {
		if n, ok := s.Node.(*pyscan.Name); ok && names[n.ID] {
			f.header(s)
		}
	}
}

// header writes the statement of a site, of a compound one its header.
func (f *footprint) header(s *Site) {
	stmt, ok := s.Statement().Node.(pyscan.Stmt)
	if !ok {
		return
	}
	span := pyscan.HeaderSpan(stmt)
	f.line("in", f.x.file.Text[span.Start:span.End])
}

// known is what is known of an expression's value.
func (f *footprint) known(e pyscan.Expr) *Value {
	if s := f.x.tree.Site(e); s != nil {
		return f.a.value(f.x, s)
	}
	return unknownValue
}

// reaches tells whether a call may run code of the project.
func (f *footprint) reaches(s *Site, call *pyscan.Call, name string) bool {
	if f.a.project.define(f.x, call.Func, s.Function, 0).ok() || f.a.callee(f.x, s).def != nil {
		return true
	}
	return name != "" && !commonMethods[name] && f.a.project.defines(name)
}

// value writes what is known of a value.
func (f *footprint) value(what string, v *Value) {
	f.WriteString(what)
	f.WriteByte(' ')
	f.describe(v, 3)
	f.WriteByte('\n')
}

func (f *footprint) describe(v *Value, depth int) {
	if v == nil || depth == 0 {
		f.WriteByte('-')
		return
	}
	fmt.Fprintf(f, "%d%v%v%v%v%v%v%s", v.Kind, v.OnCPU, v.Unpinned, v.Pinned, v.Framework, v.Compiled, v.Distributed, v.Path)
	switch {
	case v.Def.def != nil:
		f.line(v.Def.index.file.Path, v.Def.def.QualName)
	case v.Def.class != nil:
		f.line(v.Def.index.file.Path, v.Def.class.QualName)
	}
	for _, made := range []struct {
		by *pyscan.Call
		in *fileIndex
	}{{v.Made, v.MadeIn}, {v.CompiledBy, v.CompiledIn}, {v.Wrapper, v.WrappedIn}} {
		if made.by != nil && made.in != nil {
			f.line(made.in.tree.Text(made.by))
		}
	}
	for _, sub := range slices.Concat(v.Elems, []*Value{v.Elem, v.Self, v.Data}) {
		if sub != nil {
			f.WriteByte('(')
			f.describe(sub, depth-1)
			f.WriteByte(')')
		}
	}
}

// attributeNames are the attributes that methods of the file set on self: layers, for what asks which are used.
func (x *fileIndex) attributeNames() map[string]bool {
	if x.edit != nil {
		return x.edit.base.attributeNames()
	}
	x.attributesOnce.Do(func() {
		x.attributes = map[string]bool{}
		x.tree.collectAttributes()
		for _, targets := range x.tree.selfTargets {
			for name := range targets {
				x.attributes[name] = true
			}
		}
	})
	return x.attributes
}

// sameFootprint tells whether the changed definitions show the code around them what those before did.
func (l *Live) sameFootprint(e *edit, facts *Facts) bool {
	if !sameWords(e, l.facts.project) {
		return false
	}
	if l.footprints == nil {
		l.footprints = map[pyscan.Span]string{}
	}
	for _, part := range e.patch.Parts {
		before, known := l.footprints[part.Old]
		if !known {
			before = footprintIn(l.facts.analysis, e.base, part.Old)
			l.footprints[part.Old] = before
		}
		if footprintIn(facts.analysis, e.index, part.New) != before {
			return false
		}
	}
	return true
}

// footprintIn is the footprint of the definitions in a part of a file.
func footprintIn(a *analysis, x *fileIndex, part pyscan.Span) string {
	var functions []*pyscan.Function
	for _, fn := range x.file.Functions[1:] {
		if part.Covers(fn.Span) {
			functions = append(functions, fn)
		}
	}
	var classes []*pyscan.Class
	for _, c := range x.file.Classes {
		if part.Covers(c.Span) {
			classes = append(classes, c)
		}
	}
	sites := x.tree.Sites
	return footprintOf(a, x, functions, classes, sites[siteFrom(sites, part.Start):siteFrom(sites, part.End)])
}

// sameWords tells whether the words that rules look for are in the file, and in the project, where they were before.
func sameWords(e *edit, before *Project) bool {
	same := true
	was, is := e.base.file.Text, e.index.file.Text
	differ := func(key, _ any) bool {
		text := key.(string)
		for i := range e.patch.Parts {
			part := &e.patch.Parts[i]
			old, new := was[part.Old.Start:part.Old.End], is[part.New.Start:part.New.End]
			// A word that came or went touches what differs.
			if same && around(old, text, part.Was, part.Old) != around(new, text, part.Is, part.New) && strings.Contains(old, text) != strings.Contains(new, text) {
				same = e.base.mentions(text) == e.index.mentions(text)
			}
		}
		return same
	}
	e.base.texts.Range(differ)
	if same {
		before.texts.Range(differ)
	}
	return same
}

// around tells whether a part holds a word that touches a span in it; part is where the part's text stands.
func around(text, word string, touched, part pyscan.Span) bool {
	from := max(0, touched.Start-part.Start-len(word))
	to := min(len(text), touched.End-part.Start+len(word))
	return strings.Contains(text[from:to], word)
}
