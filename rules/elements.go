package rules

import (
	"strings"

	"stepline/pyscan"
)

// ElementLoop reports whether a for loop only computes elements of GPU tensors, each from elements at the same index.
func (f *Facts) ElementLoop(at *Site) bool {
	loop, ok := at.Node.(*pyscan.For)
	if !ok {
		return false
	}
	call, ok := loop.Iter.(*pyscan.Call)
	index, isName := loop.Target.(*pyscan.Name)
	if !ok || !isName || f.Resolve(call.Func) != "builtins.range" || len(call.Args) != 1 || len(loop.Body) == 0 || len(loop.Else) > 0 {
		return false
	}
	if _, fixed := call.Args[0].(*pyscan.Constant); fixed {
		return false
	}
	for _, stmt := range loop.Body {
		switch n := stmt.(type) {
		case *pyscan.For:
			if !f.ElementLoop(f.Site(n)) {
				return false
			}
		case *pyscan.Assign:
			if len(n.Targets) != 1 || !f.elementOf(n.Targets[0], index.ID) || !f.elementwise(n.Value, index.ID) || !computes(n.Value) {
				return false
			}
		case *pyscan.AugAssign:
			if !f.elementOf(n.Target, index.ID) || !f.elementwise(n.Value, index.ID) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// StoredElement is the first element an element loop stores.
func (f *Facts) StoredElement(loop *pyscan.For) pyscan.Expr {
	switch n := loop.Body[0].(type) {
	case *pyscan.For:
		return f.StoredElement(n)
	case *pyscan.Assign:
		return n.Targets[0]
	case *pyscan.AugAssign:
		return n.Target
	}
	return loop.Target
}

// elementOf: `t[i]` or `t[i, j]` of a GPU tensor, indexed by the loop's variable itself.
func (f *Facts) elementOf(e pyscan.Expr, index string) bool {
	sub, ok := e.(*pyscan.Subscript)
	return ok && f.OnGPU(sub.Value) && indexedBy(sub.Index, index)
}

// indexedBy: the index is the variable, or a tuple of names and literals with it.
func indexedBy(e pyscan.Expr, index string) bool {
	switch e := e.(type) {
	case *pyscan.Name:
		return e.ID == index
	case *pyscan.Tuple:
		found := false
		for _, el := range e.Elems {
			switch el := el.(type) {
			case *pyscan.Name:
				found = found || el.ID == index
			case *pyscan.Constant:
			default:
				return false
			}
		}
		return found
	}
	return false
}

var elementwiseNames = wordSet("exp log sqrt rsqrt sin cos tan tanh sigmoid relu abs square pow clamp clip where maximum minimum sign floor ceil round neg mul add sub div silu gelu softplus log1p expm1 erf")

// elementwise: arithmetic and elementwise functions of literals, host numbers and elements at the index.
func (f *Facts) elementwise(e pyscan.Expr, index string) bool {
	switch e := e.(type) {
	case *pyscan.Constant:
		return true
	case *pyscan.Name:
		return e.ID != index
	case *pyscan.Attribute:
		return f.Value(e).Kind == Host
	case *pyscan.Subscript:
		return indexedBy(e.Index, index)
	case *pyscan.UnaryOp:
		return f.elementwise(e.Operand, index)
	case *pyscan.BinOp:
		return e.Op != "@" && f.elementwise(e.Left, index) && f.elementwise(e.Right, index)
	case *pyscan.Call:
		name := lastName(e.Func)
		if !elementwiseNames[name] || len(e.Keywords) > 0 {
			return false
		}
		path := f.Resolve(e.Func)
		attr, isMethod := e.Func.(*pyscan.Attribute)
		if path == "" {
			if !isMethod || !f.elementwise(attr.Value, index) {
				return false
			}
		} else if !strings.HasPrefix(path, "torch.") && !strings.HasPrefix(path, "builtins.") {
			return false
		}
		for _, a := range e.Args {
			if !f.elementwise(a, index) {
				return false
			}
		}
		return true
	}
	return false
}

// computes: more than moving an element.
func computes(e pyscan.Expr) bool {
	switch e.(type) {
	case *pyscan.BinOp, *pyscan.Call, *pyscan.UnaryOp:
		return true
	}
	return false
}

// SecondResultIgnored reports whether a call's result is a pair whose second part nothing reads; name is what it is bound to.
func (f *Facts) SecondResultIgnored(s *Site) (name string, ignored bool) {
	switch n := s.Parent.Node.(type) {
	case *pyscan.Subscript:
		c, ok := n.Index.(*pyscan.Constant)
		return "", ok && c.Text == "0" && n.Value == s.Node
	case *pyscan.Assign:
		if len(n.Targets) != 1 || n.Value != s.Node {
			return "", false
		}
		t, ok := n.Targets[0].(*pyscan.Tuple)
		if !ok || len(t.Elems) != 2 {
			return "", false
		}
		second, ok := t.Elems[1].(*pyscan.Name)
		if !ok {
			return "", false
		}
		for _, other := range f.named(second.ID) {
			if read, ok := other.Node.(*pyscan.Name); ok && read.ID == second.ID && other.Role != RoleTarget && within(other.Def(), s.Def()) {
				return second.ID, false
			}
		}
		return second.ID, true
	}
	return "", false
}

// LowerTriangle reports whether a mask of scaled_dot_product_attention (True takes part) is the causal one.
func (f *Facts) LowerTriangle(mask pyscan.Expr) bool { return f.triangle(mask, false, 0) }
