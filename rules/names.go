package rules

import (
	"strings"

	"stepline/pyscan"
)

// binding is what a name is bound to in one scope.
type binding struct {
	// path is the dotted name an import binds, "torch.nn.functional", and canonical what it stands for.
	path, canonical string
	// level is the number of leading dots of a relative import.
	level int
	// def or class is set for definitions.
	def   *pyscan.Function
	class *pyscan.Class
	// alias is the value of the only plain assignment, for `DDP = torch.nn.parallel.DistributedDataParallel`.
	alias pyscan.Expr
	// assigned counts the other ways the name is bound: assignments, parameters, loop targets.
	assigned int
}

// scope holds the names one function (or the module) binds.
type scope map[string]*binding

func (s scope) at(name string) *binding {
	b := s[name]
	if b == nil {
		b = &binding{}
		s[name] = b
	}
	return b
}

// scopes makes the scopes of a file. Class bodies bind their names in no scope: methods cannot see them.
func scopesOf(t *Tree) map[*pyscan.Function]scope {
	out := map[*pyscan.Function]scope{}
	of := func(f *pyscan.Function) scope {
		s := out[f]
		if s == nil {
			s = scope{}
			out[f] = s
			for _, p := range f.Params {
				s.at(p.Name).assigned++
			}
		}
		return s
	}
	for _, f := range t.File.Functions {
		of(f)
	}
	for _, site := range t.Sites {
		if site.Class != nil {
			continue
		}
		switch n := site.Node.(type) {
		case *pyscan.Import:
			bindImport(of(DefOf(site.Function)), n)
		case *pyscan.FunctionDef:
			of(site.Function).at(n.Function.Name).def = n.Function
		case *pyscan.ClassDef:
			of(site.Function).at(n.Class.Name).class = n.Class
		case *pyscan.Assign:
			for _, target := range n.Targets {
				if name, ok := target.(*pyscan.Name); ok && n.Value != nil {
					b := of(DefOf(site.Function)).at(name.ID)
					if b.alias == nil && b.assigned == 0 {
						b.alias = n.Value
					}
				}
			}
		case *pyscan.Name:
			if site.Role == RoleTarget {
				if _, attr := site.Parent.Node.(*pyscan.Attribute); !attr {
					of(site.Function).at(n.ID).assigned++
				}
			}
		case *pyscan.Try:
			for _, h := range n.Handlers {
				if h.Name != "" {
					of(DefOf(site.Function)).at(h.Name).assigned++
				}
			}
		}
	}
	return out
}

func bindImport(s scope, n *pyscan.Import) {
	for _, name := range n.Names {
		if name.Name == "*" {
			continue
		}
		if n.From {
			bound := name.Alias
			if bound == "" {
				bound = name.Name
			}
			path := name.Name
			if n.Module != "" {
				path = n.Module + "." + name.Name
			}
			b := s.at(bound)
			if b.path == "" || strings.HasPrefix(path, "torch") {
				b.path, b.canonical, b.level = path, canonical.Replace(path), n.Level
			}
			continue
		}
		if name.Alias != "" {
			s.at(name.Alias).imports(name.Name)
		} else {
			first, _, _ := strings.Cut(name.Name, ".")
			s.at(first).imports(first)
		}
	}
}

func (b *binding) imports(path string) { b.path, b.canonical = path, canonical.Replace(path) }

// lookup finds a name's binding from a function outwards; where is the scope's function.
func (x *fileIndex) lookup(name string, from *pyscan.Function) (b *binding, where *pyscan.Function) {
	for f := from; f != nil; f = f.Parent {
		if b := x.scopes[f][name]; b != nil {
			return b, f
		}
		if x.edit != nil && !x.edit.owns(f) {
			if b := x.edit.base.scopes[f][name]; b != nil {
				return b, f
			}
		}
	}
	return nil, nil
}

// canonical maps the aliases under which PyTorch exports the same thing to the one name rules use.
var canonical = strings.NewReplacer(
	"torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader",
	"torch.utils.data.dataset.", "torch.utils.data.",
	"torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler",
	"torch.nn.parallel.distributed.DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel",
	"torch.nn.modules.module.Module", "torch.nn.Module",
	"torch.optim.optimizer.Optimizer", "torch.optim.Optimizer",
	"torch.nn.utils.clip_grad.", "torch.nn.utils.",
	"torch.cuda.amp.grad_scaler.", "torch.cuda.amp.",
	"torch.cuda.amp.autocast_mode.", "torch.cuda.amp.",
	"torch.amp.autocast_mode.", "torch.amp.",
	"torch.distributed.distributed_c10d.", "torch.distributed.",
	"pytorch_lightning.", "lightning.",
	"lightning.pytorch.", "lightning.",
	"torch.functional.", "torch.",
)

// aliasing are the last parts of what stands before the last dot of an alias: others need no replacement.
var aliasing = wordSet("dataloader dataset distributed module optimizer clip_grad grad_scaler autocast_mode distributed_c10d pytorch_lightning pytorch functional")

// canonicalMember is the canonical path of a member of what has a canonical path.
func canonicalMember(of, member string) string {
	path := of + "." + member
	if aliasing[lastPart(of)] {
		return canonical.Replace(path)
	}
	return path
}

// path is resolve for a site, remembered there: it rests on the file alone.
func (x *fileIndex) path(s *Site) string {
	e, ok := s.Node.(pyscan.Expr)
	if !ok {
		return ""
	}
	switch e.(type) {
	case *pyscan.Name, *pyscan.Attribute:
	default:
		return ""
	}
	if p := s.path.Load(); p != nil {
		return *p
	}
	if p := x.resolve(e, s.Function, 0); p != "" {
		s.path.Store(&p)
		return p
	}
	s.path.Store(&noPath)
	return ""
}

var noPath = ""

// calleePath is the path of what a call calls: the call's first part.
func (x *fileIndex) calleePath(call *Site) string {
	if call.Call().Func == nil {
		return ""
	}
	return x.path(x.tree.Sites[call.at+1])
}

// resolve is the dotted path an expression names through imports and aliases, "" where it is anything else.
func (x *fileIndex) resolve(e pyscan.Expr, from *pyscan.Function, depth int) string {
	switch e := e.(type) {
	case *pyscan.Attribute:
		base := x.resolve(e.Value, from, depth)
		if base == "" {
			return ""
		}
		return canonicalMember(base, e.Attr)
	case *pyscan.Name:
		b, where := x.lookup(e.ID, from)
		switch {
		case b == nil:
			if builtins[e.ID] {
				return "builtins." + e.ID
			}
			return ""
		case b.path != "" && b.level > 0:
			return "" // a relative import names the project's own code
		case b.path != "":
			return b.canonical
		case b.def != nil || b.class != nil:
			return ""
		case b.alias != nil && b.assigned == 1 && depth < 4:
			switch b.alias.(type) {
			case *pyscan.Name, *pyscan.Attribute:
				return x.resolve(b.alias, where, depth+1)
			}
		}
	}
	return ""
}

var builtins = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields("abs all any bool bytes callable dict dir divmod enumerate eval filter float format frozenset getattr hasattr hash id input int isinstance issubclass iter len list map max min next object open ord pow print range repr reversed round set setattr sorted str sum super tuple type vars zip") {
		m[n] = true
	}
	return m
}()
