package pyscan

// block builds statements in sequence. Statements after an unconditional jump are still built, because a recorded frame may
// say that it was running there.
func (b *flowBuilder) block(body []Stmt, cur Point) Point {
	for _, s := range body {
		if b.flow.Truncated {
			return cur
		}
		if cur == NoPoint {
			cur = b.point()
		}
		cur = b.stmt(s, cur)
	}
	return cur
}

// begin opens a statement: from here on, points and sites carry its first line.
func (b *flowBuilder) begin(cur Point, span Span) Point {
	b.line = b.file.Line(span.Start)
	p := b.point()
	b.edge(cur, p, EdgeNext)
	b.flow.Statements = append(b.flow.Statements, StatementStart{Point: p, Line: b.line, Span: span})
	return p
}

func bodyStart(body []Stmt, end int) int {
	if len(body) == 0 {
		return end
	}
	return body[0].Range().Start
}

func (b *flowBuilder) stmt(s Stmt, cur Point) Point {
	cur = b.begin(cur, HeaderSpan(s))
	switch s.(type) {
	case *For, *While:
		// A loop's line runs once per turn: its head is the start that counts, not the evaluation of its iterable.
		b.flow.Statements = b.flow.Statements[:len(b.flow.Statements)-1]
	}
	switch s := s.(type) {
	case *ExprStmt:
		return b.expr(s.Value, cur)
	case *Assign:
		return b.assign(s, cur)
	case *AugAssign:
		return b.augAssign(s, cur)
	case *Return:
		cur = b.leave(b.expr(s.Value, cur), 0)
		b.edge(cur, b.flow.Exit, EdgeNext)
		return NoPoint
	case *Raise:
		b.outward(b.expr(s.Cause, b.expr(s.Exc, cur)))
		return NoPoint
	case *Assert:
		return b.assert(s, cur)
	case *If:
		return b.ifStmt(s, cur)
	case *For:
		return b.forStmt(s, cur)
	case *While:
		return b.whileStmt(s, cur)
	case *With:
		return b.with(s, cur)
	case *Try:
		return b.try(s, cur)
	case *Match:
		return b.match(s, cur)
	case *Simple:
		return b.simple(s, cur)
	case *Import:
		return b.site(cur, Site{Kind: SiteImport, Node: s})
	case *Delete:
		for _, t := range s.Targets {
			cur = b.store(t, cur)
		}
		return cur
	case *FunctionDef:
		return b.functionDef(s.Function, cur)
	case *ClassDef:
		return b.classDef(s, cur)
	case *BadStmt:
		for _, e := range s.Exprs {
			cur = b.expr(e, cur)
		}
		return b.block(s.Stmts, cur)
	}
	return cur
}

func (b *flowBuilder) assign(s *Assign, cur Point) Point {
	if s.Value == nil {
		return cur
	}
	cur = b.expr(s.Value, cur)
	for _, t := range s.Targets {
		cur = b.assignTo(t, s.Value, cur)
	}
	return cur
}

// assignTo stores a value in a target. `a, b = x, y` unpacks nothing: CPython stores the elements as they are.
func (b *flowBuilder) assignTo(target, value Expr, cur Point) Point {
	targets, values := displayElements(target), displayElements(value)
	if len(targets) == 0 || len(targets) != len(values) {
		if !isDisplay(target) {
			return b.store(target, cur)
		}
		cur = b.drain(value, cur)
		if call, ok := value.(*Call); ok && lazyIterators[LastName(call.Func)] {
			for _, t := range targets {
				cur = b.store(t, cur) // an iterator's own iter() runs nothing
			}
			return cur
		}
		return b.store(target, cur)
	}
	for i, t := range targets {
		cur = b.assignTo(t, values[i], cur)
	}
	return cur
}

// drain adds what unpacking a lazy value runs: `q, k = map(f, pair)` calls f.
func (b *flowBuilder) drain(value Expr, cur Point) Point {
	switch v := value.(type) {
	case *Call:
		if names := callbackNames(v); len(names) > 0 {
			return b.site(cur, Site{Kind: SiteCallback, Names: names, Node: v})
		}
		return b.site(cur, Site{Kind: SiteNext, Name: iteratedName(v), Node: v})
	case *Name:
		return b.site(cur, Site{Kind: SiteNext, Name: v.ID, Node: v})
	}
	return cur
}

func isDisplay(e Expr) bool {
	switch e.(type) {
	case *Tuple, *List:
		return true
	}
	return false
}

// displayElements are the elements of a tuple or list display without a starred one, nil for anything else.
func displayElements(e Expr) []Expr {
	var elems []Expr
	switch e := e.(type) {
	case *Tuple:
		elems = e.Elems
	case *List:
		elems = e.Elems
	}
	for _, x := range elems {
		if _, starred := x.(*Starred); starred {
			return nil
		}
	}
	return elems
}

// augAssign loads the target, evaluates the value, applies the operator and stores; the target's own parts are evaluated once.
func (b *flowBuilder) augAssign(s *AugAssign, cur Point) Point {
	switch t := s.Target.(type) {
	case *Attribute:
		cur = b.attribute(t, b.expr(t.Value, cur))
	case *Subscript:
		cur = b.expr(t.Index, b.expr(t.Value, cur))
		cur = b.index(t.Index, cur)
		cur = b.site(cur, Site{Kind: SiteSubscript, Node: t})
	}
	cur = b.expr(s.Value, cur)
	cur = b.site(cur, Site{Kind: SiteBinary, Name: s.Op, Node: s, Operands: []Expr{s.Target, s.Value}})
	switch t := s.Target.(type) {
	case *Attribute:
		cur = b.site(cur, Site{Kind: SiteSetAttribute, Name: t.Attr, Node: t})
	case *Subscript:
		cur = b.setSubscript(t, cur)
	}
	return cur
}

func (b *flowBuilder) assert(s *Assert, cur Point) Point {
	yes, no := b.condition(s.Test, cur)
	// The message is evaluated only when the assertion fails; AssertionError itself is raised without a Python frame.
	b.outward(b.expr(s.Message, no))
	return yes
}

func (b *flowBuilder) ifStmt(s *If, cur Point) Point {
	yes, no := b.condition(s.Test, cur)
	yes = b.block(s.Body, yes)
	no = b.block(s.Else, no)
	return b.join(yes, no)
}

// join is the point after alternatives, NoPoint when none of them gets there.
func (b *flowBuilder) join(ends ...Point) Point {
	after := NoPoint
	for _, e := range ends {
		if e == NoPoint {
			continue
		}
		if after == NoPoint {
			after = b.point()
		}
		b.edge(e, after, EdgeNext)
	}
	return after
}

func (b *flowBuilder) forStmt(s *For, cur Point) Point {
	cur = b.expr(s.Iter, cur)
	cur = b.site(cur, Site{Kind: SiteIterate, Name: LastName(s.Iter), Node: s.Iter})
	head := b.point()
	b.edge(cur, head, EdgeNext)
	b.flow.Statements = append(b.flow.Statements, StatementStart{Point: head, Line: b.line, Span: s.Header})
	next := b.next(s.Iter, s, head)
	if s.Async {
		// `async for` awaits __anext__: the frame is left and resumed on the loop's line.
		next = b.suspend(next, s.Header)
	}
	after, otherwise := b.point(), b.point()
	b.edge(next, otherwise, EdgeNext) // the last next() may run code and find nothing
	body := b.point()
	b.edge(next, body, EdgeNext)
	body = b.store(s.Target, body)
	b.loop(s.Body, body, head, after)
	b.edge(b.block(s.Else, otherwise), after, EdgeNext)
	return b.reopen(after)
}

// next adds one next() on an iterable.
func (b *flowBuilder) next(iter Expr, node Node, cur Point) Point {
	return b.site(cur, Site{Kind: SiteNext, Name: iteratedName(iter), Node: node})
}

// loop builds a loop's body and its way back.
func (b *flowBuilder) loop(body []Stmt, cur, head, after Point) {
	b.loops = append(b.loops, loopTargets{head: head, after: after, cleanups: len(b.cleanups)})
	b.edge(b.block(body, cur), head, EdgeBack)
	b.loops = b.loops[:len(b.loops)-1]
}

// reopen follows a point made before a body with one made after it, so that numbering keeps program order.
func (b *flowBuilder) reopen(p Point) Point {
	q := b.point()
	b.edge(p, q, EdgeNext)
	return q
}

func (b *flowBuilder) whileStmt(s *While, cur Point) Point {
	head := b.point()
	b.edge(cur, head, EdgeNext)
	b.flow.Statements = append(b.flow.Statements, StatementStart{Point: head, Line: b.line, Span: s.Header})
	yes, no := b.condition(s.Test, head)
	after := b.point()
	b.loop(s.Body, yes, head, after)
	b.edge(b.block(s.Else, no), after, EdgeNext)
	return b.reopen(after)
}

func (b *flowBuilder) simple(s *Simple, cur Point) Point {
	if s.Keyword == "pass" || len(b.loops) == 0 {
		return cur
	}
	target := b.loops[len(b.loops)-1]
	cur = b.leave(cur, target.cleanups)
	if s.Keyword == "break" {
		b.edge(cur, target.after, EdgeNext)
	} else {
		b.edge(cur, target.head, EdgeBack)
	}
	return NoPoint
}

func (b *flowBuilder) with(s *With, cur Point) Point {
	line := b.line
	exits := func(c Point) Point {
		saved := b.line
		b.line = line
		for i := len(s.Items) - 1; i >= 0; i-- {
			c = b.site(c, Site{Kind: SiteExit, Name: LastName(s.Items[i].Context), Node: s.Items[i].Context})
			if s.Async {
				c = b.suspend(c, s.Header)
			}
		}
		b.line = saved
		return c
	}
	for _, item := range s.Items {
		cur = b.expr(item.Context, cur)
		cur = b.site(cur, Site{Kind: SiteEnter, Name: LastName(item.Context), Node: item.Context})
		if s.Async {
			cur = b.suspend(cur, s.Header)
		}
		if item.Target != nil {
			cur = b.store(item.Target, cur)
		}
	}
	raised := b.point()
	b.pushCleanup(exits)
	b.pushHandler(raised)
	end := b.block(s.Body, cur)
	b.popHandler()
	b.popCleanup()
	end = exits(end)
	// An exception runs the exits too; afterwards it goes on, or the context manager swallows it.
	b.line = line
	swallowed := exits(b.reopen(raised))
	b.outward(swallowed)
	after := b.join(end)
	if after != NoPoint {
		b.edge(swallowed, after, EdgeExcept)
	}
	return after
}

func (b *flowBuilder) try(s *Try, cur Point) Point {
	handled := b.point() // where exceptions of the body go
	finally := NoPoint   // where exceptions that nobody here handles go
	if len(s.Finally) > 0 {
		finally = b.point()
		b.pushCleanup(func(c Point) Point { return b.block(s.Finally, c) })
		b.pushHandler(finally)
	}
	b.pushHandler(handled)
	end := b.block(s.Body, cur)
	b.popHandler()
	end = b.orElse(s.Else, end)
	ends := []Point{end}
	at := b.reopen(handled)
	for _, h := range s.Handlers {
		b.line = b.file.Line(h.Start)
		entry := b.point()
		b.flow.Statements = append(b.flow.Statements, StatementStart{Point: entry, Line: b.line, Span: Span{h.Start, bodyStart(h.Body, h.End)}})
		b.edge(at, entry, EdgeNext)
		entry = b.expr(h.Type, entry)
		at = entry // the next clause is tried when this one's type does not match
		body := b.point()
		b.edge(entry, body, EdgeNext)
		ends = append(ends, b.block(h.Body, body))
	}
	b.outward(at)
	if finally == NoPoint {
		return b.join(ends...)
	}
	b.popHandler()
	b.popCleanup()
	b.outward(b.block(s.Finally, b.reopen(finally)))
	after := b.join(ends...)
	if after == NoPoint {
		return NoPoint
	}
	return b.block(s.Finally, after)
}

// orElse builds an else block that runs only if control gets there.
func (b *flowBuilder) orElse(body []Stmt, cur Point) Point {
	if cur == NoPoint {
		return NoPoint
	}
	return b.block(body, cur)
}

func (b *flowBuilder) match(s *Match, cur Point) Point {
	cur = b.expr(s.Subject, cur)
	ends := make([]Point, 0, len(s.Cases)+1)
	for _, c := range s.Cases {
		b.line = b.file.Line(c.Start)
		entry := b.point()
		b.edge(cur, entry, EdgeNext)
		b.flow.Statements = append(b.flow.Statements, StatementStart{Point: entry, Line: b.line, Span: c.Header})
		for _, p := range c.Pattern {
			entry = b.expr(p, entry)
			// A value pattern compares with ==, a class pattern asks isinstance: either may run code.
			entry = b.site(entry, Site{Kind: SiteCompare, Name: "==", Node: p, Operands: []Expr{s.Subject, p}})
		}
		no := b.point()
		b.edge(entry, no, EdgeNext)
		if c.Guard != nil {
			var failed Point
			entry, failed = b.condition(c.Guard, entry)
			b.edge(failed, no, EdgeNext)
		}
		body := b.point()
		b.edge(entry, body, EdgeNext)
		ends = append(ends, b.block(c.Body, body))
		cur = b.reopen(no)
	}
	return b.join(append(ends, cur)...)
}

// functionDef evaluates decorators and defaults in order, then applies the decorators from the innermost out.
func (b *flowBuilder) functionDef(fn *Function, cur Point) Point {
	for _, d := range fn.Decorators {
		cur = b.expr(d, cur)
	}
	for _, p := range fn.Params {
		cur = b.expr(p.Default, cur)
	}
	return b.decorate(fn.Decorators, cur)
}

func (b *flowBuilder) classDef(s *ClassDef, cur Point) Point {
	for _, d := range s.Class.Decorators {
		cur = b.expr(d, cur)
	}
	for _, base := range s.Class.Bases {
		cur = b.expr(base, cur)
	}
	for _, k := range s.Class.Keywords {
		cur = b.expr(k.Value, cur)
	}
	cur = b.site(cur, Site{Kind: SiteCall, Name: "__build_class__", Node: s})
	return b.decorate(s.Class.Decorators, cur)
}

func (b *flowBuilder) decorate(decorators []Expr, cur Point) Point {
	for i := len(decorators) - 1; i >= 0; i-- {
		cur = b.site(cur, Site{Kind: SiteCall, Name: LastName(decorators[i]), Node: decorators[i]})
	}
	return cur
}

// suspend adds a point where the frame may be left and resumed.
func (b *flowBuilder) suspend(cur Point, span Span) Point {
	if cur == NoPoint {
		return cur
	}
	resumed := b.point()
	b.edge(cur, resumed, EdgeNext)
	b.edge(cur, b.flow.Exit, EdgeYield)
	b.flow.Resumptions = append(b.flow.Resumptions, Resumption{Point: resumed, Line: b.file.Line(span.Start), LastLine: b.file.Line(max(span.Start, span.End-1))})
	return resumed
}
