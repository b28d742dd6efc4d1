package pyscan

// exprs evaluates expressions from left to right.
func (b *flowBuilder) exprs(list []Expr, cur Point) Point {
	for _, e := range list {
		cur = b.expr(e, cur)
	}
	return cur
}

// expr adds the steps of one expression after cur and returns the point where its value is known.
func (b *flowBuilder) expr(e Expr, cur Point) Point {
	if cur == NoPoint || b.flow.Truncated {
		return cur
	}
	switch e := e.(type) {
	case *Call:
		return b.call(e, cur)
	case *Attribute:
		return b.attribute(e, b.expr(e.Value, cur))
	case *BinOp:
		cur = b.expr(e.Right, b.expr(e.Left, cur))
		return b.site(cur, Site{Kind: SiteBinary, Name: e.Op, Node: e, Operands: []Expr{e.Left, e.Right}})
	case *UnaryOp:
		cur = b.expr(e.Operand, cur)
		if e.Op == "not" {
			return b.truth(e.Operand, cur)
		}
		return b.site(cur, Site{Kind: SiteUnary, Name: e.Op, Node: e, Operands: []Expr{e.Operand}})
	case *Compare:
		return b.compare(e, cur)
	case *BoolOp:
		return b.boolOp(e, cur)
	case *IfExp:
		yes, no := b.condition(e.Test, cur)
		return b.join(b.expr(e.Body, yes), b.expr(e.Else, no))
	case *Subscript:
		cur = b.expr(e.Index, b.expr(e.Value, cur))
		cur = b.index(e.Index, cur)
		return b.site(cur, Site{Kind: SiteSubscript, Node: e})
	case *Slice:
		return b.exprs([]Expr{e.Lower, e.Upper, e.Step}, cur)
	case *Tuple:
		return b.exprs(e.Elems, cur)
	case *List:
		return b.exprs(e.Elems, cur)
	case *Set:
		return b.exprs(e.Elems, cur)
	case *Dict:
		for i, v := range e.Values {
			if i < len(e.Keys) {
				cur = b.expr(e.Keys[i], cur)
			}
			cur = b.expr(v, cur)
		}
		return cur
	case *Starred:
		return b.spread(e.Value, cur)
	case *FString:
		for _, v := range e.Values {
			cur = b.expr(v, cur)
			cur = b.site(cur, Site{Kind: SiteFormat, Node: v})
		}
		return cur
	case *Comprehension:
		return b.comprehension(e, cur)
	case *NamedExpr:
		return b.expr(e.Value, cur)
	case *Await:
		return b.await(e, cur)
	case *Yield:
		return b.yield(e, cur)
	case *Lambda:
		for _, p := range e.Function.Params {
			cur = b.expr(p.Default, cur)
		}
		return cur
	case *BadExpr:
		return b.exprs(e.Parts, cur)
	}
	return cur
}

func (b *flowBuilder) attribute(e *Attribute, cur Point) Point {
	return b.site(cur, Site{Kind: SiteAttribute, Name: e.Attr, Node: e})
}

func (b *flowBuilder) truth(tested Expr, cur Point) Point {
	return b.site(cur, Site{Kind: SiteTruth, Node: tested})
}

// call evaluates the callee, then the arguments, then calls. Generator expressions given to it run during or after the call.
func (b *flowBuilder) call(e *Call, cur Point) Point {
	if f, ok := e.Func.(*Attribute); ok {
		cur = b.attribute(f, b.expr(f.Value, cur))
	} else {
		cur = b.expr(e.Func, cur)
	}
	var generators []*Comprehension
	argument := func(a Expr, cur Point) Point {
		if g, ok := a.(*Comprehension); ok && g.Kind == GeneratorExpression && len(g.Clauses) > 0 {
			generators = append(generators, g)
			return b.firstIter(g, cur)
		}
		return b.expr(a, cur)
	}
	for _, a := range e.Args {
		cur = argument(a, cur)
	}
	for _, k := range e.Keywords {
		if k.Name == "" {
			cur = b.spread(k.Value, cur)
			continue
		}
		cur = argument(k.Value, cur)
	}
	name := LastName(e.Func)
	if _, ok := e.Func.(*Call); ok {
		name = "" // the result of a call is called: its name is unknown
	}
	cur = b.site(cur, Site{Kind: SiteCall, Name: name, Node: e})
	cur = b.site(cur, Site{Kind: SiteConstruct, Name: name, Node: e})
	for _, g := range generators {
		cur = b.site(cur, Site{Kind: SiteGenerator, Name: "<genexpr>", Node: g})
	}
	return b.consume(e, name, cur)
}

// consumers take an iterable and run it to its end, without a Python frame of their own.
var consumers = map[string]bool{
	"list": true, "tuple": true, "set": true, "frozenset": true, "dict": true, "sorted": true, "max": true, "min": true, "sum": true, "any": true,
	"all": true, "join": true, "extend": true, "update": true, "enumerate": true, "zip": true, "filter": true, "map": true,
}

// lazyIterators take iter() of their arguments when they are made, and values one by one later.
var lazyIterators = map[string]bool{"map": true, "filter": true, "zip": true, "enumerate": true}

// consume adds what a call that drains an iterable may run: callbacks of lazy map and filter, generator frames, iter and next.
func (b *flowBuilder) consume(e *Call, name string, cur Point) Point {
	if !consumers[name] {
		return cur
	}
	if lazyIterators[name] && len(e.Args) > 0 {
		cur = b.site(cur, Site{Kind: SiteIterate, Name: name, Node: e}) // iter() of what they are given runs at once
	}
	if names := callbackNames(e); len(names) > 0 {
		cur = b.site(cur, Site{Kind: SiteCallback, Names: names, Node: e})
	}
	if len(e.Args) == 0 {
		return cur
	}
	switch e.Args[0].(type) {
	case *Name:
		cur = b.site(cur, Site{Kind: SiteConsume, Node: e})
	case *Call:
		cur = b.site(cur, Site{Kind: SiteNext, Name: iteratedName(e.Args[0]), Node: e.Args[0]})
	case *Attribute, *Subscript:
		cur = b.site(cur, Site{Kind: SiteIterate, Name: LastName(e.Args[0]), Node: e.Args[0]})
		cur = b.site(cur, Site{Kind: SiteNext, Name: iteratedName(e.Args[0]), Node: e.Args[0]})
	}
	return cur
}

// callbackNames are the functions given to map or filter inside a consuming call; "<lambda>" where one is anonymous.
func callbackNames(e *Call) []string {
	var names []string
	for {
		if f, ok := e.Func.(*Name); ok && (f.ID == "map" || f.ID == "filter") && len(e.Args) > 0 {
			names = append(names, callbackName(e.Args[0]))
		}
		var inner *Call
		for _, a := range e.Args {
			if c, ok := a.(*Call); ok {
				inner = c
			}
		}
		if inner == nil {
			return names
		}
		e = inner
	}
}

// callbackName is the name of a function given as an argument; "<lambda>" if it is anonymous.
func callbackName(e Expr) string {
	if c, ok := e.(*Call); ok && LastName(c.Func) == "partial" && len(c.Args) > 0 {
		e = c.Args[0]
	}
	if name := LastName(e); name != "" {
		return name
	}
	return "<lambda>"
}

// wrappingIterators hand on the values of their first argument.
var wrappingIterators = map[string]bool{"enumerate": true, "zip": true, "reversed": true, "iter": true, "tqdm": true, "list": true, "tuple": true, "sorted": true, "trange": true, "islice": true, "chain": true}

// iteratedName is the name of what an iterable's values come from.
func iteratedName(e Expr) string {
	for {
		c, ok := e.(*Call)
		if !ok || len(c.Args) == 0 || !wrappingIterators[LastName(c.Func)] {
			return LastName(e)
		}
		e = c.Args[0]
		if s, ok := e.(*Starred); ok {
			e = s.Value
		}
	}
}

// spread is `*value` or `**value`: iterate to the end.
func (b *flowBuilder) spread(value Expr, cur Point) Point {
	cur = b.expr(value, cur)
	cur = b.site(cur, Site{Kind: SiteIterate, Name: LastName(value), Node: value})
	return b.site(cur, Site{Kind: SiteNext, Name: iteratedName(value), Node: value})
}

func (b *flowBuilder) compare(e *Compare, cur Point) Point {
	cur = b.expr(e.Left, cur)
	left := e.Left
	for i, right := range e.Rights {
		cur = b.expr(right, cur)
		cur = b.site(cur, Site{Kind: SiteCompare, Name: e.Ops[i], Node: e, Operands: []Expr{left, right}})
		left = right
	}
	return cur
}

// boolOp gives a value: each operand but the last is tested and may end the evaluation.
func (b *flowBuilder) boolOp(e *BoolOp, cur Point) Point {
	ends := make([]Point, 0, len(e.Values))
	for i, v := range e.Values {
		cur = b.expr(v, cur)
		if i == len(e.Values)-1 {
			break
		}
		cur = b.truth(v, cur)
		ends = append(ends, cur)
		cur = b.follow(cur)
	}
	return b.join(append(ends, cur)...)
}

func (b *flowBuilder) follow(cur Point) Point {
	p := b.point()
	b.edge(cur, p, EdgeNext)
	return p
}

// condition evaluates a test and returns the points where it held and where it did not. `and`, `or` and `not` jump, as in CPython.
func (b *flowBuilder) condition(test Expr, cur Point) (yes, no Point) {
	if cur == NoPoint || b.flow.Truncated {
		return cur, cur
	}
	switch t := test.(type) {
	case *BoolOp:
		var decided []Point // where `or` already held, or `and` already failed
		for i, v := range t.Values {
			held, failed := b.condition(v, cur)
			if i == len(t.Values)-1 {
				if t.Op == "or" {
					return b.join(append(decided, held)...), failed
				}
				return held, b.join(append(decided, failed)...)
			}
			if t.Op == "or" {
				decided, cur = append(decided, held), failed
			} else {
				decided, cur = append(decided, failed), held
			}
		}
	case *UnaryOp:
		if t.Op == "not" {
			held, failed := b.condition(t.Operand, cur)
			return failed, held
		}
	case *Constant:
		// `while True`, `if 0`: CPython drops the branch that cannot run.
		switch t.Kind {
		case ConstTrue:
			return cur, NoPoint
		case ConstFalse, ConstNone:
			return NoPoint, cur
		case ConstInt:
			if t.Text == "1" {
				return cur, NoPoint
			}
		}
	}
	cur = b.expr(test, cur)
	cur = b.truth(test, cur)
	if cur == NoPoint {
		return cur, cur
	}
	yes, no = b.follow(cur), b.follow(cur)
	b.flow.Branches = append(b.flow.Branches, Branch{Test: test, After: cur, Yes: yes, No: no})
	return yes, no
}

// index adds one step for each element of an index: a slice, an integer or a tensor each leave different traces.
func (b *flowBuilder) index(index Expr, cur Point) Point {
	if t, ok := index.(*Tuple); ok {
		for _, e := range t.Elems {
			cur = b.site(cur, Site{Kind: SiteIndex, Node: e})
		}
		return cur
	}
	if index == nil {
		return cur
	}
	return b.site(cur, Site{Kind: SiteIndex, Node: index})
}

// store assigns to a target.
func (b *flowBuilder) store(target Expr, cur Point) Point {
	if cur == NoPoint {
		return cur
	}
	switch t := target.(type) {
	case *Attribute:
		return b.site(b.expr(t.Value, cur), Site{Kind: SiteSetAttribute, Name: t.Attr, Node: t})
	case *Subscript:
		return b.setSubscript(t, b.expr(t.Index, b.expr(t.Value, cur)))
	case *Tuple:
		return b.unpack(t, t.Elems, cur)
	case *List:
		return b.unpack(t, t.Elems, cur)
	case *Starred:
		return b.store(t.Value, cur)
	}
	return cur
}

func (b *flowBuilder) setSubscript(t *Subscript, cur Point) Point {
	cur = b.site(cur, Site{Kind: SiteStorePart, Node: t})
	return b.site(cur, Site{Kind: SiteSetSubscript, Node: t})
}

func (b *flowBuilder) unpack(node Node, elems []Expr, cur Point) Point {
	cur = b.site(cur, Site{Kind: SiteUnpack, Node: node})
	for _, e := range elems {
		cur = b.store(e, cur)
	}
	return cur
}

// firstIter evaluates what a comprehension iterates over first: it runs in the enclosing scope.
func (b *flowBuilder) firstIter(e *Comprehension, cur Point) Point {
	iter := e.Clauses[0].Iter
	cur = b.expr(iter, cur)
	return b.site(cur, Site{Kind: SiteIterate, Name: LastName(iter), Node: iter})
}

var comprehensionNames = map[ComprehensionKind]string{
	ListComprehension: "<listcomp>", SetComprehension: "<setcomp>", DictComprehension: "<dictcomp>", GeneratorExpression: "<genexpr>",
}

func (b *flowBuilder) comprehension(e *Comprehension, cur Point) Point {
	if len(e.Clauses) == 0 {
		return b.expr(e.Value, b.expr(e.Key, cur))
	}
	if e.Kind == GeneratorExpression || b.options.ComprehensionScopes {
		cur = b.firstIter(e, cur)
		return b.site(cur, Site{Kind: SiteGenerator, Name: comprehensionNames[e.Kind], Node: e})
	}
	return b.clause(e, 0, b.firstIter(e, cur))
}

// comprehensionBody is the frame of a comprehension that has one: its first iterable is already evaluated.
func (b *flowBuilder) comprehensionBody(e *Comprehension, cur Point) Point {
	if len(e.Clauses) == 0 {
		return cur
	}
	return b.clause(e, 0, cur)
}

// clause is one `for … in … if …` with what it holds; the iterator exists already.
func (b *flowBuilder) clause(e *Comprehension, i int, cur Point) Point {
	c := e.Clauses[i]
	head := b.follow(cur)
	body := b.next(c.Iter, c, head)
	done := b.point()
	b.edge(body, done, EdgeNext)
	body = b.store(c.Target, b.follow(body))
	if c.Async {
		body = b.suspend(body, e.Span)
	}
	for _, condition := range c.Conditions {
		var no Point
		body, no = b.condition(condition, body)
		b.edge(no, head, EdgeBack)
	}
	switch {
	case body == NoPoint:
	case i+1 < len(e.Clauses):
		inner := e.Clauses[i+1].Iter
		body = b.expr(inner, body)
		body = b.site(body, Site{Kind: SiteIterate, Name: LastName(inner), Node: inner})
		body = b.clause(e, i+1, body)
	default:
		body = b.expr(e.Value, b.expr(e.Key, body))
		if e.Kind == GeneratorExpression {
			body = b.suspend(body, e.Span)
		}
	}
	b.edge(body, head, EdgeBack)
	return b.reopen(done)
}

func (b *flowBuilder) await(e *Await, cur Point) Point {
	cur = b.expr(e.Value, cur)
	return b.delegate(Site{Kind: SiteAwait, Name: LastName(e.Value), Node: e}, e.Span, cur)
}

func (b *flowBuilder) yield(e *Yield, cur Point) Point {
	cur = b.expr(e.Value, cur)
	if !e.From {
		return b.suspend(cur, e.Span)
	}
	cur = b.site(cur, Site{Kind: SiteIterate, Name: LastName(e.Value), Node: e.Value})
	return b.delegate(Site{Kind: SiteNext, Name: iteratedName(e.Value), Node: e.Value}, e.Span, cur)
}

// delegate runs the frames of an awaited or yielded-from value: each may suspend this frame too, and goes on first when it is resumed.
func (b *flowBuilder) delegate(s Site, span Span, cur Point) Point {
	head := b.follow(cur)
	ran := b.site(head, s)
	b.edge(b.suspend(ran, span), head, EdgeBack)
	return b.follow(ran)
}
