package pyscan

import "strings"

// bad is the empty expression where one is missing.
func (p *parser) bad(message string) Expr {
	p.fail(message)
	p.h = 1
	at := p.start()
	p.emptyAt, p.emptyOffset = p.at, at
	return &BadExpr{Span: Span{at, at}}
}

// starExpressions reads what may stand right of `=`, `return`, `in`: expressions separated by commas make a
// tuple, stars and yield are allowed.
func (p *parser) starExpressions() Expr {
	if p.kind() == keywordYield {
		return p.yieldExpression()
	}
	start := p.start()
	first := p.starOrNamed()
	if p.kind() != opComma {
		return first
	}
	return p.tupleAfter(start, first)
}

// tupleAfter reads the rest of a tuple without parentheses.
func (p *parser) tupleAfter(start int, first Expr) Expr {
	base := len(p.exprStack)
	p.exprStack = append(p.exprStack, first)
	tallest := p.h
	for p.accept(opComma) && (startsExpression[p.kind()] || p.kind() == opStar) {
		p.exprStack = append(p.exprStack, p.starOrNamed())
		tallest = max(tallest, p.h)
	}
	elems := p.exprsFrom(base)
	p.raise(tallest)
	return &Tuple{p.since(start), elems}
}

func (p *parser) starOrNamed() Expr {
	if p.kind() == opStar {
		return p.starred()
	}
	return p.namedExpression()
}

// starred reads `*value`.
func (p *parser) starred() Expr {
	start := p.start()
	p.at++
	value := p.binary(1)
	p.raise(p.h)
	return &Starred{p.since(start), value}
}

// targets reads the targets of a for or a del: like starExpressions, but `in` ends it.
func (p *parser) targets() Expr {
	start := p.start()
	first := p.target()
	if p.kind() != opComma {
		return first
	}
	base := len(p.exprStack)
	p.exprStack = append(p.exprStack, first)
	tallest := p.h
	for p.accept(opComma) && (startsExpression[p.kind()] || p.kind() == opStar) {
		p.exprStack = append(p.exprStack, p.target())
		tallest = max(tallest, p.h)
	}
	elems := p.exprsFrom(base)
	p.raise(tallest)
	return &Tuple{p.since(start), elems}
}

func (p *parser) target() Expr {
	if p.kind() == opStar {
		return p.starred()
	}
	return p.binary(1)
}

func (p *parser) yieldExpression() Expr {
	start := p.start()
	p.at++
	p.function.Generator = true
	yield := &Yield{}
	p.h = 1
	switch {
	case p.accept(keywordFrom):
		yield.From = true
		yield.Value = p.expression()
	case startsExpression[p.kind()] || p.kind() == opStar:
		yield.Value = p.starExpressions()
	}
	p.raise(p.h)
	yield.Span = p.since(start)
	return yield
}

// namedExpression reads an expression or `name := value`.
func (p *parser) namedExpression() Expr {
	if p.kind() == tokenName && p.kindAfter(1) == opWalrus {
		start := p.start()
		target := p.name()
		p.at++
		value := p.expression()
		p.raise(p.h)
		return &NamedExpr{p.since(start), target, value}
	}
	if p.kind() == keywordYield {
		return p.yieldExpression()
	}
	return p.expression()
}

// expression reads a lambda or a conditional expression. Most expressions are one operand: that is read first,
// and the operators' levels are gone through only if something follows it.
func (p *parser) expression() Expr {
	start := p.start()
	var body Expr
	switch {
	case startsPrimary[p.kind()]:
		body = p.primary()
		if endsExpression[p.kind()] {
			return body
		}
		body = p.binaryFrom(start, p.powerFrom(start, body), 1)
		body = p.andFrom(start, p.comparisonFrom(start, body))
		body = p.orFrom(start, body)
	case p.kind() == keywordLambda:
		return p.lambda()
	default:
		body = p.orTest()
	}
	if p.kind() != keywordIf {
		return body
	}
	tallest := p.h
	p.at++
	if !p.enter() {
		return body
	}
	test := p.orTest()
	tallest = max(tallest, p.h)
	var otherwise Expr
	if p.accept(keywordElse) {
		otherwise = p.expression()
		tallest = max(tallest, p.h)
	} else {
		otherwise = p.bad("'else' is missing here")
	}
	p.depth--
	p.raise(tallest)
	return &IfExp{p.since(start), test, body, otherwise}
}

func (p *parser) lambda() Expr {
	start := p.start()
	if !p.enter() {
		return &BadExpr{Span: Span{start, start}}
	}
	fn := p.newFunction(start, "<lambda>")
	fn.NameSpan = p.tokenSpan(p.at)
	p.at++
	fn.Params = p.parameters(opColon)
	p.expect(opColon, "a ':' is missing here")
	outerFunction, outerClass := p.function, p.class
	p.function, p.class = fn, nil
	fn.Value = p.expression()
	p.function, p.class = outerFunction, outerClass
	p.depth--
	p.raise(p.h)
	p.closeFunction(fn, p.since(start).End)
	return &Lambda{fn.Span, fn}
}

func (p *parser) orTest() Expr {
	start := p.start()
	return p.orFrom(start, p.andTest())
}

func (p *parser) andTest() Expr {
	start := p.start()
	return p.andFrom(start, p.notTest())
}

// orFrom, andFrom, comparisonFrom, binaryFrom and powerFrom read the rest of an operation whose first operand
// has been read and started at start.
func (p *parser) orFrom(start int, first Expr) Expr {
	if p.kind() != keywordOr {
		return first
	}
	return p.boolean(start, first, keywordOr, "or", p.andTest)
}

func (p *parser) andFrom(start int, first Expr) Expr {
	if p.kind() != keywordAnd {
		return first
	}
	return p.boolean(start, first, keywordAnd, "and", p.notTest)
}

// boolean reads operands joined by one boolean operator into one BoolOp.
func (p *parser) boolean(start int, first Expr, kind tokenKind, op string, operand func() Expr) Expr {
	base := len(p.exprStack)
	p.exprStack = append(p.exprStack, first)
	tallest := p.h
	for p.accept(kind) {
		p.exprStack = append(p.exprStack, operand())
		tallest = max(tallest, p.h)
	}
	values := p.exprsFrom(base)
	p.raise(tallest)
	return &BoolOp{p.since(start), op, values}
}

func (p *parser) notTest() Expr {
	start := p.start()
	if p.kind() != keywordNot {
		return p.comparisonFrom(start, p.binary(1))
	}
	if !p.enter() {
		return &BadExpr{Span: Span{start, start}}
	}
	p.at++
	operand := p.notTest()
	p.depth--
	p.raise(p.h)
	return &UnaryOp{p.since(start), "not", operand}
}

func (p *parser) comparisonFrom(start int, left Expr) Expr {
	op := p.comparisonOperator()
	if op == "" {
		return left
	}
	compare := &Compare{Left: left}
	tallest := p.h
	base := len(p.exprStack)
	for op != "" {
		compare.Ops = append(compare.Ops, op)
		p.exprStack = append(p.exprStack, p.binary(1))
		tallest = max(tallest, p.h)
		op = p.comparisonOperator()
	}
	compare.Rights = p.exprsFrom(base)
	p.raise(tallest)
	compare.Span = p.since(start)
	return compare
}

// comparisonOperator reads a comparison operator, "" if there is none.
func (p *parser) comparisonOperator() string {
	switch kind := p.kind(); {
	case kind >= opLess && kind <= opNotEqual:
		op := p.word()
		p.at++
		return op
	case kind == keywordIn:
		p.at++
		return "in"
	case kind == keywordNot && p.kindAfter(1) == keywordIn:
		p.at += 2
		return "not in"
	case kind == keywordIs:
		p.at++
		if p.accept(keywordNot) {
			return "is not"
		}
		return "is"
	}
	return ""
}

// binary reads operators that bind at least as strongly as least.
func (p *parser) binary(least uint8) Expr {
	start := p.start()
	return p.binaryFrom(start, p.unary(), least)
}

func (p *parser) binaryFrom(start int, left Expr, least uint8) Expr {
	for {
		strength := precedence[p.kind()]
		if strength < least || strength == 0 {
			return left
		}
		op := p.word()
		p.at++
		tallest := p.h
		right := p.binary(strength + 1)
		if !p.raise(max(tallest, p.h)) {
			return &BadExpr{Span: p.since(start)}
		}
		operation := take(&p.operations)
		operation.Span, operation.Left, operation.Right, operation.Op = p.since(start), left, right, op
		left = operation
	}
}

func (p *parser) unary() Expr {
	switch p.kind() {
	case opPlus, opMinus, opTilde:
		start := p.start()
		if !p.enter() {
			return &BadExpr{Span: Span{start, start}}
		}
		op := p.word()
		p.at++
		operand := p.unary()
		p.depth--
		p.raise(p.h)
		return &UnaryOp{p.since(start), op, operand}
	}
	start := p.start()
	return p.powerFrom(start, p.awaited())
}

func (p *parser) powerFrom(start int, base Expr) Expr {
	if p.kind() != opDoubleStar {
		return base
	}
	tallest := p.h
	if !p.enter() {
		return base
	}
	p.at++
	exponent := p.unary()
	p.depth--
	p.raise(max(tallest, p.h))
	return &BinOp{p.since(start), base, exponent, "**"}
}

func (p *parser) awaited() Expr {
	if p.kind() != keywordAwait {
		return p.primary()
	}
	start := p.start()
	p.at++
	value := p.primary()
	p.raise(p.h)
	return &Await{p.since(start), value}
}

// primary reads an atom with its attributes, calls and subscripts.
func (p *parser) primary() Expr {
	start := p.start()
	if !p.enter() {
		return &BadExpr{Span: Span{start, start}}
	}
	value := p.atom()
	for {
		tallest := p.h
		switch p.kind() {
		case opDot:
			p.at++
			value = p.attribute(start, value)
		case opLeftParen:
			call := take(&p.calls)
			call.Func = value
			open := p.start()
			p.h = 0
			call.Args, call.Keywords = p.arguments()
			call.ArgList, call.Span = p.since(open), p.since(start)
			tallest = max(tallest, p.h)
			value = call
		case opLeftBracket:
			index := p.index()
			tallest = max(tallest, p.h)
			subscript := take(&p.subscripts)
			subscript.Span, subscript.Value, subscript.Index = p.since(start), value, index
			value = subscript
		default:
			p.depth--
			return value
		}
		if !p.raise(tallest) {
			p.depth--
			return &BadExpr{Span: p.since(start)}
		}
	}
}

// attribute reads the name after a dot.
func (p *parser) attribute(start int, value Expr) Expr {
	if p.kind() != tokenName {
		p.fail("a name is missing after the dot")
		return &BadExpr{Span: p.since(start), Parts: []Expr{value}}
	}
	attribute := take(&p.attributes)
	attribute.Value, attribute.Attr, attribute.AttrSpan = value, p.word(), p.tokenSpan(p.at)
	p.at++
	attribute.Span = Span{start, attribute.AttrSpan.End}
	return attribute
}

func (p *parser) name() *Name {
	name := take(&p.names)
	name.Span, name.ID = p.tokenSpan(p.at), p.word()
	p.at++
	p.h = 1
	return name
}

func (p *parser) constant(kind ConstantKind) Expr {
	constant := take(&p.constants)
	constant.Span, constant.Kind, constant.Text = p.tokenSpan(p.at), kind, p.word()
	p.at++
	p.h = 1
	return constant
}

func (p *parser) atom() Expr {
	switch p.kind() {
	case tokenName:
		return p.name()
	case tokenNumber:
		return p.constant(numberKind(p.word()))
	case tokenString, tokenFString:
		return p.strings()
	case keywordNone:
		return p.constant(ConstNone)
	case keywordTrue:
		return p.constant(ConstTrue)
	case keywordFalse:
		return p.constant(ConstFalse)
	case opEllipsis:
		return p.constant(ConstEllipsis)
	case opLeftParen:
		return p.parenthesized()
	case opLeftBracket:
		return p.list()
	case opLeftBrace:
		return p.braces()
	}
	return p.bad("an expression is missing here")
}

func numberKind(text string) ConstantKind {
	last := text[len(text)-1]
	hex := len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'x'
	switch {
	case last == 'j' || last == 'J':
		return ConstImaginary
	case !hex && strings.ContainsAny(text, ".eE"):
		return ConstFloat
	}
	return ConstInt
}
