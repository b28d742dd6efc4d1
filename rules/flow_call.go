package rules

import (
	"slices"
	"strings"

	"stepline/pyscan"
)

// arguments are a call's evaluated arguments. Nothing may keep them: their room is used again.
type arguments struct {
	call   *pyscan.Call
	callee *Site    // of what is called; nil in code that is half typed
	args   []*Value // the positional ones
	kws    []*Value // those of call.Keywords
}

// keyword is what a keyword gives, nil if it is not given.
func (a *arguments) keyword(name string) *Value {
	for i, k := range slices.Backward(a.call.Keywords) {
		if k.Name == name {
			return a.kws[i]
		}
	}
	return nil
}

func (a *arguments) get(position int, name string) *Value {
	if v := a.keyword(name); v != nil {
		return v
	}
	if position >= 0 && position < len(a.args) {
		return a.args[position]
	}
	return nil
}

// all joins what the arguments hold for an operation on tensors: the GPU if any is there.
func (a *arguments) all() *Value {
	var seen [kindCount]*Value // by Kind
	add := func(v *Value) {
		for depth := 0; v != nil && (v.Kind == Sequence || v.Kind == Mapping) && depth < 3; depth++ {
			v = v.element()
		}
		if v != nil {
			seen[v.Kind] = v
		}
	}
	for _, v := range a.args {
		add(v)
	}
	for _, v := range a.kws {
		add(v)
	}
	switch {
	case seen[GPUTensor] != nil || seen[GPUOutput] != nil || seen[Parameters] != nil:
		return gpuValue
	case seen[Unknown] != nil:
		return unknownValue
	case seen[Batch] != nil:
		return seen[Batch]
	case seen[CPUTensor] != nil:
		return cpuValue
	}
	return &Value{}
}

func (f *flow) call(e *pyscan.Call, at *Site) *Value {
	used := len(f.a.arguments)
	v := f.callWith(e, at)
	f.a.arguments = f.a.arguments[:used]
	return v
}

// callWith is call, which leaves the arguments behind those of the calls around it.
func (f *flow) callWith(e *pyscan.Call, at *Site) *Value {
	a := &arguments{call: e}
	if at != nil && e.Func != nil {
		a.callee = f.x.tree.Sites[at.at+1] // a call's first part
	}
	method, isMethod := e.Func.(*pyscan.Attribute)
	var base *Value
	path := ""
	if a.callee != nil {
		path = f.x.path(a.callee)
	} else {
		path = f.x.resolve(e.Func, f.fn, 0)
	}
	if isMethod && path == "" {
		base, _ = f.evalNext(method.Value, a.callee.first())
	}
	first, place := len(f.a.arguments), int32(-1)
	if a.callee != nil {
		place = a.callee.end
	}
	for _, arg := range e.Args {
		v, behind := f.evalNext(arg, place)
		place = behind
		if star, ok := arg.(*pyscan.Starred); ok {
			v = f.noted(star.Value).element()
		}
		f.a.arguments = append(f.a.arguments, v)
	}
	for _, k := range e.Keywords {
		v, behind := f.evalNext(k.Value, place)
		place = behind
		if k.Name == "" { // **mapping
			v = v.element()
		}
		f.a.arguments = append(f.a.arguments, v)
	}
	own := f.a.arguments[first:]
	a.args, a.kws = own[:len(e.Args)], own[len(e.Args):]
	if path != "" {
		if d := f.a.project.define(f.x, e.Func, f.fn, 0); d.ok() && d.module == nil {
			return f.callDefinition(d, nil, a)
		}
		return f.external(path, a)
	}
	if isMethod {
		if v := f.method(base, method, a); v != nil {
			return v
		}
	}
	callee := f.eval(e.Func)
	switch callee.Kind {
	case Callable:
		if callee.Def.def != nil || callee.Def.class != nil {
			return f.callDefinition(callee.Def, callee.Self, a)
		}
	case Module:
		return f.forward(callee, a)
	case Instance:
		if m, in := f.a.project.method(callee.Def, "__call__", 0); m != nil {
			return f.callDefinition(definition{index: in, def: m}, callee, a)
		}
	}
	return f.byName(e, a)
}

// byName: a callee of unknown origin called `model` or `criterion` in code that trains.
func (f *flow) byName(e *pyscan.Call, a *arguments) *Value {
	name := lastName(e.Func)
	if _, isCall := e.Func.(*pyscan.Call); isCall {
		return unknownValue
	}
	switch {
	case criterionWords.MatchString(name) && a.all().onGPU():
		return outputValue
	case moduleWords.MatchString(name) && (f.trains && f.x.namesGPU || a.all().onGPU()):
		if v := a.all(); v.Kind == CPUTensor {
			return v
		}
		return outputValue
	}
	return unknownValue
}

// forward is what calling a module returns.
func (f *flow) forward(m *Value, a *arguments) *Value {
	in := a.all()
	if !m.Distributed && (m.OnCPU || in.Kind == CPUTensor || in.Kind == Batch) {
		return cpuValue
	}
	if m.Def.class != nil {
		if fwd, index := f.a.project.method(m.Def, "forward", 0); fwd != nil {
			if callee := f.below(index, fwd); callee != nil && callee.returns != nil && callee.returns.Kind != Unknown && callee.returns.Kind != Host {
				return callee.returns
			}
		}
	}
	if strings.HasPrefix(m.Path, "torch.nn.") {
		switch m.Path {
		case "torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.MultiheadAttention":
			return outputValue
		}
		return gpuValue
	}
	return outputValue
}

// callDefinition is what calling a function or class of the project gives.
func (f *flow) callDefinition(d definition, self *Value, a *arguments) *Value {
	if d.class != nil {
		return f.a.construct(d, a.call, f)
	}
	callee := f.below(d.index, d.def)
	if callee == nil {
		return unknownValue
	}
	if d.def.Generator {
		return sequenceOf(callee.yields)
	}
	if callee.returns == nil {
		return hostValue
	}
	return callee.returns
}

// construct is an instance of a class of the project.
func (a *analysis) construct(d definition, call *pyscan.Call, f *flow) *Value {
	v := &Value{Kind: a.classKind(d), Def: d, Made: call}
	if f != nil {
		v.MadeIn, v.MadeFrom = f.x, f.fn
	}
	if v.Kind == Unknown {
		v.Kind = Instance
	}
	return v
}

// classKind tells what a class of the project is by what it derives from.
func (a *analysis) classKind(d definition) Kind {
	if d, other := a.elsewhereClass(d); other {
		return a.before.classKind(d)
	}
	if k, ok := a.kinds[d.class]; ok {
		a.notes.use(a.kept.kinds[d.class])
		return k
	}
	k := keep(&a.notes, a.kept.kinds, d.class, func() Kind { return a.findKind(d) })
	a.kinds[d.class] = k
	return k
}

func (a *analysis) findKind(d definition) Kind {
	for _, path := range a.project.basePaths(d, 0) {
		last := path[strings.LastIndexByte(path, '.')+1:]
		switch {
		case path == "torch.nn.Module", strings.HasPrefix(path, "torch.nn."), strings.HasPrefix(path, "torchvision.models."),
			last == "LightningModule", last == "PreTrainedModel", path == "?.Module", last == "BaseModel" && strings.Contains(path, "model"):
			return Module
		case strings.HasPrefix(path, "torch.optim.lr_scheduler"):
			return Scheduler
		case path == "torch.optim.Optimizer" || strings.HasPrefix(path, "torch.optim."), path == "?.Optimizer":
			return Optimizer
		case path == "torch.utils.data.DataLoader":
			return Loader
		case strings.HasPrefix(path, "torch.utils.data.") && strings.HasSuffix(last, "Dataset"), strings.HasPrefix(path, "torchvision.datasets."), path == "?.Dataset", path == "?.IterableDataset":
			return Dataset
		case strings.HasSuffix(last, "Sampler"):
			return Sampler
		}
	}
	return Instance
}

// member is an attribute or method of a module, dataset or instance of a project class, or of a project module.
func (f *flow) member(base *Value, name string) *Value {
	a, d := f.a, base.Def
	switch {
	case d.module != nil:
		m := a.project.member(d.module, name, 0)
		if m.ok() {
			return definitionValue(m)
		}
		if fl := f.below(d.module, d.module.file.Module); fl != nil {
			return fl.valueOf(name)
		}
		return nil
	case d.class == nil || base.Kind == Callable && base.Def.def != nil:
		return nil
	}
	if m, in := a.project.method(d, name, 0); m != nil {
		for _, dec := range m.Decorators {
			if n := lastName(dec); n == "property" || n == "cached_property" {
				if fl := f.below(in, m); fl != nil {
					return fl.returns
				}
				return nil
			}
		}
		return &Value{Kind: Callable, Def: definition{index: in, def: m}, Self: base}
	}
	return f.attr(d, name)
}

// attr is what `self.name` holds in objects of a class, one level down.
func (f *flow) attr(d definition, name string) *Value {
	v := f.a.attr(d, name, f.level-1, 0)
	if !v.final {
		f.open = true
	}
	f.depth = max(f.depth, v.depth)
	return v.value
}

// attr is the join of what the class's methods assign to `self.name`, unknown assignments left aside; a base's if there are none.
func (a *analysis) attr(d definition, name string, level, depth int) attrValue {
	if around, other := a.elsewhereClass(d); other {
		if !slices.Contains(a.project.edit.classes(), around.class) {
			return a.before.attr(around, name, level, depth)
		}
		d = around
	}
	key := attrKey{d.class, name, level}
	if v, ok := a.attrs[key]; ok {
		a.notes.use(v.on)
		return v
	}
	if depth > 6 {
		return attrValue{final: true}
	}
	a.notes.begin()
	d.index.ready()
	out := attrValue{final: true}
	for _, m := range d.class.Methods {
		own := a.project.settled(definition{index: d.index, def: m})
		m, x := own.def, own.index
		if len(m.Params) == 0 || !a.assignsAttribute(x, m, name) {
			continue
		}
		fl := a.at(x, m, level)
		if fl == nil {
			out.final = false
			continue
		}
		out.final, out.depth = out.final && !fl.open, max(out.depth, fl.depth+1)
		for _, s := range x.tree.attributeTargets(m)[name] {
			if v := fl.noted(s); v.Kind != Unknown {
				out.value = join(out.value, v)
			}
		}
		if x.tree.buffers(m)[name] {
			out.value = join(out.value, gpuValue)
		}
	}
	if out.value == nil {
		for _, b := range a.basesOf(d) {
			inherited := a.attr(b, name, level, depth+1)
			out.final, out.depth = out.final && inherited.final, max(out.depth, inherited.depth)
			if inherited.value != nil {
				out.value = inherited.value
				break
			}
		}
	}
	out.on = a.notes.end()
	a.notes.use(out.on)
	a.attrs[key] = out
	return out
}

// basesOf are the project's own classes a class derives from directly.
func (a *analysis) basesOf(d definition) []definition {
	if d, other := a.elsewhereClass(d); other {
		return a.before.basesOf(d)
	}
	if known, ok := a.bases[d.class]; ok {
		a.notes.use(a.kept.bases[d.class])
		return known
	}
	out := keep(&a.notes, a.kept.bases, d.class, func() []definition { return a.project.basesOf(d) })
	a.bases[d.class] = out
	return out
}

func (p *Project) basesOf(d definition) []definition {
	var out []definition
	for _, base := range d.class.Bases {
		if b := p.define(d.index, base, d.class.Parent, 0); b.class != nil && b.class != d.class {
			out = append(out, b)
		}
	}
	return out
}

func (a *analysis) assignsAttribute(x *fileIndex, m *pyscan.Function, name string) bool {
	return len(x.tree.attributeTargets(m)[name]) > 0 || x.tree.buffers(m)[name]
}

// attributeTargets lists, per attribute name, the `self.name` targets of a method.
func (t *Tree) attributeTargets(m *pyscan.Function) map[string][]pyscan.Expr {
	if t.outside(m) {
		return t.base.attributeTargets(m)
	}
	t.collectAttributes()
	return t.selfTargets[m]
}

// buffers are the names a method registers as buffers or parameters.
func (t *Tree) buffers(m *pyscan.Function) map[string]bool {
	if t.outside(m) {
		return t.base.buffers(m)
	}
	t.collectAttributes()
	return t.registered[m]
}

func (t *Tree) collectAttributes() {
	t.attributesOnce.Do(func() {
		t.selfTargets = map[*pyscan.Function]map[string][]pyscan.Expr{}
		t.registered = map[*pyscan.Function]map[string]bool{}
		for _, s := range t.Sites {
			switch n := s.Node.(type) {
			case *pyscan.Attribute:
				fn := s.Def()
				if s.Role != RoleTarget || fn == nil || fn.Class == nil || len(fn.Params) == 0 {
					continue
				}
				if self, ok := n.Value.(*pyscan.Name); ok && self.ID == fn.Params[0].Name {
					if t.selfTargets[fn] == nil {
						t.selfTargets[fn] = map[string][]pyscan.Expr{}
					}
					t.selfTargets[fn][n.Attr] = append(t.selfTargets[fn][n.Attr], n)
				}
			case *pyscan.Call:
				attr, ok := n.Func.(*pyscan.Attribute)
				if !ok || attr.Attr != "register_buffer" && attr.Attr != "register_parameter" || len(n.Args) == 0 {
					continue
				}
				if name, ok := StringValue(n.Args[0]); ok {
					fn := s.Def()
					if t.registered[fn] == nil {
						t.registered[fn] = map[string]bool{}
					}
					t.registered[fn][name] = true
				}
			}
		}
	})
}
