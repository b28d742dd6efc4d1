package pyscan

// closes reads what should be the closing bracket. A wrong one is left to the bracket it closes.
func (p *parser) closes(kind tokenKind) {
	switch {
	case p.accept(kind):
	case kind == opRightParen:
		p.fail("a ')' is missing here")
	case kind == opRightBracket:
		p.fail("a ']' is missing here")
	default:
		p.fail("a '}' is missing here")
	}
}

// listItem reports whether a bracketed list goes on after an item that started at token before:
// it reads the comma, and past what does not belong there.
func (p *parser) listItem(before int, closing tokenKind) bool {
	if p.accept(opComma) {
		return p.kind() != closing && !p.atLineEnd()
	}
	switch kind := p.kind(); {
	case kind == closing || p.atLineEnd():
		return false
	case kind == opRightParen || kind == opRightBracket || kind == opRightBrace:
		p.fail("this bracket does not match the one that is open")
		return false
	}
	p.fail("this does not parse as Python; is a comma missing?")
	if p.at == before || !startsExpression[p.kind()] {
		p.at++
	}
	return !p.atLineEnd() && p.kind() != closing
}

// arguments reads `(…)` of a call or a class header. It leaves the tallest argument's height in h.
func (p *parser) arguments() (args []Expr, keywords []*Keyword) {
	open := p.at
	start := p.start()
	p.at++
	if p.tokens[open].comprehension && p.soleGenerator(open) {
		return []Expr{p.comprehension(start, GeneratorExpression, opRightParen)}, nil
	}
	base := len(p.exprStack)
	tallest := 0
	for more := p.kind() != opRightParen && !p.atLineEnd(); more; {
		before := p.at
		p.h = 0
		at := p.start()
		switch {
		case p.kind() == opDoubleStar:
			p.at++
			value := p.expression()
			keyword := take(&p.keywords)
			keyword.Span, keyword.Value = p.since(at), value
			keywords = append(keywords, keyword)
		case p.kind() == tokenName && p.kindAfter(1) == opEqual:
			name := p.word()
			p.at += 2
			value := p.expression()
			keyword := take(&p.keywords)
			keyword.Span, keyword.Name, keyword.Value = p.since(at), name, value
			keywords = append(keywords, keyword)
		case p.kind() == opStar:
			p.at++
			value := p.expression()
			p.exprStack = append(p.exprStack, &Starred{p.since(at), value})
		default:
			arg := p.namedExpression()
			if p.at > before {
				p.exprStack = append(p.exprStack, arg)
			}
		}
		tallest = max(tallest, p.h)
		more = p.listItem(before, opRightParen)
	}
	args = p.exprsFrom(base)
	p.closes(opRightParen)
	p.h = tallest
	return args, keywords
}

// soleGenerator says whether the parenthesis holds one generator expression and no other argument: its `for`
// comes before any comma of its own.
func (p *parser) soleGenerator(open int) bool {
	depth := 0
	lambdas := 0
	for at := open; at < len(p.tokens); at++ {
		switch p.tokens[at].kind {
		case opLeftParen, opLeftBracket, opLeftBrace:
			depth++
		case opRightParen, opRightBracket, opRightBrace:
			if depth--; depth == 0 {
				return false
			}
		case keywordLambda:
			if depth == 1 {
				lambdas++
			}
		case opColon:
			if depth == 1 && lambdas > 0 {
				lambdas--
			}
		case opComma:
			if depth == 1 && lambdas == 0 {
				return false
			}
		case keywordFor:
			if depth == 1 {
				return true
			}
		case tokenNewline, tokenEnd:
			return false
		}
	}
	return false
}

// index reads `[…]` of a subscript.
func (p *parser) index() Expr {
	p.at++
	start := p.start()
	base := len(p.exprStack)
	tallest := 0
	comma := false
	for more := p.kind() != opRightBracket && !p.atLineEnd(); more; {
		before := p.at
		p.h = 0
		p.exprStack = append(p.exprStack, p.indexItem())
		tallest = max(tallest, p.h)
		comma = comma || p.kind() == opComma
		more = p.listItem(before, opRightBracket)
	}
	items := p.exprsFrom(base)
	span := p.since(start)
	var index Expr
	switch {
	case len(items) == 0:
		index = p.bad("an index is missing here")
	case len(items) == 1 && !comma && !isStarred(items[0]): // `x[*a]` is a tuple
		index = items[0]
	default:
		tallest++
		index = &Tuple{span, items}
	}
	p.closes(opRightBracket)
	p.h = tallest
	return index
}

func isStarred(e Expr) bool {
	_, ok := e.(*Starred)
	return ok
}

// indexItem reads one index or a slice.
func (p *parser) indexItem() Expr {
	if p.kind() == opStar {
		return p.starred()
	}
	start := p.start()
	slice := &Slice{}
	tallest := 0
	read := func() Expr {
		switch p.kind() {
		case opColon, opComma, opRightBracket:
			return nil
		}
		if p.atLineEnd() {
			return nil
		}
		e := p.namedExpression()
		tallest = max(tallest, p.h)
		return e
	}
	slice.Lower = read()
	if p.kind() != opColon && slice.Lower != nil {
		return slice.Lower
	}
	if p.accept(opColon) {
		slice.Upper = read()
		if p.accept(opColon) {
			slice.Step = read()
		}
	} else {
		return p.bad("an index is missing here")
	}
	p.raise(tallest)
	slice.Span = p.since(start)
	return slice
}

// parenthesized reads `(…)`: a tuple, a generator expression, or an expression in parentheses, which is the
// expression itself.
func (p *parser) parenthesized() Expr {
	start := p.start()
	open := p.at
	p.at++
	if p.accept(opRightParen) {
		p.h = 1
		return &Tuple{Span: p.since(start)}
	}
	if p.tokens[open].comprehension && p.soleGenerator(open) {
		return p.comprehension(start, GeneratorExpression, opRightParen)
	}
	base := len(p.exprStack)
	tallest := 0
	comma := false
	for more := !p.atLineEnd(); more; {
		before := p.at
		p.exprStack = append(p.exprStack, p.starOrNamed())
		tallest = max(tallest, p.h)
		comma = comma || p.kind() == opComma
		more = p.listItem(before, opRightParen)
	}
	elems := p.exprsFrom(base)
	p.closes(opRightParen)
	p.h = tallest
	if len(elems) == 1 && !comma {
		return elems[0]
	}
	p.raise(tallest)
	return &Tuple{p.since(start), elems}
}

func (p *parser) list() Expr {
	start := p.start()
	open := p.at
	p.at++
	if p.tokens[open].comprehension {
		return p.comprehension(start, ListComprehension, opRightBracket)
	}
	elems := p.elements(opRightBracket)
	tallest := p.h
	p.closes(opRightBracket)
	p.raise(tallest)
	return &List{p.since(start), elems}
}

// elements reads the elements of a list or a set, without the closing bracket.
func (p *parser) elements(closing tokenKind) []Expr {
	base := len(p.exprStack)
	tallest := 0
	for more := p.kind() != closing && !p.atLineEnd(); more; {
		before := p.at
		p.exprStack = append(p.exprStack, p.starOrNamed())
		tallest = max(tallest, p.h)
		more = p.listItem(before, closing)
	}
	p.h = tallest
	return p.exprsFrom(base)
}

// braces reads a dict or a set.
func (p *parser) braces() Expr {
	start := p.start()
	open := p.at
	p.at++
	if p.tokens[open].comprehension {
		return p.comprehension(start, SetComprehension, opRightBrace)
	}
	if p.accept(opRightBrace) {
		p.h = 1
		return &Dict{Span: p.since(start)}
	}
	if p.kind() != opDoubleStar {
		before := p.at
		p.h = 0
		first := p.starOrNamed()
		if p.kind() != opColon {
			return p.set(start, before, first)
		}
		return p.dict(start, before, first)
	}
	return p.dict(start, p.at, nil)
}

func (p *parser) set(start, before int, first Expr) Expr {
	base := len(p.exprStack)
	p.exprStack = append(p.exprStack, first)
	tallest := p.h
	if p.listItem(before, opRightBrace) {
		rest := p.elements(opRightBrace)
		p.exprStack = append(p.exprStack, rest...)
		tallest = max(tallest, p.h)
	}
	elems := p.exprsFrom(base)
	p.closes(opRightBrace)
	p.raise(tallest)
	return &Set{p.since(start), elems}
}

// dict reads a dict; key is the first key, read already, or nil before `**`.
func (p *parser) dict(start, before int, key Expr) Expr {
	dict := &Dict{}
	tallest := p.h
	for {
		if key == nil && p.accept(opDoubleStar) {
			dict.Keys = append(dict.Keys, nil)
			dict.Values = append(dict.Values, p.binary(1))
		} else {
			if key == nil {
				key = p.starOrNamed()
				tallest = max(tallest, p.h)
			}
			dict.Keys = append(dict.Keys, key)
			if p.accept(opColon) {
				dict.Values = append(dict.Values, p.expression())
			} else {
				dict.Values = append(dict.Values, p.bad("a ':' is missing here"))
			}
		}
		tallest = max(tallest, p.h)
		if !p.listItem(before, opRightBrace) {
			break
		}
		key, before = nil, p.at
	}
	p.closes(opRightBrace)
	p.raise(tallest)
	dict.Span = p.since(start)
	return dict
}

var scopeNames = [...]string{
	ListComprehension: "<listcomp>", SetComprehension: "<setcomp>", DictComprehension: "<dictcomp>",
	GeneratorExpression: "<genexpr>",
}

// comprehension reads the element, the clauses and the closing bracket. All but the first iterable run in
// the comprehension's own scope.
func (p *parser) comprehension(start int, kind ComprehensionKind, closing tokenKind) Expr {
	fn := p.newFunction(start, scopeNames[kind])
	fn.NameSpan = Span{start, start}
	c := &Comprehension{Kind: kind, Function: fn}
	fn.Comprehension = c
	outerFunction, outerClass := p.function, p.class
	p.function, p.class = fn, nil
	p.h = 0
	if p.kind() == opDoubleStar { // `{**a for …}` is no Python
		p.fail("this does not parse as Python")
		p.at++
	}
	c.Value = p.starOrNamed()
	tallest := p.h
	if kind == SetComprehension && p.accept(opColon) {
		c.Kind, c.Key = DictComprehension, c.Value
		c.Value = p.expression()
		tallest = max(tallest, p.h)
		fn.Name = scopeNames[DictComprehension]
	}
	for p.kind() == keywordFor || p.kind() == keywordAsync && p.kindAfter(1) == keywordFor {
		tallest = max(tallest, p.forClause(c, outerFunction, outerClass))
	}
	p.function, p.class = outerFunction, outerClass
	fn.QualName = p.qualify(fn.Name)
	fn.Generator = kind == GeneratorExpression
	for p.kind() != closing && !p.atLineEnd() {
		p.fail("this does not parse as Python")
		p.at++
	}
	p.closes(closing)
	p.raise(tallest + 1) // the clauses are nodes too
	c.Span = p.since(start)
	p.closeFunction(fn, c.End)
	return c
}

// forClause reads `for target in iter if condition…` and returns its height.
func (p *parser) forClause(c *Comprehension, outerFunction *Function, outerClass *Class) int {
	fn := p.function
	start := p.start()
	clause := &ForClause{Async: p.accept(keywordAsync)}
	p.at++
	clause.Target = p.targets()
	tallest := p.h
	p.expect(keywordIn, "'in' is missing here")
	if len(c.Clauses) == 0 {
		p.function, p.class = outerFunction, outerClass
	}
	clause.Iter = p.clauseOperand()
	tallest = max(tallest, p.h)
	p.function, p.class = fn, nil
	for p.accept(keywordIf) {
		clause.Conditions = append(clause.Conditions, p.clauseOperand())
		tallest = max(tallest, p.h)
	}
	clause.Span = p.since(start)
	c.Clauses = append(c.Clauses, clause)
	return tallest
}

// clauseOperand reads an iterable or a condition of a comprehension: no bare conditional expression, whose
// `if` would be the next condition.
func (p *parser) clauseOperand() Expr {
	if p.kind() == keywordLambda {
		return p.lambda()
	}
	if p.kind() == tokenName && p.kindAfter(1) == opWalrus {
		return p.namedExpression()
	}
	return p.orTest()
}
