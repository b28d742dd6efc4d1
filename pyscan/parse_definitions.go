package pyscan

// decorated reads decorators and the def or class below them, and pushes it.
func (p *parser) decorated(start int) {
	base := len(p.exprStack)
	// The definition is entered before its decorators are read: functions are numbered by their start.
	var fn *Function
	var class *Class
	switch p.definitionAhead() {
	case keywordDef:
		fn = p.newFunction(start, "")
	case keywordClass:
		class = p.newClass(start)
	}
	for p.kind() == opAt {
		p.at++
		p.exprStack = append(p.exprStack, p.namedExpression())
		if !p.atLineEnd() {
			p.fail("this does not parse as Python")
			for !p.atLineEnd() {
				p.at++
			}
		}
		p.accept(tokenNewline)
	}
	decorators := p.exprsFrom(base)
	switch {
	case fn != nil:
		fn.Decorators = decorators
		p.push(p.functionDef(start, fn))
	case class != nil:
		class.Decorators = decorators
		p.push(p.classDef(start, class))
	default:
		p.fail("a def or class is missing below the decorator")
		p.push(&BadStmt{Span: p.since(start), Exprs: decorators})
	}
}

// definitionAhead is what the decorators that come next decorate: keywordDef, keywordClass or tokenEnd.
func (p *parser) definitionAhead() tokenKind {
	at := p.at
	for p.tokens[at].kind == opAt {
		for p.tokens[at].kind != tokenNewline && p.tokens[at].kind != tokenEnd {
			at++
		}
		if p.tokens[at].kind == tokenEnd {
			return tokenEnd
		}
		at++
	}
	if p.tokens[at].kind == keywordAsync {
		at++
	}
	if kind := p.tokens[at].kind; kind == keywordDef || kind == keywordClass {
		return kind
	}
	return tokenEnd
}

// newFunction enters a function of its own under the current one.
func (p *parser) newFunction(start int, name string) *Function {
	fn := &Function{Span: Span{start, start}, Name: name, Parent: p.function, Index: len(p.file.Functions)}
	fn.FirstLine = p.file.lines.Line(start)
	fn.DefLine = fn.FirstLine
	fn.LastLine = fn.FirstLine
	if name != "" {
		fn.QualName = p.qualify(name)
	}
	p.file.Functions = append(p.file.Functions, fn)
	return fn
}

func (p *parser) closeFunction(fn *Function, end int) {
	fn.End = max(fn.Start, end)
	fn.LastLine = p.file.lines.Line(max(fn.Start, fn.End-1))
}

func (p *parser) qualify(name string) string {
	switch {
	case p.class != nil:
		return p.class.QualName + "." + name
	case p.function != p.file.Module:
		return p.function.QualName + "." + name
	}
	return name
}

// functionDef reads from `async` or `def` on. fn is the function entered for its decorators, nil without any.
func (p *parser) functionDef(start int, fn *Function) Stmt {
	if fn == nil {
		fn = p.newFunction(start, "")
	}
	def := p.start()
	fn.DefLine = p.file.lines.Line(def)
	fn.Async = p.accept(keywordAsync)
	p.at++
	fn.NameSpan = Span{p.previousEnd(), p.previousEnd()}
	if p.kind() == tokenName {
		fn.Name, fn.NameSpan = p.word(), p.tokenSpan(p.at)
		p.at++
	} else {
		p.fail("the function's name is missing here")
	}
	fn.QualName = p.qualify(fn.Name)
	fn.Class = p.class
	if p.class != nil {
		p.class.Methods = append(p.class.Methods, fn)
	}
	p.typeParameters()
	if p.expect(opLeftParen, "a '(' is missing here") {
		fn.Params = p.parameters(opRightParen)
		p.accept(opRightParen)
	}
	if p.accept(opArrow) {
		fn.Returns = p.expression()
	}
	header := p.header(start)
	fn.headerEnd = header.End
	outerFunction, outerClass := p.function, p.class
	p.function, p.class = fn, nil
	fn.Body = p.block()
	p.function, p.class = outerFunction, outerClass
	p.closeFunction(fn, p.endAfter(header.End, fn.Body))
	return &FunctionDef{fn.Span, fn}
}

func (p *parser) newClass(start int) *Class {
	class := &Class{Span: Span{start, start}, Outer: p.class, Parent: p.function, Index: len(p.file.Classes)}
	class.FirstLine = p.file.lines.Line(start)
	p.file.Classes = append(p.file.Classes, class)
	return class
}

func (p *parser) classDef(start int, class *Class) Stmt {
	if class == nil {
		class = p.newClass(start)
	}
	p.at++
	class.NameSpan = Span{p.previousEnd(), p.previousEnd()}
	if p.kind() == tokenName {
		class.Name, class.NameSpan = p.word(), p.tokenSpan(p.at)
		p.at++
	} else {
		p.fail("the class's name is missing here")
	}
	class.QualName = p.qualify(class.Name)
	p.typeParameters()
	if p.kind() == opLeftParen {
		class.Bases, class.Keywords = p.arguments()
	}
	header := p.header(start)
	class.headerEnd = header.End
	outer := p.class
	p.class = class
	class.Body = p.block()
	p.class = outer
	class.End = p.endAfter(header.End, class.Body)
	class.LastLine = p.file.lines.Line(max(class.Start, class.End-1))
	return &ClassDef{class.Span, class}
}

// typeParameters skips `[T: bound, *Ts]`: nothing at run time depends on it.
func (p *parser) typeParameters() {
	if p.kind() != opLeftBracket {
		return
	}
	open := 0
	for !p.atLineEnd() {
		switch p.kind() {
		case opLeftBracket:
			open++
		case opRightBracket:
			open--
		}
		p.at++
		if open == 0 {
			return
		}
	}
}

// parameters reads the parameters of a def (up to `)`) or a lambda (up to `:`), without the closing token.
func (p *parser) parameters(closing tokenKind) []*Parameter {
	var out []*Parameter
	keywordOnly := false
	for p.kind() != closing && !p.atLineEnd() {
		start := p.start()
		param := &Parameter{KeywordOnly: keywordOnly}
		switch p.kind() {
		case opSlash:
			p.at++
			p.parameterEnd(closing)
			continue
		case opStar, opDoubleStar:
			param.Star = 1
			if p.kind() == opDoubleStar {
				param.Star = 2
			}
			param.KeywordOnly = false
			keywordOnly = true
			p.at++
			if p.kind() == opComma && param.Star == 1 {
				p.at++
				continue
			}
		}
		if p.kind() != tokenName {
			p.fail("this is no parameter")
			if p.kind() == opColon || p.kind() == opArrow {
				return out // the parenthesis was not closed
			}
			p.at++
			continue
		}
		param.Name = p.word()
		p.at++
		if closing == opRightParen && p.accept(opColon) {
			if p.kind() == opStar {
				param.Annotation = p.starred()
			} else {
				param.Annotation = p.expression()
			}
		}
		if p.accept(opEqual) {
			param.Default = p.expression()
		}
		param.Span = p.since(start)
		out = append(out, param)
		p.parameterEnd(closing)
	}
	return out
}

func (p *parser) parameterEnd(closing tokenKind) {
	if !p.accept(opComma) && p.kind() != closing && !p.atLineEnd() {
		p.fail("a ',' is missing here")
	}
}
