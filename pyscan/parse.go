package pyscan

import (
	"fmt"
	"sort"
	"sync"
)

const (
	// MaxFileSize is the largest source that Parse models, in bytes. A larger file gets an empty model with one SyntaxError.
	MaxFileSize = 8 << 20
	// maxDepth bounds the depth of the model; CPython refuses deeper code. It keeps recursions over it shallow.
	maxDepth = 2000
	// maxSyntaxErrors bounds File.SyntaxErrors.
	maxSyntaxErrors = 200
)

// Parse makes the model of one Python source file (Python 3.8 to 3.13). It never fails: source that does not
// parse becomes BadStmt and BadExpr nodes and an entry in SyntaxErrors, and everything around it is modelled
// as usual. It takes time linear in the text and may be called from any goroutine.
func Parse(path, text string) *File {
	file := &File{Path: path, Text: text, lines: NewLineTable(text)}
	module := &Function{Span: Span{0, len(text)}, Name: "<module>", FirstLine: 1, DefLine: 1}
	module.LastLine = file.lines.Line(max(0, len(text)-1))
	file.Module = module
	file.Functions = []*Function{module}
	p := &parser{file: file, text: text, function: module}
	if len(text) > MaxFileSize {
		p.note(Span{0, 0}, fmt.Sprintf("the file has %d bytes; stepline reads Python files of up to %d bytes", len(text), MaxFileSize))
	} else {
		buffer := tokenBuffers.Get().(*[]token)
		lexer := lexer{text: text, report: p.note, tokens: (*buffer)[:0]}
		lexer.file()
		p.tokens, file.Comments = lexer.tokens, lexer.comments
		p.module()
		*buffer = p.tokens[:0]
		tokenBuffers.Put(buffer)
	}
	sort.SliceStable(file.SyntaxErrors, func(i, j int) bool { return file.SyntaxErrors[i].Start < file.SyntaxErrors[j].Start })
	file.enclosing = enclosingFunctions(file.Functions)
	return file
}

// tokenBuffers keeps the tokens' memory from one file to the next.
var tokenBuffers = sync.Pool{New: func() any { return new([]token) }}

// parser is a recursive-descent parser over the file's tokens that builds the model as it goes.
// Every method that reads an expression returns one, never nil, and leaves its height in h.
type parser struct {
	file   *File
	text   string
	tokens []token
	at     int // index of the next token
	first  int // index of the first token of the file, or of the f-string's expression being read
	// quietUntil is the token up to which further errors are consequences of one already noted.
	quietUntil int
	// emptyAt is the token before which an empty BadExpr was put last, at emptyOffset: what holds it reaches there.
	emptyAt, emptyOffset int

	depth int // of the recursion
	h     int // height of the expression read last

	function *Function // whose body is being read
	class    *Class    // whose body is being read, nil inside its methods

	exprStack []Expr // lists being gathered
	stmtStack []Stmt
	slabs
}

// slabs hands out nodes in blocks: the nodes of a file live and die together.
type slabs struct {
	names      []Name
	attributes []Attribute
	calls      []Call
	constants  []Constant
	subscripts []Subscript
	operations []BinOp
	keywords   []Keyword
	exprStmts  []ExprStmt
	assigns    []Assign
	exprLists  []Expr
	stmtLists  []Stmt
}

const slabSize = 64

func take[T any](slab *[]T) *T {
	if len(*slab) == 0 {
		*slab = make([]T, slabSize)
	}
	node := &(*slab)[0]
	*slab = (*slab)[1:]
	return node
}

// takeList moves what was pushed above base from the stack into a list of its own.
func takeList[T any](slab, stack *[]T, base int) []T {
	count := len(*stack) - base
	if count == 0 {
		return nil
	}
	if count > len(*slab) {
		*slab = make([]T, max(slabSize*4, count))
	}
	list := (*slab)[:count:count]
	*slab = (*slab)[count:]
	copy(list, (*stack)[base:])
	clear((*stack)[base:])
	*stack = (*stack)[:base]
	return list
}

func (p *parser) exprsFrom(base int) []Expr { return takeList(&p.exprLists, &p.exprStack, base) }

// note records a place that does not parse.
func (p *parser) note(span Span, message string) {
	if len(p.file.SyntaxErrors) < maxSyntaxErrors {
		p.file.SyntaxErrors = append(p.file.SyntaxErrors, SyntaxError{Span: span, Message: message})
	}
}

// fail records that the next token is wrong, once per logical line.
func (p *parser) fail(message string) {
	if p.at < p.quietUntil {
		return
	}
	p.hush()
	if p.tokens[p.at].cut {
		return // the lexer has noted the bracket
	}
	span := p.tokenSpan(p.at)
	line := p.file.lines.Line(span.Start)
	for _, known := range p.file.SyntaxErrors {
		if known.Covers(span) || p.file.lines.Line(known.Start) == line {
			return
		}
	}
	p.note(span, message)
}

// hush keeps fail silent up to the end of the logical line.
func (p *parser) hush() {
	end := p.at
	for p.tokens[end].kind != tokenNewline && p.tokens[end].kind != tokenEnd {
		end++
	}
	p.quietUntil = end + 1
}

// kind is the next token's.
func (p *parser) kind() tokenKind { return p.tokens[p.at].kind }

// kindAfter is the kind of the token n after the next one.
func (p *parser) kindAfter(n int) tokenKind {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n].kind
	}
	return tokenEnd
}

// start is the offset where the next token starts; at the end of a logical line, where the last one ends.
func (p *parser) start() int {
	if p.tokens[p.at].kind <= tokenDedent {
		return p.previousEnd()
	}
	return int(p.tokens[p.at].start)
}

// previousEnd is the offset where the token read last ends.
func (p *parser) previousEnd() int {
	for at := p.at - 1; at >= p.first; at-- {
		if p.tokens[at].kind > tokenDedent {
			return int(p.tokens[at].end)
		}
	}
	return int(p.tokens[p.first].start)
}

// since is the span from the offset to the end of the token read last.
func (p *parser) since(start int) Span {
	end := p.previousEnd()
	if p.emptyAt == p.at {
		end = max(end, p.emptyOffset)
	}
	return Span{start, max(start, end)}
}

func (p *parser) tokenSpan(at int) Span {
	return Span{int(p.tokens[at].start), int(p.tokens[at].end)}
}

func (p *parser) word() string {
	t := p.tokens[p.at]
	return p.text[t.start:t.end]
}

// isWord says whether the next token is the name, a soft keyword.
func (p *parser) isWord(word string) bool { return p.kind() == tokenName && p.word() == word }

// accept moves past the next token if it is of the kind.
func (p *parser) accept(kind tokenKind) bool {
	if p.tokens[p.at].kind == kind {
		p.at++
		return true
	}
	return false
}

// expect is accept that notes an error where the token is missing.
func (p *parser) expect(kind tokenKind, message string) bool {
	if p.accept(kind) {
		return true
	}
	p.fail(message)
	return false
}

// atLineEnd says whether the logical line is read.
func (p *parser) atLineEnd() bool { return p.kind() <= tokenDedent }

// enter guards a recursion. Where it is too deep it skips the logical line and says false.
func (p *parser) enter() bool {
	if p.depth >= maxDepth {
		p.tooDeep()
		return false
	}
	p.depth++
	return true
}

func (p *parser) tooDeep() {
	p.fail("nested too deeply")
	for !p.atLineEnd() {
		p.at++
	}
}

// raise sets the height of an expression whose tallest part has the height h; it is false when that is too tall.
func (p *parser) raise(h int) bool {
	p.h = h + 1
	if p.h > maxDepth {
		p.tooDeep()
		p.h = 1
		return false
	}
	return true
}

func (p *parser) module() {
	base := len(p.stmtStack)
	for p.kind() != tokenEnd {
		p.statements()
		if p.kind() == tokenDedent {
			p.at++
		}
	}
	p.file.Module.Body = takeList(&p.stmtLists, &p.stmtStack, base)
}
