package rules

import (
	"regexp"

	"stepline/pyscan"
)

// ParameterLoop is the loop over a model's parameters (a for statement or a comprehension) that a site runs in, nil if none.
func (f *Facts) ParameterLoop(s *Site) *Site {
	for at := s; at.Parent != nil; at = at.Parent {
		switch n := at.Parent.Node.(type) {
		case *pyscan.For:
			if at.Role == RoleBody && f.iteratesParameters(n.Iter) {
				return at.Parent
			}
		case *pyscan.Comprehension:
			if at.Role != RoleIter && len(n.Clauses) > 0 && f.iteratesParameters(n.Clauses[len(n.Clauses)-1].Iter) {
				return at.Parent
			}
		case *pyscan.FunctionDef:
			return nil
		}
	}
	return nil
}

func (f *Facts) iteratesParameters(e pyscan.Expr) bool {
	v := f.Value(e)
	switch v.Kind {
	case Parameters, NamedParameters:
		return true
	case Sequence: // a list made from parameters
		list, ok := e.(*pyscan.Name)
		return ok && parameterNames.MatchString(list.ID) && v.element().onGPU()
	case Unknown:
		name, ok := e.(*pyscan.Name)
		return ok && (name.ID == "parameters" || name.ID == "params")
	}
	return false
}

var parameterNames = regexp.MustCompile(`(?i)param|grads`)

// ReadsGradients reports whether the function of a site uses `.grad` as a tensor where it may have been zeroed before.
func (f *Facts) ReadsGradients(s *Site) bool {
	fn := s.Def()
	if fn == nil {
		return false
	}
	found := false
	for _, stmt := range fn.Body {
		EachExprIn(stmt, func(e pyscan.Expr) bool {
			if attr, ok := e.(*pyscan.Attribute); ok {
				if inner, ok := attr.Value.(*pyscan.Attribute); ok && inner.Attr == "grad" {
					found = true
				}
			}
			return !found
		})
	}
	return found
}
