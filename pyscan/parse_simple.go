package pyscan

import "strings"

// simpleStatement reads one simple statement, without what ends it.
func (p *parser) simpleStatement() Stmt {
	start := p.start()
	switch p.kind() {
	case keywordPass, keywordBreak, keywordContinue:
		word := p.word()
		p.at++
		return &Simple{p.since(start), word}
	case keywordReturn:
		p.at++
		ret := &Return{}
		if !p.endsStatement() {
			ret.Value = p.starExpressions()
		}
		ret.Span = p.since(start)
		return ret
	case keywordRaise:
		return p.raiseStatement(start)
	case keywordDel:
		p.at++
		del := &Delete{}
		if p.endsStatement() {
			p.fail("the name to delete is missing here")
		} else {
			open := p.kind() == opLeftParen
			target := p.targets()
			if list, ok := target.(*Tuple); ok && (!open || p.text[list.Start] != '(') {
				del.Targets = list.Elems
			} else {
				del.Targets = []Expr{target}
			}
		}
		del.Span = p.since(start)
		return del
	case keywordGlobal, keywordNonlocal:
		return p.scope(start)
	case keywordAssert:
		p.at++
		assert := &Assert{Test: p.expression()}
		if p.accept(opComma) {
			assert.Message = p.expression()
		}
		assert.Span = p.since(start)
		return assert
	case keywordImport:
		return p.importStatement(start)
	case keywordFrom:
		return p.fromImport(start)
	case tokenName:
		if p.kindAfter(1) == tokenName || p.kindAfter(1) == tokenString || p.kindAfter(1) == tokenNumber {
			switch word := p.word(); word {
			case "type":
				if p.kindAfter(1) == tokenName {
					return p.typeAlias(start)
				}
			case "print", "exec":
				return p.badLine(start, "missing parentheses in call to '"+word+"'")
			}
		}
	}
	return p.expressionStatement(start)
}

// endsStatement says whether the simple statement has no more tokens.
func (p *parser) endsStatement() bool { return p.atLineEnd() || p.kind() == opSemicolon }

func (p *parser) raiseStatement(start int) Stmt {
	p.at++
	raise := &Raise{}
	if !p.endsStatement() {
		raise.Exc = p.expression()
		if p.accept(keywordFrom) {
			raise.Cause = p.expression()
		}
	}
	raise.Span = p.since(start)
	return raise
}

func (p *parser) scope(start int) Stmt {
	scope := &Scope{Nonlocal: p.kind() == keywordNonlocal}
	p.at++
	for p.kind() == tokenName {
		scope.Names = append(scope.Names, p.word())
		p.at++
		if !p.accept(opComma) {
			break
		}
	}
	scope.Span = p.since(start)
	return scope
}

func (p *parser) typeAlias(start int) Stmt {
	p.at++
	alias := &Assign{Targets: []Expr{p.name()}}
	p.typeParameters()
	if p.expect(opEqual, "a '=' is missing here") {
		alias.Annotation = p.expression()
	}
	alias.Span = p.since(start)
	return alias
}

// expressionStatement reads an expression or an assignment of any kind.
func (p *parser) expressionStatement(start int) Stmt {
	if !startsExpression[p.kind()] && p.kind() != opStar {
		return p.badLine(start, "this does not parse as Python")
	}
	first := p.starExpressions()
	switch kind := p.kind(); {
	case kind == opEqual:
		return p.assignment(start, first)
	case kind == opColon && isTarget(first):
		p.at++
		assign := take(&p.assigns)
		assign.Targets = []Expr{first}
		assign.Annotation = p.expression()
		if p.accept(opEqual) {
			assign.Value = p.starExpressions()
		}
		assign.Span = p.since(start)
		return assign
	case kind > opEqual && kind <= opDoubleStarEqual:
		op := p.word()
		p.at++
		value := p.starExpressions()
		return &AugAssign{p.since(start), first, op[:len(op)-1], value}
	}
	stmt := take(&p.exprStmts)
	stmt.Span, stmt.Value = p.since(start), first
	return stmt
}

// isTarget says whether an annotation may follow the expression.
func isTarget(e Expr) bool {
	switch e.(type) {
	case *Name, *Attribute, *Subscript:
		return true
	}
	return false
}

func (p *parser) assignment(start int, first Expr) Stmt {
	assign := take(&p.assigns)
	base := len(p.exprStack)
	p.exprStack = append(p.exprStack, first)
	for p.accept(opEqual) {
		p.exprStack = append(p.exprStack, p.starExpressions())
	}
	parts := p.exprsFrom(base)
	last := len(parts) - 1
	assign.Span, assign.Targets, assign.Value = p.since(start), parts[:last:last], parts[last]
	return assign
}

func (p *parser) importStatement(start int) Stmt {
	p.at++
	imported := &Import{}
	for {
		if p.kind() != tokenName {
			p.fail("the module's name is missing here")
			break
		}
		imported.Names = append(imported.Names, p.importedName(p.dotted))
		if !p.accept(opComma) {
			break
		}
	}
	imported.Span = p.since(start)
	return imported
}

func (p *parser) importedName(read func() string) *ImportedName {
	start := p.start()
	name := &ImportedName{Name: read()}
	if p.accept(keywordAs) {
		if p.kind() == tokenName {
			name.Alias = p.word()
			p.at++
		} else {
			p.fail("the name after 'as' is missing here")
		}
	}
	name.Span = p.since(start)
	return name
}

// dotted reads `a.b.c`.
func (p *parser) dotted() string {
	start := p.start()
	count := 1
	p.at++
	for p.kind() == opDot && p.kindAfter(1) == tokenName {
		p.at += 2
		count++
	}
	span := p.since(start)
	text := p.text[span.Start:span.End]
	if count > 1 && strings.ContainsAny(text, " \t\\\n\r\f") {
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\\\n\r\f", r) {
				return -1
			}
			return r
		}, text)
	}
	return text
}

func (p *parser) oneWord() string {
	word := p.word()
	p.at++
	return word
}

func (p *parser) fromImport(start int) Stmt {
	p.at++
	imported := &Import{From: true}
	for {
		if p.accept(opDot) {
			imported.Level++
		} else if p.accept(opEllipsis) {
			imported.Level += 3
		} else {
			break
		}
	}
	if p.kind() == tokenName {
		imported.Module = p.dotted()
	}
	if p.expect(keywordImport, "'import' is missing here") {
		p.importedNames(imported)
	}
	imported.Span = p.since(start)
	return imported
}

func (p *parser) importedNames(imported *Import) {
	if p.kind() == opStar {
		name := &ImportedName{Span: p.tokenSpan(p.at), Name: "*"}
		p.at++
		imported.Names = append(imported.Names, name)
		return
	}
	parens := p.accept(opLeftParen)
	for p.kind() == tokenName {
		imported.Names = append(imported.Names, p.importedName(p.oneWord))
		if !p.accept(opComma) {
			break
		}
	}
	if len(imported.Names) == 0 {
		p.fail("the imported name is missing here")
	}
	if parens {
		for !p.atLineEnd() && p.kind() != opRightParen {
			p.fail("this does not parse as Python")
			p.at++
		}
		p.accept(opRightParen)
	}
}
