package rules

import (
	"fmt"
	"strings"

	"stepline/pyscan"
)

// Foreach writes a loop over parameters as calls of torch._foreach_*, which launch one kernel for many parameters. It knows the
// loops that training code is full of: a chain of in-place operations on each parameter, and the moving average written as
// `t.copy_(tau * p + (1 - tau) * t)` or `k.data = k.data * m + q.data * (1 - m)`. ok is false for any other body.
//
// The lists are made anew in each step from the same iterables, in the same order, with the loop's own condition; so what is updated,
// and from what, stays. The rounding of the moving averages can differ in the last bit.
func (f *Facts) Foreach(loop *pyscan.For) (edit TextEdit, ok bool) {
	w := foreachWriter{f: f, torch: f.nameOfTorch(f.Site(loop))}
	if w.torch == "" || len(loop.Else) > 0 || loop.Async || !w.bind(loop) {
		return TextEdit{}, false
	}
	body := loop.Body
	if branch, isIf := body[0].(*pyscan.If); isIf && len(body) == 1 && len(branch.Else) == 0 {
		if !w.conditionOfOne(branch.Test) {
			return TextEdit{}, false
		}
		body = branch.Body
	}
	var lines []string
	for _, stmt := range body {
		made := w.statement(stmt)
		if made == nil {
			return TextEdit{}, false
		}
		lines = append(lines, made...)
	}
	if len(lines) == 0 || len(lines) > 1 && w.once {
		return TextEdit{}, false
	}
	at := f.Site(loop)
	headerEnd := f.lineEnd(loop.Header.End)
	if _, own := f.ownLine(loop.Start); !own || headerEnd > loop.End || strings.Contains(f.File.Text[headerEnd:loop.End], "#") {
		return TextEdit{}, false
	}
	if comment := strings.TrimSpace(f.File.Text[loop.Header.End:headerEnd]); comment != "" { // the header's, kept
		lines[0] += "  " + strings.TrimLeft(comment, ": ")
	}
	text := strings.Join(lines, f.newline()+f.Indent(at))
	return TextEdit{File: f.File, Span: loop.Span, New: text}, true
}

// nameOfTorch is the name the module torch has at a site, "" if it has none.
func (f *Facts) nameOfTorch(at *Site) string {
	for _, name := range []string{"torch", "th"} {
		if b, _ := f.index.lookup(name, at.Function); b != nil && b.level == 0 && b.path == "torch" {
			return name
		}
	}
	return ""
}

// foreachWriter holds what the loop's variables run over.
type foreachWriter struct {
	f     *Facts
	torch string
	// iterables are the sources of the variables' iterables; named is the variable of a name that comes with a parameter.
	iterables map[string]string
	named     map[string]string
	condition string
	// once: one of the iterables may be a generator, which gives its parameters a single time.
	once bool
}

// bind reads `for p in model.parameters()`, `for n, p in model.named_parameters()` and `for a, b in zip(A, B)`.
func (w *foreachWriter) bind(loop *pyscan.For) bool {
	w.iterables, w.named = map[string]string{}, map[string]string{}
	source := func(target, iter pyscan.Expr) bool {
		if _, isCall := iter.(*pyscan.Call); !isCall && w.f.Value(iter).Kind != Sequence {
			w.once = true
		}
		switch t := target.(type) {
		case *pyscan.Name:
			w.iterables[t.ID] = w.f.Text(iter)
			return true
		case *pyscan.Tuple:
			call, ok := iter.(*pyscan.Call)
			if !ok || len(t.Elems) != 2 || lastName(call.Func) != "named_parameters" {
				return false
			}
			name, isName := t.Elems[0].(*pyscan.Name)
			value, isValue := t.Elems[1].(*pyscan.Name)
			if !isName || !isValue {
				return false
			}
			w.iterables[value.ID], w.named[value.ID] = w.f.Text(iter), name.ID
			return true
		}
		return false
	}
	zip, ok := loop.Iter.(*pyscan.Call)
	if !ok || w.f.Resolve(zip.Func) != "builtins.zip" {
		return source(loop.Target, loop.Iter)
	}
	targets := elementsOf(loop.Target)
	if len(targets) != len(zip.Args) || len(zip.Keywords) > 0 {
		return false
	}
	for i := range targets {
		if !source(targets[i], zip.Args[i]) {
			return false
		}
	}
	return true
}

// conditionOfOne takes the loop's condition over, where it speaks of the one variable there is.
func (w *foreachWriter) conditionOfOne(test pyscan.Expr) bool {
	if len(w.iterables) != 1 {
		return false
	}
	w.condition = " if " + w.f.Text(test)
	return true
}

// list is a comprehension that makes the list of one tensor per turn: `[p.data for p in model.parameters()]`; "" if the expression
// is not made of one loop variable and plain attributes of it.
func (w *foreachWriter) list(e pyscan.Expr) string {
	variable := w.variable(e)
	if variable == "" {
		return ""
	}
	target := variable
	if name := w.named[variable]; name != "" {
		target = name + ", " + variable
	}
	if w.f.Text(e) == variable && w.condition == "" && w.named[variable] == "" {
		return "list(" + w.iterables[variable] + ")"
	}
	return fmt.Sprintf("[%s for %s in %s%s]", w.f.Text(e), target, w.iterables[variable], w.condition)
}

// variable is the loop variable a tensor is read from: `p`, `p.data`, `p.grad`, `p.grad.data`, `p.detach()`; "" for anything else.
func (w *foreachWriter) variable(e pyscan.Expr) string {
	switch e := e.(type) {
	case *pyscan.Name:
		if _, ok := w.iterables[e.ID]; ok {
			return e.ID
		}
	case *pyscan.Attribute:
		if e.Attr == "data" || e.Attr == "grad" {
			return w.variable(e.Value)
		}
	case *pyscan.Call:
		if attr, ok := e.Func.(*pyscan.Attribute); ok && attr.Attr == "detach" && len(e.Args)+len(e.Keywords) == 0 {
			return w.variable(attr.Value)
		}
	}
	return ""
}

// scalar is the source of a number that is the same in every turn, "" if the expression names a loop variable.
func (w *foreachWriter) scalar(e pyscan.Expr) string {
	constant := true
	EachExpr(e, func(sub pyscan.Expr) bool {
		switch n := sub.(type) {
		case *pyscan.Name:
			_, variable := w.iterables[n.ID]
			for _, name := range w.named {
				variable = variable || name == n.ID
			}
			constant = constant && !variable
		case *pyscan.Call, *pyscan.Lambda, *pyscan.Comprehension:
			constant = false
		}
		return constant
	})
	if !constant || w.f.OnGPU(e) {
		return ""
	}
	return w.f.Text(e)
}

func (w *foreachWriter) statement(s pyscan.Stmt) []string {
	switch s := s.(type) {
	case *pyscan.ExprStmt:
		lines, _ := w.chain(s.Value)
		return lines
	case *pyscan.Assign: // k.data = k.data * m + q.data * (1 - m)
		if len(s.Targets) != 1 {
			return nil
		}
		if attr, ok := s.Targets[0].(*pyscan.Attribute); ok && attr.Attr == "data" && w.variable(attr) != "" {
			return w.average(attr, s.Value)
		}
	}
	return nil
}

// chain writes `t.mul_(a).add_(b, alpha=c)` as one call per operation, nil where it knows one of them not. It answers the tensor
// the chain works on too.
func (w *foreachWriter) chain(e pyscan.Expr) (lines []string, receiver pyscan.Expr) {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return nil, nil
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return nil, nil
	}
	receiver = attr.Value
	if w.variable(receiver) == "" {
		if lines, receiver = w.chain(attr.Value); lines == nil {
			return nil, nil
		}
	}
	made := w.operation(receiver, attr.Attr, call)
	if made == nil {
		return nil, nil
	}
	return append(lines, made...), receiver
}

func (w *foreachWriter) operation(receiver pyscan.Expr, name string, call *pyscan.Call) []string {
	on := w.list(receiver)
	if on == "" {
		return nil
	}
	write := func(function string, args ...string) []string {
		for _, a := range args {
			if a == "" {
				return nil
			}
		}
		return []string{fmt.Sprintf("%s._foreach_%s(%s)", w.torch, function, strings.Join(append([]string{on}, args...), ", "))}
	}
	args, keywords := call.Args, call.Keywords
	switch {
	case name == "zero_" && len(args)+len(keywords) == 0:
		return write("zero_")
	case name == "copy_" && len(args) == 1 && len(keywords) == 0:
		if w.variable(args[0]) == "" {
			return w.average(receiver, args[0])
		}
		return write("copy_", w.list(args[0]))
	case (name == "mul_" || name == "div_") && len(args) == 1 && len(keywords) == 0:
		if w.variable(args[0]) != "" {
			return write(name, w.list(args[0]))
		}
		return write(name, w.scalar(args[0]))
	case (name == "add_" || name == "sub_") && len(args) == 1:
		return w.addition(write, name, args[0], keywords)
	case name == "lerp_" && len(args) == 2 && len(keywords) == 0:
		return write("lerp_", w.list(args[0]), w.scalar(args[1]))
	case name == "clamp_" && len(args) == 2 && len(keywords) == 0:
		low, high := write("clamp_min_", w.scalar(args[0])), write("clamp_max_", w.scalar(args[1]))
		if low == nil || high == nil {
			return nil
		}
		return append(low, high...)
	}
	return nil
}

// addition: `add_(p)`, `add_(p, alpha=a)`, `add_(a * p)`, `add_(a)`.
func (w *foreachWriter) addition(write func(string, ...string) []string, name string, what pyscan.Expr, keywords []*pyscan.Keyword) []string {
	if w.variable(what) != "" {
		switch {
		case len(keywords) == 0:
			return write(name, w.list(what))
		case len(keywords) == 1 && keywords[0].Name == "alpha" && w.scalar(keywords[0].Value) != "":
			return write(name, w.list(what), "alpha="+w.scalar(keywords[0].Value))
		}
		return nil
	}
	if len(keywords) > 0 {
		return nil
	}
	if factor, tensor := w.product(what); tensor != nil {
		return write(name, w.list(tensor), "alpha="+factor)
	}
	return write(name, w.scalar(what))
}

// product splits `a * p` or `p * a` into the number and the tensor; nil if it is no such product.
func (w *foreachWriter) product(e pyscan.Expr) (factor string, tensor pyscan.Expr) {
	b, ok := e.(*pyscan.BinOp)
	if !ok || b.Op != "*" {
		return "", nil
	}
	number, tensor := b.Left, b.Right
	if w.variable(number) != "" {
		number, tensor = tensor, number
	}
	factor = w.scalar(number)
	if factor == "" || w.variable(tensor) == "" {
		return "", nil
	}
	return factor, tensor
}

// average writes `a * t + b * p`, put into t, as `t.mul_(a)` and `t.add_(p, alpha=b)`.
func (w *foreachWriter) average(into, value pyscan.Expr) []string {
	sum, ok := value.(*pyscan.BinOp)
	if !ok || sum.Op != "+" {
		return nil
	}
	keep, kept := w.product(sum.Left)
	take, taken := w.product(sum.Right)
	if kept == nil || taken == nil {
		return nil
	}
	if w.f.Text(kept) != w.f.Text(into) {
		keep, kept, take, taken = take, taken, keep, kept
	}
	if w.f.Text(kept) != w.f.Text(into) || w.variable(taken) == w.variable(into) {
		return nil
	}
	return []string{
		fmt.Sprintf("%s._foreach_mul_(%s, %s)", w.torch, w.list(into), keep),
		fmt.Sprintf("%s._foreach_add_(%s, %s, alpha=%s)", w.torch, w.list(into), w.list(taken), take),
	}
}
