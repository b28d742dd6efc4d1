package rules

import (
	"slices"

	"stepline/pyscan"
)

// A flow keeps what an expression is by the expression's place among its function's sites, and what a variable is by the
// variable's number in its function. Both are the same for all flows of a function, of which there may be one a level, so they are
// given once for each file: to look values up by node and by name took half of a flow's time.

// variable is what may be assigned to: a name, or an attribute or constant item of a variable ("self.x", `state["step"]`).
type variable struct {
	of   int32 // the variable it is a part of, 0 for a name
	item bool
	name string
}

// variables are those that a function's code names.
type variables struct {
	// listed are the function's variables as the file numbers them, in order: the function's own numbers count from 1 in this list.
	listed []int32
	// parts leads, by own number, from a name to the first of the variables that hang on it, and from each of those to the next; 0 ends.
	parts []int32
}

// numberOf is a variable's own number; 0 for one that the function's code does not name.
func (v *variables) numberOf(fileNumber int32) int32 {
	if i, found := slices.BinarySearch(v.listed, fileNumber); found {
		return int32(i + 1)
	}
	return 0
}

// variableNamed is the number, in a function, of the variable of a name; 0 if its code does not name it.
func (t *Tree) variableNamed(fn *pyscan.Function, name string) int32 {
	if t.outside(fn) {
		return t.base.variableNamed(fn, name)
	}
	own := &t.functionParts(fn).variables
	return own.numberOf(t.numbers[variable{name: name}])
}

// numberVariables numbers the variables of the tree's functions, and notes at each site the one it names.
func (t *Tree) numberVariables() {
	t.numbers = map[variable]int32{}
	t.variables = make([]int32, len(t.Sites))
	names := []int32{0}                // by file number: the name that a variable hangs on, 0 for a name
	number := func(v variable) int32 { // the file's
		n := t.numbers[v]
		if n == 0 {
			n = int32(len(names))
			t.numbers[v] = n
			name := v.of
			if v.of != 0 && names[v.of] != 0 {
				name = names[v.of]
			}
			names = append(names, name)
		}
		return n
	}
	var listed []int32
	for i := range t.parts {
		p, fn := &t.parts[i], t.File.Functions[i]
		if t.outside(fn) || fn.Comprehension != nil {
			continue
		}
		listed = listed[:0]
		for _, param := range fn.Params {
			listed = append(listed, number(variable{name: param.Name}))
		}
		for _, s := range slices.Backward(p.sites) { // a variable comes after those that hang on it
			if n := t.variableAt(s, number); n != 0 {
				t.variables[s.at] = n
				listed = append(listed, n)
			}
			if try, ok := s.Node.(*pyscan.Try); ok {
				for _, h := range try.Handlers {
					if h.Name != "" {
						listed = append(listed, number(variable{name: h.Name}))
					}
				}
			}
		}
		slices.Sort(listed)
		p.variables.listed = slices.Clone(slices.Compact(listed))
		p.variables.link(names)
		for _, s := range p.sites {
			if n := t.variables[s.at]; n != 0 {
				t.variables[s.at] = p.variables.numberOf(n)
			}
		}
	}
}

// variableAt is the file's number of the variable that a site names, 0 if it names none.
func (t *Tree) variableAt(s *Site, number func(variable) int32) int32 {
	part := func(of pyscan.Expr, v variable) int32 {
		if first := int(s.at) + 1; first < len(t.Sites) && t.Sites[first].Node == pyscan.Node(of) {
			v.of = t.variables[first]
		}
		if v.of == 0 {
			return 0
		}
		return number(v)
	}
	switch n := s.Node.(type) {
	case *pyscan.Name:
		if n.ID != "" {
			return number(variable{name: n.ID})
		}
	case *pyscan.Attribute:
		return part(n.Value, variable{name: n.Attr})
	case *pyscan.Subscript:
		if c, ok := n.Index.(*pyscan.Constant); ok {
			return part(n.Value, variable{item: true, name: itemName(c)})
		}
	case *pyscan.FunctionDef:
		return number(variable{name: n.Function.Name})
	case *pyscan.ClassDef:
		return number(variable{name: n.Class.Name})
	}
	return 0
}

// link makes parts; names tells by the file's number what name a variable hangs on.
func (v *variables) link(names []int32) {
	v.parts = make([]int32, len(v.listed)+1)
	for i, n := range v.listed {
		if name := v.numberOf(names[n]); name != 0 {
			v.parts[i+1], v.parts[name] = v.parts[name], int32(i+1)
		}
	}
}

// itemName tells a constant item from others of the same variable.
func itemName(c *pyscan.Constant) string {
	if text, ok := StringValue(c); ok {
		return text
	}
	return c.Text
}

// env maps a function's variables, by their numbers, to values; nil is what was assigned nowhere yet. What has number 0 stays so.
type env []*Value

// merge joins another branch's end into e.
func (e env) merge(o env) {
	for i, v := range o {
		if v != nil && v != e[i] {
			e[i] = join(e[i], v)
		}
	}
}

// copyEnv copies variables. Copies that were given to dropEnv are used again: each branch and loop takes one.
func (f *flow) copyEnv(e env) env {
	if n := len(f.spare); n > 0 {
		out := f.spare[n-1]
		f.spare = f.spare[:n-1]
		copy(out, e)
		return out
	}
	return slices.Clone(e)
}

func (f *flow) dropEnv(e env) { f.spare = append(f.spare, e) }

// set binds a variable. What hangs on it stays.
func (f *flow) set(variable int32, v *Value) {
	if variable != 0 {
		f.env[variable] = v
	}
}

// bindName binds a name; what hung on it before is forgotten, where it becomes another value.
func (f *flow) bindName(name int32, v *Value) {
	if name == 0 {
		return
	}
	if f.env[name] != v {
		for part := f.vars.parts[name]; part != 0; part = f.vars.parts[part] {
			f.env[part] = nil
		}
	}
	f.env[name] = v
}

// site is where a node stands in the flow's function, nil for what does not belong there.
func (f *flow) site(n pyscan.Node) *Site {
	if s := f.x.tree.ownSite(n); s != nil && DefOf(s.Function) == f.fn {
		return s
	}
	return nil
}

// valueOf is what a variable is at the function's end, by its name; nil if it is assigned nowhere.
func (f *flow) valueOf(name string) *Value { return f.env[f.named(name)] }

// number is the variable that a site of the function names, 0 if it names none.
func (f *flow) number(s *Site) int32 {
	if s == nil {
		return 0
	}
	return f.x.tree.variables[s.at]
}

// named is the number of the variable of a name.
func (f *flow) named(name string) int32 { return f.x.tree.variableNamed(f.fn, name) }

// note keeps an expression's value; unknown values take no room.
func (f *flow) note(s *Site, v *Value) {
	if v == unknownValue {
		v = nil
	}
	if s != nil {
		f.values[f.x.tree.places[s.at]] = v
	}
}

// kept is what is kept for an expression; nil for what is unknown.
func (f *flow) kept(e pyscan.Expr) *Value {
	if s := f.site(e); s != nil {
		return f.values[f.x.tree.places[s.at]]
	}
	return nil
}

// noted is what is kept for an expression; never nil.
func (f *flow) noted(e pyscan.Expr) *Value {
	if v := f.kept(e); v != nil {
		return v
	}
	return unknownValue
}
