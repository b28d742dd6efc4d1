package rules

import (
	"strings"

	"stepline/pyscan"
)

// TensorTests are the tests, in code that runs every step, whose truth Python asks of a GPU tensor: of if, while, assert, not, and/or, conditional
// expressions and comprehension conditions.
func (f *Facts) TensorTests() []*Site {
	var out []*Site
	for _, s := range f.Sites {
		if s.Role != RoleTest {
			continue
		}
		if e, ok := s.Node.(pyscan.Expr); ok && (f.Hot(s) != nil || f.OptimizerStep(s) != nil) {
			f.tensorTest(e, &out)
		}
	}
	return out
}

// BehindTensorTest reports whether a site runs only if a test of a GPU tensor's value says so.
func (f *Facts) BehindTensorTest(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		branch, ok := at.Parent.Node.(*pyscan.If)
		if !ok || at.Role != RoleBody {
			continue
		}
		if _, ok := branch.Test.(*pyscan.Compare); ok && f.OnGPU(branch.Test) {
			return true
		}
		var tests []*Site
		f.tensorTest(branch.Test, &tests)
		if len(tests) > 0 {
			return true
		}
	}
	return false
}

func (f *Facts) tensorTest(e pyscan.Expr, out *[]*Site) {
	switch e := e.(type) {
	case *pyscan.UnaryOp:
		if e.Op == "not" {
			f.tensorTest(e.Operand, out)
			return
		}
	case *pyscan.BoolOp:
		for _, v := range e.Values {
			f.tensorTest(v, out)
		}
		return
	}
	if f.IsTensor(e) {
		*out = append(*out, f.Site(e))
	}
}

// IfTensor reports whether a site runs only if isinstance says that an expression is a tensor (`x.item() if isinstance(x, torch.Tensor)
// else x`): the caller may pass a number all the time.
func (f *Facts) IfTensor(s *Site, e pyscan.Expr) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		var test pyscan.Expr
		switch up := at.Parent.Node.(type) {
		case *pyscan.If:
			test = up.Test
		case *pyscan.IfExp:
			test = up.Test
		}
		if call, ok := test.(*pyscan.Call); ok && at.Role == RoleBody && lastName(call.Func) == "isinstance" && len(call.Args) == 2 && f.Text(call.Args[0]) == f.Text(e) {
			return true
		}
	}
	return false
}

// MadeAsTensor reports whether every value a variable is given in its function comes from an operation that gives one tensor: a
// function of torch, a method tensors alone have, arithmetic. A parameter, or what a call of unknown code returns, may be a list.
func (f *Facts) MadeAsTensor(name *pyscan.Name) bool {
	made := false
	for _, a := range f.assignments(f.Site(name).Def()) {
		for _, target := range a.Targets {
			if tuple := elementsOf(target); tuple != nil && boundIn(tuple, name.ID) {
				return false
			}
			if n, ok := target.(*pyscan.Name); !ok || n.ID != name.ID {
				continue
			}
			made = true
			if !f.givesOneTensor(a.Value) {
				return false
			}
		}
	}
	return made
}

func boundIn(targets []pyscan.Expr, id string) bool {
	for _, t := range targets {
		if n, ok := t.(*pyscan.Name); ok && n.ID == id {
			return true
		}
	}
	return false
}

func (f *Facts) givesOneTensor(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.BinOp, *pyscan.UnaryOp, *pyscan.Compare:
		return true
	case *pyscan.Call:
		path := f.Resolve(e.Func)
		attr, isMethod := e.Func.(*pyscan.Attribute)
		return strings.HasPrefix(path, "torch.") && !strings.HasPrefix(path, "torch.nn.") || strings.HasPrefix(path, "torch.nn.functional.") ||
			isMethod && path == "" && (tensorMethods[attr.Attr] || attr.Attr == "to" || attr.Attr == "cuda")
	}
	return false
}
