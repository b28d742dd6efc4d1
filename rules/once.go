package rules

import (
	"regexp"

	"stepline/pyscan"
)

// Code in a training loop that runs once, or only when something went wrong, costs nothing that matters. Guard g1 counts it as
// periodic:
//
//   - what waits for something to be made first: `if self.file is None: self.file = …`, `if not self.loaded`, `if "step" not in state`;
//   - what leaves the loop: a branch that ends in `break`, `raise` or `sys.exit()`;
//   - what handles an error: an except clause, the message of an assert, the arguments of a raise or of `warnings.warn`;
//   - what an anomaly leads to: `if torch.isnan(loss)`, `if not math.isfinite(value)`, `if mask.numel() == 0`.

// leavesLoop reports whether a branch ends the training loop it stands in, so that it runs once per loop.
func (t *Tree) leavesLoop(body []pyscan.Stmt, at *Site) bool {
	if len(body) == 0 {
		return false
	}
	switch s := body[len(body)-1].(type) {
	case *pyscan.Raise:
		return true
	case *pyscan.Simple:
		if s.Keyword != "break" {
			return false
		}
		loop := enclosingLoop(at)
		return loop != nil && trainingWords.MatchString(t.Text(loop.Node))
	case *pyscan.ExprStmt:
		call, ok := s.Value.(*pyscan.Call)
		if !ok {
			return false
		}
		switch lastName(call.Func) {
		case "exit", "_exit", "abort":
			return true
		}
	}
	return false
}

var trainingWords = regexp.MustCompile(`backward|step`)

// handlesError reports whether a site's parent runs it only when something failed.
func handlesError(at *Site) bool {
	switch up := at.Parent.Node.(type) {
	case *pyscan.Try:
		return at.Role == RoleHandler
	case *pyscan.Raise:
		return true
	case *pyscan.Call:
		return lastName(up.Func) == "warn" && at.Role != RoleFunc
	case *pyscan.Assert:
		return up.Message != nil && up.Message == at.Node
	}
	return false
}

var (
	anomalyTests = wordPattern(`(?i)(^|_)(is_?nan|is_?inf|has_?nan|has_?inf|nan|inf|overflow)(_|$)`)
	soundTests   = wordPattern(`(?i)(^|_)is_?finite(_|$)`)
	doneFlags    = wordPattern(`(?i)(^|_)(loaded|initiali[sz]ed|inited|init_done|opened|built|cached|compiled|ready|setup_done|prepared|warned)$`)
	endWords     = wordPattern(`(?i)^(is_)?(last|final|first)(_(step|iter|iteration|batch|epoch))?$`)
	keptWords    = wordPattern(`(?i)(^|_)(state|states|cache|cached|memo|registry|buffers?)$`)
)

// seldom reports whether a test is true (want) or false (!want) once only, or only in trouble. at is the statement or expression
// the test belongs to.
func (t *Tree) seldom(test pyscan.Expr, at *Site, want bool) bool {
	switch e := test.(type) {
	case *pyscan.Call:
		return t.seldomCall(e, at, want)
	case *pyscan.Compare:
		return t.seldomCompare(e, at, want)
	case *pyscan.Name:
		return want && endWords.MatchString(e.ID) || !want && (doneFlags.MatchString(e.ID) || keptWords.MatchString(e.ID))
	case *pyscan.Attribute:
		return want && endWords.MatchString(e.Attr) || !want && (doneFlags.MatchString(e.Attr) || t.madeThere(e, at))
	}
	return false
}

func (t *Tree) seldomCall(call *pyscan.Call, at *Site, want bool) bool {
	name := lastName(call.Func)
	switch {
	case name == "hasattr":
		return !want
	case anomalyTests.MatchString(name):
		return want
	case soundTests.MatchString(name):
		return !want
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if ok && (name == "any" || name == "all" || name == "item") { // torch.isnan(x).any()
		return t.seldom(attr.Value, at, want)
	}
	if (name == "any" || name == "all" || name == "bool") && len(call.Args) == 1 {
		return t.seldom(call.Args[0], at, want)
	}
	return false
}

func (t *Tree) seldomCompare(e *pyscan.Compare, at *Site, want bool) bool {
	if len(e.Ops) != 1 {
		return false
	}
	left, op, right := e.Left, e.Ops[0], e.Rights[0]
	switch op {
	case "is", "==", "is not", "!=":
		positive := (op == "is" || op == "==") == want
		switch {
		case IsNone(right):
			return positive && t.madeThere(left, at)
		case isZero(right) && op != "is":
			return positive && countsElements(left)
		}
	case ">", ">=":
		return !want && countsElements(left)
	case "in", "not in":
		return (op == "not in") == want && (keptWords.MatchString(lastName(right)) || t.madeThere(right, at))
	}
	return false
}

func isZero(e pyscan.Expr) bool {
	c, ok := e.(*pyscan.Constant)
	return ok && c.Kind == pyscan.ConstInt && c.Text == "0"
}

// countsElements: `mask.numel()`, `len(state)`.
func countsElements(e pyscan.Expr) bool {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return false
	}
	switch name := lastName(call.Func); name {
	case "numel", "nelement":
		return len(call.Args) == 0
	case "len":
		return len(call.Args) == 1 && keptWords.MatchString(lastName(call.Args[0]))
	}
	return false
}

// madeThere reports whether what a test finds missing is kept between calls and made in the branch: an attribute of self or a
// dictionary of it, or a variable from outside the loop that only the branch binds. For a test that leaves early (`if self.x is
// not None: return`) the rest of the function makes it.
func (t *Tree) madeThere(e pyscan.Expr, at *Site) bool {
	key := envKey(e)
	if key == "" || at == nil {
		return false
	}
	branch, ok := at.Node.(*pyscan.If)
	if !ok {
		return false
	}
	span := branch.Span
	if len(branch.Body) > 0 && leaves(branch.Body[len(branch.Body)-1]) && len(branch.Else) == 0 {
		span.End = len(t.File.Text)
	}
	if _, ok := e.(*pyscan.Name); ok {
		return t.boundOnlyIn(key, span, at)
	}
	def := DefOf(at.Function)
	if def == nil {
		return false
	}
	return t.bindsIn(def, key, span) || isSelfName(rootOf(e), selfOf(def)) && callsOwnMethod(branch.Body, selfOf(def))
}

// rootOf is the variable a dotted expression begins with.
func rootOf(e pyscan.Expr) pyscan.Expr {
	for {
		switch n := e.(type) {
		case *pyscan.Attribute:
			e = n.Value
		case *pyscan.Subscript:
			e = n.Value
		default:
			return e
		}
	}
}

// bindsIn reports whether a function assigns a variable, or an item of it, within a span.
func (t *Tree) bindsIn(def *pyscan.Function, key string, span pyscan.Span) bool {
	for _, a := range t.assignments(def) {
		if a.Start < span.Start || a.End > span.End {
			continue
		}
		for _, target := range a.Targets {
			if envKey(target) == key {
				return true
			}
			if item, ok := target.(*pyscan.Subscript); ok && envKey(item.Value) == key {
				return true
			}
		}
	}
	return false
}

// boundOnlyIn: within the loop around a branch, only the branch binds the variable.
func (t *Tree) boundOnlyIn(key string, span pyscan.Span, at *Site) bool {
	loop := enclosingLoop(at)
	if loop == nil || !t.bindsIn(DefOf(at.Function), key, span) {
		return false
	}
	inLoop := loop.Range()
	for _, a := range t.assignments(DefOf(at.Function)) {
		if !inLoop.Covers(a.Span) || span.Covers(a.Span) {
			continue
		}
		for _, target := range a.Targets {
			if envKey(target) == key {
				return false
			}
		}
	}
	return true
}

// callsOwnMethod reports whether statements call a method of self for its effect: `self.open_files()`.
func callsOwnMethod(body []pyscan.Stmt, self string) bool {
	for _, s := range body {
		stmt, ok := s.(*pyscan.ExprStmt)
		if !ok {
			continue
		}
		if call, ok := stmt.Value.(*pyscan.Call); ok {
			if attr, ok := call.Func.(*pyscan.Attribute); ok && isSelfName(attr.Value, self) {
				return true
			}
		}
	}
	return false
}
