package rules

import (
	"slices"
	"strings"

	"stepline/pyscan"
)

// EpochLoop finds where a loader is iterated once per turn of another loop: in the function that makes it, or in a function it
// is passed to. nil if it is iterated once, or if the outer loop changes the loader's dataset.
func (f *Facts) EpochLoop(l *LoaderCall) *Place {
	x := f.project.index(l.File).ready()
	for _, s := range x.tree.Sites {
		each, ok := s.Node.(*pyscan.For)
		if ok && f.iterates(x, each, l) {
			if outer := enclosingLoop(s); outer != nil && s.Def() == l.Site.Def() && !l.Site.Under(outer) && !f.mutates(x, outer, l) {
				return &Place{x.file, each.Header}
			}
		}
	}
	for _, c := range x.tree.Calls { // passed to a function that iterates it
		outer := enclosingLoop(c)
		if outer == nil || l.Site.Under(outer) || !f.passes(x, c, l) || f.mutates(x, outer, l) {
			continue
		}
		d := f.analysis.callee(x, c)
		if d.def == nil {
			continue
		}
		for _, s := range d.index.ready().tree.in(d.def) {
			each, ok := s.Node.(*pyscan.For)
			if ok && s.Def() == d.def && f.iterates(d.index, each, nil) {
				return &Place{d.index.file, each.Header}
			}
		}
	}
	return nil
}

// iterates reports whether a for loop goes over the loader (over any loader or parameter of unknown origin for nil), directly,
// through enumerate or a progress bar, or through a name for one of these.
func (f *Facts) iterates(x *fileIndex, each *pyscan.For, l *LoaderCall) bool {
	e := firstArgument(each.Iter)
	if bar := f.barOf(x, each, e); bar != nil {
		e = firstArgument(bar)
	}
	s := x.tree.Site(e)
	if s == nil {
		return false
	}
	v := f.analysis.value(x, s)
	if v.Kind == Bar && v.Data != nil {
		v = v.Data
	}
	if l == nil {
		return v.Kind == Loader || v.Kind == Unknown && loaderNames.MatchString(lastName(e))
	}
	return v.Kind == Loader && v.Made == l.Call
}

// firstArgument is what the innermost of calls in calls is made with: `loader` of `enumerate(tqdm(loader))`.
func firstArgument(e pyscan.Expr) pyscan.Expr {
	for {
		call, ok := e.(*pyscan.Call)
		if !ok || len(call.Args) == 0 {
			return e
		}
		e = call.Args[0]
	}
}

// barOf is the call that a name of a loop's iterable stands for: `bar = tqdm(loader)`, `with tqdm(loader) as bar`,
// `batches = enumerate(loader)`. It is nil unless the name is bound once in the turn of the loops around.
func (f *Facts) barOf(x *fileIndex, each *pyscan.For, e pyscan.Expr) pyscan.Expr {
	name, ok := e.(*pyscan.Name)
	at := x.tree.Site(each)
	if !ok || at == nil {
		return nil
	}
	var bound pyscan.Expr
	bindings := 0
	for _, s := range x.tree.in(at.Def()) {
		if n, ok := s.Node.(*pyscan.Name); !ok || n.ID != name.ID || !isTarget(s) {
			continue
		}
		if enclosingLoop(s) != enclosingLoop(at) {
			continue // it is bound anew before it gets here
		}
		bindings++
		switch n := s.Parent.Node.(type) {
		case *pyscan.Assign:
			bound = n.Value
		case *pyscan.With:
			for _, item := range n.Items {
				if item.Target == s.Node {
					bound = item.Context
				}
			}
		}
	}
	if _, call := bound.(*pyscan.Call); !call || bindings != 1 {
		return nil
	}
	if made := x.tree.Site(bound); f.analysis.value(x, made).Kind != Bar && x.calleePath(made) != "builtins.enumerate" {
		return nil
	}
	return bound
}

// isTarget reports whether a name is bound where it stands, alone or in a tuple.
func isTarget(s *Site) bool {
	for ; s.Parent != nil; s = s.Parent {
		if s.Role == RoleTarget {
			return true
		}
		switch s.Parent.Node.(type) {
		case *pyscan.Tuple, *pyscan.List:
		default:
			return false
		}
	}
	return false
}

var loaderNames = wordPattern(`(?i)loader|(^|_)(dl|data|batches)$`)

func (f *Facts) passes(x *fileIndex, c *Site, l *LoaderCall) bool {
	is := func(e pyscan.Expr) bool {
		s := x.tree.Site(e)
		if s == nil {
			return false
		}
		v := f.analysis.value(x, s)
		return v.Kind == Loader && v.Made == l.Call
	}
	return slices.ContainsFunc(c.Call().Args, is) || slices.ContainsFunc(c.Call().Keywords, func(k *pyscan.Keyword) bool { return is(k.Value) })
}

// mutates: the loop calls a method of the loader's dataset.
func (f *Facts) mutates(x *fileIndex, loop *Site, l *LoaderCall) bool {
	data := Argument(l.Call, 0, "dataset")
	name, ok := data.(*pyscan.Name)
	if !ok {
		return false
	}
	for _, c := range x.tree.Calls {
		if !loop.Range().Covers(c.Range()) {
			continue
		}
		attr, ok := c.Call().Func.(*pyscan.Attribute)
		if !ok {
			continue
		}
		if n, ok := attr.Value.(*pyscan.Name); ok && n.ID == name.ID {
			return true
		}
		if inner, ok := attr.Value.(*pyscan.Attribute); ok && inner.Attr == "dataset" {
			return true
		}
	}
	return false
}

// EpochLoopAfter is the first loop after a site in its function that holds a training loop inside, nil if there is none.
func (f *Facts) EpochLoopAfter(s *Site) *Site {
	for _, loop := range f.in(s.Def()) {
		if loop.Def() != s.Def() || loop.Range().Start < s.Range().Start {
			continue
		}
		switch loop.Node.(type) {
		case *pyscan.For, *pyscan.While:
		default:
			continue
		}
		if f.analysis.stepLoop(f.index, loop) {
			continue
		}
		for _, c := range f.Calls { // a training loop, or a call of a function with one
			if !loop.Range().Covers(c.Range()) {
				continue
			}
			if inner := enclosingLoop(c); inner != nil && inner != loop && inner.Under(loop) && f.analysis.stepLoop(f.index, inner) {
				return loop
			}
			if d := f.analysis.callee(f.index, c); d.def != nil && f.hasStepLoop(d) {
				return loop
			}
		}
	}
	return nil
}

func (f *Facts) hasStepLoop(d definition) bool {
	for _, s := range d.index.ready().tree.in(d.def) {
		switch s.Node.(type) {
		case *pyscan.For, *pyscan.While:
			if s.Def() == d.def && f.analysis.stepLoop(d.index, s) {
				return true
			}
		}
	}
	return false
}

// RestartsLoader reports whether a call is `next(iter(loader))`.
func (f *Facts) RestartsLoader(s *Site) bool {
	call := s.Call()
	if f.Resolve(call.Func) != "builtins.next" || len(call.Args) == 0 {
		return false
	}
	inner, ok := call.Args[0].(*pyscan.Call)
	if !ok || f.Resolve(inner.Func) != "builtins.iter" || len(inner.Args) != 1 {
		return false
	}
	v := f.Value(inner.Args[0])
	return v.Kind == Loader || v.Kind == Unknown && strings.Contains(strings.ToLower(lastName(inner.Args[0])), "loader")
}

// UsesCUDA reports whether a call certainly works on a CUDA device: `.cuda()`, `.to("cuda")`, `device="cuda"`.
func (f *Facts) UsesCUDA(s *Site) bool {
	call := s.Call()
	isCUDA := func(e pyscan.Expr) bool {
		if text, ok := StringValue(e); ok {
			return strings.HasPrefix(text, "cuda")
		}
		_, isName := e.(*pyscan.Name)
		v := f.Value(e)
		return isName && v.Kind == Device && !v.OnCPU && v.Made != nil
	}
	if k := Keyword(call, "device"); k != nil && isCUDA(k.Value) {
		return true
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok || f.Resolve(attr) != "" {
		return false
	}
	switch attr.Attr {
	case "cuda":
		return len(call.Args) == 0
	case "to":
		return len(call.Args) > 0 && isCUDA(call.Args[0])
	}
	return false
}

// NoLoaderHasWorkers reports whether the dataset of an item context has loaders in the project, and none of them has workers.
func (f *Facts) NoLoaderHasWorkers(item *Heat) bool {
	if item.Class == nil { // a collate function: of any loader
		return !f.MentionsInProject("num_workers")
	}
	loaders := f.LoadersOfDataset(item.Class)
	for _, l := range loaders {
		if w, _ := l.Workers(); w != WorkersNone {
			return false
		}
	}
	return len(loaders) > 0
}

// CollatesInWorkers reports whether a loader of the project with workers, or with a number of them the source leaves open, collates
// with a function or an object of a class of that name.
func (f *Facts) CollatesInWorkers(name string) bool {
	return ask(f.analysis, collating{name}, nil, equal[bool], func(a *analysis) bool {
		for _, x := range a.project.calling("DataLoader") {
			for _, l := range a.loadersIn(x) {
				if w, _ := l.Workers(); w == WorkersNone {
					continue
				}
				if k := Keyword(l.Call, "collate_fn"); k != nil && (lastName(k.Value) == name || strings.HasPrefix(name, lastName(k.Value)+".")) {
					return true
				}
			}
		}
		return false
	})
}

type collating struct{ name string }

var openers = map[string]string{
	"h5py.File": "name", "numpy.load": "file", "zipfile.ZipFile": "file", "tarfile.open": "name", "lmdb.open": "path", "sqlite3.connect": "database",
	"pandas.read_csv": "filepath_or_buffer", "pandas.read_parquet": "path", "pandas.read_pickle": "filepath_or_buffer", "pandas.read_hdf": "path_or_buf",
	"netCDF4.Dataset": "filename", "zarr.open": "store", "numpy.loadtxt": "fname", "torch.load": "f", "pyarrow.parquet.read_table": "source",
}

// OpensFile is the path a call opens, nil if it opens none or maps it.
func (f *Facts) OpensFile(s *Site) pyscan.Expr {
	call := s.Call()
	name, ok := openers[f.Resolve(call.Func)]
	if !ok || Keyword(call, "mmap_mode") != nil || Keyword(call, "mmap") != nil {
		return nil
	}
	return Argument(call, 0, name)
}

// DependsOnItem reports whether an expression depends on a parameter of its function (self aside), through local variables; in a
// function that is called per item the parameters are the item.
func (f *Facts) DependsOnItem(s *Site, e pyscan.Expr) bool {
	fn := s.Def()
	known := map[string]bool{}
	for i, p := range fn.Params {
		if i > 0 || fn.Class == nil {
			known[p.Name] = true
		}
	}
	depends := func(e pyscan.Expr) bool {
		found := false
		EachExpr(e, func(sub pyscan.Expr) bool {
			if n, ok := sub.(*pyscan.Name); ok && known[n.ID] {
				found = true
			}
			return !found
		})
		return found
	}
	for _, site := range f.Sites {
		if site.Def() != fn || site.Range().Start >= s.Range().Start {
			continue
		}
		mark := func(target, value pyscan.Expr) {
			if !depends(value) {
				return
			}
			EachExpr(target, func(sub pyscan.Expr) bool {
				if n, ok := sub.(*pyscan.Name); ok && n.ID != selfOf(fn) {
					known[n.ID] = true
				}
				return true
			})
		}
		switch n := site.Node.(type) {
		case *pyscan.Assign:
			for _, t := range n.Targets {
				if n.Value != nil {
					mark(t, n.Value)
				}
			}
		case *pyscan.For: // what a loop yields changes by itself
			EachExpr(n.Target, func(sub pyscan.Expr) bool {
				if name, ok := sub.(*pyscan.Name); ok {
					known[name.ID] = true
				}
				return true
			})
		case *pyscan.With:
			for _, item := range n.Items {
				if item.Target != nil {
					mark(item.Target, item.Context)
				}
			}
		}
	}
	return depends(e)
}

// InDataset reports whether a site is in a class that is a Dataset.
func (f *Facts) InDataset(s *Site) bool {
	c := methodClass(s.Def())
	return c != nil && f.analysis.classKind(definition{index: f.index, class: c}) == Dataset
}

// ObjectLists are the values that datasets with workers keep as many Python objects.
func (f *Facts) ObjectLists() []*Site {
	var out []*Site
	for _, s := range f.Calls {
		call := s.Call()
		path := f.Resolve(call.Func)
		attr, isMethod := call.Func.(*pyscan.Attribute)
		switch {
		case path == "json.load" || path == "pickle.load" || path == "yaml.safe_load":
		case isMethod && path == "" && (attr.Attr == "readlines" || attr.Attr == "to_dict"):
		default:
			continue
		}
		a, ok := s.Parent.Node.(*pyscan.Assign)
		if !ok || len(a.Targets) != 1 || !strings.HasPrefix(envKey(a.Targets[0]), selfOf(s.Def())+".") || !f.InDataset(s) {
			continue
		}
		for _, l := range f.LoadersOfDataset(methodClass(s.Def())) {
			if w, _ := l.Workers(); w != WorkersNone {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// KeptForItems reports whether what a call opens serves single items: it is bound to an attribute of self (the file, or an array in
// it), or opened for every item. A file read as a whole once, in `__init__` or `process`, is not.
func (f *Facts) KeptForItems(s *Site) bool {
	if f.PerItem(s) != nil {
		return true
	}
	at := s
	for at.Parent != nil {
		if sub, ok := at.Parent.Node.(*pyscan.Subscript); !ok || sub.Value != at.Node || isSlice(sub.Index) {
			break
		}
		at = at.Parent
	}
	if at.Parent == nil {
		return false
	}
	a, ok := at.Parent.Node.(*pyscan.Assign)
	return ok && len(a.Targets) == 1 && isSelfName(rootOf(a.Targets[0]), selfOf(s.Def()))
}

// isSlice: `[:]`, `[()]`, `[...]` read an array as a whole.
func isSlice(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Slice:
		return true
	case *pyscan.Tuple:
		return len(e.Elems) == 0
	case *pyscan.Constant:
		return e.Text == "..."
	}
	return false
}
