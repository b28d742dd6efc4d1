package rules

import (
	"iter"
	"sync"
	"sync/atomic"

	"stepline/pyscan"
)

// Role is the part a node plays in its parent.
type Role uint8

const (
	RoleOther     Role = iota
	RoleBody           // a statement of a body: module, def, class, if, for, while, with, try, handler, case
	RoleElse           // a statement of an else (if, for, while, try)
	RoleFinally        // a statement of a finally
	RoleHandler        // a statement of an except clause
	RoleTest           // the test of if, while, assert, a conditional expression; a comprehension's condition; a case guard
	RoleIter           // what a for loop or comprehension clause iterates
	RoleTarget         // a target of an assignment, for, with, del
	RoleValue          // the value of an assignment, return, expression statement, attribute, subscript
	RoleFunc           // the callee of a call
	RoleArg            // a positional argument of a call
	RoleKeyword        // the value of a keyword argument
	RoleContext        // a with item's context expression
	RoleDecorator      // a decorator of a def or class
	RoleDefault        // a parameter's default
)

// Site is a node of a file's tree with the way back up. Sites are made once per file and never change.
type Site struct {
	pyscan.Node
	Parent *Site
	Role   Role
	// Function is the innermost function the node runs in, comprehension scopes included; the module's for top-level code.
	Function *pyscan.Function
	// Class is the class whose body holds the node outside of any method, nil elsewhere.
	Class *pyscan.Class
	// at is the site's place in Tree.Sites; the sites under it are those up to end.
	at, end int32
	// path keeps what the expression resolves to.
	path atomic.Pointer[string]
}

// Tree is a file as sites in source order (preorder), with the calls listed apart.
type Tree struct {
	File  *pyscan.File
	Sites []*Site
	Calls []*Site    // sites whose Node is *pyscan.Call
	index *fileIndex // set by it
	// base is the tree of the whole file before an edit, where this is the tree of the changed definitions alone; nil elsewhere.
	base *Tree
	// first holds, by the offset where a node starts (from origin), one more than the last site that starts there.
	first  []int32
	origin int
	size   int    // how far first reaches, 0 for all of the text
	links  []link // by Site.at
	// callees are the sites of what Calls call.
	callees []*Site
	// parts and names serve in, callsIn and named; made on first use.
	partsOnce sync.Once
	parts     []functionPart
	// places are the sites' places among those of their functions, variables what they name, both by Site.at; numbers are the file's of
	// its variables. They are made with parts.
	places, variables []int32
	numbers           numbering
	namesOnce         sync.Once
	names             map[string][]*Site
	// assigned holds the plain assignments per function, made on first use.
	assignedOnce sync.Once
	assigned     map[*pyscan.Function][]*pyscan.Assign
	// strings are the spans of string literals, made on first use.
	stringsOnce sync.Once
	strings     []pyscan.Span
	// selfTargets and registered say which attributes methods set; made once on first use, by whichever goroutine comes first.
	attributesOnce sync.Once
	selfTargets    map[*pyscan.Function]map[string][]pyscan.Expr
	registered     map[*pyscan.Function]map[string]bool
}

// NewTree walks a file once.
func NewTree(file *pyscan.File) *Tree {
	t := &Tree{File: file, Sites: make([]*Site, 0, len(file.Text)/8)}
	b := treeBuilder{tree: t}
	b.stmts(file.Module.Body, nil, RoleBody, file.Module, nil)
	t.number()
	return t
}

// Call returns the site's node as a call; only for sites of Tree.Calls.
func (s *Site) Call() *pyscan.Call { return s.Node.(*pyscan.Call) }

// Ancestors yields the site's parents, innermost first.
func (s *Site) Ancestors() iter.Seq[*Site] {
	return func(yield func(*Site) bool) {
		for up := s.Parent; up != nil; up = up.Parent {
			if !yield(up) {
				return
			}
		}
	}
}

// Statement is the innermost statement the site is part of (itself if it is one).
func (s *Site) Statement() *Site {
	for at := s; at != nil; at = at.Parent {
		if _, ok := at.Node.(pyscan.Stmt); ok {
			return at
		}
	}
	return nil
}

// Def is the innermost def, lambda or module the site runs in: comprehension scopes count as their surroundings.
func (s *Site) Def() *pyscan.Function { return DefOf(s.Function) }

// DefOf climbs out of comprehension scopes.
func DefOf(f *pyscan.Function) *pyscan.Function {
	for f != nil && f.Comprehension != nil {
		f = f.Parent
	}
	return f
}

// Under reports whether the site lies at or below other.
func (s *Site) Under(other *Site) bool {
	for at := s; at != nil; at = at.Parent {
		if at == other {
			return true
		}
	}
	return false
}

type treeBuilder struct {
	tree *Tree
	slab []Site
}

func (b *treeBuilder) add(n pyscan.Node, parent *Site, role Role, fn *pyscan.Function, class *pyscan.Class) *Site {
	if len(b.slab) == cap(b.slab) {
		b.slab = make([]Site, 0, 512)
	}
	b.slab = b.slab[:len(b.slab)+1]
	s := &b.slab[len(b.slab)-1]
	s.Node, s.Parent, s.Role, s.Function, s.Class = n, parent, role, fn, class
	b.tree.Sites = append(b.tree.Sites, s)
	return s
}

func (b *treeBuilder) stmts(list []pyscan.Stmt, parent *Site, role Role, fn *pyscan.Function, class *pyscan.Class) {
	for _, s := range list {
		b.stmt(s, parent, role, fn, class)
	}
}

func (b *treeBuilder) stmt(s pyscan.Stmt, parent *Site, role Role, fn *pyscan.Function, class *pyscan.Class) {
	if s == nil {
		return
	}
	at := b.add(s, parent, role, fn, class)
	expr := func(e pyscan.Expr, r Role) { b.expr(e, at, r, fn, class) }
	exprs := func(list []pyscan.Expr, r Role) {
		for _, e := range list {
			b.expr(e, at, r, fn, class)
		}
	}
	body := func(list []pyscan.Stmt, r Role) { b.stmts(list, at, r, fn, class) }
	switch s := s.(type) {
	case *pyscan.FunctionDef:
		b.function(s.Function, at, fn, class)
		b.stmts(s.Function.Body, at, RoleBody, s.Function, nil)
	case *pyscan.ClassDef:
		exprs(s.Class.Decorators, RoleDecorator)
		exprs(s.Class.Bases, RoleArg)
		for _, k := range s.Class.Keywords {
			expr(k.Value, RoleKeyword)
		}
		b.stmts(s.Class.Body, at, RoleBody, fn, s.Class)
	case *pyscan.Assign:
		expr(s.Annotation, RoleOther)
		exprs(s.Targets, RoleTarget)
		expr(s.Value, RoleValue)
	case *pyscan.AugAssign:
		expr(s.Target, RoleTarget)
		expr(s.Value, RoleValue)
	case *pyscan.ExprStmt:
		expr(s.Value, RoleValue)
	case *pyscan.Return:
		expr(s.Value, RoleValue)
	case *pyscan.If:
		expr(s.Test, RoleTest)
		body(s.Body, RoleBody)
		body(s.Else, RoleElse)
	case *pyscan.For:
		expr(s.Target, RoleTarget)
		expr(s.Iter, RoleIter)
		body(s.Body, RoleBody)
		body(s.Else, RoleElse)
	case *pyscan.While:
		expr(s.Test, RoleTest)
		body(s.Body, RoleBody)
		body(s.Else, RoleElse)
	case *pyscan.With:
		for _, item := range s.Items {
			expr(item.Context, RoleContext)
			expr(item.Target, RoleTarget)
		}
		body(s.Body, RoleBody)
	case *pyscan.Try:
		body(s.Body, RoleBody)
		for _, h := range s.Handlers {
			expr(h.Type, RoleOther)
			body(h.Body, RoleHandler)
		}
		body(s.Else, RoleElse)
		body(s.Finally, RoleFinally)
	case *pyscan.Match:
		expr(s.Subject, RoleValue)
		for _, c := range s.Cases {
			exprs(c.Pattern, RoleOther)
			expr(c.Guard, RoleTest)
			body(c.Body, RoleBody)
		}
	case *pyscan.Raise:
		expr(s.Exc, RoleOther)
		expr(s.Cause, RoleOther)
	case *pyscan.Assert:
		expr(s.Test, RoleTest)
		expr(s.Message, RoleOther)
	case *pyscan.Delete:
		exprs(s.Targets, RoleTarget)
	case *pyscan.BadStmt:
		exprs(s.Exprs, RoleOther)
		body(s.Stmts, RoleBody)
	}
}

// function adds the parts of a def's or lambda's header, which run in the surrounding function.
func (b *treeBuilder) function(f *pyscan.Function, at *Site, fn *pyscan.Function, class *pyscan.Class) {
	for _, d := range f.Decorators {
		b.expr(d, at, RoleDecorator, fn, class)
	}
	for _, p := range f.Params {
		b.expr(p.Annotation, at, RoleOther, fn, class)
		b.expr(p.Default, at, RoleDefault, fn, class)
	}
	b.expr(f.Returns, at, RoleOther, fn, class)
}

func (b *treeBuilder) expr(e pyscan.Expr, parent *Site, role Role, fn *pyscan.Function, class *pyscan.Class) {
	if e == nil {
		return
	}
	at := b.add(e, parent, role, fn, class)
	sub := func(e pyscan.Expr, r Role) { b.expr(e, at, r, fn, class) }
	subs := func(list []pyscan.Expr, r Role) {
		for _, e := range list {
			b.expr(e, at, r, fn, class)
		}
	}
	switch e := e.(type) {
	case *pyscan.Attribute:
		sub(e.Value, RoleValue)
	case *pyscan.Call:
		b.tree.Calls = append(b.tree.Calls, at)
		sub(e.Func, RoleFunc)
		subs(e.Args, RoleArg)
		for _, k := range e.Keywords {
			sub(k.Value, RoleKeyword)
		}
	case *pyscan.Subscript:
		sub(e.Value, RoleValue)
		sub(e.Index, RoleOther)
	case *pyscan.Slice:
		sub(e.Lower, RoleOther)
		sub(e.Upper, RoleOther)
		sub(e.Step, RoleOther)
	case *pyscan.BinOp:
		sub(e.Left, RoleOther)
		sub(e.Right, RoleOther)
	case *pyscan.UnaryOp:
		sub(e.Operand, RoleOther)
	case *pyscan.BoolOp:
		subs(e.Values, RoleOther)
	case *pyscan.Compare:
		sub(e.Left, RoleOther)
		subs(e.Rights, RoleOther)
	case *pyscan.IfExp:
		sub(e.Test, RoleTest)
		sub(e.Body, RoleBody)
		sub(e.Else, RoleElse)
	case *pyscan.Lambda:
		b.function(e.Function, at, fn, class)
		b.expr(e.Function.Value, at, RoleBody, e.Function, nil)
	case *pyscan.Comprehension:
		b.comprehension(e, at, fn, class)
	case *pyscan.FString:
		subs(e.Values, RoleValue)
	case *pyscan.Tuple:
		subs(e.Elems, elementRole(role))
	case *pyscan.List:
		subs(e.Elems, elementRole(role))
	case *pyscan.Set:
		subs(e.Elems, RoleOther)
	case *pyscan.Dict:
		subs(e.Keys, RoleOther)
		subs(e.Values, RoleOther)
	case *pyscan.Starred:
		sub(e.Value, elementRole(role))
	case *pyscan.Await:
		sub(e.Value, RoleValue)
	case *pyscan.Yield:
		sub(e.Value, RoleValue)
	case *pyscan.NamedExpr:
		if e.Target != nil {
			sub(e.Target, RoleTarget)
		}
		sub(e.Value, RoleValue)
	case *pyscan.BadExpr:
		subs(e.Parts, RoleOther)
	}
}

// elementRole: the elements of a target are targets; those of an iterable or a test are not.
func elementRole(role Role) Role {
	if role == RoleTarget {
		return RoleTarget
	}
	return RoleOther
}

// comprehension: the first iterable runs outside the comprehension's scope, everything else inside.
func (b *treeBuilder) comprehension(c *pyscan.Comprehension, at *Site, fn *pyscan.Function, class *pyscan.Class) {
	inner := c.Function
	if inner == nil {
		inner = fn
	}
	for i, clause := range c.Clauses {
		iterIn := inner
		if i == 0 {
			iterIn = fn
		}
		b.expr(clause.Iter, at, RoleIter, iterIn, class)
		b.expr(clause.Target, at, RoleTarget, inner, class)
		for _, cond := range clause.Conditions {
			b.expr(cond, at, RoleTest, inner, class)
		}
	}
	b.expr(c.Key, at, RoleBody, inner, class)
	b.expr(c.Value, at, RoleBody, inner, class)
}
