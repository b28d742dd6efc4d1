package rules

import "stepline/pyscan"

// EachExpr calls visit for an expression and everything inside it, outermost first; lambdas' and comprehensions' insides
// included. Where visit returns false it does not go deeper.
func EachExpr(e pyscan.Expr, visit func(pyscan.Expr) bool) {
	if e == nil {
		return
	}
	pyscan.Walk(e, func(n pyscan.Node) bool {
		if sub, ok := n.(pyscan.Expr); ok {
			return visit(sub)
		}
		return true
	})
}

// EachStmt calls visit for a statement and the statements inside it, in source order, without entering defs and classes.
// Where visit returns false it does not go deeper.
func EachStmt(s pyscan.Stmt, visit func(pyscan.Stmt) bool) {
	eachIn(s, func(n pyscan.Node) bool {
		if stmt, ok := n.(pyscan.Stmt); ok {
			return visit(stmt)
		}
		_, isExpr := n.(pyscan.Expr)
		return !isExpr
	})
}

// EachExprIn calls visit for every expression of a statement and of the statements inside it, defs and classes not entered.
func EachExprIn(s pyscan.Stmt, visit func(pyscan.Expr) bool) {
	eachIn(s, func(n pyscan.Node) bool {
		if e, ok := n.(pyscan.Expr); ok {
			return visit(e)
		}
		return true
	})
}

func eachIn(s pyscan.Stmt, visit func(pyscan.Node) bool) {
	pyscan.Walk(s, func(n pyscan.Node) bool {
		switch n.(type) {
		case *pyscan.FunctionDef, *pyscan.ClassDef:
			visit(n)
			return false
		}
		return visit(n)
	})
}
