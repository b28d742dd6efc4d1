package pyscan

import (
	"strconv"
	"strings"
)

// Keyword is the call's keyword argument of the name, nil if it is not given.
func (c *Call) Keyword(name string) *Keyword {
	for _, keyword := range c.Keywords {
		if keyword.Name == name {
			return keyword
		}
	}
	return nil
}

// Argument is the value of the parameter that has the position (from 0; negative for keyword-only ones) and
// the name, nil if it is not given or cannot be told for a star before it.
func (c *Call) Argument(position int, name string) Expr {
	if keyword := c.Keyword(name); keyword != nil && name != "" {
		return keyword.Value
	}
	if position < 0 || position >= len(c.Args) {
		return nil
	}
	for _, arg := range c.Args[:position+1] {
		if _, ok := arg.(*Starred); ok {
			return nil
		}
	}
	return c.Args[position]
}

// HasStar says whether the call passes `*args` or `**kwargs`, so that more is given than is written.
func (c *Call) HasStar() bool {
	for _, keyword := range c.Keywords {
		if keyword.Name == "" {
			return true
		}
	}
	return hasStar(c.Args)
}

// MethodName is the attribute a call is made on: "item" for `loss.item()`, "" for a call of a plain name.
func (c *Call) MethodName() string {
	if method, ok := c.Func.(*Attribute); ok {
		return method.Attr
	}
	return ""
}

// Receiver is what a method is called on: `loss` of `loss.item()`, nil for a call of a plain name.
func (c *Call) Receiver() Expr {
	if method, ok := c.Func.(*Attribute); ok {
		return method.Value
	}
	return nil
}

// Int is the value of an integer literal, with its sign.
func Int(e Expr) (int64, bool) {
	switch n := e.(type) {
	case *UnaryOp:
		if value, ok := Int(n.Operand); ok {
			switch n.Op {
			case "-":
				return -value, true
			case "+":
				return value, true
			}
		}
	case *Constant:
		if n.Kind == ConstInt {
			value, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 0, 64)
			return value, err == nil
		}
	}
	return 0, false
}

// Bool is the value of True or False.
func Bool(e Expr) (value, ok bool) {
	if constant, isConstant := e.(*Constant); isConstant {
		switch constant.Kind {
		case ConstTrue:
			return true, true
		case ConstFalse:
			return false, true
		}
	}
	return false, false
}

// IsNone says whether the expression is the literal None.
func IsNone(e Expr) bool {
	constant, ok := e.(*Constant)
	return ok && constant.Kind == ConstNone
}

// String is the value of a plain string literal, implicit concatenation included. Escapes other than quotes,
// backslashes, \n and \t are kept as written.
func String(e Expr) (string, bool) {
	constant, ok := e.(*Constant)
	if !ok || constant.Kind != ConstString {
		return "", false
	}
	text := constant.Text
	var out strings.Builder
	for at := 0; at < len(text); {
		switch byteClass[text[at]] {
		case classQuote, className:
		case classOther:
			if text[at] == '#' {
				for at < len(text) && text[at] != '\n' && text[at] != '\r' {
					at++
				}
				continue
			}
			at++
			continue
		default:
			at++
			continue
		}
		at = appendLiteral(&out, text, at)
	}
	return out.String(), true
}

// appendLiteral decodes the literal at at and returns the offset after it.
func appendLiteral(out *strings.Builder, text string, at int) int {
	raw := false
	for at < len(text) && byteClass[text[at]] == className {
		raw = raw || text[at]|0x20 == 'r'
		at++
	}
	if at >= len(text) {
		return at
	}
	quote := text[at]
	triple := at+2 < len(text) && text[at+1] == quote && text[at+2] == quote
	body, size := at+1, 1
	if triple {
		body, size = at+3, 3
	}
	end := plainEnd(text, body, quote, triple)
	if end < 0 {
		return len(text)
	}
	content := text[body : end-size]
	if raw || strings.IndexByte(content, '\\') < 0 {
		out.WriteString(content)
		return end
	}
	for i := 0; i < len(content); i++ {
		if content[i] != '\\' || i+1 == len(content) {
			out.WriteByte(content[i])
			continue
		}
		i++
		switch content[i] {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case '\\', '\'', '"':
			out.WriteByte(content[i])
		case '\n':
		default:
			out.WriteByte('\\')
			out.WriteByte(content[i])
		}
	}
	return end
}
