package pyscan

import "strings"

// isExpr says whether the kind is one that expr reads as an expression.
func (b *builder) isExpr(k kind) bool {
	switch k {
	case kindIdentifier, kindNamedExpression, kindListSplat, kindDictionarySplat, kindListSplatPattern,
		kindParenthesizedListSplat, kindExpressionList, kindPatternList, kindTuplePattern, kindListPattern,
		kindAsPattern, kindAsPatternTarget, kindNot, kindBoolean, kindBinary, kindUnary, kindComparison,
		kindLambda, kindYield, kindAttribute, kindSubscript, kindSlice, kindCall, kindType, kindSplatType,
		kindGenericType, kindUnionType, kindConstrainedType, kindMemberType, kindList, kindSet, kindTuple,
		kindDictionary, kindListComprehension, kindDictionaryComprehension, kindSetComprehension,
		kindGenerator, kindParenthesized, kindConditional, kindConcatenatedString, kindString, kindAwait,
		kindEllipsis, kindInteger, kindFloat, kindTrue, kindFalse, kindNone, kindChevron, kindDottedName,
		kindArgumentList, kindKeywordArgument, kindPair, kindInterpolation:
		return true
	}
	return false
}

// fieldExpr reads the expression under the field; where it is missing it is an empty BadExpr at the node's end.
func (b *builder) fieldExpr(i uint32, wanted field) Expr {
	if c := b.child(i, wanted); c != 0 {
		return b.expr(c)
	}
	end := b.span(i).End
	return &BadExpr{Span: Span{end, end}}
}

// onlyExpr reads the first child that is no token, nil if there is none.
func (b *builder) onlyExpr(i uint32) Expr {
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if !b.isToken(c) {
			return b.expr(c)
		}
	}
	return nil
}

// exprs reads all children that are no tokens.
func (b *builder) exprs(i uint32) []Expr {
	elems, _ := b.elements(i)
	return elems
}

// elements reads all children that are no tokens and says whether there is a comma among the tokens.
func (b *builder) elements(i uint32) (elems []Expr, comma bool) {
	count := 0
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if !b.isToken(c) {
			count++
		}
	}
	if count > 0 {
		elems = make([]Expr, 0, count)
	}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].kind == kindComma:
			comma = true
		case b.isToken(c):
			if b.nodes[c].missing {
				b.reportError(c)
			}
		default:
			elems = append(elems, b.expr(c))
		}
	}
	return elems, comma
}

// expr reads node i as an expression; it never returns nil.
func (b *builder) expr(i uint32) Expr {
	node := &b.nodes[i]
	span := b.span(i)
	switch node.kind {
	case kindIdentifier:
		if node.missing {
			b.reportError(i)
			return &BadExpr{Span: span}
		}
		return &Name{span, b.text[span.Start:span.End]}
	case kindInteger, kindFloat:
		return b.number(span, node.kind)
	case kindString:
		return b.stringExpr(i, span)
	case kindTrue:
		return &Constant{span, ConstTrue, b.text[span.Start:span.End]}
	case kindFalse:
		return &Constant{span, ConstFalse, b.text[span.Start:span.End]}
	case kindNone:
		return &Constant{span, ConstNone, b.text[span.Start:span.End]}
	case kindEllipsis:
		return &Constant{span, ConstEllipsis, b.text[span.Start:span.End]}
	}
	if b.nestedTooDeeply(i) {
		return &BadExpr{Span: span}
	}
	expr := b.compoundExpr(i, span)
	b.leave()
	return expr
}

func (b *builder) compoundExpr(i uint32, span Span) Expr {
	switch b.nodes[i].kind {
	case kindAttribute:
		attribute := &Attribute{Span: span, Value: b.fieldExpr(i, fieldObject), AttrSpan: Span{span.End, span.End}}
		if name := b.child(i, fieldAttribute); name != 0 {
			attribute.Attr, attribute.AttrSpan = b.source(name), b.span(name)
		}
		return attribute
	case kindCall:
		return b.call(i, span)
	case kindBinary:
		return &BinOp{span, b.fieldExpr(i, fieldLeft), b.fieldExpr(i, fieldRight), b.operator(i)}
	case kindUnary:
		return &UnaryOp{span, b.operator(i), b.fieldExpr(i, fieldArgument)}
	case kindNot:
		return &UnaryOp{span, "not", b.fieldExpr(i, fieldArgument)}
	case kindBoolean:
		return b.boolean(i, span)
	case kindComparison:
		return b.comparison(i, span)
	case kindSubscript:
		return b.subscript(i, span)
	case kindSlice:
		return b.slice(i, span)
	case kindParenthesized, kindType, kindAsPatternTarget:
		if inner := b.exprs(i); len(inner) == 1 {
			return inner[0]
		} else if len(inner) > 1 {
			return &BadExpr{span, inner}
		}
		return &BadExpr{Span: span}
	case kindTuple, kindExpressionList, kindPatternList, kindTuplePattern:
		elems, comma := b.elements(i)
		if b.nodes[i].kind == kindTuplePattern && len(elems) == 1 && !comma {
			return elems[0] // `(x) = …` in a target
		}
		return &Tuple{span, elems}
	case kindList, kindListPattern:
		return &List{span, b.exprs(i)}
	case kindSet:
		return &Set{span, b.exprs(i)}
	case kindDictionary:
		return b.dictionary(i, span)
	case kindListSplat, kindListSplatPattern, kindSplatType:
		return &Starred{span, b.starValue(i, span)}
	case kindParenthesizedListSplat:
		return b.starValue(i, span)
	case kindListComprehension:
		return b.comprehension(i, span, ListComprehension, "<listcomp>")
	case kindSetComprehension:
		return b.comprehension(i, span, SetComprehension, "<setcomp>")
	case kindDictionaryComprehension:
		return b.comprehension(i, span, DictComprehension, "<dictcomp>")
	case kindGenerator:
		return b.comprehension(i, span, GeneratorExpression, "<genexpr>")
	case kindLambda:
		return b.lambda(i, span)
	case kindConditional:
		parts := b.exprs(i)
		if len(parts) != 3 {
			return &BadExpr{span, parts}
		}
		return &IfExp{span, parts[1], parts[0], parts[2]}
	case kindConcatenatedString:
		return b.stringExpr(i, span)
	case kindAwait:
		return &Await{span, b.starValue(i, span)}
	case kindYield:
		b.function.Generator = true
		return &Yield{span, b.onlyExpr(i), b.childOfKind(i, kindFrom) != 0}
	case kindNamedExpression:
		value := b.fieldExpr(i, fieldValue)
		if name, ok := b.fieldExpr(i, fieldName).(*Name); ok {
			return &NamedExpr{span, name, value}
		}
		return &BadExpr{span, []Expr{value}}
	case kindGenericType:
		return b.genericType(i, span)
	case kindUnionType:
		if parts := b.exprs(i); len(parts) == 2 {
			return &BinOp{span, parts[0], parts[1], "|"}
		}
	case kindMemberType:
		if parts := b.exprs(i); len(parts) == 2 {
			attr := parts[1].Range()
			return &Attribute{span, parts[0], b.text[attr.Start:attr.End], attr}
		}
	case kindConstrainedType:
		if parts := b.exprs(i); len(parts) > 0 {
			return parts[0]
		}
	case kindDottedName:
		return b.dottedExpr(i, span)
	case kindError:
		b.reportError(i)
	}
	return b.badExpr(i, span)
}

// badExpr keeps the expressions that can be read inside a node that is none.
func (b *builder) badExpr(i uint32, span Span) Expr {
	bad := &BadExpr{Span: span}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if !b.isToken(c) {
			bad.Parts = append(bad.Parts, b.expr(c))
		}
	}
	return bad
}

// starValue reads the one operand of a star, an await or a parenthesis.
func (b *builder) starValue(i uint32, span Span) Expr {
	if value := b.onlyExpr(i); value != nil {
		return value
	}
	return &BadExpr{Span: Span{span.End, span.End}}
}

func (b *builder) operator(i uint32) string {
	if op := b.child(i, fieldOperator); op != 0 {
		return b.source(op)
	}
	return ""
}

func (b *builder) number(span Span, k kind) Expr {
	text := b.text[span.Start:span.End]
	constant := &Constant{span, ConstInt, text}
	hex := len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')
	switch {
	case text != "" && (text[len(text)-1] == 'j' || text[len(text)-1] == 'J'):
		constant.Kind = ConstImaginary
	case k == kindFloat || !hex && strings.ContainsAny(text, ".eE"):
		constant.Kind = ConstFloat
	}
	return constant
}

func (b *builder) call(i uint32, span Span) Expr {
	call := &Call{Span: span, Func: b.fieldExpr(i, fieldFunction), ArgList: Span{span.End, span.End}}
	arguments := b.child(i, fieldArguments)
	if arguments == 0 {
		return call
	}
	call.ArgList = b.span(arguments)
	if b.nodes[arguments].kind == kindGenerator {
		call.Args = []Expr{b.expr(arguments)}
		return call
	}
	call.Args, call.Keywords = b.arguments(arguments)
	return call
}

// arguments reads the parenthesised arguments of a call or of a class header.
func (b *builder) arguments(i uint32) (args []Expr, keywords []*Keyword) {
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindKeywordArgument:
			keyword := &Keyword{Span: b.span(c)}
			if name := b.child(c, fieldName); name != 0 {
				keyword.Name = b.source(name)
			}
			keyword.Value = b.fieldExpr(c, fieldValue)
			keywords = append(keywords, keyword)
		case kindDictionarySplat:
			keywords = append(keywords, &Keyword{Span: b.span(c), Value: b.starValue(c, b.span(c))})
		case kindError:
			if bad, ok := b.expr(c).(*BadExpr); ok && len(bad.Parts) > 0 {
				args = append(args, bad)
			}
		default:
			if !b.isToken(c) {
				args = append(args, b.expr(c))
			} else if b.nodes[c].missing {
				b.reportError(c)
			}
		}
	}
	return args, keywords
}

// boolean flattens `a and b and c`, which the grammar nests to the left.
func (b *builder) boolean(i uint32, span Span) Expr {
	op := b.operator(i)
	var rights []uint32
	for {
		rights = append(rights, b.child(i, fieldRight))
		left := b.child(i, fieldLeft)
		if left == 0 || b.nodes[left].kind != kindBoolean || b.operator(left) != op {
			values := make([]Expr, 0, len(rights)+1)
			if left != 0 {
				values = append(values, b.expr(left))
			}
			for at := len(rights) - 1; at >= 0; at-- {
				if rights[at] != 0 {
					values = append(values, b.expr(rights[at]))
				}
			}
			return &BoolOp{span, op, values}
		}
		i = left
	}
}

func (b *builder) comparison(i uint32, span Span) Expr {
	compare := &Compare{Span: span}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].kind == kindNotIn:
			compare.Ops = append(compare.Ops, "not in")
		case b.nodes[c].kind == kindIsNot:
			compare.Ops = append(compare.Ops, "is not")
		case b.isToken(c):
			compare.Ops = append(compare.Ops, b.source(c))
		case compare.Left == nil:
			compare.Left = b.expr(c)
		default:
			compare.Rights = append(compare.Rights, b.expr(c))
		}
	}
	if compare.Left == nil || len(compare.Rights) != len(compare.Ops) {
		bad := &BadExpr{Span: span}
		if compare.Left != nil {
			bad.Parts = append([]Expr{compare.Left}, compare.Rights...)
		}
		return bad
	}
	return compare
}

func (b *builder) subscript(i uint32, span Span) Expr {
	subscript := &Subscript{Span: span, Value: b.fieldExpr(i, fieldValue)}
	var indices []Expr
	comma := false
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].field == fieldSubscript:
			indices = append(indices, b.expr(c))
		case b.nodes[c].kind == kindComma:
			comma = true
		case b.nodes[c].kind == kindError:
			indices = append(indices, b.expr(c))
		}
	}
	switch {
	case len(indices) == 0:
		subscript.Index = &BadExpr{Span: Span{span.End, span.End}}
	case len(indices) == 1 && !comma:
		subscript.Index = indices[0]
	default:
		subscript.Index = &Tuple{Span{indices[0].Range().Start, indices[len(indices)-1].Range().End}, indices}
	}
	return subscript
}

func (b *builder) slice(i uint32, span Span) Expr {
	slice := &Slice{Span: span}
	part := 0
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].kind == kindColon:
			part++
		case b.isToken(c):
		case part == 0:
			slice.Lower = b.expr(c)
		case part == 1:
			slice.Upper = b.expr(c)
		default:
			slice.Step = b.expr(c)
		}
	}
	return slice
}

func (b *builder) dictionary(i uint32, span Span) Expr {
	dict := &Dict{Span: span}
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch b.nodes[c].kind {
		case kindPair:
			dict.Keys = append(dict.Keys, b.fieldExpr(c, fieldKey))
			dict.Values = append(dict.Values, b.fieldExpr(c, fieldValue))
		case kindDictionarySplat:
			dict.Keys = append(dict.Keys, nil)
			dict.Values = append(dict.Values, b.starValue(c, b.span(c)))
		case kindError:
			dict.Keys = append(dict.Keys, nil)
			dict.Values = append(dict.Values, b.expr(c))
		}
	}
	return dict
}

// comprehension reads the element, then the clauses, in source order. All but the first iterable run in the
// comprehension's own scope.
func (b *builder) comprehension(i uint32, span Span, k ComprehensionKind, name string) Expr {
	fn := b.newFunction(span, name)
	comprehension := &Comprehension{Span: span, Kind: k, Function: fn}
	fn.Comprehension = comprehension
	fn.NameSpan = Span{span.Start, span.Start}
	fn.Generator = k == GeneratorExpression
	outer := b.function
	outerClass := b.class
	b.function, b.class = fn, nil
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].field == fieldBody:
			if b.nodes[c].kind == kindPair {
				comprehension.Key = b.fieldExpr(c, fieldKey)
				comprehension.Value = b.fieldExpr(c, fieldValue)
			} else {
				comprehension.Value = b.expr(c)
			}
		case b.nodes[c].kind == kindForIn:
			clause := &ForClause{Span: b.span(c), Async: b.isAsync(c), Target: b.fieldExpr(c, fieldLeft)}
			if len(comprehension.Clauses) == 0 {
				b.function, b.class = outer, outerClass
			}
			clause.Iter = b.clauseIter(c)
			b.function, b.class = fn, nil
			comprehension.Clauses = append(comprehension.Clauses, clause)
		case b.nodes[c].kind == kindIfClause:
			if count := len(comprehension.Clauses); count > 0 {
				clause := comprehension.Clauses[count-1]
				if condition := b.onlyExpr(c); condition != nil {
					clause.Conditions = append(clause.Conditions, condition)
				}
				clause.End = b.span(c).End
			}
		case b.nodes[c].kind == kindError:
			b.reportError(c)
		}
	}
	b.function, b.class = outer, outerClass
	if comprehension.Value == nil {
		comprehension.Value = &BadExpr{Span: Span{span.End, span.End}}
	}
	return comprehension
}

// clauseIter reads the iterable of a comprehension's clause; `in a, b` has several nodes in the field.
func (b *builder) clauseIter(i uint32) Expr {
	var parts []Expr
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if b.nodes[c].field == fieldRight && !b.isToken(c) {
			parts = append(parts, b.expr(c))
		}
	}
	switch len(parts) {
	case 0:
		end := b.span(i).End
		return &BadExpr{Span: Span{end, end}}
	case 1:
		return parts[0]
	}
	return &Tuple{Span{parts[0].Range().Start, parts[len(parts)-1].Range().End}, parts}
}

func (b *builder) lambda(i uint32, span Span) Expr {
	fn := b.newFunction(span, "<lambda>")
	fn.NameSpan = Span{span.Start, min(span.Start+len("lambda"), span.End)}
	if params := b.child(i, fieldParameters); params != 0 {
		fn.Params = b.parameters(params)
	}
	outerFunction, outerClass := b.function, b.class
	b.function, b.class = fn, nil
	fn.Value = b.fieldExpr(i, fieldBody)
	b.function, b.class = outerFunction, outerClass
	return &Lambda{span, fn}
}

// stringExpr reads a string, an f-string, or an implicit concatenation of them.
func (b *builder) stringExpr(i uint32, span Span) Expr {
	var values []Expr
	constant := &Constant{span, ConstString, b.text[span.Start:span.End]}
	formatted := false
	end := b.nodes[i].next
	for c := i; c < end; c++ { // all strings of a concatenation and their parts, in order
		switch b.nodes[c].kind {
		case kindStringStart:
			prefix := b.source(c)
			for at := range len(prefix) {
				switch prefix[at] {
				case 'b', 'B':
					constant.Kind = ConstBytes
				case 'f', 'F':
					formatted = true
				}
			}
		case kindInterpolation, kindFormatExpression:
			values = b.interpolation(c, values)
			c = b.nodes[c].next - 1
		case kindError:
			b.reportError(c)
		}
	}
	if formatted || len(values) > 0 {
		return &FString{span, values}
	}
	return constant
}

// interpolation reads `{value!r:{width}}`: the value, then what the format specifier interpolates.
func (b *builder) interpolation(i uint32, values []Expr) []Expr {
	if b.nestedTooDeeply(i) {
		return values
	}
	defer b.leave()
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].kind == kindFormatSpecifier:
			for part := c + 1; part < b.nodes[c].next; part = b.nodes[part].next {
				if k := b.nodes[part].kind; k == kindFormatExpression || k == kindInterpolation {
					values = b.interpolation(part, values)
				}
			}
		case b.nodes[c].kind == kindTypeConversion || b.isToken(c):
		default:
			values = append(values, b.expr(c))
		}
	}
	return values
}

// genericType reads `Name[Args]` where the grammar sees a type.
func (b *builder) genericType(i uint32, span Span) Expr {
	var value Expr
	var args []Expr
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		switch {
		case b.nodes[c].kind == kindTypeParameter:
			args = append(args, b.exprs(c)...)
		case !b.isToken(c) && value == nil:
			value = b.expr(c)
		}
	}
	if value == nil || len(args) == 0 {
		return b.badExpr(i, span)
	}
	index := args[0]
	if len(args) > 1 {
		index = &Tuple{Span{args[0].Range().Start, args[len(args)-1].Range().End}, args}
	}
	return &Subscript{span, value, index}
}

// dottedExpr reads `a.b.c` of a pattern as nested attributes.
func (b *builder) dottedExpr(i uint32, span Span) Expr {
	var value Expr
	for c := i + 1; c < b.nodes[i].next; c = b.nodes[c].next {
		if b.nodes[c].kind != kindIdentifier {
			continue
		}
		part := b.span(c)
		if value == nil {
			value = &Name{part, b.source(c)}
		} else {
			value = &Attribute{Span{span.Start, part.End}, value, b.source(c), part}
		}
	}
	if value == nil {
		return &BadExpr{Span: span}
	}
	return value
}
