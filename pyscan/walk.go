package pyscan

// Walk calls visit for the node and everything below it, parents before children, in source order of the
// syntax (not of evaluation). It does not go below a node for which visit returns false.
// Function and class bodies are entered. A nil node is ignored.
func Walk(node Node, visit func(Node) bool) {
	if isNil(node) || !visit(node) {
		return
	}
	eachChild(node, func(child Node) { Walk(child, visit) })
}

// Children are the node's direct parts in source order of the syntax; see Walk.
func Children(node Node) []Node {
	var out []Node
	if !isNil(node) {
		eachChild(node, func(child Node) { out = append(out, child) })
	}
	return out
}

func isNil(node Node) bool {
	switch n := node.(type) {
	case nil:
		return true
	case *Function:
		return n == nil
	case *Class:
		return n == nil
	}
	return false
}

type childVisitor func(Node)

func (visit childVisitor) expr(e Expr) {
	if e != nil {
		visit(e)
	}
}

func (visit childVisitor) exprs(list []Expr) {
	for _, e := range list {
		visit.expr(e)
	}
}

func (visit childVisitor) stmts(list []Stmt) {
	for _, s := range list {
		visit(s)
	}
}

func (visit childVisitor) keywords(list []*Keyword) {
	for _, k := range list {
		visit(k)
	}
}

func eachChild(node Node, visit childVisitor) {
	switch n := node.(type) {
	case Expr:
		eachExprChild(n, visit)
	case Stmt:
		eachStmtChild(n, visit)
	case *Keyword:
		visit.expr(n.Value)
	case *ForClause:
		visit.expr(n.Target)
		visit.expr(n.Iter)
		visit.exprs(n.Conditions)
	case *WithItem:
		visit.expr(n.Context)
		visit.expr(n.Target)
	case *Handler:
		visit.expr(n.Type)
		visit.stmts(n.Body)
	case *MatchCase:
		visit.exprs(n.Pattern)
		for _, name := range n.Captures {
			visit(name)
		}
		visit.expr(n.Guard)
		visit.stmts(n.Body)
	case *Parameter:
		visit.expr(n.Annotation)
		visit.expr(n.Default)
	case *Function:
		visit.exprs(n.Decorators)
		for _, p := range n.Params {
			visit(p)
		}
		visit.expr(n.Returns)
		visit.stmts(n.Body)
		visit.expr(n.Value)
		if n.Comprehension != nil {
			visit(n.Comprehension)
		}
	case *Class:
		visit.exprs(n.Decorators)
		visit.exprs(n.Bases)
		visit.keywords(n.Keywords)
		visit.stmts(n.Body)
	}
}

func eachExprChild(node Expr, visit childVisitor) {
	switch n := node.(type) {
	case *Attribute:
		visit.expr(n.Value)
	case *Call:
		visit.expr(n.Func)
		visit.arguments(n.Args, n.Keywords)
	case *Subscript:
		visit.expr(n.Value)
		visit.expr(n.Index)
	case *Slice:
		visit.expr(n.Lower)
		visit.expr(n.Upper)
		visit.expr(n.Step)
	case *BinOp:
		visit.expr(n.Left)
		visit.expr(n.Right)
	case *UnaryOp:
		visit.expr(n.Operand)
	case *BoolOp:
		visit.exprs(n.Values)
	case *Compare:
		visit.expr(n.Left)
		visit.exprs(n.Rights)
	case *IfExp:
		visit.expr(n.Body)
		visit.expr(n.Test)
		visit.expr(n.Else)
	case *Lambda:
		visit(n.Function)
	case *Comprehension:
		visit.expr(n.Key)
		visit.expr(n.Value)
		for _, clause := range n.Clauses {
			visit(clause)
		}
	case *FString:
		visit.exprs(n.Values)
	case *Tuple:
		visit.exprs(n.Elems)
	case *List:
		visit.exprs(n.Elems)
	case *Set:
		visit.exprs(n.Elems)
	case *Dict:
		for at := range n.Values {
			visit.expr(n.Keys[at])
			visit.expr(n.Values[at])
		}
	case *Starred:
		visit.expr(n.Value)
	case *Await:
		visit.expr(n.Value)
	case *Yield:
		visit.expr(n.Value)
	case *NamedExpr:
		visit(n.Target)
		visit.expr(n.Value)
	case *BadExpr:
		visit.exprs(n.Parts)
	}
}

// arguments visits positional and keyword arguments merged in source order.
func (visit childVisitor) arguments(args []Expr, keywords []*Keyword) {
	for len(args) > 0 && len(keywords) > 0 {
		if args[0].Range().Start < keywords[0].Start {
			visit.expr(args[0])
			args = args[1:]
		} else {
			visit(keywords[0])
			keywords = keywords[1:]
		}
	}
	visit.exprs(args)
	visit.keywords(keywords)
}

func eachStmtChild(node Stmt, visit childVisitor) {
	switch n := node.(type) {
	case *FunctionDef:
		visit(n.Function)
	case *ClassDef:
		visit(n.Class)
	case *Assign:
		visit.exprs(n.Targets)
		visit.expr(n.Annotation)
		visit.expr(n.Value)
	case *AugAssign:
		visit.expr(n.Target)
		visit.expr(n.Value)
	case *ExprStmt:
		visit.expr(n.Value)
	case *Return:
		visit.expr(n.Value)
	case *If:
		visit.expr(n.Test)
		visit.stmts(n.Body)
		visit.stmts(n.Else)
	case *For:
		visit.expr(n.Target)
		visit.expr(n.Iter)
		visit.stmts(n.Body)
		visit.stmts(n.Else)
	case *While:
		visit.expr(n.Test)
		visit.stmts(n.Body)
		visit.stmts(n.Else)
	case *With:
		for _, item := range n.Items {
			visit(item)
		}
		visit.stmts(n.Body)
	case *Try:
		visit.stmts(n.Body)
		for _, handler := range n.Handlers {
			visit(handler)
		}
		visit.stmts(n.Else)
		visit.stmts(n.Finally)
	case *Match:
		visit.expr(n.Subject)
		for _, one := range n.Cases {
			visit(one)
		}
	case *Raise:
		visit.expr(n.Exc)
		visit.expr(n.Cause)
	case *Assert:
		visit.expr(n.Test)
		visit.expr(n.Message)
	case *Delete:
		visit.exprs(n.Targets)
	case *Import:
		for _, name := range n.Names {
			visit(name)
		}
	case *BadStmt:
		visit.exprs(n.Exprs)
		visit.stmts(n.Stmts)
	}
}
