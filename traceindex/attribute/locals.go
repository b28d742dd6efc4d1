package attribute

import "stepline/pyscan"

// localFacts is what a function says about its own names.
type localFacts struct {
	// bound are the function's parameters and every name it assigns.
	bound map[string]bool
	// integers are names that hold Python numbers whatever happens: operators on them leave no event.
	integers map[string]bool
	// numbers are integers, and parameters with a number as their default, and what follows from them: almost surely Python numbers.
	numbers map[string]bool
	// tensors are names that only ever hold results of tensor functions.
	tensors map[string]bool
	// aliases are the callables a name may stand for: `f = obj.g` and parameters' defaults.
	aliases map[string][]string
	// classes are the classes a local may be an instance of, known from the own class's attributes.
	classes map[string]classSet
	// sources name where a local's values may come from: `walk` for `for x in parts: …` with `parts = self.walk()`.
	sources map[string][]string
	// iterated are the calls that a for loop or comprehension iterates directly.
	iterated map[pyscan.Expr]bool
	self     string
	own      *classFacts
	// assigned holds everything that the function itself binds each name to; functions inside it have names of their own.
	assigned map[string][]value
}

// value is one thing assigned to a name: an expression, or what is known without one.
type value struct {
	expr    pyscan.Expr
	integer bool
	// parameter is set for what a caller passes.
	parameter *pyscan.Parameter
	// operator tells that the value is combined with what was there (`x += value`).
	operator bool
}

func newLocalFacts(module *moduleFacts, fn *pyscan.Function) *localFacts {
	l := &localFacts{bound: map[string]bool{}, integers: map[string]bool{}, numbers: map[string]bool{}, tensors: map[string]bool{}, aliases: map[string][]string{}, classes: map[string]classSet{}, sources: map[string][]string{}, iterated: map[pyscan.Expr]bool{}}
	l.own, l.self = module.classOf(fn)
	assigned := map[string][]value{}
	note := func(target pyscan.Expr, v value) { l.note(assigned, target, v) }
	// An inner function sees the names of those around it.
	for scope := fn; scope != nil; scope = scope.Parent {
		if scope.Name == "<module>" && scope != fn {
			break
		}
		for _, p := range scope.Params {
			l.bound[p.Name] = true
			assigned[p.Name] = append(assigned[p.Name], value{parameter: p})
			l.addAlias(p.Name, p.Default)
		}
		pyscan.Walk(scope, func(n pyscan.Node) bool {
			l.visit(n, note)
			return true
		})
	}
	if fn.Name != "<module>" {
		for name := range assigned {
			l.bound[name] = true
		}
	}
	l.assigned = l.ownBindings(fn)
	l.infer(assigned, l.integers, func(v value) bool { return v.integer || v.expr != nil && l.isInteger(v.expr) })
	l.infer(assigned, l.numbers, func(v value) bool {
		return v.integer || v.parameter != nil && isNumeral(v.parameter.Default) || v.expr != nil && l.isNumber(v.expr)
	})
	l.infer(assigned, l.tensors, func(v value) bool { return v.expr != nil && (v.operator || module.isTensor(l, v.expr)) })
	return l
}

// ownBindings are the bindings of a function's parameters and statements, those of functions and classes inside it left out.
func (l *localFacts) ownBindings(fn *pyscan.Function) map[string][]value {
	own := map[string][]value{}
	note := func(target pyscan.Expr, v value) { l.note(own, target, v) }
	for _, p := range fn.Params {
		own[p.Name] = append(own[p.Name], value{parameter: p})
	}
	visit := func(n pyscan.Node) bool {
		switch n := n.(type) {
		case *pyscan.Class:
			return false
		case *pyscan.Function:
			own[n.Name] = append(own[n.Name], value{})
			return false
		case *pyscan.Import:
			for _, name := range n.Names {
				own[name.Alias] = append(own[name.Alias], value{})
			}
		case *pyscan.Handler:
			own[n.Name] = append(own[n.Name], value{})
		case *pyscan.Delete:
			for _, t := range n.Targets {
				note(t, value{})
			}
		}
		l.bindings(n, note)
		return true
	}
	for _, s := range fn.Body {
		pyscan.Walk(s, visit)
	}
	return own
}

// visit notes the bindings of one node, and what they say of aliases and classes.
func (l *localFacts) visit(n pyscan.Node, note func(pyscan.Expr, value)) {
	l.bindings(n, note)
	switch n := n.(type) {
	case *pyscan.Assign:
		for _, t := range n.Targets {
			l.assign(t, n.Value)
		}
	case *pyscan.NamedExpr:
		l.assign(n.Target, n.Value)
	case *pyscan.For:
		l.loop(n.Target, n.Iter)
	case *pyscan.ForClause:
		l.loop(n.Target, n.Iter)
	}
}

// bindings notes what one node binds.
func (l *localFacts) bindings(n pyscan.Node, note func(pyscan.Expr, value)) {
	switch n := n.(type) {
	case *pyscan.Assign:
		if n.Value == nil {
			return
		}
		for _, t := range n.Targets {
			note(t, value{expr: n.Value})
		}
	case *pyscan.AugAssign:
		note(n.Target, value{expr: n.Value, operator: true})
	case *pyscan.NamedExpr:
		note(n.Target, value{expr: n.Value})
	case *pyscan.For:
		l.loopBindings(n.Target, n.Iter, note)
	case *pyscan.ForClause:
		l.loopBindings(n.Target, n.Iter, note)
	case *pyscan.WithItem:
		if n.Target != nil {
			note(n.Target, value{})
		}
	case *pyscan.MatchCase:
		for _, c := range n.Captures {
			note(c, value{})
		}
	}
}

// loopBindings notes what a for clause binds.
func (l *localFacts) loopBindings(target, iter pyscan.Expr, note func(pyscan.Expr, value)) {
	call, ok := iter.(*pyscan.Call)
	if !ok {
		note(target, value{})
		return
	}
	targets, _ := target.(*pyscan.Tuple)
	switch pyscan.LastName(call.Func) {
	case "range":
		note(target, value{integer: true})
	case "enumerate":
		if targets != nil && len(targets.Elems) == 2 && len(call.Args) > 0 {
			note(targets.Elems[0], value{integer: true})
			l.loopBindings(targets.Elems[1], call.Args[0], note)
			return
		}
		note(target, value{})
	case "zip":
		if targets != nil && len(targets.Elems) == len(call.Args) {
			for i, t := range targets.Elems {
				l.loopBindings(t, call.Args[i], note)
			}
			return
		}
		note(target, value{})
	default:
		note(target, value{})
	}
}

// note records what a target receives; unpacking goes element by element where the value shows them.
func (l *localFacts) note(assigned map[string][]value, target pyscan.Expr, v value) {
	switch t := target.(type) {
	case *pyscan.Name:
		assigned[t.ID] = append(assigned[t.ID], v)
	case *pyscan.Starred:
		l.note(assigned, t.Value, value{})
	case *pyscan.Tuple:
		l.noteElements(assigned, t.Elems, v)
	case *pyscan.List:
		l.noteElements(assigned, t.Elems, v)
	}
}

func (l *localFacts) noteElements(assigned map[string][]value, targets []pyscan.Expr, v value) {
	var values []pyscan.Expr
	switch x := v.expr.(type) {
	case *pyscan.Tuple:
		values = x.Elems
	case *pyscan.List:
		values = x.Elems
	}
	for i, t := range targets {
		if len(values) == len(targets) {
			l.note(assigned, t, value{expr: values[i]})
			continue
		}
		l.note(assigned, t, value{integer: v.integer || isShape(v.expr)})
	}
}

// isShape reports whether an expression is a tensor's shape: unpacked, it gives integers.
func isShape(e pyscan.Expr) bool {
	switch x := e.(type) {
	case *pyscan.Attribute:
		return x.Attr == "shape"
	case *pyscan.Call:
		return pyscan.LastName(x.Func) == "size" && len(x.Args) == 0
	case *pyscan.Subscript:
		if _, slice := x.Index.(*pyscan.Slice); slice {
			return isShape(x.Value)
		}
	}
	return false
}

// assign notes aliases, classes and sources of a name.
func (l *localFacts) assign(target, v pyscan.Expr) {
	if targets, ok := target.(*pyscan.Tuple); ok {
		if values, ok := v.(*pyscan.Tuple); ok && len(values.Elems) == len(targets.Elems) {
			for i, t := range targets.Elems {
				l.assign(t, values.Elems[i])
			}
		}
		return
	}
	name, ok := target.(*pyscan.Name)
	if !ok || v == nil {
		return
	}
	l.addAlias(name.ID, v)
	if c, ok := v.(*pyscan.Call); ok {
		l.sources[name.ID] = append(l.sources[name.ID], pyscan.LastName(c.Func))
	}
	l.addClasses(name.ID, v, false)
}

func (l *localFacts) addAlias(name string, v pyscan.Expr) {
	switch x := v.(type) {
	case *pyscan.Name, *pyscan.Attribute:
		l.aliases[name] = append(l.aliases[name], pyscan.LastName(v))
	case *pyscan.IfExp:
		l.addAlias(name, x.Body)
		l.addAlias(name, x.Else)
	case *pyscan.Call:
		// f = partial(g, …): calling f enters g.
		if pyscan.LastName(x.Func) == "partial" && len(x.Args) > 0 {
			l.addAlias(name, x.Args[0])
		}
	}
}

// addClasses carries the classes of `self.x`, or of what `self.x` contains, to a local name.
func (l *localFacts) addClasses(name string, v pyscan.Expr, elements bool) {
	if s, ok := v.(*pyscan.Subscript); ok {
		v, elements = s.Value, true
	}
	a, ok := v.(*pyscan.Attribute)
	if !ok || l.own == nil || !isName(a.Value, l.self) {
		l.mergeClasses(name, classSet{unknownClass: true})
		return
	}
	set := l.own.attributes[a.Attr]
	if elements {
		set = l.own.contents[a.Attr]
	}
	if len(set) == 0 {
		set = classSet{unknownClass: true}
	}
	l.mergeClasses(name, set)
}

func (l *localFacts) mergeClasses(name string, set classSet) {
	merged := l.classes[name]
	if merged == nil {
		merged = classSet{}
		l.classes[name] = merged
	}
	for c := range set {
		merged[c] = true
	}
}

// loop notes what a for clause says of its target's classes and aliases.
func (l *localFacts) loop(target, iter pyscan.Expr) {
	call, ok := iter.(*pyscan.Call)
	name, single := target.(*pyscan.Name)
	if !ok {
		if single {
			l.addClasses(name.ID, iter, true)
			for _, e := range elementsOf(iter) {
				l.addAlias(name.ID, e)
			}
		}
		return
	}
	l.iterated[call] = true
	targets, _ := target.(*pyscan.Tuple)
	switch pyscan.LastName(call.Func) {
	case "range":
		return
	case "enumerate":
		if targets != nil && len(targets.Elems) == 2 && len(call.Args) > 0 {
			l.loop(targets.Elems[1], call.Args[0])
			return
		}
	case "zip":
		if targets != nil && len(targets.Elems) == len(call.Args) {
			for i, t := range targets.Elems {
				l.loop(t, call.Args[i])
			}
			return
		}
	}
	if single {
		l.mergeClasses(name.ID, classSet{unknownClass: true})
	}
}

// elementsOf are the elements of a display: `for kind in [int, float]` calls one of them as `kind(x)`.
func elementsOf(e pyscan.Expr) []pyscan.Expr {
	switch x := e.(type) {
	case *pyscan.Tuple:
		return x.Elems
	case *pyscan.List:
		return x.Elems
	}
	return nil
}

// infer fills set with the names all of whose values hold, going round until nothing changes; values are judged by the set itself.
func (l *localFacts) infer(assigned map[string][]value, set map[string]bool, holds func(value) bool) {
	for name := range assigned {
		set[name] = true
	}
	for changed := true; changed; {
		changed = false
		for name := range set {
			for _, v := range assigned[name] {
				if !holds(v) {
					delete(set, name)
					changed = true
					break
				}
			}
		}
	}
}

// isNumeral reports whether an expression is a literal number.
func isNumeral(e pyscan.Expr) bool {
	if u, ok := e.(*pyscan.UnaryOp); ok && u.Op == "-" {
		e = u.Operand
	}
	c, ok := e.(*pyscan.Constant)
	return ok && (c.Kind == pyscan.ConstInt || c.Kind == pyscan.ConstFloat)
}

// isInteger reports whether an expression is a Python number or string, so that operators on it leave no event.
func (l *localFacts) isInteger(e pyscan.Expr) bool { return l.numeric(e, l.integers, false) }

// isNumber is isInteger for what is almost surely a number.
func (l *localFacts) isNumber(e pyscan.Expr) bool { return l.numeric(e, l.numbers, true) }

// numeric judges an expression by the names in known; loose also trusts attributes of the own class that only ever get numbers.
func (l *localFacts) numeric(e pyscan.Expr, known map[string]bool, loose bool) bool {
	all := func(list ...pyscan.Expr) bool {
		for _, x := range list {
			if !l.numeric(x, known, loose) {
				return false
			}
		}
		return true
	}
	switch x := e.(type) {
	case *pyscan.Constant, *pyscan.FString:
		return true
	case *pyscan.Name:
		return known[x.ID]
	case *pyscan.BinOp:
		return all(x.Left, x.Right)
	case *pyscan.UnaryOp:
		return x.Op == "not" || all(x.Operand)
	case *pyscan.IfExp:
		return all(x.Body, x.Else)
	case *pyscan.BoolOp:
		return all(x.Values...)
	case *pyscan.Compare:
		if x.Ops[0] == "is" || x.Ops[0] == "is not" {
			return true
		}
		return all(x.Left) && all(x.Rights...)
	case *pyscan.Attribute:
		if loose && l.own != nil && l.self != "" && isName(x.Value, l.self) && l.own.numbers[x.Attr] {
			return true
		}
		return x.Attr == "ndim" || x.Attr == "shape" || x.Attr == "itemsize"
	case *pyscan.Subscript:
		return isShape(x.Value)
	case *pyscan.Call:
		name := pyscan.LastName(x.Func)
		if _, plain := x.Func.(*pyscan.Name); plain {
			return integerFunctions[name] || (name == "min" || name == "max" || name == "sum" || name == "abs") && len(x.Args) > 0 && all(x.Args...)
		}
		return integerMethods[name] || pyscan.RootName(x.Func) == "math"
	}
	return false
}

// classOf is the class whose method a function is, or lies in, and the name of that method's first parameter.
func (m *moduleFacts) classOf(fn *pyscan.Function) (*classFacts, string) {
	for ; fn != nil; fn = fn.Parent {
		if fn.Class != nil {
			return m.classes[fn.Class.Name], firstParameter(fn)
		}
	}
	return nil, ""
}
