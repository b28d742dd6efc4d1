package pyscan

func (b *builder) matchStatement(i uint32, span Span) Stmt {
	match := &Match{Span: span, Header: b.header(i)}
	var subjects []Expr
	end := match.Header.End
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].field == fieldSubject && !b.isToken(c):
			subjects = append(subjects, b.expr(c))
		case b.nodes[c].kind == kindBlock:
			end = b.cases(c, match, end)
		case b.nodes[c].kind == kindCase:
			end = b.oneCase(c, match, end)
		case b.nodes[c].kind == kindError:
			b.reportError(c)
		}
	}
	switch len(subjects) {
	case 0:
		match.Subject = &BadExpr{Span: Span{match.Header.End, match.Header.End}}
	case 1:
		match.Subject = subjects[0]
	default:
		match.Subject = &Tuple{Span{subjects[0].Range().Start, subjects[len(subjects)-1].Range().End}, subjects}
	}
	match.End = min(end, span.End)
	return match
}

func (b *builder) cases(i uint32, match *Match, end int) int {
	if b.nestedTooDeeply(i) {
		return end
	}
	defer b.leave()
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindCase:
			end = b.oneCase(c, match, end)
		case kindError:
			b.reportError(c)
		}
	}
	return end
}

func (b *builder) oneCase(i uint32, match *Match, end int) int {
	one := &MatchCase{Span: b.span(i), Header: b.header(i)}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindCasePattern:
			b.pattern(c, one)
		case kindIfClause:
			one.Guard = b.onlyExpr(c)
		case kindBlock:
			one.Body = b.blockNode(c)
		case kindError:
			b.reportError(c)
		}
	}
	one.End = endOf(one.Span, one.Header.End, one.Body)
	match.Cases = append(match.Cases, one)
	return max(end, one.End)
}

// pattern gathers what a pattern evaluates and what it binds.
func (b *builder) pattern(i uint32, one *MatchCase) {
	if b.nestedTooDeeply(i) {
		return
	}
	defer b.leave()
	switch b.nodes[i].kind {
	case kindDottedName:
		name := b.dottedExpr(i, b.span(i))
		if capture, ok := name.(*Name); ok {
			one.Captures = append(one.Captures, capture)
		} else {
			one.Pattern = append(one.Pattern, name)
		}
	case kindIdentifier:
		if b.source(i) != "_" {
			one.Captures = append(one.Captures, &Name{b.span(i), b.source(i)})
		}
	case kindClassPattern:
		for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
			if c == i+1 && b.nodes[c].kind == kindDottedName {
				one.Pattern = append(one.Pattern, b.dottedExpr(c, b.span(c)))
			} else if !b.isToken(c) {
				b.pattern(c, one)
			}
		}
	case kindKeywordPattern:
		for c := b.nodes[i+1].next; c < b.nodes[i].next; c = b.nodes[c].next { // the first child is the attribute's name
			if !b.isToken(c) {
				b.pattern(c, one)
			}
		}
	case kindString, kindConcatenatedString, kindInteger, kindFloat, kindTrue, kindFalse, kindNone:
		one.Pattern = append(one.Pattern, b.expr(i))
	case kindError:
		b.reportError(i)
	default:
		for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
			if !b.isToken(c) {
				b.pattern(c, one)
			}
		}
	}
}
