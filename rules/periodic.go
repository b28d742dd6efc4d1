package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// Guard g1: a statement that runs only every N steps (or once) costs 1/N and is left alone. Periodic recognises
//
//   - a branch of `if step % N == 0`, of a flag computed from such a test, of a time or counter interval, of a first or
//     last step, or of a debug flag;
//   - what follows `if step % N: continue` (or return) in the same block or an enclosing one;
//   - the chosen side of a conditional expression and the right side of `step % N == 0 and …`.
//
// The accumulation guard `(i + 1) % accum == 0` in front of an optimizer step marks the step; it is no period.
// `if rank == 0` is none either. What runs once or only in trouble is told apart in once.go.
func (t *Tree) Periodic(s *Site) bool {
	for at := s; at != nil; at = at.Parent {
		up := at.Parent
		if stmt, ok := at.Node.(pyscan.Stmt); ok && t.afterRareExit(at, stmt) {
			return true
		}
		if up == nil {
			return false
		}
		if handlesError(at) {
			return true
		}
		switch n := up.Node.(type) {
		case *pyscan.If:
			if at.Role == RoleBody && t.leavesLoop(n.Body, up) || at.Role == RoleElse && t.leavesLoop(n.Else, up) {
				return true
			}
			if (at.Role == RoleBody && t.rare(n.Test, up, true) || at.Role == RoleElse && t.rare(n.Test, up, false)) && !marksOptimizerStep(n, at.Role) {
				return true
			}
		case *pyscan.IfExp:
			if at.Role == RoleBody && t.rare(n.Test, up, true) || at.Role == RoleElse && t.rare(n.Test, up, false) {
				return true
			}
		case *pyscan.BoolOp:
			for _, v := range n.Values {
				if v == at.Node {
					break
				}
				if t.rare(v, up, n.Op == "and") {
					return true
				}
			}
		case *pyscan.FunctionDef, *pyscan.Lambda:
			return false
		}
	}
	return false
}

// afterRareExit reports whether a statement before this one in its block leaves the block except every N steps.
func (t *Tree) afterRareExit(at *Site, stmt pyscan.Stmt) bool {
	block := blockOf(at, t.File)
	for i, before := range block {
		if before == stmt {
			return false
		}
		branch, ok := before.(*pyscan.If)
		if !ok || len(branch.Body) == 0 || len(branch.Else) > 0 {
			continue
		}
		if leaves(branch.Body[len(branch.Body)-1]) && t.rare(branch.Test, t.Site(branch), false) {
			return !optimizerStepIn(block[i+1:])
		}
	}
	return false
}

func leaves(s pyscan.Stmt) bool {
	switch s := s.(type) {
	case *pyscan.Simple:
		return s.Keyword == "continue"
	case *pyscan.Return:
		return true
	}
	return false
}

// blockOf is the list of statements a statement site stands in.
func blockOf(at *Site, file *pyscan.File) []pyscan.Stmt {
	if at.Parent == nil {
		return file.Module.Body
	}
	switch n := at.Parent.Node.(type) {
	case *pyscan.FunctionDef:
		return n.Function.Body
	case *pyscan.ClassDef:
		return n.Class.Body
	case *pyscan.If:
		if at.Role == RoleElse {
			return n.Else
		}
		return n.Body
	case *pyscan.For:
		if at.Role == RoleElse {
			return n.Else
		}
		return n.Body
	case *pyscan.While:
		if at.Role == RoleElse {
			return n.Else
		}
		return n.Body
	case *pyscan.With:
		return n.Body
	case *pyscan.Try:
		switch at.Role {
		case RoleElse:
			return n.Else
		case RoleFinally:
			return n.Finally
		case RoleHandler:
			for _, h := range n.Handlers {
				if h.Covers(at.Range()) {
					return h.Body
				}
			}
			return nil
		}
		return n.Body
	case *pyscan.Match:
		for _, c := range n.Cases {
			if c.Covers(at.Range()) {
				return c.Body
			}
		}
	case *pyscan.BadStmt:
		return n.Stmts
	}
	return nil
}

var (
	accumulationWords = regexp.MustCompile(`(?i)accum|micro`)
	counterWords      = wordPattern(`(?i)^(i|it|n|ni|ix|j|k|idx|iters?|iteration|step|steps|epoch|batch|count|counter|batch_?(i|idx|id|nb|num|ndx|index)|.*(_|^)(step|iter|idx|it|index|iteration|count|counter|epoch)(_num)?|num_(steps|updates|iters)|cur_.*|current_.*)$`)
	intervalWords     = wordPattern(`(?i)(^|_)(every|interval|freq|frequency|period|last|next|elapsed|since)(_|$)|^(t0|tic|since)$`)
	flagWords         = wordPattern(`(?i)(^|_)(debug|verbose|debugging|dry_run|sanity|profile|profiling|benchmark|timing|time_it|smoke)(_|$)|(^|_)(should|do|is|need|needs|want|time_to|to|will|enable)_?(log|logging|print|printing|save|eval|validate|report|display|visuali[sz]e|checkpoint|plot|dump|sync_metrics)`)
	clockCalls        = regexp.MustCompile(`(^|\.)(time|monotonic|perf_counter|process_time)$`)
)

// rare reports whether the test is true (want) or false (!want) only now and then.
func (t *Tree) rare(test pyscan.Expr, at *Site, want bool) bool {
	return t.rareDepth(test, at, want, 0)
}

func (t *Tree) rareDepth(test pyscan.Expr, at *Site, want bool, depth int) bool {
	if depth > 6 {
		return false
	}
	if t.seldom(test, at, want) {
		return true
	}
	switch e := test.(type) {
	case *pyscan.UnaryOp:
		if e.Op == "not" {
			return t.rareDepth(e.Operand, at, !want, depth+1)
		}
	case *pyscan.BoolOp:
		// `a and b` is rarely true if one of them is; it is rarely false only if both are. `or` the other way round.
		anyNeeded := (e.Op == "and") == want
		for _, v := range e.Values {
			r := t.rareDepth(v, at, want, depth+1)
			if r && anyNeeded {
				return true
			}
			if !r && !anyNeeded {
				return false
			}
		}
		return !anyNeeded
	case *pyscan.BinOp:
		return e.Op == "%" && !want && t.isPeriod(e)
	case *pyscan.Compare:
		return t.rareCompare(e, want)
	case *pyscan.Name:
		if value := t.assignedTest(e, at); value != nil {
			return t.rareDepth(value, at, want, depth+1)
		}
		return want && flagWords.MatchString(e.ID)
	case *pyscan.Attribute:
		return want && flagWords.MatchString(e.Attr)
	case *pyscan.NamedExpr:
		return t.rareDepth(e.Value, at, want, depth+1)
	case *pyscan.Call:
		name := lastName(e.Func)
		if name == "bool" && len(e.Args) == 1 {
			return t.rareDepth(e.Args[0], at, want, depth+1)
		}
		return want && (flagWords.MatchString(name) || intervalWords.MatchString(name) || periodCalls.MatchString(name))
	}
	return false
}

// periodCalls are functions that ask whether it is time: `divisible_by(step, 100)`, `every_n_steps(…)`.
var periodCalls = regexp.MustCompile(`(?i)divisible|(^|_)every(_|$)|is_time|periodic|modulo`)

func (t *Tree) rareCompare(e *pyscan.Compare, want bool) bool {
	if len(e.Ops) != 1 {
		return false
	}
	left, op, right := e.Left, e.Ops[0], e.Rights[0]
	if mod := modulo(left); mod != nil || modulo(right) != nil {
		if mod == nil {
			mod = modulo(right)
		}
		return t.isPeriod(mod) && (op == "==") == want && (op == "==" || op == "!=" || op == ">" && !want)
	}
	switch op {
	case "==", "!=":
		return (op == "==") == want && (isCounter(left) || isCounter(right))
	case "in", "not in":
		return (op == "in") == want && isCounter(left)
	case "<", "<=": // the first steps only, or not yet time
		return want && isCounter(left) && smallConstant(right) || !want && t.mentionsInterval(left, right)
	case ">", ">=":
		return want && t.mentionsInterval(left, right)
	}
	return false
}

func modulo(e pyscan.Expr) *pyscan.BinOp {
	b, ok := e.(*pyscan.BinOp)
	if ok && b.Op == "%" {
		return b
	}
	return nil
}

// isPeriod tells a counter's remainder from gradient accumulation and from string formatting.
func (t *Tree) isPeriod(mod *pyscan.BinOp) bool {
	switch left := mod.Left.(type) {
	case *pyscan.Constant:
		if left.Kind == pyscan.ConstString {
			return false
		}
	case *pyscan.FString:
		return false
	}
	return !accumulationWords.MatchString(t.Text(mod.Right))
}

func isCounter(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Name:
		return counterWords.MatchString(e.ID)
	case *pyscan.Attribute:
		return counterWords.MatchString(e.Attr)
	case *pyscan.BinOp:
		return (e.Op == "+" || e.Op == "-") && (isCounter(e.Left) || isCounter(e.Right))
	case *pyscan.Call:
		return lastName(e.Func) == "int" && len(e.Args) == 1 && isCounter(e.Args[0])
	}
	return false
}

func smallConstant(e pyscan.Expr) bool {
	c, ok := e.(*pyscan.Constant)
	return ok && c.Kind == pyscan.ConstInt && len(c.Text) <= 2
}

// mentionsInterval: `time.time() - last > 10`, `step - last_log >= log_every`, `elapsed > interval`.
func (t *Tree) mentionsInterval(exprs ...pyscan.Expr) bool {
	for _, e := range exprs {
		found := false
		EachExpr(e, func(sub pyscan.Expr) bool {
			switch sub := sub.(type) {
			case *pyscan.Name:
				found = found || intervalWords.MatchString(sub.ID)
			case *pyscan.Attribute:
				found = found || intervalWords.MatchString(sub.Attr)
			case *pyscan.Call:
				found = found || clockCalls.MatchString(t.Text(sub.Func))
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// assignedTest is the test a flag holds: the value of its last plain assignment before the use in the same function.
func (t *Tree) assignedTest(name *pyscan.Name, at *Site) pyscan.Expr {
	if at == nil {
		return nil
	}
	var value pyscan.Expr
	for _, s := range t.assignments(DefOf(at.Function)) {
		if s.Start >= name.Start {
			break
		}
		for _, target := range s.Targets {
			if n, ok := target.(*pyscan.Name); ok && n.ID == name.ID {
				value = s.Value
			}
		}
	}
	switch value.(type) {
	case *pyscan.Compare, *pyscan.BoolOp, *pyscan.UnaryOp, *pyscan.BinOp, *pyscan.Name, *pyscan.Attribute, *pyscan.Call:
		return value
	}
	return nil
}

// marksOptimizerStep: a branch that steps an optimizer is the accumulation guard.
func marksOptimizerStep(branch *pyscan.If, role Role) bool {
	if role == RoleElse {
		return optimizerStepIn(branch.Else)
	}
	return optimizerStepIn(branch.Body)
}

// optimizerStepIn reports whether the statements call `….step()` on something that is no profiler, logger or scheduler, or `zero_grad`.
func optimizerStepIn(body []pyscan.Stmt) bool {
	found := false
	for _, s := range body {
		EachExprIn(s, func(e pyscan.Expr) bool {
			call, ok := e.(*pyscan.Call)
			if !ok {
				return !found
			}
			attr, ok := call.Func.(*pyscan.Attribute)
			if ok && (attr.Attr == "zero_grad" || attr.Attr == "optimizer_step" || attr.Attr == "step" && optimizerName(attr.Value)) {
				found = true
			}
			return !found
		})
	}
	return found
}

var optimizerWords = wordPattern(`(?i)opt|scaler|solver|adam|sgd|engine|accelerator`)

func optimizerName(e pyscan.Expr) bool {
	return optimizerWords.MatchString(lastName(e))
}

// lastName is the last identifier of a dotted expression, through calls and subscripts: "step" of `self.opt.step`.
func lastName(e pyscan.Expr) string {
	switch e := e.(type) {
	case *pyscan.Name:
		return e.ID
	case *pyscan.Attribute:
		return e.Attr
	case *pyscan.Call:
		return lastName(e.Func)
	case *pyscan.Subscript:
		return lastName(e.Value)
	}
	return ""
}

// Text is a node's source.
func (t *Tree) Text(n pyscan.Node) string {
	if !t.own(n) {
		return t.base.Text(n)
	}
	r := n.Range()
	return t.File.Text[r.Start:r.End]
}

// Line is a node's source on one line and not longer than a message can take.
func (t *Tree) Line(n pyscan.Node) string {
	text := strings.Join(strings.Fields(t.Text(n)), " ")
	if len([]rune(text)) > 60 {
		text = string([]rune(text)[:57]) + "…"
	}
	return text
}
