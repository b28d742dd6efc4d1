package pyscan

// statements reads the statements that are children of node i (a module, a block, an ERROR).
func (b *builder) statements(i uint32) []Stmt {
	count := 0
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		count++
	}
	out := make([]Stmt, 0, count)
	if b.nodes[i].kind == kindError { // the root itself may be one
		return append(out, b.badStatement(i))
	}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		out = b.statement(c, out)
	}
	return out
}

// block reads the body under the field, which is a block node.
func (b *builder) block(i uint32, wanted field) []Stmt {
	if c := b.child(i, wanted); c != 0 {
		return b.blockNode(c)
	}
	return nil
}

func (b *builder) blockNode(i uint32) []Stmt {
	if b.nestedTooDeeply(i) {
		return []Stmt{&BadStmt{Span: b.span(i)}}
	}
	defer b.leave()
	return b.statements(i)
}

// statement reads node i and appends what it is.
func (b *builder) statement(i uint32, out []Stmt) []Stmt {
	span := b.span(i)
	switch b.nodes[i].kind {
	case kindExpressionStatement:
		return append(out, b.expressionStatement(i, span))
	case kindReturn:
		return append(out, &Return{span, b.onlyExpr(i)})
	case kindIf:
		return append(out, b.ifStatement(i, span))
	case kindFor:
		return append(out, b.forStatement(i, span))
	case kindWhile:
		loop := &While{Span: span, Header: b.header(i), Test: b.fieldExpr(i, fieldCondition), Body: b.block(i, fieldBody)}
		loop.Else = b.elseBody(i)
		loop.End = endOf(loop.Span, loop.Header.End, loop.Body, loop.Else)
		return append(out, loop)
	case kindWith:
		return append(out, b.withStatement(i, span))
	case kindTry:
		return append(out, b.tryStatement(i, span))
	case kindMatch:
		return append(out, b.matchStatement(i, span))
	case kindFunctionDefinition:
		return append(out, b.functionDef(i, span, nil, 0))
	case kindClassDefinition:
		return append(out, b.classDef(i, span, nil))
	case kindDecoratedDefinition:
		return append(out, b.decorated(i, span))
	case kindImport, kindImportFrom, kindImportFuture:
		return append(out, b.importStatement(i, span))
	case kindAssert:
		parts := b.exprs(i)
		assert := &Assert{Span: span}
		if len(parts) > 0 {
			assert.Test = parts[0]
		} else {
			assert.Test = &BadExpr{Span: Span{span.End, span.End}}
		}
		if len(parts) > 1 {
			assert.Message = parts[1]
		}
		return append(out, assert)
	case kindRaise:
		raise := &Raise{Span: span}
		for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
			switch {
			case b.nodes[c].field == fieldCause:
				raise.Cause = b.expr(c)
			case !b.isToken(c) && raise.Exc == nil:
				raise.Exc = b.expr(c)
			}
		}
		return append(out, raise)
	case kindDelete:
		del := &Delete{Span: span}
		if target := b.onlyExpr(i); target != nil {
			if list, ok := target.(*Tuple); ok && list.Len() > 0 && b.text[list.Start] != '(' {
				del.Targets = list.Elems
			} else {
				del.Targets = []Expr{target}
			}
		}
		return append(out, del)
	case kindPass, kindBreak, kindContinue:
		return append(out, &Simple{span, b.text[span.Start:span.End]})
	case kindGlobal, kindNonlocal:
		scope := &Scope{Span: span, Nonlocal: b.nodes[i].kind == kindNonlocal}
		for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
			if b.nodes[c].kind == kindIdentifier {
				scope.Names = append(scope.Names, b.source(c))
			}
		}
		return append(out, scope)
	case kindTypeAlias:
		return append(out, b.typeAlias(i, span))
	case kindPrint, kindExec:
		return append(out, b.printStatement(i, span))
	case kindBlock:
		return append(out, b.blockNode(i)...)
	case kindError:
		return append(out, b.badStatement(i))
	}
	if b.isToken(i) {
		if b.nodes[i].missing {
			b.reportError(i)
		}
		return out
	}
	// An expression or a loose clause where a statement should be: only in broken code.
	return append(out, b.badStatement(i))
}

// endOf is the end of a compound statement: that of its last body that has a statement.
func endOf(span Span, headerEnd int, bodies ...[]Stmt) int {
	end := min(headerEnd, span.End)
	for _, body := range bodies {
		if len(body) > 0 {
			end = max(end, body[len(body)-1].Range().End)
		}
	}
	return min(end, span.End)
}

func (b *builder) expressionStatement(i uint32, span Span) Stmt {
	first := i + 1
	if first >= b.nodes[i].next {
		return &BadStmt{Span: span}
	}
	if b.nodes[first].next == b.nodes[i].next {
		switch b.nodes[first].kind {
		case kindAssignment:
			return b.assignment(first, span)
		case kindAugmentedAssignment:
			assign := &AugAssign{Span: span, Target: b.fieldExpr(first, fieldLeft), Value: b.fieldExpr(first, fieldRight)}
			if op := b.child(first, fieldOperator); op != 0 {
				text := b.source(op)
				assign.Op = text[:max(0, len(text)-1)]
			}
			return assign
		case kindError:
			return b.badStatement(first)
		}
		return &ExprStmt{span, b.expr(first)}
	}
	elems, comma := b.elements(i)
	if len(elems) == 1 && !comma {
		return &ExprStmt{span, elems[0]}
	}
	return &ExprStmt{span, &Tuple{span, elems}}
}

// assignment flattens `a = b = value`, which the grammar nests to the right.
func (b *builder) assignment(i uint32, span Span) Stmt {
	assign := &Assign{Span: span}
	for {
		if left := b.child(i, fieldLeft); left != 0 {
			assign.Targets = append(assign.Targets, b.expr(left))
		}
		if annotation := b.child(i, fieldType); annotation != 0 && assign.Annotation == nil {
			assign.Annotation = b.expr(annotation)
		}
		right := b.child(i, fieldRight)
		if right == 0 {
			return assign
		}
		if b.nodes[right].kind != kindAssignment {
			assign.Value = b.expr(right)
			return assign
		}
		i = right
	}
}

// ifStatement turns the grammar's flat list of elif clauses into nested Ifs.
func (b *builder) ifStatement(i uint32, span Span) Stmt {
	first := &If{Span: span, Header: b.header(i), Test: b.fieldExpr(i, fieldCondition), Body: b.block(i, fieldConsequence)}
	chain := []*If{first}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		last := chain[len(chain)-1]
		switch b.nodes[c].kind {
		case kindElif:
			if len(chain) >= maxDepth-b.depth {
				b.report(b.span(c), "nested too deeply")
				last.Else = []Stmt{&BadStmt{Span: Span{b.span(c).Start, span.End}}}
				goto ends
			}
			next := &If{Span: Span{b.span(c).Start, span.End}, ElseIf: true, Header: b.header(c),
				Test: b.fieldExpr(c, fieldCondition), Body: b.block(c, fieldConsequence)}
			last.Else = []Stmt{next}
			chain = append(chain, next)
		case kindElse:
			last.Else = b.block(c, fieldBody)
		case kindError:
			b.reportError(c)
		}
	}
ends:
	for at := len(chain) - 1; at >= 0; at-- {
		link := chain[at]
		link.End = endOf(link.Span, link.Header.End, link.Body, link.Else)
	}
	return first
}

// elseBody is the body of a loop's or a try's else clause.
func (b *builder) elseBody(i uint32) []Stmt {
	if c := b.childOfKind(i, kindElse); c != 0 {
		return b.block(c, fieldBody)
	}
	return nil
}

func (b *builder) forStatement(i uint32, span Span) Stmt {
	loop := &For{Span: span, Header: b.header(i), Async: b.isAsync(i)}
	loop.Target = b.fieldExpr(i, fieldLeft)
	loop.Iter = b.fieldExpr(i, fieldRight)
	loop.Body = b.block(i, fieldBody)
	loop.Else = b.elseBody(i)
	loop.End = endOf(loop.Span, loop.Header.End, loop.Body, loop.Else)
	return loop
}

func (b *builder) isAsync(i uint32) bool {
	return i+1 < b.nodes[i].next && b.nodes[i+1].kind == kindAsync
}

func (b *builder) withStatement(i uint32, span Span) Stmt {
	with := &With{Span: span, Header: b.header(i), Async: b.isAsync(i)}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindWithClause:
			for item := c + 1; item < b.nodes[c].next; item = b.nodes[item].next {
				if b.nodes[item].kind == kindWithItem {
					if value := b.child(item, fieldValue); value != 0 {
						with.Items = b.withItems(value, with.Items)
					}
				} else if b.nodes[item].kind == kindError {
					b.reportError(item)
				}
			}
		case kindError:
			b.reportError(c)
		}
	}
	with.Body = b.block(i, fieldBody)
	with.End = endOf(with.Span, with.Header.End, with.Body)
	return with
}

// withItems reads one item, or several that the grammar took for a parenthesised tuple.
func (b *builder) withItems(i uint32, items []*WithItem) []*WithItem {
	switch b.nodes[i].kind {
	case kindAsPattern:
		item := &WithItem{Span: b.span(i)}
		for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
			switch {
			case b.nodes[c].field == fieldAlias:
				item.Target = b.expr(c)
			case !b.isToken(c) && item.Context == nil:
				item.Context = b.expr(c)
			}
		}
		if item.Context == nil {
			item.Context = &BadExpr{Span: Span{item.Start, item.Start}}
		}
		return append(items, item)
	case kindTuple, kindParenthesized:
		if b.nodes[i].kind == kindTuple || b.childOfKind(i, kindAsPattern) != 0 {
			for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
				if !b.isToken(c) {
					items = b.withItems(c, items)
				}
			}
			return items
		}
	}
	return append(items, &WithItem{Span: b.span(i), Context: b.expr(i)})
}

func (b *builder) tryStatement(i uint32, span Span) Stmt {
	try := &Try{Span: span, Body: b.block(i, fieldBody)}
	end := endOf(span, span.Start+len("try"), try.Body)
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindExcept, kindExceptGroup:
			handler := b.handler(c, try)
			end = max(end, handler.End)
			try.Handlers = append(try.Handlers, handler)
		case kindElse:
			try.Else = b.block(c, fieldBody)
			end = endOf(span, end, try.Else)
		case kindFinally:
			if block := b.childOfKind(c, kindBlock); block != 0 {
				try.Finally = b.blockNode(block)
			}
			end = endOf(span, end, try.Finally)
		case kindError:
			b.reportError(c)
		}
	}
	try.End = end
	return try
}

func (b *builder) handler(i uint32, try *Try) *Handler {
	handler := &Handler{Span: b.span(i)}
	if b.nodes[i].kind == kindExceptGroup {
		try.Star = true
	}
	var types []Expr
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindBlock:
			handler.Body = b.blockNode(c)
		case kindAsPattern:
			for part := c + 1; part < b.nodes[c].next; part = b.nodes[part].next {
				switch {
				case b.nodes[part].field == fieldAlias:
					handler.Name = b.source(part)
				case !b.isToken(part):
					types = append(types, b.handlerType(part, try))
				}
			}
		case kindIdentifier:
			if len(types) > 0 && c > i+1 && b.source(c-1) == "as" { // `except* E as name` in some grammar versions
				handler.Name = b.source(c)
				continue
			}
			types = append(types, b.expr(c))
		default:
			if !b.isToken(c) {
				types = append(types, b.handlerType(c, try))
			}
		}
	}
	if len(types) == 1 {
		handler.Type = types[0]
	} else if len(types) > 1 {
		handler.Type = &Tuple{Span{types[0].Range().Start, types[len(types)-1].Range().End}, types}
	}
	handler.End = endOf(handler.Span, b.header(i).End, handler.Body)
	return handler
}

// handlerType reads an exception type; the grammar takes the star of `except* E` for a splat.
func (b *builder) handlerType(i uint32, try *Try) Expr {
	if b.nodes[i].kind == kindListSplat {
		try.Star = true
		if value := b.onlyExpr(i); value != nil {
			return value
		}
	}
	return b.expr(i)
}

func (b *builder) typeAlias(i uint32, span Span) Stmt {
	alias := &Assign{Span: span}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if b.isToken(c) {
			continue
		}
		value := b.expr(c)
		if len(alias.Targets) > 0 {
			alias.Annotation = value
			continue
		}
		if generic, ok := value.(*Subscript); ok { // `type X[T] = …`
			value = generic.Value
		}
		alias.Targets = []Expr{value}
	}
	return alias
}

// printStatement reads what the grammar takes for a Python 2 print or exec statement.
func (b *builder) printStatement(i uint32, span Span) Stmt {
	keyword := b.source(i + 1)
	if b.childOfKind(i, kindChevron) != 0 {
		// `print >> stream, value` is an expression in Python 3, if a useless one.
		elems := b.exprs(i)
		chevron := elems[0].Range()
		var right Expr = elems[0]
		if bad, ok := right.(*BadExpr); ok && len(bad.Parts) == 1 {
			right = bad.Parts[0]
		}
		name := &Name{Span{span.Start, span.Start + len(keyword)}, keyword}
		elems[0] = &BinOp{Span{span.Start, chevron.End}, name, right, ">>"}
		if len(elems) == 1 {
			return &ExprStmt{span, elems[0]}
		}
		return &ExprStmt{span, &Tuple{span, elems}}
	}
	b.report(span, "missing parentheses in call to '"+keyword+"'")
	return &BadStmt{Span: span, Exprs: b.exprs(i)}
}

// badStatement keeps what can be read of source that is no statement.
func (b *builder) badStatement(i uint32) Stmt {
	bad := &BadStmt{Span: b.span(i)}
	b.reportError(i)
	if b.nestedTooDeeply(i) {
		return bad
	}
	defer b.leave()
	if b.nodes[i].kind != kindError {
		if b.isExpr(b.nodes[i].kind) {
			bad.Exprs = []Expr{b.expr(i)}
			return bad
		}
	}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		k := b.nodes[c].kind
		switch {
		case b.isToken(c):
		case b.isExpr(k):
			bad.Exprs = append(bad.Exprs, b.expr(c))
		default:
			bad.Stmts = b.statement(c, bad.Stmts)
		}
	}
	return bad
}
