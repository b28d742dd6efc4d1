package attribute

import (
	"strings"

	"stepline/pyscan"
)

// moduleFacts is what a file says about the names its functions call.
type moduleFacts struct {
	file *pyscan.File
	// imports are the names bound by imports anywhere in the file; definitions those of module-level functions and classes.
	imports, definitions map[string]bool
	// functions are the module-level functions; their calls are known to enter a frame of that name.
	functions map[string]*pyscan.Function
	// generators and coroutines are names of functions whose call alone is silent.
	generators, coroutines map[string]bool
	classes                map[string]*classFacts
	// aliases are other names a module-level name stands for (`from x import y as z`, `f = obj.g`).
	aliases map[string][]string
	// torchNames are names bound to torch or one of its functional modules (`import torch.nn.functional as F`).
	torchNames map[string]bool
	// callables counts the functions of each name in the file.
	callables map[string]int
}

// classFacts is what a class says about its own attributes.
type classFacts struct {
	class *pyscan.Class
	// methods are plain methods by name; properties run when an attribute is read.
	methods, properties map[string]*pyscan.Function
	// attributes are the classes assigned to `self.NAME`; unknownClass stands for a value that cannot be told.
	attributes map[string]classSet
	// registered are the buffers, parameters and modules registered by name.
	registered map[string]bool
	// numbers are attributes that the class only ever gives literal numbers or adds such to.
	numbers map[string]bool
	// contents are the classes named inside a container's construction (`nn.ModuleList(Layer(d) for …)`).
	contents map[string]classSet
}

type classSet map[string]bool

const unknownClass = "?"

func (s classSet) known() bool { return len(s) > 0 && !s[unknownClass] }

func newModuleFacts(file *pyscan.File) *moduleFacts {
	m := &moduleFacts{
		file: file, imports: map[string]bool{}, definitions: map[string]bool{}, functions: map[string]*pyscan.Function{},
		generators: map[string]bool{}, coroutines: map[string]bool{}, classes: map[string]*classFacts{}, aliases: map[string][]string{},
		callables: map[string]int{}, torchNames: map[string]bool{},
	}
	for _, fn := range file.Functions {
		m.callables[fn.Name]++
		if fn.Comprehension != nil || fn.Value != nil {
			continue
		}
		if fn.Generator {
			m.generators[fn.Name] = true
		}
		if fn.Async {
			m.coroutines[fn.Name] = true
		}
		if fn.Parent == file.Module && fn.Class == nil && len(fn.Decorators) == 0 && fn != file.Module {
			m.functions[fn.Name] = fn
		}
	}
	ownStatements(file.Module.Body, m.topLevel)
	pyscan.Walk(file.Module, func(n pyscan.Node) bool {
		if s, ok := n.(pyscan.Stmt); ok {
			m.importsOf(s)
		}
		return true
	})
	for _, c := range file.Classes {
		m.classes[c.Name] = newClassFacts(c)
	}
	for range 3 { // bases may themselves have bases here; three rounds reach great-grandparents
		for _, c := range file.Classes {
			m.inherit(m.classes[c.Name], c)
		}
	}
	return m
}

// topLevel notes what a module-level statement binds.
func (m *moduleFacts) topLevel(s pyscan.Stmt) {
	switch s := s.(type) {
	case *pyscan.FunctionDef:
		m.definitions[s.Function.Name] = true
	case *pyscan.ClassDef:
		m.definitions[s.Class.Name] = true
	case *pyscan.Assign:
		for _, t := range s.Targets {
			if name, ok := t.(*pyscan.Name); ok {
				m.addAlias(name.ID, s.Value)
			}
		}
	}
}

func (m *moduleFacts) addAlias(name string, value pyscan.Expr) {
	switch value.(type) {
	case *pyscan.Name, *pyscan.Attribute:
		m.aliases[name] = append(m.aliases[name], pyscan.LastName(value))
	}
}

func (m *moduleFacts) importsOf(s pyscan.Stmt) {
	imported, ok := s.(*pyscan.Import)
	if !ok {
		return
	}
	for _, n := range imported.Names {
		bound := n.Alias
		if bound == "" {
			bound, _, _ = strings.Cut(n.Name, ".")
		} else if imported.From {
			m.aliases[bound] = append(m.aliases[bound], n.Name)
		}
		m.imports[bound] = true
		if n.Name == "torch" || n.Name == "torch.nn.functional" || imported.Module == "torch.nn" && n.Name == "functional" {
			m.torchNames[bound] = true
		}
	}
}

// inherit adds to a class what its bases in the same file have and it has not.
func (m *moduleFacts) inherit(c *classFacts, class *pyscan.Class) {
	for _, base := range class.Bases {
		b := m.classes[pyscan.LastName(base)]
		if b == nil || b == c {
			continue
		}
		for name, fn := range b.methods {
			if c.methods[name] == nil && c.properties[name] == nil {
				c.methods[name] = fn
			}
		}
		for name, fn := range b.properties {
			if c.methods[name] == nil && c.properties[name] == nil {
				c.properties[name] = fn
			}
		}
		for name, set := range b.attributes {
			if c.attributes[name] == nil {
				c.attributes[name] = set
			}
		}
		for name := range b.registered {
			c.registered[name] = true
		}
		for name, set := range b.contents {
			if c.contents[name] == nil {
				c.contents[name] = set
			}
		}
	}
}

func newClassFacts(class *pyscan.Class) *classFacts {
	c := &classFacts{class: class, methods: map[string]*pyscan.Function{}, properties: map[string]*pyscan.Function{}, attributes: map[string]classSet{}, contents: map[string]classSet{}, registered: map[string]bool{}, numbers: map[string]bool{}}
	other := map[string]bool{}
	for _, method := range class.Methods {
		if isProperty(method) {
			c.properties[method.Name] = method
		} else {
			c.methods[method.Name] = method
		}
		self := firstParameter(method)
		ownStatements(method.Body, func(s pyscan.Stmt) {
			c.assigned(s, self)
			c.register(s, self)
			c.counted(s, self, other)
		})
	}
	for name := range other {
		delete(c.numbers, name)
	}
	return c
}

// counted notes attributes that get numbers; other collects those that get anything else.
func (c *classFacts) counted(s pyscan.Stmt, self string, other map[string]bool) {
	note := func(target, value pyscan.Expr) {
		if a, ok := target.(*pyscan.Attribute); ok && isName(a.Value, self) {
			if isNumeral(value) {
				c.numbers[a.Attr] = true
			} else {
				other[a.Attr] = true
			}
		}
	}
	switch s := s.(type) {
	case *pyscan.Assign:
		for _, t := range s.Targets {
			values := elementsOf(s.Value)
			for i, e := range elementsOf(t) {
				if i < len(values) {
					note(e, values[i])
				} else {
					note(e, nil)
				}
			}
			note(t, s.Value)
		}
	case *pyscan.AugAssign:
		note(s.Target, s.Value)
	}
}

// assigned notes the class of `self.x = …`.
func (c *classFacts) assigned(s pyscan.Stmt, self string) {
	assign, ok := s.(*pyscan.Assign)
	if !ok || assign.Value == nil || self == "" {
		return
	}
	for _, t := range assign.Targets {
		a, ok := t.(*pyscan.Attribute)
		if !ok || !isName(a.Value, self) {
			continue
		}
		set := c.attributes[a.Attr]
		if set == nil {
			set = classSet{}
			c.attributes[a.Attr] = set
		}
		addClasses(set, assign.Value)
		inner := c.contents[a.Attr]
		if inner == nil {
			inner = classSet{}
			c.contents[a.Attr] = inner
		}
		addContents(inner, assign.Value)
	}
}

// register notes `self.register_buffer("name", …)` and its like.
func (c *classFacts) register(s pyscan.Stmt, self string) {
	e, ok := s.(*pyscan.ExprStmt)
	if !ok {
		return
	}
	call, ok := e.Value.(*pyscan.Call)
	if !ok || len(call.Args) == 0 {
		return
	}
	f, ok := call.Func.(*pyscan.Attribute)
	if !ok || !isName(f.Value, self) {
		return
	}
	switch f.Attr {
	case "register_buffer", "register_parameter", "register_module", "add_module":
		if name, ok := call.Args[0].(*pyscan.Constant); ok && name.Kind == pyscan.ConstString {
			c.registered[strings.Trim(name.Text, "\"'")] = true
		}
	}
}

// addClasses adds the classes a value may be an instance of.
func addClasses(set classSet, value pyscan.Expr) {
	switch v := value.(type) {
	case *pyscan.IfExp:
		addClasses(set, v.Body)
		addClasses(set, v.Else)
	case *pyscan.BoolOp:
		for _, x := range v.Values {
			addClasses(set, x)
		}
	case *pyscan.Call:
		name := pyscan.LastName(v.Func)
		if startsUpper(name) {
			switch v.Func.(type) {
			case *pyscan.Name, *pyscan.Attribute:
				set[name] = true
				return
			}
		}
		set[unknownClass] = true
	case *pyscan.Constant:
	default:
		set[unknownClass] = true
	}
}

// addContents adds every class constructed inside a container's construction.
func addContents(set classSet, value pyscan.Expr) {
	outer, ok := value.(*pyscan.Call)
	if !ok {
		if _, display := value.(*pyscan.List); !display {
			return
		}
	}
	pyscan.Walk(value, func(n pyscan.Node) bool {
		c, ok := n.(*pyscan.Call)
		if !ok || c == outer {
			return true
		}
		if name := pyscan.LastName(c.Func); startsUpper(name) {
			set[name] = true
		} else if name != "range" && name != "len" && name != "zip" && name != "enumerate" {
			set[unknownClass] = true
		}
		return true
	})
}

// ownStatements visits the statements of a body, those of nested blocks included, but not those of nested functions and classes.
func ownStatements(body []pyscan.Stmt, visit func(pyscan.Stmt)) {
	for _, s := range body {
		pyscan.Walk(s, func(n pyscan.Node) bool {
			switch n := n.(type) {
			case *pyscan.Function, *pyscan.Class:
				return false
			case pyscan.Stmt:
				visit(n)
			}
			return true
		})
	}
}

func isProperty(fn *pyscan.Function) bool {
	for _, d := range fn.Decorators {
		switch name := pyscan.LastName(d); name {
		case "property", "cached_property", "lazy_property", "setter", "getter", "deleter":
			return true
		}
	}
	return false
}

func firstParameter(fn *pyscan.Function) string {
	if len(fn.Params) == 0 || fn.Params[0].Star != 0 {
		return ""
	}
	return fn.Params[0].Name
}

func isName(e pyscan.Expr, id string) bool {
	n, ok := e.(*pyscan.Name)
	return ok && n.ID == id
}

// startsUpper tells a class by its name, leading underscores aside.
func startsUpper(name string) bool {
	name = strings.TrimLeft(name, "_")
	return name != "" && name[0] >= 'A' && name[0] <= 'Z'
}
