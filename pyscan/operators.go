package pyscan

// operator cuts an operator, a bracket or a character that is no Python.
func (l *lexer) operator(c byte) {
	start := l.at
	kind, size := operatorKind(c, l.peek(1), l.peek(2))
	l.at += size
	switch kind {
	case opLeftParen, opLeftBracket, opLeftBrace:
		l.brackets = append(l.brackets, uint32(len(l.tokens)))
		l.open[kind]++
	case opRightParen, opRightBracket, opRightBrace:
		l.closeBracket(kind)
	case tokenBad:
		l.report(Span{start, l.at}, "invalid character '"+l.text[start:l.at]+"'")
	}
	l.emit(kind, start, l.at)
}

// closeBracket pops the bracket that the closing one belongs to, with unclosed ones above it; a closing
// bracket that nothing opened changes nothing.
func (l *lexer) closeBracket(kind tokenKind) {
	if l.open[kind-1] == 0 {
		return
	}
	for {
		last := len(l.brackets) - 1
		opened := l.tokens[l.brackets[last]].kind
		l.brackets = l.brackets[:last]
		l.open[opened]--
		if opened == kind-1 {
			return
		}
	}
}

func operatorKind(c, next, third byte) (tokenKind, int) {
	switch c {
	case '(':
		return opLeftParen, 1
	case ')':
		return opRightParen, 1
	case '[':
		return opLeftBracket, 1
	case ']':
		return opRightBracket, 1
	case '{':
		return opLeftBrace, 1
	case '}':
		return opRightBrace, 1
	case ',':
		return opComma, 1
	case ';':
		return opSemicolon, 1
	case ':':
		return withEqual(next, opColon, opWalrus)
	case '.':
		if next == '.' && third == '.' {
			return opEllipsis, 3
		}
		return opDot, 1
	case '=':
		return withEqual(next, opEqual, opEqualEqual)
	case '!':
		return withEqual(next, opBang, opNotEqual)
	case '+':
		return withEqual(next, opPlus, opPlusEqual)
	case '-':
		if next == '>' {
			return opArrow, 2
		}
		return withEqual(next, opMinus, opMinusEqual)
	case '*':
		return doubled(c, next, third, opStar, opStarEqual, opDoubleStar, opDoubleStarEqual)
	case '/':
		return doubled(c, next, third, opSlash, opSlashEqual, opDoubleSlash, opDoubleSlashEqual)
	case '%':
		return withEqual(next, opPercent, opPercentEqual)
	case '@':
		return withEqual(next, opAt, opAtEqual)
	case '|':
		return withEqual(next, opOr, opOrEqual)
	case '^':
		return withEqual(next, opXor, opXorEqual)
	case '&':
		return withEqual(next, opAnd, opAndEqual)
	case '~':
		return opTilde, 1
	case '<':
		if next == '>' {
			return opNotEqual, 2
		}
		return doubled(c, next, third, opLess, opLessEqual, opLeftShift, opLeftShiftEqual)
	case '>':
		return doubled(c, next, third, opGreater, opGreaterEqual, opRightShift, opRightShiftEqual)
	}
	return tokenBad, 1
}

func withEqual(next byte, plain, equal tokenKind) (tokenKind, int) {
	if next == '=' {
		return equal, 2
	}
	return plain, 1
}

func doubled(c, next, third byte, plain, equal, double, doubleEqual tokenKind) (tokenKind, int) {
	switch {
	case next == c && third == '=':
		return doubleEqual, 3
	case next == c:
		return double, 2
	case next == '=':
		return equal, 2
	}
	return plain, 1
}
