package rules

import (
	"strings"

	"stepline/pyscan"
)

// Keyword returns a call's keyword argument, nil if it is not given by name.
func Keyword(call *pyscan.Call, name string) *pyscan.Keyword {
	for _, k := range call.Keywords {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Argument returns the value given for a parameter by keyword or by position (from 0), nil if it is not given.
// A starred argument before the position hides it.
func Argument(call *pyscan.Call, position int, name string) pyscan.Expr {
	if k := Keyword(call, name); k != nil {
		return k.Value
	}
	if position < 0 {
		return nil
	}
	for i, a := range call.Args {
		if _, starred := a.(*pyscan.Starred); starred {
			return nil
		}
		if i == position {
			return a
		}
	}
	return nil
}

// HasOpenArguments reports whether a call passes `*args` or `**kwargs`, so that any parameter may be given.
func HasOpenArguments(call *pyscan.Call) bool {
	for _, k := range call.Keywords {
		if k.Name == "" {
			return true
		}
	}
	for _, a := range call.Args {
		if _, ok := a.(*pyscan.Starred); ok {
			return true
		}
	}
	return false
}

// IsTrue, IsFalse and IsNone tell literal constants.
func IsTrue(e pyscan.Expr) bool  { return isConstant(e, pyscan.ConstTrue) }
func IsFalse(e pyscan.Expr) bool { return isConstant(e, pyscan.ConstFalse) }
func IsNone(e pyscan.Expr) bool  { return isConstant(e, pyscan.ConstNone) }

func isConstant(e pyscan.Expr, kind pyscan.ConstantKind) bool {
	c, ok := e.(*pyscan.Constant)
	return ok && c.Kind == kind
}

// StringValue is the text of a plain string literal without prefix or escapes; ok is false for anything else.
func StringValue(e pyscan.Expr) (string, bool) {
	c, ok := e.(*pyscan.Constant)
	if !ok || c.Kind != pyscan.ConstString {
		return "", false
	}
	text := c.Text
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if len(text) >= 2*len(quote) && strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
			inner := text[len(quote) : len(text)-len(quote)]
			return inner, !strings.Contains(inner, `\`) && !strings.Contains(inner, quote)
		}
	}
	return "", false
}

// AddKeyword is the edit that gives a call one more keyword argument, laid out as the call's other arguments are.
func (t *Tree) AddKeyword(call *pyscan.Call, text string) TextEdit {
	closing := call.ArgList.End - 1
	last := -1
	for _, a := range call.Args {
		last = max(last, a.Range().End)
	}
	for _, k := range call.Keywords {
		last = max(last, k.End)
	}
	if last < 0 {
		return TextEdit{File: t.File, Span: pyscan.Span{Start: closing, End: closing}, New: text}
	}
	closing = max(closing, last) // a call that is not closed yet ends with its last argument
	last = t.closeParens(last, closing)
	tail := t.File.Text[last:closing]
	comma := commaIn(tail)
	insertAt := last
	if comma >= 0 {
		insertAt = last + comma + 1
	}
	argStart := t.lastArgumentStart(call)
	if indent, own := t.ownLine(argStart); own && lineOf(t.File, argStart) != lineOf(t.File, call.ArgList.Start) {
		newline := t.newline()
		if comma >= 0 { // one argument per line with a trailing comma: keep both
			lineEnd := t.lineEnd(insertAt)
			if lineEnd <= closing && onlyComment(t.File.Text[insertAt:lineEnd]) {
				return TextEdit{File: t.File, Span: pyscan.Span{Start: lineEnd, End: lineEnd}, New: newline + indent + text + ","}
			}
			return TextEdit{File: t.File, Span: pyscan.Span{Start: insertAt, End: insertAt}, New: " " + text + ","}
		}
		return TextEdit{File: t.File, Span: pyscan.Span{Start: insertAt, End: insertAt}, New: "," + newline + indent + text}
	}
	if comma >= 0 {
		return TextEdit{File: t.File, Span: pyscan.Span{Start: insertAt, End: insertAt}, New: " " + text + ","}
	}
	return TextEdit{File: t.File, Span: pyscan.Span{Start: insertAt, End: insertAt}, New: ", " + text}
}

// closeParens moves an argument's end past parentheses around it, which the model does not keep.
func (t *Tree) closeParens(end, closing int) int {
	depth := 0
	for at := end; at < closing; at++ {
		switch c := t.File.Text[at]; c {
		case ')':
			depth++
			end = at + 1
		case '#':
			at = t.lineEnd(at) - 1
		case ',':
			return end
		}
	}
	return end
}

// commaIn is the offset of the first comma outside comments, −1 if there is none.
func commaIn(text string) int {
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case ',':
			return at
		case '#':
			for at < len(text) && text[at] != '\n' && text[at] != '\r' {
				at++
			}
		}
	}
	return -1
}

func onlyComment(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '#'
}

func (t *Tree) lastArgumentStart(call *pyscan.Call) int {
	start := call.ArgList.Start
	for _, a := range call.Args {
		start = max(start, a.Range().Start)
	}
	for _, k := range call.Keywords {
		start = max(start, k.Start)
	}
	return start
}

// ownLine reports whether only blanks stand before the offset on its line, and which.
func (t *Tree) ownLine(offset int) (indent string, own bool) {
	start := t.lineStart(offset)
	indent = t.File.Text[start:offset]
	return indent, strings.TrimSpace(indent) == ""
}

func (t *Tree) lineStart(offset int) int {
	return strings.LastIndexAny(t.File.Text[:offset], "\r\n") + 1
}

// lineEnd is the offset of the line break that ends the offset's line, or the text's end.
func (t *Tree) lineEnd(offset int) int {
	if i := strings.IndexAny(t.File.Text[offset:], "\r\n"); i >= 0 {
		return offset + i
	}
	return len(t.File.Text)
}

// nextLine is the offset after the line break that ends the offset's line.
func (t *Tree) nextLine(offset int) int {
	end := t.lineEnd(offset)
	if strings.HasPrefix(t.File.Text[end:], "\r\n") {
		return end + 2
	}
	return min(end+1, len(t.File.Text))
}

// newline is the file's line break.
func (t *Tree) newline() string {
	if i := strings.IndexAny(t.File.Text, "\r\n"); i >= 0 {
		if strings.HasPrefix(t.File.Text[i:], "\r\n") {
			return "\r\n"
		}
		return t.File.Text[i : i+1]
	}
	return "\n"
}

// Indent is the white space a statement's line begins with.
func (t *Tree) Indent(s *Site) string {
	start := t.lineStart(s.Range().Start)
	end := start
	for end < len(t.File.Text) && (t.File.Text[end] == ' ' || t.File.Text[end] == '\t') {
		end++
	}
	return t.File.Text[start:end]
}

// RemoveArgument is the edit that takes an argument (a keyword or a positional one, by its span) out of a call with its comma.
func (t *Tree) RemoveArgument(call *pyscan.Call, argument pyscan.Span) TextEdit {
	var spans []pyscan.Span
	for _, a := range call.Args {
		spans = append(spans, a.Range())
	}
	for _, k := range call.Keywords {
		spans = append(spans, k.Span)
	}
	before, after := -1, -1 // the neighbours' edges
	for _, s := range spans {
		if s.End <= argument.Start {
			before = max(before, s.End)
		}
		if s.Start >= argument.End && (after < 0 || s.Start < after) {
			after = s.Start
		}
	}
	text := t.File.Text
	switch {
	case after >= 0:
		return TextEdit{File: t.File, Span: pyscan.Span{Start: argument.Start, End: after}}
	case before >= 0:
		start := before
		if i := commaIn(text[before:argument.Start]); i >= 0 {
			start = before + i
		}
		return TextEdit{File: t.File, Span: pyscan.Span{Start: start, End: argument.End}}
	}
	end := argument.End
	if i := commaIn(text[end : call.ArgList.End-1]); i >= 0 {
		end += i + 1
	}
	return TextEdit{File: t.File, Span: pyscan.Span{Start: argument.Start, End: end}}
}

// Replace is the edit that puts text in the place of a node.
func (t *Tree) Replace(n pyscan.Node, text string) TextEdit {
	return TextEdit{File: t.File, Span: n.Range(), New: text}
}

// DeleteStatement is the edit that takes a simple statement out: its whole line where it is alone on it (with the comment
// behind it), else the statement and its semicolon. Where it is its block's only statement, `pass` takes its place.
func (t *Tree) DeleteStatement(s *Site) TextEdit {
	span := s.Range()
	text := t.File.Text
	if len(blockOf(s, t.File)) == 1 {
		return TextEdit{File: t.File, Span: span, New: "pass"}
	}
	_, own := t.ownLine(span.Start)
	lineEnd := t.lineEnd(span.End)
	rest := strings.TrimLeft(text[span.End:lineEnd], " \t")
	switch {
	case own && onlyComment(rest):
		return TextEdit{File: t.File, Span: pyscan.Span{Start: t.lineStart(span.Start), End: t.nextLine(span.End)}}
	case strings.HasPrefix(rest, ";"): // first or middle of several on a line
		end := lineEnd - len(rest) + 1
		for end < lineEnd && (text[end] == ' ' || text[end] == '\t') {
			end++
		}
		if end == lineEnd && own {
			return TextEdit{File: t.File, Span: pyscan.Span{Start: t.lineStart(span.Start), End: t.nextLine(span.End)}}
		}
		return TextEdit{File: t.File, Span: pyscan.Span{Start: span.Start, End: end}}
	}
	start := span.Start // last of several on a line
	if i := strings.LastIndexByte(text[:start], ';'); i >= t.lineStart(start) {
		start = i
	}
	return TextEdit{File: t.File, Span: pyscan.Span{Start: start, End: span.End}}
}

// DotOf is where an attribute's dot stands, behind its receiver and parentheses around that.
func (t *Tree) DotOf(attr *pyscan.Attribute) int {
	text := t.File.Text
	return attr.Value.Range().End + strings.LastIndexByte(text[attr.Value.Range().End:attr.AttrSpan.Start], '.')
}
