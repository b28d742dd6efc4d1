package pyscan

const unclosedString = "this string is never closed"

// stringLiteral cuts a string that starts at start (its prefix) and whose opening quote is at l.at.
func (l *lexer) stringLiteral(start int, formatted, raw bool) {
	quote := l.text[l.at]
	triple := l.peek(1) == quote && l.peek(2) == quote
	body := l.at + 1
	if triple {
		body = l.at + 3
	}
	kind := tokenString
	end := -1
	if formatted {
		kind = tokenFString
		// A broken one may be read to the end of the text; many of them must not make that quadratic.
		if l.wasted <= 8*len(l.text) {
			if end = formattedEnd(l.text[:l.limit], body, quote, triple, 0); end < 0 {
				l.wasted += l.limit - body
			}
		}
	}
	if end < 0 {
		end = plainEnd(l.text[:l.limit], body, quote, triple)
	}
	if end < 0 {
		// Unterminated: take the line, so that what follows is still read.
		end = body
		for end < l.end && l.text[end] != '\n' && l.text[end] != '\r' {
			end++
		}
		l.report(Span{start, end}, unclosedString)
	}
	l.at = end
	l.emit(kind, start, end)
}

// plainEnd is the offset after a string's closing quote, -1 if it has none.
func plainEnd(text string, at int, quote byte, triple bool) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == '\\':
			at++
			if at < len(text) && text[at] == '\r' && at+1 < len(text) && text[at+1] == '\n' {
				at++
			}
			at++
		case c == quote:
			if !triple {
				return at + 1
			}
			if at+2 < len(text) && text[at+1] == quote && text[at+2] == quote {
				return at + 3
			}
			at++
		case !triple && (c == '\n' || c == '\r'):
			return -1
		default:
			at++
		}
	}
	return -1
}

// formattedEnd is plainEnd for f-strings of Python 3.12, where an interpolation may hold the quote itself.
func formattedEnd(text string, at int, quote byte, triple bool, depth int) int {
	if depth > 100 {
		return -1
	}
	for at < len(text) {
		switch c := text[at]; {
		case c == '\\':
			// A backslash escapes no brace; in both raw and plain strings it keeps a quote from closing.
			if at+1 < len(text) && text[at+1] != '{' && text[at+1] != '}' {
				at++
				if text[at] == '\r' && at+1 < len(text) && text[at+1] == '\n' {
					at++
				}
			}
			at++
		case c == quote:
			if !triple {
				return at + 1
			}
			if at+2 < len(text) && text[at+1] == quote && text[at+2] == quote {
				return at + 3
			}
			at++
		case !triple && (c == '\n' || c == '\r'):
			return -1
		case c == '{':
			if at+1 < len(text) && text[at+1] == '{' {
				at += 2
				continue
			}
			at = interpolationEnd(text, at+1, quote, triple, depth+1)
			if at < 0 {
				return -1
			}
		default:
			at++
		}
	}
	return -1
}

// interpolationEnd is the offset after the `}` that closes an interpolation whose inside starts at at.
func interpolationEnd(text string, at int, quote byte, triple bool, depth int) int {
	if depth > 100 {
		return -1
	}
	brackets := 0
	for at < len(text) {
		switch c := text[at]; c {
		case '\'', '"':
			at = nestedStringEnd(text, at, depth)
			if at < 0 {
				return -1
			}
			continue
		case '(', '[', '{':
			brackets++
		case ')', ']':
			brackets--
		case '}':
			if brackets <= 0 {
				return at + 1
			}
			brackets--
		case '#':
			if brackets > 0 || triple {
				for at < len(text) && text[at] != '\n' {
					at++
				}
				continue
			}
		case ':':
			if brackets == 0 {
				return formatSpecifierEnd(text, at+1, quote, triple, depth)
			}
		}
		at++
	}
	return -1
}

// formatSpecifierEnd is the offset after the `}` that closes an interpolation with a format specifier.
func formatSpecifierEnd(text string, at int, quote byte, triple bool, depth int) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == '{':
			if at = interpolationEnd(text, at+1, quote, triple, depth+1); at < 0 {
				return -1
			}
			continue
		case c == '}':
			return at + 1
		case c == quote && !triple, !triple && c == '\n':
			return -1
		}
		at++
	}
	return -1
}

// nestedStringEnd is the offset after a string inside an interpolation; the prefix has been passed already.
func nestedStringEnd(text string, at int, depth int) int {
	quote := text[at]
	formatted := false
	for back := at - 1; back >= 0 && back >= at-2 && byteClass[text[back]] == className; back-- {
		formatted = formatted || text[back]|0x20 == 'f' || text[back]|0x20 == 't'
	}
	triple := at+2 < len(text) && text[at+1] == quote && text[at+2] == quote
	body := at + 1
	if triple {
		body = at + 3
	}
	if formatted {
		return formattedEnd(text, body, quote, triple, depth+1)
	}
	return plainEnd(text, body, quote, triple)
}
