package rules

import (
	"fmt"
	"strings"

	"stepline/pyscan"
)

// InHandler reports whether a site is in an except clause, or in a function named for running out of memory.
func (f *Facts) InHandler(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		if at.Role == RoleHandler {
			return true
		}
	}
	fn := s.Def()
	return fn != nil && strings.Contains(strings.ToLower(fn.Name), "oom")
}

// OutlivesStep reports whether the variable a step adds to is made before the innermost training loop and never reset in it,
// and is not what backward is called on.
func (f *Facts) OutlivesStep(s *Site, target pyscan.Expr) bool {
	key := envKey(target)
	if key == "" {
		return false
	}
	fn := s.Def()
	fl := f.analysis.at(f.index, fn, topLevel)
	if fl == nil || fl.losses[key] {
		return false
	}
	var step *Site
	for loop := enclosingLoop(s); loop != nil; loop = enclosingLoop(loop) {
		if f.analysis.stepLoop(f.index, loop) {
			step = loop
		}
	}
	if step == nil {
		return strings.HasPrefix(key, selfOf(fn)+".") && selfOf(fn) != ""
	}
	for _, a := range f.assignments(fn) {
		for _, t := range a.Targets {
			for _, e := range append([]pyscan.Expr{t}, elementsOf(t)...) {
				if envKey(e) == key && step.Range().Covers(a.Span) {
					return false
				}
			}
		}
	}
	return !f.feedsBackward(fn, key)
}

// feedsBackward: a variable is part of what a loss is assigned from (`loss = sum(losses)`).
func (f *Facts) feedsBackward(fn *pyscan.Function, key string) bool {
	fl := f.analysis.at(f.index, fn, topLevel)
	for _, a := range f.assignments(fn) {
		isLoss := false
		for _, t := range a.Targets {
			isLoss = isLoss || fl.losses[envKey(t)]
		}
		if !isLoss {
			continue
		}
		found := false
		EachExpr(a.Value, func(e pyscan.Expr) bool {
			found = found || envKey(e) == key
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// HoldsGraph reports whether an expression is a loss with its graph: a variable backward is called on, scaled or combined with
// numbers, and not detached.
func (f *Facts) HoldsGraph(e pyscan.Expr) bool {
	s := f.Site(e)
	if s == nil {
		return false
	}
	fl := f.analysis.at(f.index, s.Def(), topLevel)
	if fl == nil {
		return false
	}
	switch e := e.(type) {
	case *pyscan.Name, *pyscan.Attribute:
		key := envKey(e)
		return key != "" && fl.losses[key] && f.OnGPU(e)
	case *pyscan.BinOp:
		return (e.Op == "*" || e.Op == "/") && (f.HoldsGraph(e.Left) || f.HoldsGraph(e.Right))
	case *pyscan.Call:
		attr, ok := e.Func.(*pyscan.Attribute)
		return ok && (attr.Attr == "mean" || attr.Attr == "sum") && f.HoldsGraph(attr.Value)
	}
	return false
}

// EndOf is the end of an expression, parentheses around it not included.
func (t *Tree) EndOf(e pyscan.Expr) int { return e.Range().End }

// GraphEvaluation is a function that evaluates with gradients on.
type GraphEvaluation struct {
	Function *pyscan.Function
	Def      *Site // its def
	Eval     *Site // the call of .eval()
	Call     *Site // the first call of the model in a loop
}

// EvaluationsWithGraph finds the functions that call `.eval()` and the model in a loop without switching gradients off.
func (f *Facts) EvaluationsWithGraph() []GraphEvaluation {
	byFunction := map[*pyscan.Function]*GraphEvaluation{}
	var order []*pyscan.Function
	for _, c := range f.Calls {
		fn := c.Def()
		if fn == nil || fn.Name == "<module>" || fn.Name == "<lambda>" {
			continue
		}
		attr, isMethod := c.Call().Func.(*pyscan.Attribute)
		if isMethod && attr.Attr == "eval" && len(c.Call().Args) == 0 && f.Resolve(attr) == "" {
			if byFunction[fn] == nil {
				byFunction[fn] = &GraphEvaluation{Function: fn, Def: f.index.defs[fn], Eval: c}
				order = append(order, fn)
			}
			continue
		}
		g := byFunction[fn]
		if g != nil && g.Call == nil && enclosingLoop(c) != nil && f.Value(c.Call().Func).Kind == Module && f.Value(c.Call()).onGPU() &&
			envKey(c.Call().Func) == envKey(evalReceiver(g.Eval)) {
			g.Call = c
		}
	}
	var out []GraphEvaluation
	for _, fn := range order {
		g := byFunction[fn]
		if g.Call == nil || g.Def == nil || evalHooks[fn.Name] || f.gradientsMatter(fn) || f.analysis.isCalledWithoutGrad(f.index, fn) {
			continue
		}
		out = append(out, *g)
	}
	return out
}

func evalReceiver(eval *Site) pyscan.Expr { return eval.Call().Func.(*pyscan.Attribute).Value }

// gradientsMatter: the function, or the module around it, switches gradients on or off itself, or uses them.
func (f *Facts) gradientsMatter(fn *pyscan.Function) bool {
	text := f.File.Text[fn.Start:fn.End]
	for _, word := range []string{"no_grad", "inference_mode", "grad_enabled", "backward", "autograd", "requires_grad", "attack", "enable_grad", ".train()", "torch.func"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	for up := fn.Parent; up != nil; up = up.Parent {
		for _, d := range up.Decorators {
			if noGrad(d) {
				return true
			}
		}
	}
	return f.index.mentions("set_grad_enabled(False)")
}

// calledWithoutGrad reports whether some call of a function lies under no_grad or in a function that switches gradients off.
func (a *analysis) calledWithoutGrad(x *fileIndex, fn *pyscan.Function) bool {
	for _, c := range a.callersOf(x, fn) {
		for up := range c.site.Ancestors() {
			if with, ok := up.Node.(*pyscan.With); ok {
				for _, item := range with.Items {
					if noGrad(item.Context) {
						return true
					}
				}
			}
		}
		for def := c.site.Def(); def != nil; def = def.Parent {
			if evalHooks[def.Name] {
				return true
			}
			for _, d := range def.Decorators {
				if noGrad(d) {
					return true
				}
			}
		}
	}
	return false
}

// UnderComparison reports whether a site runs under an if with an ordering comparison, such as "is it the best so far".
func (f *Facts) UnderComparison(s *Site) bool { return underComparison(s) }

func underComparison(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		branch, ok := at.Parent.Node.(*pyscan.If)
		if !ok || at.Role != RoleBody {
			continue
		}
		found := false
		EachExpr(branch.Test, func(e pyscan.Expr) bool {
			switch e := e.(type) {
			case *pyscan.Compare:
				for _, op := range e.Ops {
					found = found || op == "<" || op == ">" || op == "<=" || op == ">="
				}
			case *pyscan.Name:
				found = found || strings.Contains(e.ID, "best") || strings.Contains(e.ID, "save")
			case *pyscan.Attribute:
				found = found || strings.Contains(e.Attr, "best") || strings.Contains(e.Attr, "save")
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// EveryN is the fix that puts the statement of a site under `if step % n == 0`, where the loop around it counts its turns.
func (f *Facts) EveryN(s *Site, n int) []Fix {
	stmt := s.Statement()
	if stmt == nil {
		return nil
	}
	if _, ok := stmt.Node.(*pyscan.ExprStmt); !ok || !f.OwnLine(stmt) {
		return nil
	}
	counter := f.stepCounter(stmt)
	if counter == "" {
		return nil
	}
	r := stmt.Range()
	indent := f.Indent(stmt)
	unit := "    "
	if strings.HasPrefix(indent, "\t") {
		unit = "\t"
	}
	start := f.lineStart(r.Start)
	var body strings.Builder
	fmt.Fprintf(&body, "%sif %s %% %d == 0:%s", indent, counter, n, f.newline())
	for at := start; at < r.End; {
		next := f.nextLine(at)
		line := f.File.Text[at:min(next, r.End)]
		if !f.insideString(at) && strings.TrimSpace(line) != "" {
			body.WriteString(unit)
		}
		body.WriteString(line)
		at = next
	}
	return []Fix{{
		Title: fmt.Sprintf("Do it every %d steps: `if %s %% %d == 0`", n, counter, n), Safety: Unsafe,
		Edits: []TextEdit{{File: f.File, Span: pyscan.Span{Start: start, End: r.End}, New: body.String()}},
	}}
}

// stepCounter is the variable that counts the turns of the training loop a statement stands in: enumerate's index, range's variable.
func (f *Facts) stepCounter(stmt *Site) string {
	for loop := enclosingLoop(stmt); loop != nil; loop = enclosingLoop(loop) {
		each, ok := loop.Node.(*pyscan.For)
		if !ok || !f.analysis.stepLoop(f.index, loop) {
			continue
		}
		target := each.Target
		call, isCall := each.Iter.(*pyscan.Call)
		if !isCall {
			return ""
		}
		switch f.Resolve(call.Func) {
		case "builtins.range":
			return envKey(target)
		case "builtins.enumerate":
			if elems := elementsOf(target); len(elems) == 2 {
				return envKey(elems[0])
			}
		}
		if lastName(call.Func) == "trange" {
			return envKey(target)
		}
		return ""
	}
	return ""
}

// StateOnGPU finds the torch.load call whose result an optimizer's load_state_dict takes, with the map_location that puts it on
// a GPU; nil if the site is no such call.
func (f *Facts) StateOnGPU(s *Site) (load *pyscan.Call, where pyscan.Expr) {
	call := s.Call()
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok || attr.Attr != "load_state_dict" || len(call.Args) == 0 {
		return nil, nil
	}
	if v := f.Value(attr.Value); v.Kind != Optimizer && !(v.Kind == Unknown && optimizerParameter.MatchString(lastName(attr.Value))) {
		return nil, nil
	}
	e := call.Args[0]
	if sub, ok := e.(*pyscan.Subscript); ok {
		e = sub.Value
	}
	if name, ok := e.(*pyscan.Name); ok {
		e = nil
		for _, a := range f.assignments(s.Def()) {
			if a.Start < s.Range().Start && len(a.Targets) == 1 && envKey(a.Targets[0]) == name.ID {
				e = a.Value
			}
		}
	}
	load, ok = e.(*pyscan.Call)
	if !ok || f.Resolve(load.Func) != "torch.load" {
		return nil, nil
	}
	where = Argument(load, 1, "map_location")
	if where == nil {
		return nil, nil
	}
	if text, ok := StringValue(where); ok {
		if !strings.HasPrefix(text, "cuda") {
			return nil, nil
		}
		return load, where
	}
	if v := f.Value(where); v.Kind == Device && !v.OnCPU {
		return load, where
	}
	return nil, nil
}

// LoopsOverParameters reports whether a for loop goes over parameters: one model's, or several zipped.
func (f *Facts) LoopsOverParameters(loop *pyscan.For) bool {
	if f.iteratesParameters(loop.Iter) {
		return true
	}
	call, ok := loop.Iter.(*pyscan.Call)
	if !ok || f.Resolve(call.Func) != "builtins.zip" && f.Resolve(call.Func) != "builtins.enumerate" {
		return false
	}
	for _, a := range call.Args {
		if f.iteratesParameters(a) {
			return true
		}
	}
	return false
}

var kernelMethods = wordSet("mul_ add_ sub_ div_ copy_ lerp_ clamp_ clamp_min_ clamp_max_ zero_ addcmul_ norm pow abs square sum mean mul add sub div clamp sign neg sqrt clone")

// TensorWork is the first call in a parameter loop that launches kernels on the parameter; nil if there is none or the loop has
// a host read of its own.
func (f *Facts) TensorWork(loop *pyscan.For) pyscan.Expr {
	var work pyscan.Expr
	read := false
	for _, s := range loop.Body {
		if a, ok := s.(*pyscan.Assign); ok && len(a.Targets) == 1 { // k.data = k.data * m + q.data * (1 - m)
			attr, isAttr := a.Targets[0].(*pyscan.Attribute)
			if sum, isSum := a.Value.(*pyscan.BinOp); isSum && isAttr && attr.Attr == "data" && f.OnGPU(sum) {
				work = outerCall(work, sum)
			}
		}
		EachExprIn(s, func(e pyscan.Expr) bool {
			call, ok := e.(*pyscan.Call)
			if !ok {
				return true
			}
			if r := f.HostReadOf(call); r != nil && f.OnGPU(r.Tensor) {
				read = true
			}
			attr, ok := call.Func.(*pyscan.Attribute)
			if ok && kernelMethods[attr.Attr] && f.OnGPU(attr.Value) {
				work = outerCall(work, call)
			}
			return true
		})
	}
	if read {
		return nil
	}
	return work
}

// outerCall keeps the first call, unless the other one contains it.
func outerCall(a, b pyscan.Expr) pyscan.Expr {
	if a == nil || b.Range().Covers(a.Range()) {
		return b
	}
	return a
}
