package pyscan

// strings reads adjacent string literals: one constant, or one FString if any of them is formatted.
func (p *parser) strings() Expr {
	start := p.start()
	formatted := false
	kind := ConstString
	first := p.at
	for p.kind() == tokenString || p.kind() == tokenFString {
		formatted = formatted || p.kind() == tokenFString
		t := p.tokens[p.at]
		if c := p.text[t.start]; c|0x20 == 'b' || (c|0x20 == 'r' && t.end > t.start+1 && p.text[t.start+1]|0x20 == 'b') {
			kind = ConstBytes
		}
		p.at++
	}
	p.h = 1
	if !formatted {
		constant := take(&p.constants)
		constant.Span, constant.Kind = p.since(start), kind
		constant.Text = p.text[constant.Start:constant.End]
		return constant
	}
	base := len(p.exprStack)
	last := p.at
	tallest := 0
	for at := first; at < last; at++ {
		if p.tokens[at].kind == tokenFString {
			tallest = max(tallest, p.interpolations(p.tokenSpan(at)))
		}
	}
	values := p.exprsFrom(base)
	p.raise(tallest)
	return &FString{p.since(start), values}
}

// interpolations pushes the expressions of one f-string literal and returns the tallest's height.
func (p *parser) interpolations(literal Span) int {
	at := literal.Start
	raw := false
	for byteClass[p.text[at]] != classQuote {
		raw = raw || p.text[at]|0x20 == 'r'
		at++
	}
	quote := p.text[at]
	triple := at+2 < literal.End && p.text[at+1] == quote && p.text[at+2] == quote
	at++
	if triple {
		at += 2
	}
	end := literal.End
	return p.replacements(Span{at, end}, raw, quote, triple, false)
}

// replacements pushes the `{…}` of an f-string's text or, in a format specifier, of that.
func (p *parser) replacements(part Span, raw bool, quote byte, triple, specifier bool) int {
	text := p.text[:part.End]
	tallest := 0
	for at := part.Start; at < part.End; at++ {
		switch text[at] {
		case '\\':
			if at+1 < part.End && text[at+1] == 'N' && !raw && at+2 < part.End && text[at+2] == '{' {
				for at < part.End && text[at] != '}' {
					at++
				}
			} else if at+1 < part.End && text[at+1] != '{' {
				at++
			}
		case '{':
			if !specifier && at+1 < part.End && text[at+1] == '{' {
				at++
				continue
			}
			end := interpolationEnd(text, at+1, quote, triple, 1)
			if end < 0 {
				return tallest
			}
			tallest = max(tallest, p.replacement(Span{at + 1, end - 1}, raw, quote, triple))
			at = end - 1
		}
	}
	return tallest
}

// replacement pushes the value of `{value=!r:spec}` and what the specifier interpolates.
func (p *parser) replacement(inside Span, raw bool, quote byte, triple bool) int {
	if !p.enter() {
		return 0
	}
	end, specifier := replacementParts(p.text[:inside.End], inside.Start)
	p.exprStack = append(p.exprStack, p.embedded(Span{inside.Start, end}))
	tallest := p.h
	if specifier >= 0 {
		tallest = max(tallest, p.replacements(Span{specifier, inside.End}, raw, quote, triple, true))
	}
	p.depth--
	return tallest
}

// replacementParts finds where the value ends and where the format specifier starts (-1 without one).
func replacementParts(text string, at int) (end, specifier int) {
	brackets := 0
	value := -1 // where the value ended, at `!` or the `=` of a self-documenting expression
	for ; at < len(text); at++ {
		switch c := text[at]; c {
		case '\'', '"':
			next := nestedStringEnd(text, at, 1)
			if next < 0 {
				return len(text), -1
			}
			at = next - 1
		case '(', '[', '{':
			brackets++
		case ')', ']', '}':
			brackets--
		case '!':
			if brackets > 0 {
				continue
			}
			if at+1 < len(text) && text[at+1] == '=' {
				at++
				continue
			}
			if value < 0 {
				value = at
			}
		case '=':
			if brackets > 0 || value >= 0 {
				continue
			}
			if at+1 < len(text) && text[at+1] == '=' {
				at++
				continue
			}
			if at > 0 && (text[at-1] == '<' || text[at-1] == '>') {
				continue
			}
			value = at
		case ':':
			if brackets == 0 {
				if value < 0 {
					value = at
				}
				return value, at + 1
			}
		}
	}
	if value < 0 {
		value = len(text)
	}
	return value, -1
}

// embedded reads the expression of a replacement from tokens of its own.
func (p *parser) embedded(span Span) Expr {
	at, count, quiet, first := p.at, len(p.tokens), p.quietUntil, p.first
	lexer := lexer{text: p.text, tokens: p.tokens, report: p.note}
	lexer.expression(span.Start, span.End)
	p.tokens, p.at, p.first = lexer.tokens, count, count
	value := p.starExpressions()
	height := p.h
	if p.kind() != tokenEnd {
		p.fail("this does not parse as Python")
	}
	p.tokens, p.at, p.quietUntil, p.first = p.tokens[:count], at, quiet, first
	p.h = height
	return value
}
