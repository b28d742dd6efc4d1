package rules

import (
	"slices"

	"stepline/pyscan"
)

// A flow keeps what an expression is by the expression's place among its function's sites, and what a variable is by the
// variable's number in its function. Both are the same for all flows of a function, of which there may be one a level, so they are
// given once for each file: to look values up by node and by name took half of a flow's time.

// numbering numbers the variables of a file: names, and the attributes and constant items of variables ("self.x", `state["step"]`).
type numbering struct {
	names map[string]int32
	parts map[variablePart]int32
	// roots are by number: the name that a part hangs on, 0 for a name. There is no variable 0.
	roots []int32
}

// variablePart is an attribute or item of a variable.
type variablePart struct {
	of   int32
	item bool
	name string
}

func (n *numbering) name(name string) int32 {
	number := n.names[name]
	if number == 0 {
		number = n.add(0)
		n.names[name] = number
	}
	return number
}

func (n *numbering) part(p variablePart) int32 {
	number := n.parts[p]
	if number == 0 {
		root := n.roots[p.of]
		if root == 0 {
			root = p.of
		}
		number = n.add(root)
		n.parts[p] = number
	}
	return number
}

func (n *numbering) add(root int32) int32 {
	n.roots = append(n.roots, root)
	return int32(len(n.roots) - 1)
}

// variables are those that a function's code names.
type variables struct {
	// listed are the file's numbers of them, in order: the function's own numbers count from 1 in this list.
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

// link makes parts.
func (v *variables) link(roots []int32) {
	v.parts = make([]int32, len(v.listed)+1)
	for i, n := range v.listed {
		if root := v.numberOf(roots[n]); root != 0 {
			v.parts[i+1], v.parts[root] = v.parts[root], int32(i+1)
		}
	}
}

// variableNamed is the number, in a function, of the variable of a name; 0 if its code does not name it.
func (t *Tree) variableNamed(fn *pyscan.Function, name string) int32 {
	if t.outside(fn) {
		return t.base.variableNamed(fn, name)
	}
	own := &t.functionParts(fn).variables
	return own.numberOf(t.numbers.names[name])
}

// numberVariables numbers the variables of the tree's functions, and notes at each site the one it names.
func (t *Tree) numberVariables() {
	t.numbers = numbering{names: map[string]int32{}, parts: map[variablePart]int32{}, roots: []int32{0}}
	t.variables = make([]int32, len(t.Sites))
	own := make([]int32, 0, 256) // by the file's number: the function's
	var listed []int32
	for i := range t.parts {
		p, fn := &t.parts[i], t.File.Functions[i]
		if t.outside(fn) || fn.Comprehension != nil {
			continue
		}
		listed = t.variablesOf(fn, p.sites, listed[:0])
		slices.Sort(listed)
		p.variables.listed = slices.Clone(slices.Compact(listed))
		p.variables.link(t.numbers.roots)
		own = slices.Grow(own, len(t.numbers.roots))[:len(t.numbers.roots)]
		for i, n := range p.variables.listed {
			own[n] = int32(i + 1)
		}
		for _, s := range p.sites {
			if n := t.variables[s.at]; n != 0 {
				t.variables[s.at] = own[n]
			}
		}
	}
}

// variablesOf appends the file's numbers of the variables that a function's code names, and notes them at its sites.
func (t *Tree) variablesOf(fn *pyscan.Function, sites []*Site, listed []int32) []int32 {
	for _, param := range fn.Params {
		listed = append(listed, t.numbers.name(param.Name))
	}
	for _, s := range slices.Backward(sites) { // a variable comes before its parts
		if n := t.variableAt(s); n != 0 {
			t.variables[s.at] = n
			listed = append(listed, n)
		}
		if try, ok := s.Node.(*pyscan.Try); ok {
			for _, h := range try.Handlers {
				if h.Name != "" {
					listed = append(listed, t.numbers.name(h.Name))
				}
			}
		}
	}
	return listed
}

// variableAt is the file's number of the variable that a site names, 0 if it names none.
func (t *Tree) variableAt(s *Site) int32 {
	switch n := s.Node.(type) {
	case *pyscan.Name:
		if n.ID != "" {
			return t.numbers.name(n.ID)
		}
	case *pyscan.Attribute:
		if of := t.firstPart(s, n.Value); of != nil && t.variables[of.at] != 0 {
			return t.numbers.part(variablePart{of: t.variables[of.at], name: n.Attr})
		}
	case *pyscan.Subscript:
		c, ok := n.Index.(*pyscan.Constant)
		if of := t.firstPart(s, n.Value); ok && of != nil && t.variables[of.at] != 0 {
			return t.numbers.part(variablePart{of: t.variables[of.at], item: true, name: itemName(c)})
		}
	case *pyscan.FunctionDef:
		return t.numbers.name(n.Function.Name)
	case *pyscan.ClassDef:
		return t.numbers.name(n.Class.Name)
	}
	return 0
}

// firstPart is the site that follows a node's, if that is the given part of it.
func (t *Tree) firstPart(s *Site, part pyscan.Expr) *Site {
	if next := int(s.at) + 1; next < len(t.Sites) && t.Sites[next].Node == pyscan.Node(part) {
		return t.Sites[next]
	}
	return nil
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

// first is the place in the tree of a site's first part; nowhere for a node without a site.
func (s *Site) first() int32 {
	if s == nil {
		return -1
	}
	return s.at + 1
}

// siteNear is site for a node that is looked for at a place of the tree first.
func (f *flow) siteNear(n pyscan.Node, place int32) *Site {
	if sites := f.x.tree.Sites; uint(place) < uint(len(sites)) && sites[place].Node == n {
		return sites[place]
	}
	return f.site(n)
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
func (f *flow) kept(e pyscan.Expr) *Value { return f.keptAt(f.site(e)) }

func (f *flow) keptAt(s *Site) *Value {
	if s == nil {
		return nil
	}
	return f.values[f.x.tree.places[s.at]]
}

// noted is what is kept for an expression; never nil.
func (f *flow) noted(e pyscan.Expr) *Value {
	if v := f.kept(e); v != nil {
		return v
	}
	return unknownValue
}
