package rules

import (
	"fmt"

	"stepline/pyscan"
)

// HostRead is a call that reads a tensor on the host and so waits for the GPU if the tensor is there.
type HostRead struct {
	Tensor pyscan.Expr
	// Method is set for `t.item()` and the like, nil for `float(t)`.
	Method *pyscan.Attribute
	// Copy: the whole tensor is copied (`.cpu()`, `.numpy()`, `.to("cpu")`), not one value read.
	Copy bool
}

// HostRead tells whether a call reads a tensor on the host, whatever the tensor; nil if not.
func (f *Facts) HostRead(s *Site) *HostRead { return f.HostReadOf(s.Call()) }

// HostReadOf is HostRead for a call.
func (f *Facts) HostReadOf(call *pyscan.Call) *HostRead {
	switch fn := call.Func.(type) {
	case *pyscan.Attribute:
		switch fn.Attr {
		case "item", "tolist":
			if len(call.Args)+len(call.Keywords) == 0 {
				return &HostRead{Tensor: fn.Value, Method: fn}
			}
		case "cpu", "numpy":
			if len(call.Args) == 0 {
				return &HostRead{Tensor: fn.Value, Method: fn, Copy: true}
			}
		case "to":
			if k := Keyword(call, "non_blocking"); k != nil && !IsFalse(k.Value) {
				return nil
			}
			e := Argument(call, 0, "device")
			if e == nil {
				return nil
			}
			if d := deviceOf(nil, f.Value(e), e); d.Kind == Device && d.OnCPU {
				return &HostRead{Tensor: fn.Value, Method: fn, Copy: true}
			}
		}
	case *pyscan.Name:
		if (fn.ID == "float" || fn.ID == "int" || fn.ID == "bool") && len(call.Args) == 1 && len(call.Keywords) == 0 && f.Resolve(fn) == "builtins."+fn.ID {
			return &HostRead{Tensor: call.Args[0]}
		}
	}
	return nil
}

// KeepOnGPU is the fix that leaves a number on the GPU where it is only added up, collected or returned: `.detach()` in the place of
// `.item()` or `float()`. It is none where the number is compared, printed or passed on.
func (f *Facts) KeepOnGPU(s *Site, read *HostRead) []Fix {
	if read.Copy || read.Method != nil && read.Method.Attr != "item" {
		return nil
	}
	for up := range s.Ancestors() {
		switch n := up.Node.(type) {
		case *pyscan.BinOp, *pyscan.Comprehension, *pyscan.Keyword:
			continue
		case *pyscan.Call:
			if name := lastName(n.Func); name == "sum" || name == "append" {
				continue
			}
			return nil
		case *pyscan.Assign, *pyscan.AugAssign, *pyscan.Return, *pyscan.ExprStmt:
		default:
			return nil
		}
		break
	}
	title := fmt.Sprintf("Keep `%s` on the GPU: `.detach()`, and read the total once", f.Line(read.Tensor))
	if read.Method != nil {
		return []Fix{{Title: title, Safety: Unsafe, Edits: []TextEdit{{File: f.File, Span: read.Method.AttrSpan, New: "detach"}}}}
	}
	text := f.Text(read.Tensor)
	switch read.Tensor.(type) {
	case *pyscan.Call, *pyscan.Name, *pyscan.Attribute, *pyscan.Subscript:
	default:
		text = "(" + text + ")"
	}
	return []Fix{{Title: title, Safety: Unsafe, Edits: []TextEdit{{File: f.File, Span: s.Range(), New: text + ".detach()"}}}}
}

// InsideHostRead reports whether the read's value goes straight into another read (`x.cpu().item()`, `float(x.item())`).
func (f *Facts) InsideHostRead(s *Site) bool {
	at := s.Parent
	if at == nil {
		return false
	}
	if attr, ok := at.Node.(*pyscan.Attribute); ok && at.Parent != nil {
		if call, ok := at.Parent.Node.(*pyscan.Call); ok && call.Func == pyscan.Expr(attr) {
			read := f.HostReadOf(call)
			return read != nil && !read.Copy
		}
	}
	return false
}

// ReportedElsewhere reports whether a read has a rule of its own: in a log call (SYN008), over parameters (SYN006), as a
// loop's bound (SYN009).
func (f *Facts) ReportedElsewhere(s *Site) bool {
	if f.ParameterLoop(s) != nil && f.OptimizerStep(s) == nil {
		return true
	}
	for up := range s.Ancestors() {
		call, ok := up.Node.(*pyscan.Call)
		if !ok {
			if _, isStmt := up.Node.(pyscan.Stmt); isStmt {
				return false
			}
			continue
		}
		if f.LogName(up) != "" {
			return true
		}
		if name, ok := call.Func.(*pyscan.Name); ok && name.ID == "range" && up.Role == RoleIter {
			return true
		}
	}
	return false
}

// ComesBack reports whether a host copy is moved to a device again in the same expression or through the variable it is
// bound to.
func (f *Facts) ComesBack(s *Site) bool {
	for up := range s.Ancestors() {
		if call, ok := up.Node.(*pyscan.Call); ok {
			if v := f.Value(call); v.onGPU() {
				return true
			}
		}
		if _, ok := up.Node.(pyscan.Stmt); ok {
			break
		}
	}
	for _, trip := range f.RoundTrips() {
		if trip.Copy == s {
			return true
		}
	}
	return false
}
