package pyscan

import (
	"slices"
	"strings"
)

// lexer cuts source into tokens as CPython's tokenizer does, with INDENT, DEDENT and NEWLINE tokens.
// Where CPython would give up it reports the place and goes on with the likeliest reading.
type lexer struct {
	text     string
	at       int // the next byte to read
	end      int // where to stop
	tokens   []token
	comments []Span
	report   func(Span, string)

	indents    []int           // columns of the open blocks; the first is 0
	brackets   []uint32        // indices of the open brackets' tokens
	open       [tokenKinds]int // how many of brackets are of the kind
	wasted     int             // bytes read in vain for the ends of broken f-strings
	lineIndent int             // column of the current logical line
	embedded   bool            // an f-string's expression: newlines mean nothing
}

const (
	classOther uint8 = iota
	classSpace
	className
	classDigit
	classQuote
)

var byteClass = func() (classes [256]uint8) {
	for c := range classes {
		switch {
		case c == ' ' || c == '\t' || c == '\f' || c == 0:
			classes[c] = classSpace
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80:
			classes[c] = className
		case '0' <= c && c <= '9':
			classes[c] = classDigit
		case c == '"' || c == '\'':
			classes[c] = classQuote
		}
	}
	return classes
}()

const byteOrderMark = "\ufeff"

// file cuts the whole text.
func (l *lexer) file() {
	l.end = len(l.text)
	l.tokens = slices.Grow(l.tokens, len(l.text)/4+16)
	l.indents = append(l.indents[:0], 0)
	if strings.HasPrefix(l.text, byteOrderMark) {
		l.at = len(byteOrderMark)
	}
	l.startLine()
	l.run()
	if count := len(l.tokens); count > 0 && l.tokens[count-1].kind != tokenNewline {
		l.emit(tokenNewline, l.end, l.end)
	}
	if len(l.brackets) > 0 {
		l.reportUnclosed()
		l.tokens[len(l.tokens)-1].cut = true
	}
	for range l.indents[1:] {
		l.emit(tokenDedent, l.end, l.end)
	}
	l.emit(tokenEnd, l.end, l.end)
}

// expression cuts text[start:end], an expression inside an f-string, and appends its tokens.
func (l *lexer) expression(start, end int) {
	l.at, l.end, l.embedded = start, end, true
	l.brackets = l.brackets[:0]
	l.run()
	l.emit(tokenEnd, end, end)
}

func (l *lexer) emit(kind tokenKind, start, end int) {
	l.tokens = append(l.tokens, token{kind: kind, start: uint32(start), end: uint32(end)})
}

// peek is the byte n after the next one, 0 at the end.
func (l *lexer) peek(n int) byte {
	if l.at+n < l.end {
		return l.text[l.at+n]
	}
	return 0
}

func (l *lexer) run() {
	for l.at < l.end {
		c := l.text[l.at]
		switch byteClass[c] {
		case classSpace:
			l.at++
		case className:
			l.name()
		case classDigit:
			l.number()
		case classQuote:
			l.stringLiteral(l.at, false, false)
		default:
			switch c {
			case '\n', '\r':
				l.lineBreak()
			case '#':
				l.comment()
			case '\\':
				l.continuation()
			case '.':
				if next := l.peek(1); next >= '0' && next <= '9' {
					l.number()
				} else {
					l.operator(c)
				}
			default:
				l.operator(c)
			}
		}
	}
}

// skipBreak moves past a line break: \n, \r\n or a lone \r.
func (l *lexer) skipBreak() {
	if l.text[l.at] == '\r' && l.peek(1) == '\n' {
		l.at++
	}
	l.at++
}

func (l *lexer) lineBreak() {
	start := l.at
	l.skipBreak()
	if l.embedded {
		return
	}
	if len(l.brackets) > 0 {
		l.checkUnclosed(start)
		return
	}
	if count := len(l.tokens); count > 0 && l.tokens[count-1].kind > tokenDedent {
		l.emit(tokenNewline, start, l.at)
	}
	l.startLine()
}

func (l *lexer) comment() {
	start := l.at
	for l.at < l.end && l.text[l.at] != '\n' && l.text[l.at] != '\r' {
		l.at++
	}
	if !l.embedded {
		l.comments = append(l.comments, Span{start, l.at})
	}
}

func (l *lexer) continuation() {
	if next := l.peek(1); next == '\n' || next == '\r' {
		l.at++
		l.skipBreak()
		return
	}
	l.report(Span{l.at, l.at + 1}, "a backslash must end the line")
	l.at++
}

// startLine skips blank and comment lines, then compares the next line's column with the open blocks.
func (l *lexer) startLine() {
	column := 0
	for l.at < l.end {
		switch l.text[l.at] {
		case ' ':
			column++
			l.at++
		case '\t':
			column = (column/8 + 1) * 8
			l.at++
		case '\f':
			column = 0
			l.at++
		case '#':
			l.comment()
		case '\n', '\r':
			l.skipBreak()
			column = 0
		default:
			l.indentTo(column)
			return
		}
	}
}

func (l *lexer) indentTo(column int) {
	l.lineIndent = column
	top := l.indents[len(l.indents)-1]
	if column == top {
		return
	}
	if column > top {
		l.indents = append(l.indents, column)
		l.emit(tokenIndent, l.at, l.at)
		return
	}
	for column < top {
		l.indents = l.indents[:len(l.indents)-1]
		next := l.indents[len(l.indents)-1]
		if next < column {
			// No open block has this column: read the line as one more of the innermost block it is inside of.
			l.report(Span{l.at, l.at}, "this indentation matches no open block")
			l.indents = append(l.indents, column)
			return
		}
		l.emit(tokenDedent, l.at, l.at)
		top = next
	}
}

// checkUnclosed looks, inside brackets, whether the line that starts here can belong to them. If it cannot,
// a bracket was not closed (usually one being typed), and the logical line ends at the break.
func (l *lexer) checkUnclosed(lineEnd int) {
	start, column := l.at, 0
	for l.at < l.end && byteClass[l.text[l.at]] == classSpace {
		if l.text[l.at] == '\t' {
			column = (column/8 + 1) * 8
		} else {
			column++
		}
		l.at++
	}
	word := l.at
	for word < l.end && (byteClass[l.text[word]] == className || byteClass[l.text[word]] == classDigit) {
		word++
	}
	if word == l.at {
		if l.at < l.end && l.text[l.at] == '@' && column <= l.lineIndent && l.decoratorAhead() {
			l.closeBrackets(start, lineEnd)
		}
		return
	}
	kind := keywordKind(l.text[l.at:word])
	broken := statementOnly[kind]
	if kind == keywordAsync && strings.HasPrefix(strings.TrimLeft(l.text[word:l.end], " \t"), "def ") {
		broken = true
	}
	if !broken && column <= l.lineIndent && endsOperand[l.tokens[len(l.tokens)-1].kind] {
		// Two operands in a row: no line of a bracket starts so, except by a string after a string.
		quoted := word < l.end && byteClass[l.text[word]] == classQuote && word-l.at <= 2
		broken = (kind == tokenName || kind == keywordFrom) && !quoted
	}
	if !broken && column <= l.lineIndent && (kind == keywordIf || kind == keywordFor || kind == keywordElse) {
		broken = l.opensBlock()
	}
	if broken {
		l.closeBrackets(start, lineEnd)
	}
}

// opensBlock says whether the line at l.at ends with a colon, as the header of a compound statement does.
func (l *lexer) opensBlock() bool {
	line := l.text[l.at:l.end]
	if stop := strings.IndexAny(line, "\r\n#"); stop >= 0 {
		line = line[:stop]
	}
	return strings.HasSuffix(strings.TrimRight(line, " \t"), ":")
}

// decoratorAhead tells `@decorator` lines before a def from the matrix product at the start of a line.
func (l *lexer) decoratorAhead() bool {
	rest := l.text[l.at:l.end]
	line := strings.IndexAny(rest, "\r\n")
	if line < 0 {
		return false
	}
	rest = strings.TrimLeft(rest[line:], "\r\n \t")
	return strings.HasPrefix(rest, "def ") || strings.HasPrefix(rest, "class ") || strings.HasPrefix(rest, "async def ")
}

func (l *lexer) closeBrackets(lineStart, lineEnd int) {
	l.reportUnclosed()
	l.brackets = l.brackets[:0]
	l.open = [tokenKinds]int{}
	l.emit(tokenNewline, lineEnd, lineStart)
	l.tokens[len(l.tokens)-1].cut = true
	l.at = lineStart
	l.startLine()
}

func (l *lexer) reportUnclosed() {
	open := l.tokens[l.brackets[len(l.brackets)-1]]
	l.report(Span{int(open.start), int(open.end)}, "'"+l.text[open.start:open.end]+"' was never closed")
}

func (l *lexer) name() {
	start := l.at
	at := start + 1
	for at < l.end && (byteClass[l.text[at]] == className || byteClass[l.text[at]] == classDigit) {
		at++
	}
	l.at = at
	word := l.text[start:at]
	if at < l.end && byteClass[l.text[at]] == classQuote && len(word) <= 2 {
		if formatted, raw, ok := stringPrefix(word); ok {
			l.stringLiteral(start, formatted, raw)
			return
		}
	}
	kind := keywordKind(word)
	if kind == keywordFor && len(l.brackets) > 0 {
		l.tokens[l.brackets[len(l.brackets)-1]].comprehension = true
	}
	l.emit(kind, start, at)
}

// stringPrefix says whether the word is a string prefix.
func stringPrefix(word string) (formatted, raw, ok bool) {
	for i := range len(word) {
		switch word[i] {
		case 'r', 'R':
			raw = true
		case 'b', 'B', 'u', 'U':
		case 'f', 'F', 't', 'T':
			formatted = true
		default:
			return false, false, false
		}
	}
	return formatted, raw, true
}

func (l *lexer) number() {
	start := l.at
	at := start
	text := l.text[:l.end]
	if text[at] == '0' && at+1 < len(text) && (text[at+1]|0x20 == 'x' || text[at+1]|0x20 == 'o' || text[at+1]|0x20 == 'b') {
		at += 2
		for at < len(text) && (byteClass[text[at]] == classDigit || text[at] == '_' ||
			text[at]|0x20 >= 'a' && text[at]|0x20 <= 'f') {
			at++
		}
	} else {
		digits := func() {
			for at < len(text) && (byteClass[text[at]] == classDigit || text[at] == '_') {
				at++
			}
		}
		digits()
		if at < len(text) && text[at] == '.' {
			at++
			digits()
		}
		if at < len(text) && text[at]|0x20 == 'e' {
			next := at + 1
			if next < len(text) && (text[next] == '+' || text[next] == '-') {
				next++
			}
			if next < len(text) && byteClass[text[next]] == classDigit {
				at = next
				digits()
			}
		}
		if at < len(text) && (text[at]|0x20 == 'j' || text[at]|0x20 == 'l' && !l.nameFollows(at+1)) {
			at++
		}
	}
	l.at = at
	l.emit(tokenNumber, start, at)
}

func (l *lexer) nameFollows(at int) bool {
	return at < l.end && byteClass[l.text[at]] == className
}

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
			if end = formattedEnd(l.text[:l.end], body, quote, triple, 0); end < 0 {
				l.wasted += l.end - body
			}
		}
	}
	if end < 0 {
		end = plainEnd(l.text[:l.end], body, quote, triple)
	}
	if end < 0 {
		// Unterminated: take the line, so that what follows is still read.
		end = body
		for end < l.end && l.text[end] != '\n' && l.text[end] != '\r' {
			end++
		}
		l.report(Span{start, end}, "this string is never closed")
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
