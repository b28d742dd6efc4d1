package attribute

import (
	"strings"

	"stepline/pyscan"
	"stepline/traceindex"
)

// Twin branches with the same calls are told apart by what the caller passed: `if memory is not None` is decided when the caller
// passes no memory and its default is None. Only None, True and False are followed, and only through names that are bound once.

// knowledge is what is known of a value.
type knowledge byte

const (
	unknownValue knowledge = '?'
	noneValue    knowledge = 'N'
	someValue    knowledge = 'S' // not None
	trueValue    knowledge = 'T'
	falseValue   knowledge = 'F'
)

// outcome is what is known of a test.
type outcome byte

const (
	unknownOutcome outcome = '?'
	holds          outcome = 'y'
	fails          outcome = 'n'
)

// wrongBranch is the cost of a way that the arguments rule out.
const wrongBranch cost = 2500

// arguments are what is known of a frame's parameters, and of the names of the functions around it.
type arguments struct {
	fn     *pyscan.Function
	locals *localFacts
	values []knowledge // by fn.Params
	outer  *arguments
	// guards hold inside the branch being looked at; nil elsewhere.
	guards map[string]knowledge
}

// key distinguishes what branches may depend on.
func (a *arguments) key(key []byte) []byte {
	for ; a != nil; a = a.outer {
		for _, v := range a.values {
			key = append(key, byte(v))
		}
		key = append(key, '/')
	}
	return key
}

// anything reports whether anything is known at all.
func (a *arguments) anything() bool {
	for ; a != nil; a = a.outer {
		for _, v := range a.values {
			if v != unknownValue {
				return true
			}
		}
	}
	return false
}

const maxDepth = 8

// know is what is known of an expression's value in the frame.
func (a *arguments) know(e pyscan.Expr, depth int) knowledge {
	if depth > maxDepth || a == nil {
		return unknownValue
	}
	switch x := e.(type) {
	case *pyscan.Constant:
		switch x.Kind {
		case pyscan.ConstNone:
			return noneValue
		case pyscan.ConstTrue:
			return trueValue
		case pyscan.ConstFalse:
			return falseValue
		}
		return someValue
	case *pyscan.Tuple, *pyscan.List, *pyscan.Dict, *pyscan.Set, *pyscan.FString, *pyscan.Lambda, *pyscan.Comprehension, *pyscan.BinOp:
		return someValue
	case *pyscan.Name:
		return a.name(x.ID, depth+1)
	case *pyscan.IfExp:
		switch a.test(x.Test, depth+1) {
		case holds:
			return a.know(x.Body, depth+1)
		case fails:
			return a.know(x.Else, depth+1)
		}
		if k := a.know(x.Body, depth+1); k == a.know(x.Else, depth+1) {
			return k
		}
	case *pyscan.Compare, *pyscan.UnaryOp:
		switch a.test(e, depth+1) {
		case holds:
			return trueValue
		case fails:
			return falseValue
		}
	case *pyscan.BoolOp:
		if o := a.test(e, depth+1); o == fails && x.Op == "and" || o == holds && x.Op == "or" {
			return map[outcome]knowledge{holds: someValue, fails: falseValue}[o]
		}
	}
	return unknownValue
}

// name is what is known of a name: a parameter never bound again, or a name bound once.
func (a *arguments) name(id string, depth int) knowledge {
	if k, ok := a.guards[id]; ok {
		return k
	}
	bound := a.locals.assigned[id]
	for i, p := range a.fn.Params {
		if p.Name == id {
			if len(bound) == 1 && i < len(a.values) {
				return a.values[i]
			}
			return unknownValue
		}
	}
	switch {
	case len(bound) == 0:
		return unknownValue
	case len(bound) == 1 && bound[0].expr != nil && !bound[0].operator:
		return a.know(bound[0].expr, depth)
	case a.outer != nil:
		return a.outer.name(id, depth)
	}
	return unknownValue
}

// test is what is known of a condition.
func (a *arguments) test(e pyscan.Expr, depth int) outcome {
	if depth > maxDepth {
		return unknownOutcome
	}
	switch x := e.(type) {
	case *pyscan.Compare:
		return a.compareNone(x, depth)
	case *pyscan.UnaryOp:
		if x.Op == "not" {
			return negate(a.test(x.Operand, depth+1))
		}
	case *pyscan.BoolOp:
		decisive, rest := fails, holds
		if x.Op == "or" {
			decisive, rest = holds, fails
		}
		for _, v := range x.Values {
			switch a.test(v, depth+1) {
			case decisive:
				return decisive
			case unknownOutcome:
				rest = unknownOutcome
			}
		}
		return rest
	case *pyscan.Name, *pyscan.Constant, *pyscan.IfExp:
		switch a.know(e, depth+1) {
		case trueValue:
			return holds
		case falseValue, noneValue:
			return fails
		}
	}
	return unknownOutcome
}

// compareNone decides `x is None` and `x is not None`.
func (a *arguments) compareNone(x *pyscan.Compare, depth int) outcome {
	if len(x.Ops) != 1 || x.Ops[0] != "is" && x.Ops[0] != "is not" && x.Ops[0] != "==" && x.Ops[0] != "!=" {
		return unknownOutcome
	}
	c, ok := x.Rights[0].(*pyscan.Constant)
	if !ok || c.Kind != pyscan.ConstNone {
		return unknownOutcome
	}
	o := unknownOutcome
	switch a.know(x.Left, depth+1) {
	case noneValue:
		o = holds
	case someValue, trueValue, falseValue:
		o = fails
	}
	if strings.HasPrefix(x.Ops[0], "is not") || x.Ops[0] == "!=" {
		return negate(o)
	}
	return o
}

func negate(o outcome) outcome {
	switch o {
	case holds:
		return fails
	case fails:
		return holds
	}
	return o
}

// outcomes decides the function's branches; "" if nothing is known of any.
func (a *arguments) outcomes(branches []pyscan.Branch) string {
	known := false
	out := make([]byte, len(branches))
	for i, b := range branches {
		o := a.test(b.Test, 0)
		out[i] = byte(o)
		known = known || o != unknownOutcome
	}
	if !known {
		return ""
	}
	return string(out)
}

// pass binds a call's arguments to the parameters of the function it enters.
func (a *arguments) pass(call *pyscan.Call, fn *pyscan.Function, module *moduleFacts, body []pyscan.Stmt) []knowledge {
	inner := &arguments{fn: a.fn, locals: a.locals, values: a.values, outer: a.outer, guards: map[string]knowledge{}}
	inner.guard(body, call.Start)
	values := make([]knowledge, len(fn.Params))
	for i := range values {
		values[i] = unknownValue
	}
	next, open := 0, false
	if takesSelf(fn, call) {
		next = 1
	}
	set := make([]bool, len(fn.Params))
	for _, arg := range call.Args {
		if _, starred := arg.(*pyscan.Starred); starred {
			open = true
			break
		}
		if next >= len(fn.Params) || fn.Params[next].Star > 0 || fn.Params[next].KeywordOnly {
			break
		}
		values[next], set[next] = inner.know(arg, 0), true
		next++
	}
	openNames := false
	for _, k := range call.Keywords {
		if k.Name == "" {
			openNames = true
			continue
		}
		for i, p := range fn.Params {
			if p.Name == k.Name {
				values[i], set[i] = inner.know(k.Value, 0), true
			}
		}
	}
	for i, p := range fn.Params {
		if set[i] || p.Star > 0 || p.Default == nil || openNames || open && i >= next && !p.KeywordOnly {
			continue
		}
		if c, ok := p.Default.(*pyscan.Constant); ok {
			values[i] = inner.know(c, 0)
		}
	}
	return values
}

// takesSelf reports whether the first parameter is bound by the call itself.
func takesSelf(fn *pyscan.Function, call *pyscan.Call) bool {
	if fn.Class == nil || len(fn.Params) == 0 {
		return false
	}
	for _, d := range fn.Decorators {
		if pyscan.LastName(d) == "staticmethod" {
			return false
		}
	}
	if f, ok := call.Func.(*pyscan.Attribute); ok {
		if n, ok := f.Value.(*pyscan.Name); ok && startsUpper(n.ID) && n.ID == fn.Class.Name {
			return false // Class.method(obj, …)
		}
	}
	return true
}

// guard notes what the ifs around an offset say of names.
func (a *arguments) guard(body []pyscan.Stmt, offset int) {
	for _, s := range body {
		if !s.Range().Contains(offset) {
			continue
		}
		if f, ok := s.(*pyscan.If); ok {
			switch {
			case within(f.Body, offset):
				a.assume(f.Test, true, 0)
			case within(f.Else, offset):
				a.assume(f.Test, false, 0)
			}
		}
		for _, inner := range pyscan.Bodies(s) {
			a.guard(inner, offset)
		}
		return
	}
}

func within(body []pyscan.Stmt, offset int) bool {
	return len(body) > 0 && body[0].Range().Start <= offset && offset < body[len(body)-1].Range().End
}

// assume notes what a test that held, or did not, says of names that are bound once.
func (a *arguments) assume(test pyscan.Expr, held bool, depth int) {
	switch x := test.(type) {
	case *pyscan.BoolOp:
		if (x.Op == "and") == held {
			for _, v := range x.Values {
				a.assume(v, held, depth+1)
			}
		}
	case *pyscan.UnaryOp:
		if x.Op == "not" {
			a.assume(x.Operand, !held, depth+1)
		}
	case *pyscan.Name:
		bound := a.locals.assigned[x.ID]
		if len(bound) != 1 {
			return
		}
		if held {
			a.guards[x.ID] = someValue
		}
		if bound[0].expr != nil && !bound[0].operator && depth < maxDepth {
			a.assume(bound[0].expr, held, depth+1) // `ready = x is not None`, then `if ready:`
		}
	case *pyscan.Compare:
		n, name := x.Left.(*pyscan.Name)
		if len(x.Ops) != 1 || !name || len(a.locals.assigned[n.ID]) != 1 {
			return
		}
		if c, ok := x.Rights[0].(*pyscan.Constant); !ok || c.Kind != pyscan.ConstNone {
			return
		}
		switch {
		case x.Ops[0] == "is" && held, x.Ops[0] == "is not" && !held:
			a.guards[n.ID] = noneValue
		case x.Ops[0] == "is not" && held, x.Ops[0] == "is" && !held:
			a.guards[n.ID] = someValue
		}
	}
}

// callContext is a workspace frame whose calls are being walked.
type callContext struct {
	end       traceindex.EventID // the row after its last descendant
	source    *frameSource
	arguments *arguments
	graph     *graph
	alignment *alignment
	children  []traceindex.EventID
}

// argumentsOf is what the frame's caller says of its parameters; all unknown without a caller in the workspace.
func (w *frameWalker) argumentsOf(row traceindex.EventID, source *frameSource, g *graph) *arguments {
	for n := len(w.contexts); n > 0 && w.contexts[n-1].end <= row; n-- {
		w.contexts = w.contexts[:n-1]
	}
	a := &arguments{fn: source.fn, locals: g.locals}
	if len(w.contexts) == 0 {
		return a
	}
	caller := &w.contexts[len(w.contexts)-1]
	if caller.source.fn == source.fn.Parent {
		a.outer = caller.arguments
	}
	if caller.alignment == nil || source.resumed {
		return a
	}
	i, found := searchRow(caller.children, row)
	if !found {
		i--
	}
	if i < 0 || caller.alignment.tokens[i].gate < 0 {
		return a
	}
	x := &caller.graph.gates[caller.alignment.tokens[i].gate]
	call, ok := x.site.Node.(*pyscan.Call)
	if !ok || x.kind != pyscan.SiteCall && x.kind != pyscan.SiteConstruct || !w.passesOn(row, caller.children[i], source.fn, x) {
		return a
	}
	a.values = caller.arguments.pass(call, source.fn, source.source.module, caller.source.fn.Body)
	return a
}

// passesOn reports whether what a call was given reaches the frame: the frame is what was called, perhaps within wrappers.
func (w *frameWalker) passesOn(row, called traceindex.EventID, fn *pyscan.Function, x *gate) bool {
	modules := 0
	for e := row; ; e = w.ix.Parent[e] {
		if strings.HasPrefix(w.ix.Name(e), "nn.Module: ") {
			modules++
		}
		if e == called || e == traceindex.NoEvent {
			break
		}
	}
	if strings.HasPrefix(w.ix.Name(called), "nn.Module: ") {
		return modules == 1 && fn.Name == "forward"
	}
	if modules > 0 {
		return false
	}
	if isConstructor(fn.Name) {
		return x.callee.class
	}
	return fn.Name == x.name || contains(x.callee.aliases, fn.Name)
}

func searchRow(rows []traceindex.EventID, row traceindex.EventID) (int, bool) {
	lo, hi := 0, len(rows)
	for lo < hi {
		mid := (lo + hi) / 2
		if rows[mid] < row {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(rows) && rows[lo] == row
}

// decided is the graph with the ways that the outcomes rule out made costly.
func (g *graph) decided(outcomes string) *graph {
	d := *g
	d.out, d.in = append([]adjacency(nil), g.out...), append([]adjacency(nil), g.in...)
	for i, b := range g.flow.Branches {
		closed := b.No
		switch outcome(outcomes[i]) {
		case fails:
			closed = b.Yes
		case unknownOutcome:
			continue
		}
		raise(d.out, int32(b.After), int32(closed))
		raise(d.in, int32(closed), int32(b.After))
	}
	return &d
}

func raise(list []adjacency, at, towards int32) {
	neighbours := append([]neighbour(nil), list[at].neighbours...)
	for i := range neighbours {
		if neighbours[i].point == towards {
			neighbours[i].cost += wrongBranch
		}
	}
	list[at].neighbours = neighbours
}
