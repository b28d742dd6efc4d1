package pyscan

// BindingKind tells what gives a name its meaning.
type BindingKind uint8

const (
	BoundValue     BindingKind = iota // assigned: `x = …`, `x += …`, `x := …`
	BoundImport                       // imported; Path is the dotted path
	BoundFunction                     // a def
	BoundClass                        // a class
	BoundParameter                    // a parameter
	BoundLoop                         // the target of a for or of a comprehension's clause
	BoundWith                         // the target of a with
	BoundOther                        // an exception's name, a pattern's capture
)

// Binding is what a name means in one scope: all places of that scope that bind it.
type Binding struct {
	Name string
	// Kind is that of the first binding; Mixed says that others are of another kind.
	Kind  BindingKind
	Mixed bool
	// Path is the dotted path of the first import: "torch.nn.functional" for `import torch.nn.functional as F`,
	// ".models.gpt.GPT" (with leading dots) for a relative one.
	Path string
	// Values are the expressions assigned to the name alone, in source order (not the parts of an unpacked
	// value, not augmented assignments). Count counts all bindings.
	Values []Expr
	Count  int
	// Unpacked says that the name is bound as part of a tuple at least once.
	Unpacked bool
	// Iterated are the iterables whose items are bound to the name or to a tuple that holds it.
	Iterated []Expr
	// Contexts are the context expressions whose `as` binds the name.
	Contexts []Expr
	// Annotation is the first annotation given to the name, nil without any.
	Annotation Expr
	Function   *Function  // of BoundFunction
	Class      *Class     // of BoundClass
	Parameter  *Parameter // of BoundParameter
	// Scope is the function whose frame holds the name, the Module for globals; nil for a class's own names.
	Scope *Function
	// Span is the first place that binds the name.
	Span Span
}

// scope is the names bound in one function or class body.
type scope struct {
	names map[string]*Binding
	// elsewhere are the names declared nonlocal (true) or global (false).
	elsewhere map[string]bool
}

// moduleNames is what names mean in a file.
type moduleNames struct {
	functions  []scope                // by Function.Index
	classes    []scope                // by Class.Index
	attributes [][]*Attribution       // by Class.Index: what is assigned to self's attributes
	byFunction map[string][]*Function // defs by their bare name
	stars      []string               // modules of `from m import *`, as in Binding.Path
}

// Attribution is one attribute of a class's instances and all that is assigned to it in the class.
type Attribution struct {
	Name string
	// Values are the expressions assigned to `self.Name` in the methods, and to Name in the class's body.
	Values []Expr
	// Methods are the methods that hold the assignments, in the order of Values; nil for the class body.
	Methods []*Function
	// Annotation is the first annotation given to it, nil without any.
	Annotation Expr
	// Appended are the values put into it by `self.Name.append(…)`, `add_module` and the like.
	Appended []Expr
	Span     Span
}

// binder fills moduleNames in one walk over the statements.
type binder struct {
	file  *File
	names *moduleNames
	// own is the class whose methods are being read and self the name of their first parameter.
	own  *Class
	self string
	fn   *Function
}

func resolveNames(file *File) *moduleNames {
	names := &moduleNames{
		functions:  make([]scope, len(file.Functions)),
		classes:    make([]scope, len(file.Classes)),
		attributes: make([][]*Attribution, len(file.Classes)),
		byFunction: map[string][]*Function{},
	}
	b := &binder{file: file, names: names, fn: file.Module}
	b.block(file.Module.Body, &names.functions[0])
	for _, fn := range file.Functions[1:] {
		b.function(fn)
	}
	for _, walrus := range file.walruses {
		fn := walrus.function
		for fn.Comprehension != nil && fn.Parent != nil {
			fn = fn.Parent
		}
		b.fn = fn
		b.bindValue(&names.functions[fn.Index], walrus.expr.Target, walrus.expr.Value, nil)
	}
	return names
}

// function binds the names of one function's own frame.
func (b *binder) function(fn *Function) {
	b.fn = fn
	s := &b.names.functions[fn.Index]
	for _, param := range fn.Params {
		binding := b.bind(s, param.Name, BoundParameter, param.Span)
		binding.Parameter, binding.Annotation = param, param.Annotation
	}
	b.own, b.self = nil, ""
	if fn.Comprehension != nil {
		for _, clause := range fn.Comprehension.Clauses {
			b.target(s, clause.Target, BoundLoop, clause.Iter, false)
		}
		return
	}
	if fn.Name != "<lambda>" {
		b.names.byFunction[fn.Name] = append(b.names.byFunction[fn.Name], fn)
	}
	if method := enclosingMethod(fn); method != nil && len(method.Params) > 0 && !isStaticMethod(method) {
		b.own, b.self = method.Class, method.Params[0].Name
	}
	b.block(fn.Body, s)
}

// enclosingMethod is fn itself or the nearest function around it that is a method.
func enclosingMethod(fn *Function) *Function {
	for fn != nil && fn.Class == nil {
		fn = fn.Parent
	}
	return fn
}

func isStaticMethod(fn *Function) bool {
	for _, decorator := range fn.Decorators {
		if name, ok := decorator.(*Name); ok && name.ID == "staticmethod" {
			return true
		}
	}
	return false
}

// bind notes one binding of the name and returns its record. A name declared global or nonlocal is bound
// where it lives.
func (b *binder) bind(s *scope, name string, kind BindingKind, span Span) *Binding {
	owner := b.fn
	if nonlocal, declared := s.elsewhere[name]; declared {
		owner = b.file.Module
		if nonlocal {
			for owner = b.fn.Parent; owner.Parent != nil && b.names.functions[owner.Index].names[name] == nil; {
				owner = owner.Parent
			}
		}
		s = &b.names.functions[owner.Index]
	}
	if s.names == nil {
		s.names = map[string]*Binding{}
	}
	binding := s.names[name]
	if binding == nil {
		binding = &Binding{Name: name, Kind: kind, Span: span, Scope: owner}
		s.names[name] = binding
	}
	binding.Mixed = binding.Mixed || binding.Kind != kind
	binding.Count++
	return binding
}

func (b *binder) block(body []Stmt, s *scope) {
	for _, stmt := range body {
		b.statement(stmt, s)
	}
}

func (b *binder) statement(stmt Stmt, s *scope) {
	switch n := stmt.(type) {
	case *Assign:
		for _, target := range n.Targets {
			b.bindValue(s, target, n.Value, n.Annotation)
		}
	case *AugAssign:
		if name, ok := n.Target.(*Name); ok {
			b.bind(s, name.ID, BoundValue, name.Span)
		}
	case *ExprStmt:
		b.appended(n.Value)
	case *For:
		b.target(s, n.Target, BoundLoop, n.Iter, false)
		b.block(n.Body, s)
		b.block(n.Else, s)
	case *With:
		for _, item := range n.Items {
			if item.Target != nil {
				b.target(s, item.Target, BoundWith, item.Context, false)
			}
		}
		b.block(n.Body, s)
	case *Try:
		b.block(n.Body, s)
		for _, handler := range n.Handlers {
			if handler.Name != "" {
				b.bind(s, handler.Name, BoundOther, handler.Span)
			}
			b.block(handler.Body, s)
		}
		b.block(n.Else, s)
		b.block(n.Finally, s)
	case *Match:
		for _, one := range n.Cases {
			for _, capture := range one.Captures {
				b.bind(s, capture.ID, BoundOther, capture.Span)
			}
			b.block(one.Body, s)
		}
	case *FunctionDef:
		b.bind(s, n.Function.Name, BoundFunction, n.Function.NameSpan).Function = n.Function
	case *ClassDef:
		b.bind(s, n.Class.Name, BoundClass, n.Class.NameSpan).Class = n.Class
		b.class(n.Class)
	case *Import:
		b.imports(n, s)
	case *Scope:
		if s.elsewhere == nil {
			s.elsewhere = map[string]bool{}
		}
		for _, name := range n.Names {
			s.elsewhere[name] = n.Nonlocal
		}
	default:
		for _, body := range Bodies(stmt) {
			b.block(body, s)
		}
	}
}

// class binds the names of a class's body.
func (b *binder) class(class *Class) {
	s := &b.names.classes[class.Index]
	own, self := b.own, b.self
	b.own, b.self = nil, ""
	b.block(class.Body, s)
	b.own, b.self = own, self
	for _, stmt := range class.Body {
		assign, ok := stmt.(*Assign)
		if !ok {
			continue
		}
		for _, target := range assign.Targets {
			if name, ok := target.(*Name); ok {
				attribution := b.attribution(class, name.ID, name.Span)
				if assign.Value != nil {
					attribution.Values = append(attribution.Values, assign.Value)
					attribution.Methods = append(attribution.Methods, nil)
				}
				if attribution.Annotation == nil {
					attribution.Annotation = assign.Annotation
				}
			}
		}
	}
}

func (b *binder) attribution(class *Class, name string, span Span) *Attribution {
	for _, known := range b.names.attributes[class.Index] {
		if known.Name == name {
			return known
		}
	}
	attribution := &Attribution{Name: name, Span: span}
	b.names.attributes[class.Index] = append(b.names.attributes[class.Index], attribution)
	return attribution
}

// bindValue binds the target of an assignment; value may be nil (a bare annotation).
func (b *binder) bindValue(s *scope, target Expr, value, annotation Expr) {
	switch t := target.(type) {
	case *Name:
		binding := b.bind(s, t.ID, BoundValue, t.Span)
		if value != nil {
			binding.Values = append(binding.Values, value)
		}
		if binding.Annotation == nil {
			binding.Annotation = annotation
		}
	case *Attribute:
		if b.isSelf(t.Value) {
			attribution := b.attribution(b.own, t.Attr, t.AttrSpan)
			if value != nil {
				attribution.Values = append(attribution.Values, value)
				attribution.Methods = append(attribution.Methods, b.fn)
			}
			if attribution.Annotation == nil {
				attribution.Annotation = annotation
			}
		}
	case *Tuple:
		b.unpack(s, t.Elems, value)
	case *List:
		b.unpack(s, t.Elems, value)
	case *Starred:
		b.target(s, t.Value, BoundValue, nil, true)
	}
}

// unpack binds the parts of `a, b = value`: one to one where the value is a tuple of as many parts.
func (b *binder) unpack(s *scope, targets []Expr, value Expr) {
	var parts []Expr
	switch v := value.(type) {
	case *Tuple:
		parts = v.Elems
	case *List:
		parts = v.Elems
	}
	if len(parts) != len(targets) || hasStar(parts) || hasStar(targets) {
		for _, target := range targets {
			b.target(s, target, BoundValue, nil, true)
		}
		return
	}
	for i, target := range targets {
		b.bindValue(s, target, parts[i], nil)
	}
}

func hasStar(list []Expr) bool {
	for _, e := range list {
		if _, ok := e.(*Starred); ok {
			return true
		}
	}
	return false
}

func (b *binder) isSelf(e Expr) bool {
	name, ok := e.(*Name)
	return ok && b.own != nil && b.self != "" && name.ID == b.self
}

// target binds every name of a target that takes part of a value, or items of source.
func (b *binder) target(s *scope, target Expr, kind BindingKind, source Expr, unpacked bool) {
	switch t := target.(type) {
	case *Name:
		binding := b.bind(s, t.ID, kind, t.Span)
		binding.Unpacked = binding.Unpacked || unpacked
		switch {
		case source == nil:
		case kind == BoundLoop:
			binding.Iterated = append(binding.Iterated, source)
		case kind == BoundWith:
			binding.Contexts = append(binding.Contexts, source)
		}
	case *Attribute:
		if b.isSelf(t.Value) {
			b.attribution(b.own, t.Attr, t.AttrSpan)
		}
	case *Tuple:
		for _, elem := range t.Elems {
			b.target(s, elem, kind, source, true)
		}
	case *List:
		for _, elem := range t.Elems {
			b.target(s, elem, kind, source, true)
		}
	case *Starred:
		b.target(s, t.Value, kind, source, true)
	}
}

// appended notes `self.layers.append(value)` and `self.layers.add_module(name, value)`.
func (b *binder) appended(e Expr) {
	call, ok := e.(*Call)
	if !ok || b.own == nil {
		return
	}
	method, ok := call.Func.(*Attribute)
	if !ok {
		return
	}
	switch method.Attr {
	case "append", "add_module", "insert", "register_module":
	default:
		return
	}
	if list, ok := method.Value.(*Attribute); ok && b.isSelf(list.Value) && len(call.Args) > 0 {
		attribution := b.attribution(b.own, list.Attr, list.AttrSpan)
		attribution.Appended = append(attribution.Appended, call.Args[len(call.Args)-1])
	}
}

func (b *binder) imports(n *Import, s *scope) {
	prefix := ""
	if n.From {
		for range n.Level {
			prefix += "."
		}
		prefix += n.Module
		if n.Module != "" {
			prefix += "."
		}
	}
	for _, name := range n.Names {
		switch {
		case name.Name == "*":
			path := prefix
			if n.Module != "" {
				path = path[:len(path)-1]
			}
			b.names.stars = append(b.names.stars, path)
		case n.From || name.Alias != "":
			local := name.Alias
			if local == "" {
				local = name.Name
			}
			b.imported(s, local, prefix+name.Name, name.Span)
		default: // `import a.b.c` binds a
			b.imported(s, firstPart(name.Name), firstPart(name.Name), name.Span)
		}
	}
}

func (b *binder) imported(s *scope, local, path string, span Span) {
	binding := b.bind(s, local, BoundImport, span)
	if binding.Path == "" {
		binding.Path = path
	}
}

func firstPart(dotted string) string {
	for at := range len(dotted) {
		if dotted[at] == '.' {
			return dotted[:at]
		}
	}
	return dotted
}
