package pyscan

import (
	"slices"
	"strings"
)

// Patch is a file after an edit inside a few neighbouring definitions, in terms of the model before it. It costs what the edited
// definitions cost to parse, not what the file does. What Parse makes of the new text is the model before it, with After in the
// place of Before and everything behind them moved.
type Patch struct {
	// Base is the model before the edit.
	Base *File
	// File models the edited definitions alone. Its Text is the whole new text and its positions are those in it; its Module is
	// Base's, in whose terms nothing else changed, and so is Functions[0]. Everything else in it belongs to After.
	File *File
	// Old and New are the place of the edited definitions, with the blank lines and comments behind them, in the two texts.
	Old, New Span
	// Was and Is are what differs between the two texts.
	Was, Is Span
	// Class is the class whose body holds the definitions directly, nil at the top level.
	Class *Class
	// Before are the definitions (FunctionDef and ClassDef) of Base that the edit touches, After those in their place.
	Before, After []Stmt
}

// Patch models the file with another text, where the difference lies inside definitions of functions or classes: not at the top
// level between them, and not in what they share. ok is false where it does not, or where what follows the edit might be read in
// another way because of it (a string that is left open); then only Parse can tell.
func (f *File) Patch(text string) (p *Patch, ok bool) {
	if len(text) > MaxFileSize || len(f.Text) > MaxFileSize {
		return nil, false
	}
	was, is := Difference(f.Text, text)
	if was.Len() == 0 && is.Len() == 0 {
		return nil, false
	}
	p = &Patch{Base: f, Was: was, Is: is}
	columns := []int{0}
	body, end := f.Module.Body, len(f.Text)
	for {
		first, last, ok := f.touched(body, was, end)
		if !ok {
			break
		}
		old := Span{f.lines.Start(f.Line(body[first].Range().Start)), end}
		if last+1 < len(body) {
			next := body[last+1].Range().Start
			if f.columnOf(next) != columns[len(columns)-1] {
				return nil, false // the lines behind are in this block by mistake only
			}
			old.End = f.lines.Start(f.Line(next))
		}
		p.Before, p.Old = body[first:last+1], old
		class, isClass := body[first].(*ClassDef)
		if first != last || !isClass || len(class.Class.Body) == 0 {
			break
		}
		start := class.Class.Body[0].Range().Start
		if endsInBackslash(f.Text[:f.lines.Start(f.Line(start))]) {
			break // its body is on its own logical line
		}
		columns = append(slices.Clone(columns), f.columnOf(start))
		if deeper, deepEnd, ok := f.touched(class.Class.Body, was, old.End); !ok || deeper > deepEnd {
			columns = columns[:len(columns)-1]
			break
		}
		p.Class, body, end = class.Class, class.Class.Body, old.End
	}
	if p.Before == nil {
		return nil, false
	}
	moved := len(text) - len(f.Text)
	p.New = Span{p.Old.Start, p.Old.End + moved}
	return p, p.parse(text, columns)
}

// touched finds the definitions of a body that an edit lies in; a place between two belongs to both. The body's last reaches to end.
func (f *File) touched(body []Stmt, edit Span, end int) (first, last int, ok bool) {
	first, last = -1, -1
	start := 0
	for i, stmt := range body {
		span := stmt.Range()
		start = f.lines.Start(f.Line(span.Start))
		until := end
		if i+1 < len(body) {
			until = f.lines.Start(f.Line(body[i+1].Range().Start))
		}
		if until < edit.Start {
			continue
		}
		if start > edit.End {
			break
		}
		if !isDefinition(stmt) || !blank(f.Text[start:span.Start]) || until <= start {
			return 0, 0, false
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 || edit.Start < f.lines.Start(f.Line(body[first].Range().Start)) || edit.End > end {
		return 0, 0, false
	}
	if first == 0 && edit.Start == f.lines.Start(f.Line(body[0].Range().Start)) {
		return 0, 0, false // it touches the header or what else stands before
	}
	if first > 0 {
		if _, bad := body[first-1].(*BadStmt); bad {
			return 0, 0, false // a decorator that waits for its def
		}
	}
	return first, last, true
}

func isDefinition(stmt Stmt) bool {
	switch stmt.(type) {
	case *FunctionDef, *ClassDef:
		return true
	}
	return false
}

func blank(text string) bool {
	for i := range len(text) {
		if byteClass[text[i]] != classSpace {
			return false
		}
	}
	return true
}

// columnOf is the column the lexer gives to the line that the statement at an offset starts.
func (f *File) columnOf(start int) int {
	column := 0
	for _, c := range []byte(f.Text[f.lines.Start(f.Line(start)):start]) {
		switch c {
		case '\t':
			column = (column/8 + 1) * 8
		case '\f':
			column = 0
		default:
			column++
		}
	}
	return column
}

// parse reads the new text of the definitions in blocks of the given columns.
func (p *Patch) parse(text string, columns []int) bool {
	base := p.Base
	p.File = &File{Path: base.Path, Text: text, Module: base.Module, Functions: []*Function{base.Module}, Part: true, lines: base.lines.with(text, p.Old, p.New)}
	r := &parser{file: p.File, text: text, function: base.Module}
	var scratch *Class // takes the methods: Base's class is not ours to change
	if p.Class != nil {
		own := *p.Class
		own.Methods = nil
		scratch = &own
		r.class, r.function = scratch, p.Class.Parent
	}
	buffer := tokenBuffers.Get().(*[]token)
	defer func() {
		*buffer = r.tokens[:0]
		tokenBuffers.Put(buffer)
	}()
	if endsInBackslash(text[:p.New.Start]) || p.hangsOnErrors(text) {
		return false
	}
	lexer := lexer{text: text, report: r.note, tokens: (*buffer)[:0], at: p.New.Start, end: p.New.End, indents: columns}
	clean := lexer.part()
	r.tokens, p.File.Comments = lexer.tokens, lexer.comments
	if !clean || !r.part(len(columns)-1) || len(r.stmtStack) == 0 {
		return false
	}
	p.After = slices.Clone(r.stmtStack)
	for _, stmt := range p.After {
		if !isDefinition(stmt) {
			return false
		}
	}
	for _, fn := range p.File.Functions[1:] {
		if fn.Class == scratch && scratch != nil {
			fn.Class = p.Class
		}
	}
	for _, class := range p.File.Classes {
		if class.Outer == scratch && scratch != nil {
			class.Outer = p.Class
		}
	}
	slices.SortStableFunc(p.File.SyntaxErrors, func(a, b SyntaxError) int { return a.Start - b.Start })
	p.File.enclosing = enclosingFunctions(p.File.Functions)
	return true
}

// hangsOnErrors tells whether what does not parse before the edited definitions may be read otherwise because of them.
func (p *Patch) hangsOnErrors(text string) bool {
	for _, e := range p.Base.SyntaxErrors {
		if e.Start >= p.Old.Start {
			break
		}
		if e.Message == unclosedString || !startsDefinition(text[p.New.Start:]) { // a bracket left open ends at a def, but not at all else
			return true
		}
	}
	return len(p.Base.SyntaxErrors) == maxSyntaxErrors // there may be more
}

// part cuts text[at:end], lines of a block whose columns indents holds. It is false where the cut does not fall between two
// logical lines, or where the first line is of another block.
func (l *lexer) part() bool {
	l.limit = len(l.text)
	blocks := len(l.indents)
	column := l.indents[blocks-1]
	l.startLine()
	if len(l.tokens) > 0 || l.lineIndent != column {
		return false
	}
	l.run()
	if l.at != l.end || len(l.brackets) > 0 && !startsDefinition(l.text[l.end:]) {
		return false
	}
	if len(l.tokens) == 0 || l.end < len(l.text) && endsInBackslash(l.text[:l.end]) {
		return false
	}
	if len(l.indents) < blocks || l.indents[blocks-1] != column {
		return false // the block goes on in another column
	}
	l.finish()
	return true
}

// endsInBackslash tells whether a backslash joins a text's last line to what follows.
func endsInBackslash(text string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), `\`)
}

// startsDefinition tells whether the next line can in no way belong to brackets left open before it.
func startsDefinition(rest string) bool {
	i := 0
	for i < len(rest) && byteClass[rest[i]] == classSpace {
		i++
	}
	for _, word := range []string{"def ", "class ", "async def "} {
		if len(rest)-i >= len(word) && rest[i:i+len(word)] == word {
			return true
		}
	}
	return i == len(rest)
}

// part reads the statements of a block that is within the given number of others.
func (p *parser) part(blocks int) bool {
	p.statements()
	for range blocks {
		if p.kind() != tokenDedent {
			return false
		}
		p.at++
	}
	return p.kind() == tokenEnd
}

// ToNew is the place in the new text of one in Base's; ok is false for what is no longer there.
func (p *Patch) ToNew(offset int) (moved int, ok bool) {
	switch {
	case offset < p.Was.Start:
		return offset, true
	case offset >= p.Was.End:
		return offset + p.Is.End - p.Was.End, true
	}
	return p.Is.Start, false
}

// Difference is what differs between two texts: the shortest stretch of each outside of which they are alike.
func Difference(was, is string) (old, new Span) {
	prefix := commonPrefix(was, is)
	suffix := commonSuffix(was[prefix:], is[prefix:])
	return Span{prefix, len(was) - suffix}, Span{prefix, len(is) - suffix}
}

// commonPrefix and commonSuffix go by blocks: texts are long and differ in little.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i+64 <= n && a[i:i+64] == b[i:i+64] {
		i += 64
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i+64 <= n && a[len(a)-i-64:len(a)-i] == b[len(b)-i-64:len(b)-i] {
		i += 64
	}
	for i < n && a[len(a)-i-1] == b[len(b)-i-1] {
		i++
	}
	return i
}
