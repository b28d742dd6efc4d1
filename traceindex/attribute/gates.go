package attribute

import (
	"path"
	"slices"

	"stepline/pyscan"
)

// compiler fills one gate from its site and the names around it.
type compiler struct {
	module *moduleFacts
	locals *localFacts
	gate   *gate
}

func (c *compiler) compile(s *pyscan.Site) {
	x := c.gate
	*x = gate{site: s, kind: s.Kind, name: s.Name, from: int32(s.From), to: int32(s.To), line: int32(s.Line), skip: skipOptional}
	switch s.Kind {
	case pyscan.SiteCall:
		c.call(s)
	case pyscan.SiteConstruct:
		c.call(s)
		if !x.callee.class {
			x.accepts = nil
		}
		x.skip = skipOptional
	case pyscan.SiteAttribute:
		c.attribute(s)
	case pyscan.SiteIndex:
		c.index(s.Node.(pyscan.Expr))
	case pyscan.SiteSubscript:
		x.repeats = true
		x.tensor = c.module.isTensor(c.locals, s.Node.(*pyscan.Subscript).Value)
	case pyscan.SiteGenerator:
		x.repeats = true
		e := s.Node.(*pyscan.Comprehension)
		x.firstLine, x.lastLine = c.module.file.Lines().Line(e.Start), c.module.file.Lines().Line(max(e.Start, e.End-1))
		if s.Name != "<genexpr>" {
			x.skip, x.repeats = skipScope, false
		}
	case pyscan.SiteCallback:
		x.repeats, x.file = true, path.Base(c.module.file.Path)
		span := s.Node.Range()
		x.firstLine, x.lastLine = c.module.file.Line(span.Start), c.module.file.Line(max(span.Start, span.End-1))
	case pyscan.SiteNext, pyscan.SiteAwait:
		x.repeats = true
		c.next(s)
	case pyscan.SiteBinary, pyscan.SiteUnary:
		c.operator(s)
	case pyscan.SiteCompare:
		x.repeats = s.Name == "in" || s.Name == "not in"
		if !x.repeats {
			c.operator(s)
		}
	default:
		x.repeats = true
	}
	if c.silent(s) {
		x.kind = siteSilent
	}
}

// unlikelyOperator is what it costs to believe that an operator on what looks like numbers left an event.
const unlikelyOperator cost = 500

// operator sets what an operator's operands say: on a tensor it must leave an event, on numbers it can leave none.
func (c *compiler) operator(s *pyscan.Site) {
	x := c.gate
	tensor := func(e pyscan.Expr) bool { return c.isModuleResult(e) || c.module.isTensor(c.locals, e) }
	if slices.ContainsFunc(s.Operands, tensor) {
		x.skip = skipOperator
		return
	}
	for _, e := range s.Operands {
		if !c.locals.isNumber(e) {
			return
		}
	}
	x.own = unlikelyOperator
}

// isModuleResult reports whether an expression is the result of calling a submodule of the own class.
func (c *compiler) isModuleResult(e pyscan.Expr) bool {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return false
	}
	f, ok := call.Func.(*pyscan.Attribute)
	return ok && c.locals.own != nil && c.locals.self != "" && isName(f.Value, c.locals.self) && c.locals.own.attributes[f.Attr].known()
}

// siteSilent marks a site that cannot leave an event: an operator on Python numbers, `is`.
const siteSilent = pyscan.SiteKind(255)

func (c *compiler) silent(s *pyscan.Site) bool {
	switch s.Kind {
	case pyscan.SiteBinary, pyscan.SiteUnary:
		if slices.ContainsFunc(s.Operands, isDisplay) {
			return true // `out += (x,)`, `"%s" % x`
		}
		for _, e := range s.Operands {
			if !c.locals.isInteger(e) {
				return false
			}
		}
		return true
	case pyscan.SiteCompare:
		if s.Name == "is" || s.Name == "is not" {
			return true
		}
		for _, e := range s.Operands {
			if !c.locals.isInteger(e) {
				return false
			}
		}
		return true
	case pyscan.SiteConstruct:
		return !c.gate.callee.class
	case pyscan.SiteTruth:
		tested, ok := s.Node.(pyscan.Expr)
		return ok && c.locals.isInteger(tested)
	}
	return false
}

// isDisplay reports whether an expression makes a tuple, list, dict, set or string, on which operators leave nothing.
func isDisplay(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Tuple, *pyscan.List, *pyscan.Dict, *pyscan.Set, *pyscan.FString:
		return true
	case *pyscan.Comprehension:
		return e.Kind != pyscan.GeneratorExpression
	case *pyscan.Constant:
		return e.Kind == pyscan.ConstString || e.Kind == pyscan.ConstBytes
	}
	return false
}

// call fills the callee of a call site.
func (c *compiler) call(s *pyscan.Site) {
	x, k := c.gate, &c.gate.callee
	call, ok := s.Node.(*pyscan.Call)
	if !ok {
		// A decorator applied to its function, or a class body.
		x.skip = skipOptional
		if _, decorator := s.Node.(pyscan.Expr); decorator {
			k.variable, x.skip = true, skipCall
		}
		return
	}
	f := call.Func
	root := pyscan.RootName(f)
	name, plain := f.(*pyscan.Name)
	attribute, dotted := f.(*pyscan.Attribute)
	k.class = startsUpper(s.Name) || lowerClassNames[s.Name]
	bound := c.locals.bound[root]
	k.imported = !bound && (c.module.imports[root] || plain && c.module.definitions[root])
	k.variable = plain && bound || !plain && !dotted || dotted && !k.imported
	k.plain = plain && k.variable
	if plain {
		k.aliases = c.locals.aliases[name.ID]
		if len(k.aliases) == 0 && !bound {
			k.aliases = c.module.aliases[name.ID]
		}
		k.classes = c.locals.classes[name.ID]
		if fn := c.module.functions[name.ID]; fn != nil && !bound {
			k.known = true
		}
	}
	if dotted {
		c.method(attribute, k)
	}
	switch inner := f.(type) {
	case *pyscan.Subscript:
		k.classes, k.held = c.elementClasses(inner.Value), true
	case *pyscan.Call, *pyscan.IfExp, *pyscan.BoolOp, *pyscan.NamedExpr, *pyscan.Lambda:
		k.variable, k.held = true, true
	}
	x.skip = c.callSkip(s.Name, call, plain)
}

// method fills what is known of `self.name(…)` and `super().name(…)`.
func (c *compiler) method(f *pyscan.Attribute, k *callee) {
	if inner, ok := f.Value.(*pyscan.Call); ok && isName(inner.Func, "super") {
		k.super = true
		return
	}
	own := c.locals.own
	if own == nil || !isName(f.Value, c.locals.self) || c.locals.self == "" {
		return
	}
	k.classes, k.held = own.attributes[f.Attr], true
	k.unassigned = k.classes == nil
	if fn := own.methods[f.Attr]; fn != nil {
		k.known, k.variable = len(k.classes) == 0, false
	}
}

func (c *compiler) elementClasses(v pyscan.Expr) classSet {
	a, ok := v.(*pyscan.Attribute)
	if !ok || c.locals.own == nil || !isName(a.Value, c.locals.self) {
		return nil
	}
	return c.locals.own.contents[a.Attr]
}

// callSkip is what it costs to believe that a call left no event.
func (c *compiler) callSkip(name string, call *pyscan.Call, plain bool) cost {
	k := &c.gate.callee
	skip := skipCall
	if k.class {
		skip = skipClass
		if facts := c.module.classes[name]; facts != nil && facts.methods["__init__"] != nil {
			skip = skipCall // the class is here and has an __init__
		}
	}
	if silentCallables[name] && (plain && !k.variable || k.imported) || len(k.aliases) > 0 && allSilent(k.aliases) {
		skip = skipOptional
	}
	if c.module.generators[name] || c.module.coroutines[name] || generatorCallables[name] || c.locals.iterated[call] {
		skip = min(skip, skipGenerator)
	}
	return skip
}

func allSilent(names []string) bool {
	for _, n := range names {
		if !silentCallables[n] {
			return false
		}
	}
	return true
}

func (c *compiler) attribute(s *pyscan.Site) {
	x := c.gate
	a := s.Node.(*pyscan.Attribute)
	x.repeats, x.again = true, 100
	own := c.locals.own
	if own == nil || !isName(a.Value, c.locals.self) {
		return
	}
	if own.properties[a.Attr] != nil {
		x.skip = skipClass
		return
	}
	// nn.Module.__getattr__ runs for submodules, parameters and buffers only.
	set := own.attributes[a.Attr]
	switch {
	case set.known() || own.registered[a.Attr]:
		x.skip = skipModule
	case set[unknownClass]:
		x.own = 60 // it may be a module that was handed in
	case set != nil:
		x.own = 1000 // it is only ever given constants
	case a.Attr == "training":
		x.own = 1000
	default:
		x.own = 120
	}
}

// next fills what one step of an iteration can run.
func (c *compiler) next(s *pyscan.Site) {
	x := c.gate
	x.sources = c.locals.sources[s.Name]
	var iter pyscan.Node
	switch n := s.Node.(type) {
	case *pyscan.For:
		iter = n.Iter
	case *pyscan.ForClause:
		iter = n.Iter
	case *pyscan.Await:
		iter = n.Value
	default:
		iter = n
	}
	switch iter.(type) {
	case *pyscan.Name, *pyscan.Attribute, *pyscan.Subscript:
		x.open = true
	}
}

// index fills what one element of a subscript's index can dispatch to.
func (c *compiler) index(e pyscan.Expr) {
	x := c.gate
	switch e := e.(type) {
	case *pyscan.Slice:
		x.accepts = sliceIndex
		if e.Lower != nil || e.Upper != nil || e.Step != nil {
			x.skip = skipElement
		} else {
			x.own = 60 // `:` mostly leaves nothing
		}
	case *pyscan.Constant:
		switch e.Kind {
		case pyscan.ConstNone:
			x.accepts, x.skip = noneIndex, skipElement
		case pyscan.ConstInt:
			x.accepts, x.skip = integerIndex, skipElement
		case pyscan.ConstTrue, pyscan.ConstFalse:
			x.accepts = dynamicIndex
		}
	case *pyscan.UnaryOp:
		if e.Op == "-" {
			x.accepts, x.skip = integerIndex, skipElement
		} else {
			x.accepts = dynamicIndex
		}
	case *pyscan.Starred:
		x.accepts, x.repeats = dynamicIndex, true
	default:
		x.accepts = dynamicIndex
		if c.locals.isInteger(e) {
			x.accepts, x.skip = integerIndex, skipElement
		}
	}
}

var (
	sliceIndex   = nameSet("slice")
	noneIndex    = nameSet("unsqueeze")
	integerIndex = nameSet("select")
	dynamicIndex = nameSet("select", "item", "_local_scalar_dense", "is_nonzero", "slice", "index", "masked_select", "unsqueeze", "nonzero")
)
