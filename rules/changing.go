package rules

import (
	"strings"

	"stepline/pyscan"
)

// Changing says how a Python number differs from one turn of a loop to the next.
type Changing struct {
	// Float: the number is a float; else an int.
	Float bool
	// From is the counter or read it comes from.
	From pyscan.Expr
}

// ChangingNumber reports how an expression is a Python number that changes with the turns of the loop a site is in: a
// counter, a number computed from one, or a tensor's value read on the host. nil if that is not certain.
func (f *Facts) ChangingNumber(e pyscan.Expr, at *Site) *Changing {
	return f.changing(e, at, 0)
}

func (f *Facts) changing(e pyscan.Expr, at *Site, depth int) *Changing {
	if depth > 6 {
		return nil
	}
	switch e := e.(type) {
	case *pyscan.Name:
		return f.changingName(e, at, depth)
	case *pyscan.BinOp:
		c := f.changing(e.Left, at, depth+1)
		if c == nil {
			c = f.changing(e.Right, at, depth+1)
			if c != nil && !f.plainNumber(e.Left) {
				return nil
			}
		} else if !f.plainNumber(e.Right) && f.changing(e.Right, at, depth+1) == nil {
			return nil
		}
		if c == nil {
			return nil
		}
		float := c.Float || e.Op == "/" || isFloat(e.Left) || isFloat(e.Right)
		return &Changing{Float: float, From: c.From}
	case *pyscan.Call:
		if read := f.HostReadOf(e); read != nil && !read.Copy && f.OnGPU(read.Tensor) && enclosingLoop(at) != nil {
			name, _ := e.Func.(*pyscan.Name)
			return &Changing{Float: name == nil || name.ID == "float", From: e}
		}
		if name, ok := e.Func.(*pyscan.Name); ok && (name.ID == "min" || name.ID == "max" || name.ID == "float" || name.ID == "int" || name.ID == "round") {
			for _, a := range e.Args {
				if c := f.changing(a, at, depth+1); c != nil {
					return &Changing{Float: c.Float && name.ID != "int" && name.ID != "round" || name.ID == "float", From: c.From}
				}
			}
		}
	}
	return nil
}

func isFloat(e pyscan.Expr) bool { return isConstant(e, pyscan.ConstFloat) }

// plainNumber: a literal, or a name or attribute that holds a host value or is unknown but no tensor.
func (f *Facts) plainNumber(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Constant:
		return e.Kind == pyscan.ConstInt || e.Kind == pyscan.ConstFloat
	case *pyscan.Name, *pyscan.Attribute:
		return f.Value(e).Kind == Host || f.Value(e).Kind == Unknown
	case *pyscan.BinOp:
		return f.plainNumber(e.Left) && f.plainNumber(e.Right)
	case *pyscan.Call:
		return f.Resolve(e.Func) == "builtins.len"
	}
	return false
}

// changingName: a loop's counter, or a name assigned in the loop from one.
func (f *Facts) changingName(name *pyscan.Name, at *Site, depth int) *Changing {
	for loop := enclosingLoop(at); loop != nil; loop = enclosingLoop(loop) {
		if n, ok := loop.Node.(*pyscan.For); ok && f.countsWith(n, name.ID) {
			return &Changing{From: name}
		}
		for _, s := range f.below(loop) {
			if !s.Under(loop) || s.Def() != at.Def() {
				continue
			}
			switch n := s.Node.(type) {
			case *pyscan.Assign:
				if len(n.Targets) == 1 && n.Value != nil && n.Start < at.Range().Start {
					if t, ok := n.Targets[0].(*pyscan.Name); ok && t.ID == name.ID {
						return f.changing(n.Value, s, depth+1)
					}
				}
			case *pyscan.AugAssign:
				t, ok := n.Target.(*pyscan.Name)
				c, isConst := n.Value.(*pyscan.Constant)
				if ok && isConst && t.ID == name.ID && (c.Kind == pyscan.ConstInt || c.Kind == pyscan.ConstFloat) {
					return &Changing{Float: c.Kind == pyscan.ConstFloat, From: name}
				}
			}
		}
	}
	return nil
}

// countsWith: `for name in range(…)`, `for name, … in enumerate(…)`.
func (f *Facts) countsWith(loop *pyscan.For, name string) bool {
	call, ok := loop.Iter.(*pyscan.Call)
	if !ok {
		return false
	}
	switch f.Resolve(call.Func) {
	case "builtins.range":
		t, ok := loop.Target.(*pyscan.Name)
		return ok && t.ID == name
	case "builtins.enumerate":
		t, ok := loop.Target.(*pyscan.Tuple)
		if !ok || len(t.Elems) == 0 {
			return false
		}
		first, ok := t.Elems[0].(*pyscan.Name)
		return ok && first.ID == name
	}
	return false
}

// ChangingSize is the creation or slice that gives a tensor a size which changes from turn to turn, nil if none is certain.
func (f *Facts) ChangingSize(e pyscan.Expr, at *Site) (made pyscan.Expr, size *Changing) {
	if name, ok := e.(*pyscan.Name); ok {
		loop := enclosingLoop(at)
		if loop == nil {
			return nil, nil
		}
		var value *pyscan.Assign
		for _, a := range f.assignments(at.Def()) {
			if t, ok := a.Targets[0].(*pyscan.Name); ok && len(a.Targets) == 1 && t.ID == name.ID && a.Start < at.Range().Start && loop.Range().Covers(a.Span) {
				value = a
			}
		}
		if value == nil || value.Value == nil {
			return nil, nil
		}
		e, at = value.Value, f.Site(value.Value)
	}
	EachExpr(e, func(sub pyscan.Expr) bool {
		if size != nil {
			return false
		}
		switch n := sub.(type) {
		case *pyscan.Call:
			name, ok := strings.CutPrefix(f.Resolve(n.Func), "torch.")
			if !ok || !creators[name] || name == "arange" || name == "tensor" || name == "full" {
				return true
			}
			for _, a := range n.Args {
				made, size = sub, f.changing(a, at, 0)
				if size == nil {
					if t, ok := a.(*pyscan.Tuple); ok && len(t.Elems) > 0 {
						for _, el := range t.Elems {
							if size == nil {
								size = f.changing(el, at, 0)
							}
						}
					}
				}
				if size != nil {
					return false
				}
			}
		case *pyscan.Slice:
			if n.Lower == nil && n.Upper != nil {
				made, size = e, f.changing(n.Upper, at, 0)
			}
		}
		return size == nil
	})
	if size == nil {
		return nil, nil
	}
	return made, size
}
