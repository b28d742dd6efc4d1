package pyscan

import "strings"

// Lookup finds what a name means at the byte offset, by Python's rules: the names of the frame that runs
// there, then those of the functions around it (a class's names only in its own body), then the module's.
// It is nil for builtins and unknown names.
func (f *File) Lookup(name string, offset int) *Binding {
	fn := f.RunsIn(offset)
	if class := f.ClassAt(offset); class != nil && f.Functions[fn.Index].Covers(class.Span) && fn.Span != class.Span {
		// The class's body runs here, unless a function inside the class does.
		if binding := f.names.classes[class.Index].names[name]; binding != nil {
			return binding
		}
	}
	return f.lookupFrom(fn, name)
}

// LookupIn finds what a name means in the function's frame; see Lookup.
func (f *File) LookupIn(fn *Function, name string) *Binding { return f.lookupFrom(fn, name) }

func (f *File) lookupFrom(fn *Function, name string) *Binding {
	for ; fn != nil; fn = fn.Parent {
		s := &f.names.functions[fn.Index]
		if nonlocal, declared := s.elsewhere[name]; declared {
			if !nonlocal {
				return f.names.functions[0].names[name]
			}
			continue
		}
		if binding := s.names[name]; binding != nil {
			return binding
		}
	}
	return nil
}

// Globals are the names bound at the module's top level. The map must not be changed.
func (f *File) Globals() map[string]*Binding { return f.names.functions[0].names }

// Locals are the names bound in the function's own frame, parameters included. The map must not be changed.
func (f *File) Locals(fn *Function) map[string]*Binding { return f.names.functions[fn.Index].names }

// StarImports are the modules of `from m import *`, written as Binding.Path is.
func (f *File) StarImports() []string { return f.names.stars }

// PathOf is the dotted path of an expression, with imports and aliases followed:
//
//	F.relu              → "torch.nn.functional.relu"
//	self.qkv            → "self.qkv" (whatever the method's first parameter is called)
//	x.view              → "x.view"
//	model(x).sum        → "model().sum"
//	x[0].item           → "x[].item"
//	(a + b).item        → "?.item"
//
// A local name that is bound once, to an imported or defined thing or to an attribute of self, stands for
// that thing; any other local name stands for itself. Paths of relative imports start with their dots.
// It is "" for expressions that are no such chain.
func (f *File) PathOf(e Expr) string { return f.path(e, 0) }

func (f *File) path(e Expr, depth int) string {
	switch n := e.(type) {
	case *Name:
		return f.namePath(n, depth)
	case *Attribute, *Call, *Subscript:
		return f.chainPath(n, depth)
	}
	return ""
}

// chainPath walks a chain of attributes, calls and subscripts down to its root and writes it out.
func (f *File) chainPath(e Expr, depth int) string {
	var parts []string
	for {
		switch n := e.(type) {
		case *Attribute:
			parts = append(parts, n.Attr, ".")
			e = n.Value
			continue
		case *Call:
			parts = append(parts, "()")
			e = n.Func
			continue
		case *Subscript:
			parts = append(parts, "[]")
			e = n.Value
			continue
		case *Name:
			parts = append(parts, f.namePath(n, depth))
		default:
			parts = append(parts, "?")
		}
		break
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	var out strings.Builder
	out.Grow(size)
	for i := len(parts) - 1; i >= 0; i-- {
		out.WriteString(parts[i])
	}
	return out.String()
}

const maxAliases = 8 // how many aliases of aliases are followed

func (f *File) namePath(n *Name, depth int) string {
	binding := f.Lookup(n.ID, n.Start)
	if binding == nil {
		return n.ID
	}
	switch {
	case binding.Kind == BoundImport && !binding.Mixed:
		return binding.Path
	case binding.Kind == BoundImport && len(binding.Values) == 0: // `try: import x; except ImportError: def x…`
		return binding.Path
	case binding.Kind == BoundParameter && binding.Scope != nil && f.isSelf(binding):
		return "self"
	case binding.Kind == BoundValue && binding.Count == 1 && len(binding.Values) == 1 && depth < maxAliases:
		if path := f.aliasPath(binding.Values[0], depth+1); path != "" {
			return path
		}
	}
	return n.ID
}

// aliasPath is the path of a value that a name may stand for: an imported or defined thing, an attribute of self.
func (f *File) aliasPath(value Expr, depth int) string {
	root := value
	for {
		attribute, ok := root.(*Attribute)
		if !ok {
			break
		}
		root = attribute.Value
	}
	name, ok := root.(*Name)
	if !ok {
		return ""
	}
	binding := f.Lookup(name.ID, name.Start)
	switch {
	case binding == nil:
		return ""
	case binding.Kind == BoundImport, binding.Kind == BoundFunction, binding.Kind == BoundClass:
	case binding.Kind == BoundParameter && f.isSelf(binding) && root != value:
	case binding.Kind == BoundValue && binding.Count == 1 && len(binding.Values) == 1:
		if depth >= maxAliases || f.aliasPath(binding.Values[0], depth+1) == "" {
			return ""
		}
	default:
		return ""
	}
	return f.path(value, depth)
}

// isSelf says whether the binding is the first parameter of a method.
func (f *File) isSelf(binding *Binding) bool {
	fn := binding.Scope
	return fn.Class != nil && len(fn.Params) > 0 && fn.Params[0] == binding.Parameter && !isStaticMethod(fn)
}

// SelfClass is the class whose instance (or, in a class method, which itself) the expression is: the class of
// the method whose first parameter it names; nil for anything else.
func (f *File) SelfClass(e Expr) *Class {
	name, ok := e.(*Name)
	if !ok {
		return nil
	}
	binding := f.Lookup(name.ID, name.Start)
	if binding == nil || binding.Kind != BoundParameter || binding.Scope == nil || !f.isSelf(binding) {
		return nil
	}
	return binding.Scope.Class
}

// Attributes are the attributes that the class's own methods and body assign, in source order.
func (f *File) Attributes(class *Class) []*Attribution { return f.names.attributes[class.Index] }

// Attribution is the class's attribute of the name, nil if the class's own code never assigns it.
func (f *File) Attribution(class *Class, name string) *Attribution {
	for _, attribution := range f.names.attributes[class.Index] {
		if attribution.Name == name {
			return attribution
		}
	}
	return nil
}

// Method is the class's own method of the name (the last one defined), nil if it has none.
func (c *Class) Method(name string) *Function {
	for i := len(c.Methods) - 1; i >= 0; i-- {
		if c.Methods[i].Name == name {
			return c.Methods[i]
		}
	}
	return nil
}

// FunctionsNamed are the defs of the file with the bare name, in source order.
func (f *File) FunctionsNamed(name string) []*Function { return f.names.byFunction[name] }
