package pyscan

// decorated reads a def or class with decorators.
func (b *builder) decorated(i uint32, span Span) Stmt {
	var decorators []uint32
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindDecorator:
			decorators = append(decorators, c)
		case kindFunctionDefinition:
			return b.functionDef(c, span, decorators, i)
		case kindClassDefinition:
			return b.classDef(c, span, decorators)
		case kindError:
			b.reportError(c)
		}
	}
	return b.badStatement(i)
}

func (b *builder) decoratorExprs(decorators []uint32) []Expr {
	var out []Expr
	for _, c := range decorators {
		if value := b.onlyExpr(c); value != nil {
			out = append(out, value)
		}
	}
	return out
}

// newFunction enters a function of its own under the current one.
func (b *builder) newFunction(span Span, name string) *Function {
	fn := &Function{Span: span, Name: name, Parent: b.function, Index: len(b.file.Functions)}
	fn.QualName = b.qualify(name)
	fn.FirstLine = b.file.lines.Line(span.Start)
	fn.DefLine = fn.FirstLine
	fn.LastLine = b.file.lines.Line(max(span.Start, span.End-1))
	b.file.Functions = append(b.file.Functions, fn)
	return fn
}

func (b *builder) qualify(name string) string {
	switch {
	case b.class != nil:
		return b.class.QualName + "." + name
	case b.function != b.file.Module:
		return b.function.QualName + "." + name
	}
	return name
}

func (b *builder) functionDef(i uint32, span Span, decorators []uint32, _ uint32) Stmt {
	nameNode := b.child(i, fieldName)
	name := ""
	if nameNode != 0 {
		name = b.source(nameNode)
	}
	fn := b.newFunction(span, name)
	def := b.span(i)
	fn.NameSpan = Span{def.Start, def.Start}
	if nameNode != 0 {
		fn.NameSpan = b.span(nameNode)
	}
	fn.DefLine = b.file.lines.Line(def.Start)
	fn.Async = b.isAsync(i)
	fn.Class = b.class
	if b.class != nil {
		b.class.Methods = append(b.class.Methods, fn)
	}
	fn.Decorators = b.decoratorExprs(decorators)
	header := def.Start
	if params := b.child(i, fieldParameters); params != 0 {
		fn.Params = b.parameters(params)
		header = b.span(params).End
	}
	if returns := b.child(i, fieldReturnType); returns != 0 {
		fn.Returns = b.expr(returns)
		header = b.span(returns).End
	}
	outerFunction, outerClass := b.function, b.class
	b.function, b.class = fn, nil
	fn.Body = b.block(i, fieldBody)
	b.function, b.class = outerFunction, outerClass
	if colon := b.childOfKind(i, kindColon); colon != 0 {
		header = b.span(colon).End
	}
	fn.End = endOf(fn.Span, header, fn.Body)
	fn.LastLine = b.file.lines.Line(max(fn.Start, fn.End-1))
	return &FunctionDef{fn.Span, fn}
}

func (b *builder) classDef(i uint32, span Span, decorators []uint32) Stmt {
	class := &Class{Span: span, Outer: b.class, Parent: b.function, Index: len(b.file.Classes)}
	def := b.span(i)
	class.NameSpan = Span{def.Start, def.Start}
	if name := b.child(i, fieldName); name != 0 {
		class.Name, class.NameSpan = b.source(name), b.span(name)
	}
	class.QualName = b.qualify(class.Name)
	class.FirstLine = b.file.lines.Line(span.Start)
	b.file.Classes = append(b.file.Classes, class)
	class.Decorators = b.decoratorExprs(decorators)
	header := def.Start
	if bases := b.child(i, fieldSuperclasses); bases != 0 {
		class.Bases, class.Keywords = b.arguments(bases)
		header = b.span(bases).End
	}
	outer := b.class
	b.class = class
	class.Body = b.block(i, fieldBody)
	b.class = outer
	if colon := b.childOfKind(i, kindColon); colon != 0 {
		header = b.span(colon).End
	}
	class.End = endOf(class.Span, header, class.Body)
	class.LastLine = b.file.lines.Line(max(class.Start, class.End-1))
	return &ClassDef{class.Span, class}
}

// parameters reads the parameter list of a def or a lambda.
func (b *builder) parameters(i uint32) []*Parameter {
	var out []*Parameter
	keywordOnly := false
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		param := &Parameter{Span: b.span(c), KeywordOnly: keywordOnly}
		switch b.nodes[c].kind {
		case kindIdentifier:
			param.Name = b.source(c)
		case kindListSplatPattern, kindDictionarySplatPattern:
			b.starParameter(c, param)
		case kindTypedParameter:
			for part := c + 1; part < b.nodes[c].next; part = b.nodes[part].next {
				switch b.nodes[part].kind {
				case kindIdentifier:
					param.Name = b.source(part)
				case kindListSplatPattern, kindDictionarySplatPattern:
					b.starParameter(part, param)
				case kindType:
					param.Annotation = b.expr(part)
				}
			}
		case kindDefaultParameter, kindTypedDefaultParameter:
			if name := b.child(c, fieldName); name != 0 {
				param.Name = b.source(name)
			}
			if annotation := b.child(c, fieldType); annotation != 0 {
				param.Annotation = b.expr(annotation)
			}
			if value := b.child(c, fieldValue); value != 0 {
				param.Default = b.expr(value)
			}
		case kindTuplePattern: // Python 2
			b.report(param.Span, "tuple parameters are not Python 3")
		case kindKeywordSeparator:
			keywordOnly = true
			continue
		case kindError:
			b.reportError(c)
			continue
		default:
			continue
		}
		if param.Star != 0 {
			param.KeywordOnly = false
			keywordOnly = true
		}
		out = append(out, param)
	}
	return out
}

func (b *builder) starParameter(i uint32, param *Parameter) {
	param.Star = 1
	if b.nodes[i].kind == kindDictionarySplatPattern {
		param.Star = 2
	}
	if name := b.childOfKind(i, kindIdentifier); name != 0 {
		param.Name = b.source(name)
	}
}

func (b *builder) importStatement(i uint32, span Span) Stmt {
	imported := &Import{Span: span, From: b.nodes[i].kind != kindImport}
	if b.nodes[i].kind == kindImportFuture {
		imported.Module = "__future__"
	}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindRelativeImport:
			for part := c + 1; part < b.nodes[c].next; part = b.nodes[part].next {
				switch b.nodes[part].kind {
				case kindImportPrefix:
					imported.Level = countDots(b.source(part))
				case kindDottedName:
					imported.Module = b.dotted(part)
				}
			}
		case kindDottedName:
			if b.nodes[c].field == fieldModuleName {
				imported.Module = b.dotted(c)
				continue
			}
			if b.nodes[c].missing || b.span(c).Len() == 0 {
				b.reportError(c)
				continue
			}
			imported.Names = append(imported.Names, &ImportedName{Span: b.span(c), Name: b.dotted(c)})
		case kindAliasedImport:
			name := &ImportedName{Span: b.span(c)}
			if part := b.child(c, fieldName); part != 0 {
				name.Name = b.dotted(part)
			}
			if alias := b.child(c, fieldAlias); alias != 0 {
				name.Alias = b.source(alias)
			}
			imported.Names = append(imported.Names, name)
		case kindWildcardImport:
			imported.Names = append(imported.Names, &ImportedName{Span: b.span(c), Name: "*"})
		case kindError:
			b.reportError(c)
		}
	}
	return imported
}

func countDots(text string) int {
	count := 0
	for at := range len(text) {
		if text[at] == '.' {
			count++
		}
	}
	return count
}

// dotted is a dotted name without the blanks that may stand around its dots.
func (b *builder) dotted(i uint32) string {
	text := b.source(i)
	for at := range len(text) {
		if c := text[at]; c == ' ' || c == '\t' || c == '\\' || c == '\n' || c == '\r' || c == '\f' {
			joined := ""
			for part := i + 1; part < b.nodes[i].next; part = b.nodes[part].next {
				joined += b.source(part)
			}
			return joined
		}
	}
	return text
}
