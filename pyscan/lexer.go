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
	limit    int // where the text ends that a string may reach into
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
	l.limit = l.end
	l.startLine()
	l.run()
	l.finish()
}

// finish ends the last logical line and the open blocks.
func (l *lexer) finish() {
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
	l.at, l.end, l.limit, l.embedded = start, end, end, true
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
	if kind == keywordAsync && strings.HasPrefix(strings.TrimLeft(l.text[word:l.limit], " \t"), "def ") {
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
	line := l.text[l.at:l.limit]
	if stop := strings.IndexAny(line, "\r\n#"); stop >= 0 {
		line = line[:stop]
	}
	return strings.HasSuffix(strings.TrimRight(line, " \t"), ":")
}

// decoratorAhead tells `@decorator` lines before a def from the matrix product at the start of a line.
func (l *lexer) decoratorAhead() bool {
	rest := l.text[l.at:l.limit]
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
