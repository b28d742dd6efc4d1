package pyscan

import "fmt"

const (
	// MaxFileSize is the largest source that Parse models, in bytes. Larger files get an empty model with one SyntaxError.
	MaxFileSize = 8 << 20
	// maxDepth bounds the nesting of expressions and statements in the model; CPython itself refuses deeper code.
	maxDepth = 2000
	// maxSyntaxErrors bounds File.SyntaxErrors.
	maxSyntaxErrors = 20
)

// Parse makes the model of one Python source file (Python 3.8 to 3.13). It never fails: source that does not
// parse becomes BadStmt and BadExpr nodes and an entry in SyntaxErrors, and everything around it is modelled
// as usual. The result keeps text and no memory outside the Go heap. Parse may be called from any goroutine.
func Parse(path, text string) *File {
	file := &File{Path: path, Text: text, lines: NewLineTable(text)}
	b := &builder{file: file, text: text}
	module := &Function{Span: Span{0, len(text)}, Name: "<module>", FirstLine: 1, DefLine: 1}
	module.LastLine = file.lines.Line(max(0, len(text)-1))
	file.Module = module
	file.Functions = []*Function{module}
	b.function = module
	if len(text) > MaxFileSize {
		b.report(Span{0, 0}, fmt.Sprintf("the file has %d bytes; stepline reads Python files of up to %d bytes", len(text), MaxFileSize))
	} else if err := parseSyntax(text, b.build); err != nil {
		b.report(Span{0, 0}, err.Error())
	}
	sortSyntaxErrors(file)
	file.enclosing = enclosingFunctions(file.Functions)
	file.names = resolveNames(file)
	return file
}

// builder turns a syntax tree into the model in one walk.
type builder struct {
	file     *File
	text     string
	nodes    []syntaxNode
	function *Function // whose body is being read
	class    *Class    // whose body is being read, nil inside its methods
	depth    int
}

func (b *builder) build(nodes, comments []syntaxNode) {
	b.nodes = nodes
	if len(comments) > 0 {
		b.file.Comments = make([]Span, len(comments))
		for i := range comments {
			b.file.Comments[i] = b.clip(Span{int(comments[i].start), int(comments[i].end)})
		}
	}
	if len(nodes) > 0 {
		b.file.Module.Body = b.statements(0)
	}
	b.nodes = nil
}

// report notes a place that does not parse.
func (b *builder) report(span Span, message string) {
	errors := b.file.SyntaxErrors
	if len(errors) > 0 && errors[len(errors)-1].Span == span {
		return
	}
	if len(errors) < maxSyntaxErrors {
		b.file.SyntaxErrors = append(errors, SyntaxError{Span: span, Message: message})
	}
}

// clip keeps a span inside the text; the parser's input ends with one byte more.
func (b *builder) clip(span Span) Span {
	span.End = min(span.End, len(b.text))
	span.Start = min(span.Start, span.End)
	return span
}

func (b *builder) span(i uint32) Span {
	return b.clip(Span{int(b.nodes[i].start), int(b.nodes[i].end)})
}

func (b *builder) source(i uint32) string {
	span := b.span(i)
	return b.text[span.Start:span.End]
}

// child is the node's first child with the field, 0 if there is none (node 0 is the root, never a child).
func (b *builder) child(i uint32, wanted field) uint32 {
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if b.nodes[c].field == wanted {
			return c
		}
	}
	return 0
}

// childOfKind is the node's first child of the kind, 0 if there is none.
func (b *builder) childOfKind(i uint32, wanted kind) uint32 {
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if b.nodes[c].kind == wanted {
			return c
		}
	}
	return 0
}

// header is the span from a compound statement's start to the colon that opens its body.
func (b *builder) header(i uint32) Span {
	span := b.span(i)
	if colon := b.childOfKind(i, kindColon); colon != 0 {
		span.End = b.span(colon).End
		return span
	}
	// Without a colon (broken code) the header is its first line.
	end := b.file.lines.Span(b.file.lines.Line(span.Start)).End
	span.End = min(span.End, end)
	return span
}

// nestedTooDeeply guards a recursion: it reports once and says whether to stop. Callers that go on call leave.
func (b *builder) nestedTooDeeply(i uint32) bool {
	if b.depth >= maxDepth {
		b.report(b.span(i), "nested too deeply")
		return true
	}
	b.depth++
	return false
}

func (b *builder) leave() { b.depth-- }

// isToken says whether the node is punctuation or a keyword.
func (b *builder) isToken(i uint32) bool {
	k := b.nodes[i].kind
	return k >= kindToken && k <= kindUnderscore
}

// reportError notes an ERROR or MISSING node.
func (b *builder) reportError(i uint32) {
	span := b.span(i)
	if b.nodes[i].missing {
		b.report(span, "something is missing here")
		return
	}
	text := b.text[span.Start:span.End]
	const shown = 40
	for at := range text {
		if text[at] == '\n' || text[at] == '\r' || at >= shown {
			text = text[:at] + "…"
			break
		}
	}
	b.report(span, fmt.Sprintf("this does not parse as Python: %s", text))
}

func sortSyntaxErrors(file *File) {
	errors := file.SyntaxErrors
	for i := 1; i < len(errors); i++ {
		for j := i; j > 0 && errors[j].Start < errors[j-1].Start; j-- {
			errors[j], errors[j-1] = errors[j-1], errors[j]
		}
	}
}
