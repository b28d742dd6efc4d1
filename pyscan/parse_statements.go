package pyscan

// statements pushes the statements up to the end of the block.
func (p *parser) statements() {
	for {
		switch p.kind() {
		case tokenEnd, tokenDedent:
			return
		case tokenNewline:
			p.at++
		case tokenIndent:
			p.fail("this line is indented more than its block")
			p.at++
			if p.enter() {
				p.statements()
				p.depth--
			}
			p.accept(tokenDedent)
		default:
			p.statement()
		}
	}
}

func (p *parser) push(stmt Stmt) { p.stmtStack = append(p.stmtStack, stmt) }

// statement pushes one compound statement or a line of simple ones.
func (p *parser) statement() {
	start := p.start()
	switch p.kind() {
	case keywordIf:
		p.push(p.ifStatement(start))
	case keywordFor:
		p.push(p.forStatement(start, false))
	case keywordWhile:
		p.push(p.whileStatement(start))
	case keywordWith:
		p.push(p.withStatement(start, false))
	case keywordTry:
		p.push(p.tryStatement(start))
	case keywordDef:
		p.push(p.functionDef(start, nil))
	case keywordClass:
		p.push(p.classDef(start, nil))
	case opAt:
		p.decorated(start)
	case keywordAsync:
		p.asyncStatement(start)
	case keywordElse, keywordElif, keywordExcept, keywordFinally:
		p.push(p.looseClause(start))
	default:
		if p.kind() == tokenName && p.word() == "match" && p.matchAhead() {
			p.push(p.matchStatement(start))
			return
		}
		p.simpleLine()
	}
}

func (p *parser) asyncStatement(start int) {
	switch p.kindAfter(1) {
	case keywordDef:
		p.push(p.functionDef(start, nil))
	case keywordFor:
		p.at++
		p.push(p.forStatement(start, true))
	case keywordWith:
		p.at++
		p.push(p.withStatement(start, true))
	default:
		p.push(p.badLine(start, "'async' stands before def, for or with"))
	}
}

// simpleLine pushes the simple statements of one logical line.
func (p *parser) simpleLine() {
	for {
		p.push(p.simpleStatement())
		if p.at > 0 && p.tokens[p.at-1].kind == tokenDedent {
			return // a bad line with a block below it
		}
		if p.accept(opSemicolon) {
			if p.accept(tokenNewline) || p.atLineEnd() {
				return
			}
			continue
		}
		if !p.atLineEnd() {
			p.push(p.badLine(p.start(), "this does not parse as Python"))
		}
		p.accept(tokenNewline)
		return
	}
}

// badLine reads the rest of a logical line that is no statement, keeping the expressions that can be read
// in it and the block below it, if it opens one.
func (p *parser) badLine(start int, message string) Stmt {
	p.fail(message)
	bad := &BadStmt{}
	colon := false
	base := len(p.exprStack)
	for !p.atLineEnd() {
		before := p.at
		colon = p.kind() == opColon
		if startsExpression[p.kind()] {
			p.exprStack = append(p.exprStack, p.namedExpression())
		}
		if p.at == before {
			p.at++
		}
	}
	bad.Exprs = p.exprsFrom(base)
	bad.Span = p.since(start)
	if colon && p.kind() == tokenNewline && p.kindAfter(1) == tokenIndent {
		p.at++
		bad.Stmts = p.indented()
		bad.End = p.endAfter(bad.End, bad.Stmts)
	}
	return bad
}

// looseClause reads an else, elif, except or finally without its statement.
func (p *parser) looseClause(start int) Stmt {
	bad := &BadStmt{}
	p.fail("this '" + p.word() + "' belongs to no statement")
	p.at++
	base := len(p.exprStack)
	for !p.atLineEnd() && p.kind() != opColon {
		before := p.at
		if startsExpression[p.kind()] {
			p.exprStack = append(p.exprStack, p.namedExpression())
		}
		if p.at == before {
			p.at++
		}
	}
	bad.Exprs = p.exprsFrom(base)
	bad.Stmts = p.block()
	bad.Span = p.since(start)
	bad.End = p.endAfter(bad.End, bad.Stmts)
	return bad
}

// endAfter is the end of a statement whose last body is stmts and which ends at end without it.
func (p *parser) endAfter(end int, stmts []Stmt) int {
	if len(stmts) > 0 {
		return max(end, stmts[len(stmts)-1].Range().End)
	}
	return end
}

// header reads the colon that opens a body and gives the header's span.
func (p *parser) header(start int) Span {
	if p.kind() != opColon {
		p.fail("a ':' is missing here")
		// Skip what stands between, so that the body below is still read.
		for !p.atLineEnd() && p.kind() != opColon {
			p.at++
		}
	}
	p.accept(opColon)
	return p.since(start)
}

// block reads a body: the colon (unless header has read it), then an indented block or the rest of the line.
func (p *parser) block() []Stmt {
	p.accept(opColon)
	if p.kind() != tokenNewline {
		if p.atLineEnd() {
			return nil
		}
		base := len(p.stmtStack)
		if p.enter() {
			p.simpleLine()
			p.depth--
		}
		return takeList(&p.stmtLists, &p.stmtStack, base)
	}
	if p.kindAfter(1) != tokenIndent {
		p.fail("an indented block is missing here")
		p.at++
		return nil
	}
	p.at++
	return p.indented()
}

// indented reads an INDENT, the statements of the block, and its DEDENT.
func (p *parser) indented() []Stmt {
	base := len(p.stmtStack)
	p.at++
	if p.enter() {
		p.statements()
		p.depth--
	} else {
		p.skipBlock()
	}
	p.accept(tokenDedent)
	return takeList(&p.stmtLists, &p.stmtStack, base)
}

// skipBlock moves to the DEDENT that ends the current block.
func (p *parser) skipBlock() {
	for open := 0; p.kind() != tokenEnd; p.at++ {
		switch p.kind() {
		case tokenIndent:
			open++
		case tokenDedent:
			if open == 0 {
				return
			}
			open--
		}
	}
}

// ifStatement reads an if or, nested in its Else, an elif; a long chain is read in a loop.
func (p *parser) ifStatement(start int) Stmt {
	var chain []*If
	end := 0
	for {
		link := &If{Span: Span{start, start}, ElseIf: len(chain) > 0}
		p.at++
		link.Test = p.namedExpression()
		link.Header = p.header(start)
		link.Body = p.block()
		end = p.endAfter(max(end, link.Header.End), link.Body)
		if len(chain) > 0 {
			chain[len(chain)-1].Else = []Stmt{link}
		}
		chain = append(chain, link)
		if p.kind() != keywordElif {
			break
		}
		start = p.start()
		if len(chain)+p.depth >= maxDepth {
			rest := p.looseClause(start)
			chain[len(chain)-1].Else = []Stmt{rest}
			end = max(end, rest.Range().End)
			break
		}
	}
	if p.kind() == keywordElse {
		last := chain[len(chain)-1]
		last.Else, end = p.elseBlock(end)
	}
	for _, link := range chain {
		link.End = end
	}
	return chain[0]
}

// elseBlock reads an else clause; end is that of the statement so far.
func (p *parser) elseBlock(end int) ([]Stmt, int) {
	start := p.start()
	p.at++
	header := p.header(start)
	body := p.block()
	return body, p.endAfter(max(end, header.End), body)
}

func (p *parser) whileStatement(start int) Stmt {
	p.at++
	loop := &While{Test: p.namedExpression(), Header: p.header(start), Body: p.block()}
	end := p.endAfter(loop.Header.End, loop.Body)
	if p.kind() == keywordElse {
		loop.Else, end = p.elseBlock(end)
	}
	loop.Span = Span{start, end}
	return loop
}

func (p *parser) forStatement(start int, async bool) Stmt {
	p.at++
	loop := &For{Async: async, Target: p.targets()}
	p.expect(keywordIn, "'in' is missing here")
	loop.Iter = p.starExpressions()
	loop.Header = p.header(start)
	loop.Body = p.block()
	end := p.endAfter(loop.Header.End, loop.Body)
	if p.kind() == keywordElse {
		loop.Else, end = p.elseBlock(end)
	}
	loop.Span = Span{start, end}
	return loop
}

func (p *parser) withStatement(start int, async bool) Stmt {
	p.at++
	with := &With{Async: async}
	if p.kind() == opLeftParen && !p.tokens[p.at].comprehension && p.parenthesizedItems() {
		p.at++
		for p.kind() != opRightParen && !p.atLineEnd() {
			before := p.at
			with.Items = append(with.Items, p.withItem())
			if !p.accept(opComma) && p.kind() != opRightParen {
				p.fail("a ',' or ')' is missing here")
				if p.at == before {
					p.at++
				}
			}
		}
		p.accept(opRightParen)
	} else {
		for {
			with.Items = append(with.Items, p.withItem())
			if !p.accept(opComma) {
				break
			}
		}
	}
	with.Header = p.header(start)
	with.Body = p.block()
	with.Span = Span{start, p.endAfter(with.Header.End, with.Body)}
	return with
}

// parenthesizedItems says whether the parenthesis that comes next holds all items of a with statement:
// it is closed right before the colon.
func (p *parser) parenthesizedItems() bool {
	open := 0
	for at := p.at; ; at++ {
		switch p.tokens[at].kind {
		case opLeftParen, opLeftBracket, opLeftBrace:
			open++
		case opRightParen, opRightBracket, opRightBrace:
			if open--; open == 0 {
				return p.tokens[at+1].kind == opColon
			}
		case tokenNewline, tokenEnd:
			return false
		}
	}
}

func (p *parser) withItem() *WithItem {
	start := p.start()
	item := &WithItem{}
	if p.kind() == keywordYield {
		item.Context = p.yieldExpression()
	} else {
		item.Context = p.namedExpression()
	}
	if p.accept(keywordAs) {
		item.Target = p.target()
	}
	item.Span = p.since(start)
	return item
}

func (p *parser) tryStatement(start int) Stmt {
	p.at++
	try := &Try{}
	end := p.header(start).End
	try.Body = p.block()
	end = p.endAfter(end, try.Body)
	for p.kind() == keywordExcept {
		handler := p.handler(try)
		try.Handlers = append(try.Handlers, handler)
		end = max(end, handler.End)
	}
	if len(try.Handlers) > 0 && p.kind() == keywordElse {
		try.Else, end = p.elseBlock(end)
	}
	if p.kind() == keywordFinally {
		try.Finally, end = p.elseBlock(end)
	} else if len(try.Handlers) == 0 {
		p.fail("an 'except' or 'finally' is missing here")
	}
	try.Span = Span{start, end}
	return try
}

func (p *parser) handler(try *Try) *Handler {
	start := p.start()
	p.at++
	handler := &Handler{}
	if p.accept(opStar) {
		try.Star = true
	}
	if p.kind() != opColon && !p.atLineEnd() {
		first := p.start()
		handler.Type = p.expression()
		if p.kind() == opComma { // Python 3.14 allows several types without parentheses
			base := len(p.exprStack)
			p.exprStack = append(p.exprStack, handler.Type)
			for p.accept(opComma) {
				p.exprStack = append(p.exprStack, p.expression())
			}
			elems := p.exprsFrom(base)
			handler.Type = &Tuple{p.since(first), elems}
		}
		if p.accept(keywordAs) && p.kind() == tokenName {
			handler.Name = p.word()
			p.at++
		}
	}
	end := p.header(start).End
	handler.Body = p.block()
	handler.Span = Span{start, p.endAfter(end, handler.Body)}
	return handler
}
