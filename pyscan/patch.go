package pyscan

import (
	"slices"
	"strings"
)

// Patch is a file after edits inside a few definitions, in terms of the model before them. It costs what the edited definitions cost
// to parse, not what the file does. What Parse makes of the new text is the model before, with each part's After in the place of its
// Before, and everything behind moved.
type Patch struct {
	// Base is the model before the edits.
	Base *File
	// File models the edited definitions alone. Its Text is the whole new text and its positions are those in it; its Module is
	// Base's, in whose terms nothing else changed, and so is Functions[0]. Everything else in it belongs to the parts.
	File *File
	// Parts are the stretches of neighbouring definitions that the edits lie in, in their order.
	Parts []Part
}

// Part is a stretch of edited definitions.
type Part struct {
	// Old and New are the place of the definitions, with the blank lines and comments behind them, in the two texts.
	Old, New Span
	// Was and Is are what differs between the two texts there.
	Was, Is Span
	// Class is the class whose body holds the definitions directly, nil at the top level.
	Class *Class
	// Before are the definitions (FunctionDef and ClassDef) of Base, After those in their place.
	Before, After []Stmt

	columns []int // of the blocks that the definitions are in
}

// maxParts bounds how many stretches a patch follows: they are all read with every edit.
const maxParts = 8

// Patch models the file with another text, where the difference lies inside neighbouring definitions of functions or classes: not
// at the top level between them, and not in what they share. ok is false where it does not, or where what follows the edit might be
// read in another way because of it (a string that is left open); then only Parse can tell.
func (f *File) Patch(text string) (p *Patch, ok bool) {
	was, is := Difference(f.Text, text)
	if was.Len() == 0 && is.Len() == 0 {
		return nil, false
	}
	part, ok := f.part(was)
	if !ok {
		return nil, false
	}
	part.New = Span{part.Old.Start, part.Old.End + len(text) - len(f.Text)}
	return f.patched(text, []Part{part})
}

// Then is the patch of Base for a text that comes after this patch's: what was edited before stays edited, the new edit may lie
// elsewhere.
func (p *Patch) Then(text string) (next *Patch, ok bool) {
	was, is := Difference(p.File.Text, text)
	if was.Len() == 0 && is.Len() == 0 {
		return p, true
	}
	grown := is.Len() - was.Len()
	parts := slices.Clone(p.Parts)
	for i := range parts {
		switch new := parts[i].New; {
		case new.Start < was.Start && was.End < new.End: // it goes on in a part
			parts[i].New.End += grown
			return p.Base.patched(text, moveParts(parts))
		case was.Start <= new.End && new.Start <= was.End:
			return nil, false // it touches a part's end
		}
	}
	before := 0 // how far the text before the edit has moved
	for _, part := range parts {
		if part.New.End < was.Start {
			before += part.New.Len() - part.Old.Len()
		}
	}
	part, ok := p.Base.part(Span{was.Start - before, was.End - before})
	if !ok || len(parts) == maxParts {
		return nil, false
	}
	part.New = Span{part.Old.Start, part.Old.End + grown}
	for i := 0; i < len(parts); i++ {
		switch old := parts[i].Old; {
		case part.Old.Covers(old): // a part of the class that is edited now
			part.New.End += parts[i].New.Len() - old.Len()
			parts = slices.Delete(parts, i, i+1)
			i--
		case part.Old.Start < old.End && old.Start < part.Old.End:
			return nil, false
		}
	}
	parts = append(parts, part)
	slices.SortFunc(parts, func(a, b Part) int { return a.Old.Start - b.Old.Start })
	return p.Base.patched(text, moveParts(parts))
}

// moveParts puts parts, whose New have their lengths, where they are when those before have theirs.
func moveParts(parts []Part) []Part {
	moved := 0
	for i := range parts {
		size := parts[i].New.Len()
		parts[i].New.Start = parts[i].Old.Start + moved
		parts[i].New.End = parts[i].New.Start + size
		moved += size - parts[i].Old.Len()
	}
	return parts
}

// patched reads the parts of a text; their Old and New are known.
func (f *File) patched(text string, parts []Part) (p *Patch, ok bool) {
	if len(text) > MaxFileSize || len(f.Text) > MaxFileSize {
		return nil, false
	}
	p = &Patch{Base: f, Parts: parts}
	p.File = &File{Path: f.Path, Text: text, Module: f.Module, Functions: []*Function{f.Module}, Part: true, lines: f.lines.with(text, parts)}
	for i := range parts {
		if !p.parse(&parts[i]) {
			return nil, false
		}
		was, is := Difference(f.Text[parts[i].Old.Start:parts[i].Old.End], text[parts[i].New.Start:parts[i].New.End])
		parts[i].Was = Span{parts[i].Old.Start + was.Start, parts[i].Old.Start + was.End}
		parts[i].Is = Span{parts[i].New.Start + is.Start, parts[i].New.Start + is.End}
	}
	slices.SortStableFunc(p.File.SyntaxErrors, func(a, b SyntaxError) int { return a.Start - b.Start })
	p.File.enclosing = enclosingFunctions(p.File.Functions)
	return p, true
}

// part finds the definitions that an edit lies in; ok is false where it lies elsewhere too.
func (f *File) part(edit Span) (p Part, ok bool) {
	columns := []int{0}
	body, end := f.Module.Body, len(f.Text)
	for {
		first, last, ok := f.touched(body, edit, end)
		if !ok {
			break
		}
		old := Span{f.lines.Start(f.Line(body[first].Range().Start)), end}
		if last+1 < len(body) {
			next := body[last+1].Range().Start
			if f.columnOf(next) != columns[len(columns)-1] {
				return Part{}, false // the lines behind are in this block by mistake only
			}
			old.End = f.lines.Start(f.Line(next))
		}
		p.Before, p.Old, p.columns = body[first:last+1], old, columns
		class, isClass := body[first].(*ClassDef)
		if first != last || !isClass || len(class.Class.Body) == 0 {
			break
		}
		start := class.Class.Body[0].Range().Start
		if endsInBackslash(f.Text[:f.lines.Start(f.Line(start))]) {
			break // its body is on its own logical line
		}
		if _, _, ok := f.touched(class.Class.Body, edit, old.End); !ok {
			break
		}
		columns = append(slices.Clone(columns), f.columnOf(start))
		p.Class, body, end = class.Class, class.Class.Body, old.End
	}
	return p, p.Before != nil
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

// parse reads the new text of a part.
func (p *Patch) parse(part *Part) bool {
	file, text := p.File, p.File.Text
	if endsInBackslash(text[:part.New.Start]) || p.hangsOnErrors(part) {
		return false
	}
	r := &parser{file: file, text: text, function: file.Module}
	var scratch *Class // takes the methods: Base's class is not ours to change
	if part.Class != nil {
		own := *part.Class
		own.Methods = nil
		scratch = &own
		r.class, r.function = scratch, part.Class.Parent
	}
	functions, classes := len(file.Functions), len(file.Classes)
	buffer := tokenBuffers.Get().(*[]token)
	defer func() {
		*buffer = r.tokens[:0]
		tokenBuffers.Put(buffer)
	}()
	lexer := lexer{text: text, report: r.note, tokens: (*buffer)[:0], at: part.New.Start, end: part.New.End, indents: slices.Clone(part.columns)}
	clean := lexer.part()
	r.tokens = lexer.tokens
	file.Comments = append(file.Comments, lexer.comments...)
	if !clean || !r.part(len(part.columns)-1) || len(r.stmtStack) == 0 {
		return false
	}
	part.After = slices.Clone(r.stmtStack)
	for _, stmt := range part.After {
		if !isDefinition(stmt) {
			return false
		}
	}
	for _, fn := range file.Functions[functions:] {
		if fn.Class == scratch && scratch != nil {
			fn.Class = part.Class
		}
	}
	for _, class := range file.Classes[classes:] {
		if class.Outer == scratch && scratch != nil {
			class.Outer = part.Class
		}
	}
	return true
}

// hangsOnErrors tells whether what does not parse before the edited definitions may be read otherwise because of them.
func (p *Patch) hangsOnErrors(part *Part) bool {
	for _, e := range p.Base.SyntaxErrors {
		if e.Start >= part.Old.Start {
			break
		}
		if e.Message == unclosedString || !startsDefinition(p.File.Text[part.New.Start:]) { // a bracket left open ends at a def, but not at all else
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
	by := 0
	for i := range p.Parts {
		part := &p.Parts[i]
		switch {
		case offset < part.Was.Start:
			return offset + by, true
		case offset < part.Was.End:
			return part.Is.Start, false
		}
		by += part.New.Len() - part.Old.Len()
	}
	return offset + by, true
}

// Moved is where a stretch of Base's text begins in the new one; ok is false where the edits touch it.
func (p *Patch) Moved(s Span) (start int, ok bool) {
	by := 0
	for i := range p.Parts {
		part := &p.Parts[i]
		switch {
		case s.Start < part.Was.Start && s.End <= part.Was.Start:
			return s.Start + by, true
		case s.Start < part.Was.End:
			return 0, false
		}
		by += part.New.Len() - part.Old.Len()
	}
	return s.Start + by, true
}

// ToBase is the place in Base's text of one in the new text; ok is false in edited definitions.
func (p *Patch) ToBase(offset int) (before int, ok bool) {
	by := 0
	for i := range p.Parts {
		part := &p.Parts[i]
		switch {
		case offset < part.New.Start:
			return offset - by, true
		case offset < part.New.End:
			return part.Old.Start, false
		}
		by += part.New.Len() - part.Old.Len()
	}
	return offset - by, true
}

// Replaces tells whether a place in Base's text lies in edited definitions.
func (p *Patch) Replaces(offset int) bool {
	return slices.ContainsFunc(p.Parts, func(part Part) bool { return part.Old.Contains(offset) })
}

// ReplacesAll tells whether all of a span of Base's text lies in edited definitions.
func (p *Patch) ReplacesAll(span Span) bool {
	return slices.ContainsFunc(p.Parts, func(part Part) bool { return part.Old.Covers(span) })
}

// Holds tells whether a span of the new text lies in edited definitions.
func (p *Patch) Holds(span Span) bool {
	return slices.ContainsFunc(p.Parts, func(part Part) bool { return part.New.Covers(span) })
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
