package rules

import (
	"stepline/pyscan"
)

// DataDependent names the operation whose result's size depends on a tensor's values, with that tensor; "" if a site is none.
func (f *Facts) DataDependent(s *Site) (string, pyscan.Expr) {
	switch n := s.Node.(type) {
	case *pyscan.Subscript:
		if s.Role == RoleTarget {
			return "", nil
		}
		if f.isMask(n.Index, s) && f.OnGPU(n.Value) {
			return "boolean-mask index", n.Value
		}
	case *pyscan.Call:
		path := f.Resolve(n.Func)
		switch path {
		case "torch.nonzero", "torch.masked_select", "torch.unique", "torch.unique_consecutive", "torch.argwhere":
			if len(n.Args) > 0 {
				return "`" + path + "`", n.Args[0]
			}
		case "torch.where":
			if len(n.Args) == 1 {
				return "one-argument `torch.where`", n.Args[0]
			}
		}
		attr, ok := n.Func.(*pyscan.Attribute)
		if !ok || path != "" {
			return "", nil
		}
		switch attr.Attr {
		case "nonzero", "masked_select", "unique", "unique_consecutive", "argwhere":
			return "`." + attr.Attr + "`", attr.Value
		}
	}
	return "", nil
}

// isMask: a comparison of GPU tensors, `~mask`, or a variable bound to one in the function.
func (f *Facts) isMask(e pyscan.Expr, s *Site) bool {
	switch e := e.(type) {
	case *pyscan.Compare:
		return f.OnGPU(e)
	case *pyscan.UnaryOp:
		return e.Op == "~" && f.isMask(e.Operand, s)
	case *pyscan.BinOp:
		return (e.Op == "&" || e.Op == "|") && f.isMask(e.Left, s) && f.isMask(e.Right, s)
	case *pyscan.Call:
		attr, ok := e.Func.(*pyscan.Attribute)
		return ok && attr.Attr == "bool" && len(e.Args) == 0 && f.OnGPU(attr.Value)
	case *pyscan.Name:
		var value *pyscan.Assign
		for _, a := range f.assignments(s.Def()) {
			if a.Start >= s.Range().Start || a.Covers(s.Range()) {
				break
			}
			for _, t := range a.Targets {
				if n, ok := t.(*pyscan.Name); ok && n.ID == e.ID {
					value = a
				}
			}
		}
		if value == nil || value.Value == nil {
			return false
		}
		if _, isName := value.Value.(*pyscan.Name); isName {
			return false
		}
		return f.isMask(value.Value, f.Site(value)) // from there on upwards: this ends
	}
	return false
}
