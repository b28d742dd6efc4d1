package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// ParameterUse says how a model of the project uses its layers.
type ParameterUse struct {
	// Class is the model's class, nil where it is not in the project; File its file.
	Class *pyscan.Class
	File  *pyscan.File
	// Conditional: some layers run only under a condition, or the model picks among experts or drops layers.
	Conditional bool
	// Unused are layers that __init__ makes and nothing else names.
	Unused []UnusedLayer
}

// UnusedLayer is an attribute that holds a layer which takes no part in forward.
type UnusedLayer struct {
	Name string
	Span pyscan.Span
}

var dropWords = regexp.MustCompile(`(?i)expert|\bmoe|moe\b|router|layer_?drop|freeze|unfreeze|requires_grad`)

// ParameterUse looks at the class of a module expression, and the project's classes below it.
func (f *Facts) ParameterUse(e pyscan.Expr) ParameterUse {
	if e == nil {
		return ParameterUse{}
	}
	v := f.Value(e)
	if v.Kind != Module || v.Def.class == nil {
		return ParameterUse{}
	}
	use := ParameterUse{Class: v.Def.class, File: v.Def.index.file}
	for _, d := range f.analysis.modulesBelow(v.Def) {
		own := d.index.file.Text[d.class.Start:d.class.End]
		use.Conditional = use.Conditional || dropWords.MatchString(own) || f.conditionalLayers(d)
	}
	if len(v.Def.class.Bases) == 1 && f.analysis.directModule(v.Def) {
		use.Unused = unusedLayers(v.Def)
	}
	return use
}

// directModule reports whether a class derives from torch.nn.Module itself: then nothing inherited uses its attributes.
func (a *analysis) directModule(d definition) bool {
	paths := a.project.basePaths(d, 0)
	return len(paths) == 1 && paths[0] == "torch.nn.Module"
}

// modulesBelow are a module class and the project's module classes that its methods (and theirs) make.
func (a *analysis) modulesBelow(d definition) []definition {
	var out []definition
	seen := map[*pyscan.Class]bool{}
	var add func(d definition)
	add = func(d definition) {
		if d.class == nil || seen[d.class] || a.classKind(d) != Module || len(out) > 200 {
			return
		}
		seen[d.class] = true
		out = append(out, d)
		for _, b := range a.basesOf(d) {
			add(b)
		}
		x := d.index.ready()
		for _, s := range x.tree.Calls {
			if d.class.Span.Covers(s.Range()) {
				if made := a.project.define(x, s.Call().Func, s.Function, 0); made.class != nil {
					add(made)
				}
			}
		}
	}
	add(d)
	return out
}

// conditionalLayers reports whether a module's forward calls attributes of self under a condition, or leaves early.
func (f *Facts) conditionalLayers(d definition) bool {
	fwd, in := f.project.method(d, "forward", 0)
	return fwd == nil || in.ready().callsConditionally(fwd)
}

// callsConditionally is conditionalLayers of a forward.
func (x *fileIndex) callsConditionally(fwd *pyscan.Function) bool {
	self := selfOf(fwd)
	for _, s := range x.tree.in(fwd) {
		if s.Def() != fwd {
			continue
		}
		switch n := s.Node.(type) {
		case *pyscan.If:
			for _, stmt := range append(append([]pyscan.Stmt(nil), n.Body...), n.Else...) {
				if leavesOrCallsSelf(stmt, self) {
					return true
				}
			}
		case *pyscan.IfExp:
			if callsSelf(n.Body, self) || callsSelf(n.Else, self) {
				return true
			}
		case *pyscan.Try:
			return true
		}
	}
	return false
}

func leavesOrCallsSelf(stmt pyscan.Stmt, self string) bool {
	found := false
	eachIn(stmt, func(n pyscan.Node) bool {
		switch n := n.(type) {
		case *pyscan.Simple:
			found = found || n.Keyword != "pass"
		case *pyscan.Return:
			found = true
		case *pyscan.Call:
			found = found || callsSelf(n, self)
		}
		return !found
	})
	return found
}

func callsSelf(e pyscan.Expr, self string) bool {
	found := false
	EachExpr(e, func(e pyscan.Expr) bool {
		if call, ok := e.(*pyscan.Call); ok {
			fn := call.Func
			if sub, ok := fn.(*pyscan.Subscript); ok {
				fn = sub.Value
			}
			if attr, ok := fn.(*pyscan.Attribute); ok && isSelfName(attr.Value, self) {
				found = true
			}
			if _, ok := fn.(*pyscan.Name); ok { // a layer of a loop
				found = found || len(call.Args) > 0
			}
		}
		return !found
	})
	return found
}

// unusedLayers: attributes that __init__ binds to a torch.nn layer and the class never names again.
func unusedLayers(d definition) []UnusedLayer {
	x := d.index.ready()
	count := map[string]int{}
	var made []UnusedLayer
	for _, s := range x.tree.Sites {
		attr, ok := s.Node.(*pyscan.Attribute)
		if !ok {
			continue
		}
		count[attr.Attr]++
		def := s.Def()
		if s.Role != RoleTarget || def == nil || def.Class != d.class || def.Name != "__init__" || !isSelfName(attr.Value, selfOf(def)) {
			continue
		}
		a, ok := s.Parent.Node.(*pyscan.Assign)
		if !ok {
			continue
		}
		call, ok := a.Value.(*pyscan.Call)
		if ok && strings.HasPrefix(x.resolve(call.Func, s.Function, 0), "torch.nn.") && parametered[lastName(call.Func)] {
			made = append(made, UnusedLayer{Name: attr.Attr, Span: attr.Range()})
		}
	}
	var out []UnusedLayer
	own := x.file.Text[d.class.Start:d.class.End]
	if strings.Contains(own, "getattr(") || strings.Contains(own, "children(") || strings.Contains(own, "modules(") || strings.Contains(own, "_modules") {
		return nil
	}
	for _, m := range made {
		if count[m.Name] == 1 {
			out = append(out, m)
		}
	}
	return out
}

var parametered = wordSet("Linear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding LayerNorm BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm LSTM GRU RNN MultiheadAttention Bilinear")
