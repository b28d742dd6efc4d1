package pyscan

// tokenKind tells tokens apart; every keyword and operator has its own.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenNewline
	tokenIndent
	tokenDedent
	tokenName
	tokenNumber
	tokenString  // a plain or bytes literal, prefix and quotes included
	tokenFString // an f-string (or a t-string), interpolations included
	tokenBad     // a character that no token starts with

	keywordFalse
	keywordNone
	keywordTrue
	keywordAnd
	keywordAs
	keywordAssert
	keywordAsync
	keywordAwait
	keywordBreak
	keywordClass
	keywordContinue
	keywordDef
	keywordDel
	keywordElif
	keywordElse
	keywordExcept
	keywordFinally
	keywordFor
	keywordFrom
	keywordGlobal
	keywordIf
	keywordImport
	keywordIn
	keywordIs
	keywordLambda
	keywordNonlocal
	keywordNot
	keywordOr
	keywordPass
	keywordRaise
	keywordReturn
	keywordTry
	keywordWhile
	keywordWith
	keywordYield

	opLeftParen
	opRightParen
	opLeftBracket
	opRightBracket
	opLeftBrace
	opRightBrace
	opComma
	opColon
	opSemicolon
	opDot
	opEllipsis
	opArrow
	opWalrus
	opBang

	opEqual
	// Augmented assignments, in the order of the binary operators below.
	opOrEqual
	opXorEqual
	opAndEqual
	opLeftShiftEqual
	opRightShiftEqual
	opPlusEqual
	opMinusEqual
	opStarEqual
	opSlashEqual
	opDoubleSlashEqual
	opPercentEqual
	opAtEqual
	opDoubleStarEqual

	opOr
	opXor
	opAnd
	opLeftShift
	opRightShift
	opPlus
	opMinus
	opStar
	opSlash
	opDoubleSlash
	opPercent
	opAt
	opDoubleStar
	opTilde

	opLess
	opGreater
	opLessEqual
	opGreaterEqual
	opEqualEqual
	opNotEqual

	tokenKinds
)

// token is one token of the source; offsets are into File.Text.
type token struct {
	kind tokenKind
	// comprehension is set on an opening bracket that has a `for` of its own: what it holds is a comprehension.
	comprehension bool
	// cut is set on a NEWLINE that ends a logical line early, at a bracket that was not closed.
	cut        bool
	start, end uint32
}

// precedence is a binary operator's binding strength, 0 for what is none; `**` is handled apart.
var precedence = [tokenKinds]uint8{
	opOr: 1, opXor: 2, opAnd: 3, opLeftShift: 4, opRightShift: 4, opPlus: 5, opMinus: 5,
	opStar: 6, opSlash: 6, opDoubleSlash: 6, opPercent: 6, opAt: 6,
}

// startsExpression says which tokens an expression can start with.
var startsExpression = [tokenKinds]bool{
	tokenName: true, tokenNumber: true, tokenString: true, tokenFString: true,
	keywordFalse: true, keywordNone: true, keywordTrue: true, keywordAwait: true, keywordLambda: true,
	keywordNot: true, keywordYield: true, opLeftParen: true, opLeftBracket: true, opLeftBrace: true,
	opEllipsis: true, opPlus: true, opMinus: true, opTilde: true,
}

// startsPrimary are the tokens that an operand without a sign or a keyword starts with.
var startsPrimary = [tokenKinds]bool{
	tokenName: true, tokenNumber: true, tokenString: true, tokenFString: true, keywordFalse: true,
	keywordNone: true, keywordTrue: true, opLeftParen: true, opLeftBracket: true, opLeftBrace: true,
	opEllipsis: true,
}

// endsExpression are the tokens that no expression goes on with.
var endsExpression = [tokenKinds]bool{
	tokenEnd: true, tokenNewline: true, opComma: true, opColon: true, opSemicolon: true, opEqual: true,
	opRightParen: true, opRightBracket: true, opRightBrace: true, keywordFor: true, keywordAs: true,
}

// endsOperand says after which tokens an operand is complete, so that no other may follow directly.
var endsOperand = [tokenKinds]bool{
	tokenName: true, tokenNumber: true, tokenString: true, tokenFString: true, keywordFalse: true,
	keywordNone: true, keywordTrue: true, opRightParen: true, opRightBracket: true, opRightBrace: true,
	opEllipsis: true,
}

// statementOnly are the keywords that never stand inside brackets: one at the start of a line there means
// that a bracket was not closed.
var statementOnly = [tokenKinds]bool{
	keywordAssert: true, keywordBreak: true, keywordClass: true, keywordContinue: true, keywordDef: true,
	keywordDel: true, keywordElif: true, keywordExcept: true, keywordFinally: true, keywordGlobal: true,
	keywordImport: true, keywordNonlocal: true, keywordPass: true, keywordRaise: true, keywordReturn: true,
	keywordTry: true, keywordWhile: true, keywordWith: true,
}

// keywordKind is the keyword's kind, tokenName for any other word.
func keywordKind(word string) tokenKind {
	if len(word) < 2 || len(word) > 8 {
		return tokenName
	}
	switch word {
	case "False":
		return keywordFalse
	case "None":
		return keywordNone
	case "True":
		return keywordTrue
	case "and":
		return keywordAnd
	case "as":
		return keywordAs
	case "assert":
		return keywordAssert
	case "async":
		return keywordAsync
	case "await":
		return keywordAwait
	case "break":
		return keywordBreak
	case "class":
		return keywordClass
	case "continue":
		return keywordContinue
	case "def":
		return keywordDef
	case "del":
		return keywordDel
	case "elif":
		return keywordElif
	case "else":
		return keywordElse
	case "except":
		return keywordExcept
	case "finally":
		return keywordFinally
	case "for":
		return keywordFor
	case "from":
		return keywordFrom
	case "global":
		return keywordGlobal
	case "if":
		return keywordIf
	case "import":
		return keywordImport
	case "in":
		return keywordIn
	case "is":
		return keywordIs
	case "lambda":
		return keywordLambda
	case "nonlocal":
		return keywordNonlocal
	case "not":
		return keywordNot
	case "or":
		return keywordOr
	case "pass":
		return keywordPass
	case "raise":
		return keywordRaise
	case "return":
		return keywordReturn
	case "try":
		return keywordTry
	case "while":
		return keywordWhile
	case "with":
		return keywordWith
	case "yield":
		return keywordYield
	}
	return tokenName
}
