package pyscan

// matchAhead tells a match statement from a use of the name: its logical line ends with a colon and the
// block below starts with `case`.
func (p *parser) matchAhead() bool {
	switch p.kindAfter(1) {
	case opEqual, opDot, opComma, opColon, tokenNewline, opRightParen:
		return false
	}
	at := p.at
	for p.tokens[at].kind != tokenNewline && p.tokens[at].kind != tokenEnd {
		at++
	}
	if at+2 >= len(p.tokens) || p.tokens[at-1].kind != opColon || p.tokens[at+1].kind != tokenIndent {
		return false
	}
	next := p.tokens[at+2]
	return next.kind == tokenName && p.text[next.start:next.end] == "case"
}

func (p *parser) matchStatement(start int) Stmt {
	p.at++
	match := &Match{Subject: p.starExpressions()}
	match.Header = p.header(start)
	end := match.Header.End
	p.accept(tokenNewline)
	p.accept(tokenIndent)
	if p.enter() {
		for p.isWord("case") {
			one := p.matchCase()
			match.Cases = append(match.Cases, one)
			end = max(end, one.End)
		}
		p.depth--
	}
	if p.kind() != tokenDedent && p.kind() != tokenEnd {
		p.fail("a 'case' is missing here")
		p.skipBlock()
	}
	p.accept(tokenDedent)
	match.Span = Span{start, end}
	return match
}

func (p *parser) matchCase() *MatchCase {
	start := p.start()
	p.at++
	one := &MatchCase{}
	for { // an open sequence pattern: `case a, b:`
		p.pattern(one)
		if !p.accept(opComma) || p.kind() == opColon || p.kind() == keywordIf {
			break
		}
	}
	if p.accept(keywordIf) {
		one.Guard = p.namedExpression()
	}
	one.Header = p.header(start)
	one.Body = p.block()
	one.Span = Span{start, p.endAfter(one.Header.End, one.Body)}
	return one
}

// pattern gathers what one pattern evaluates and what it binds.
func (p *parser) pattern(one *MatchCase) {
	if !p.enter() {
		return
	}
	defer func() { p.depth-- }()
	if p.accept(opStar) || p.accept(opDoubleStar) {
		p.capture(one)
		return
	}
	for {
		p.closedPattern(one)
		if !p.accept(opOr) {
			break
		}
	}
	if p.accept(keywordAs) {
		p.capture(one)
	}
}

// capture reads a name that the pattern binds; `_` binds nothing.
func (p *parser) capture(one *MatchCase) {
	if p.kind() != tokenName {
		p.fail("a name is missing here")
		return
	}
	if p.word() != "_" {
		one.Captures = append(one.Captures, &Name{p.tokenSpan(p.at), p.word()})
	}
	p.at++
}

func (p *parser) closedPattern(one *MatchCase) {
	switch p.kind() {
	case tokenName:
		if p.kindAfter(1) != opDot && p.kindAfter(1) != opLeftParen {
			p.capture(one)
			return
		}
		start := p.start()
		var value Expr = p.name()
		for p.accept(opDot) {
			value = p.attribute(start, value)
		}
		one.Pattern = append(one.Pattern, value)
		if p.kind() == opLeftParen {
			p.patternList(one, opRightParen)
		}
	case opLeftParen:
		p.patternList(one, opRightParen)
	case opLeftBracket:
		p.patternList(one, opRightBracket)
	case opLeftBrace:
		p.patternList(one, opRightBrace)
	case tokenNumber, tokenString, tokenFString, opMinus, keywordNone, keywordTrue, keywordFalse:
		one.Pattern = append(one.Pattern, p.binary(5)) // signs, and the sum of a complex number
	default:
		p.fail("this is no pattern")
		if !p.atLineEnd() && p.kind() != opColon {
			p.at++
		}
	}
}

// patternList reads the patterns inside brackets: of a sequence, a mapping or a class.
func (p *parser) patternList(one *MatchCase, closing tokenKind) {
	p.at++
	for p.kind() != closing && !p.atLineEnd() {
		before := p.at
		if p.kind() == tokenName && p.kindAfter(1) == opEqual { // an attribute of a class pattern
			p.at += 2
		}
		p.pattern(one)
		if p.accept(opColon) { // the value of a mapping's key
			p.pattern(one)
		}
		if !p.accept(opComma) && p.kind() != closing {
			p.fail("a ',' is missing here")
			if p.at == before {
				p.at++
			}
		}
	}
	p.accept(closing)
}
