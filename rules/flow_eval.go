package rules

import (
	"strings"

	"stepline/pyscan"
)

var (
	moduleWords    = wordPattern(`(?i)^_?(model|net|network|module|backbone|encoder|decoder|generator|discriminator|critic|actor|policy|student|teacher|unet|vae|gan|classifier|transformer|llm|lm|net_?[gd]|model_engine|engine|.*_(model|net|network)|criterion|crit|objective|loss_?(fn|func|function)|lossfn|loss_criterion|.*_(criterion|loss_fn))$`)
	criterionWords = wordPattern(`(?i)^_?(criterion|crit|loss_?(fn|func|function)|lossfn|compute_loss|loss_criterion|.*_(criterion|loss_fn))$`)
	deviceWords    = wordPattern(`(?i)device|\bgpu|cuda|(^|_)(dev|local_rank|rank)$`)
	frameworkWords = wordPattern(`(?i)accelerat|fabric|engine|strategy`)
)

// eval is an expression's value; it is noted for the expression and everything inside it.
func (f *flow) eval(e pyscan.Expr) *Value {
	if e == nil {
		return unknownValue
	}
	return f.evalAt(e, f.site(e))
}

// evalNext is eval of a part of a node whose site is most likely the one at a place of the tree (the parts of a node follow each
// other); behind is the place behind it.
func (f *flow) evalNext(e pyscan.Expr, place int32) (v *Value, behind int32) {
	if e == nil {
		return unknownValue, place
	}
	at := f.siteNear(e, place)
	if at != nil {
		place = at.end
	}
	return f.evalAt(e, at), place
}

func (f *flow) evalAt(e pyscan.Expr, at *Site) *Value {
	v := f.compute(e, at)
	f.note(at, v)
	if v == nil {
		return unknownValue
	}
	return v
}

func (f *flow) compute(e pyscan.Expr, at *Site) *Value {
	switch e := e.(type) {
	case *pyscan.Constant:
		switch e.Kind {
		case pyscan.ConstNone:
			return noneValue
		case pyscan.ConstInt, pyscan.ConstFloat:
			return numberValue
		}
		return hostValue
	case *pyscan.Name:
		return f.variable(e, at)
	case *pyscan.Attribute:
		return f.attribute(e, at)
	case *pyscan.Call:
		return f.call(e, at)
	case *pyscan.Subscript:
		return f.subscript(e, at)
	case *pyscan.Slice:
		f.eval(e.Lower)
		f.eval(e.Upper)
		f.eval(e.Step)
		return hostValue
	case *pyscan.BinOp:
		l, behind := f.evalNext(e.Left, at.first())
		r, _ := f.evalNext(e.Right, behind)
		return f.arithmetic(l, r)
	case *pyscan.UnaryOp:
		v := f.eval(e.Operand)
		if e.Op == "not" {
			return hostValue
		}
		if v.onGPU() {
			return gpuValue
		}
		return v
	case *pyscan.BoolOp:
		var out *Value
		for _, sub := range e.Values {
			out = join(out, f.eval(sub))
		}
		return out
	case *pyscan.Compare:
		return f.compare(e)
	case *pyscan.IfExp:
		f.eval(e.Test)
		return join(f.eval(e.Body), f.eval(e.Else))
	case *pyscan.Lambda:
		for _, p := range e.Function.Params {
			f.eval(p.Default)
		}
		return &Value{Kind: Callable, Def: definition{index: f.x, def: e.Function}}
	case *pyscan.Comprehension:
		return f.comprehension(e)
	case *pyscan.FString:
		for _, sub := range e.Values {
			f.eval(sub)
		}
		return hostValue
	case *pyscan.Tuple:
		return f.display(e.Elems, at)
	case *pyscan.List:
		return f.display(e.Elems, at)
	case *pyscan.Set:
		return sequenceOf(f.display(e.Elems, at).element())
	case *pyscan.Dict:
		var out *Value
		for i, val := range e.Values {
			f.eval(e.Keys[i])
			out = join(out, f.eval(val))
		}
		return &Value{Kind: Mapping, Elem: out}
	case *pyscan.Starred:
		return f.eval(e.Value)
	case *pyscan.Await:
		return f.eval(e.Value)
	case *pyscan.Yield:
		if e.Value != nil {
			f.yields = join(f.yields, f.eval(e.Value))
		}
	case *pyscan.NamedExpr:
		v := f.eval(e.Value)
		if e.Target != nil {
			f.assign(e.Target, v)
		}
		return v
	case *pyscan.BadExpr:
		for _, sub := range e.Parts {
			f.eval(sub)
		}
	}
	return unknownValue
}

var numberValue = &Value{Kind: Host, Path: "number"}

func (f *flow) display(elems []pyscan.Expr, at *Site) *Value {
	place := at.first()
	out := &Value{Kind: Sequence, Elems: make([]*Value, 0, len(elems))}
	for _, e := range elems {
		if star, ok := e.(*pyscan.Starred); ok {
			v := f.eval(star.Value).element()
			out.Elem = join(out.Elem, v)
			f.note(f.site(star), v)
			continue
		}
		v, behind := f.evalNext(e, place)
		place = behind
		out.Elems = append(out.Elems, v)
		out.Elem = join(out.Elem, v)
	}
	if len(out.Elems) != len(elems) {
		out.Elems = nil
	}
	return out
}

func (f *flow) comprehension(c *pyscan.Comprehension) *Value {
	around := f.copyEnv(f.env)
	for _, clause := range c.Clauses {
		f.assign(clause.Target, f.iterated(f.eval(clause.Iter)))
		for _, cond := range clause.Conditions {
			f.eval(cond)
		}
	}
	if c.Key != nil {
		f.eval(c.Key)
	}
	v := f.eval(c.Value)
	f.dropEnv(f.env)
	f.env = around
	if c.Kind == pyscan.DictComprehension {
		return &Value{Kind: Mapping, Elem: v}
	}
	return sequenceOf(v)
}

// variable is a name's value: of this function, of the functions and the module around it, or a definition.
func (f *flow) variable(e *pyscan.Name, at *Site) *Value {
	if v := f.env[f.number(at)]; v != nil {
		if v.Kind == Unknown || v.Kind == GPUOutput {
			return f.byUse(e, v)
		}
		return v
	}
	from := f.fn
	if at != nil {
		from = at.Function
	}
	b, where := f.x.lookup(e.ID, from)
	if b == nil {
		return f.byUse(e, unknownValue)
	}
	if b.path != "" || b.def != nil || b.class != nil {
		if d := f.a.project.define(f.x, e, f.fn, 0); d.ok() {
			return definitionValue(d)
		}
	}
	if where != nil && where != f.fn && where.Comprehension == nil {
		if outer := f.below(f.x, where); outer != nil {
			if v := outer.valueOf(e.ID); v != nil && v.Kind != Unknown {
				return v
			}
		}
	}
	return f.byUse(e, unknownValue)
}

func (f *flow) scopeFunction(e pyscan.Expr) *pyscan.Function {
	if s := f.x.tree.Site(e); s != nil {
		return s.Function
	}
	return f.fn
}

func definitionValue(d definition) *Value { return &Value{Kind: Callable, Def: d} }

var hostAttributes = wordSet("shape device dtype ndim is_cuda is_cpu requires_grad is_leaf layout itemsize nbytes grad_fn name names is_sparse is_quantized is_meta output_nr __class__ __dict__ training")
var tensorAttributes = wordSet("grad data T mT H mH real imag values indices")

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

func (f *flow) attribute(e *pyscan.Attribute, at *Site) *Value {
	base, _ := f.evalNext(e.Value, at.first())
	variable := f.number(at)
	if v := f.env[variable]; v != nil {
		if v.Kind == Unknown {
			return f.byUse(e, v)
		}
		return v
	}
	switch base.Kind {
	case GPUTensor, GPUOutput, Batch, CPUTensor:
		return tensorAttribute(base, e.Attr)
	case Module, Instance, Dataset, Optimizer, Callable, Loader:
		if v := f.member(base, e.Attr); v != nil && v.Kind != Unknown {
			return v
		}
		switch {
		case base.Kind == Module && e.Attr == "module":
			return base
		case base.Kind == Module && (e.Attr == "weight" || e.Attr == "bias"):
			return gpuValue
		case base.Kind == Optimizer && e.Attr == "param_groups":
			return &Value{Kind: ParamGroups}
		case base.Kind == Optimizer && e.Attr == "state":
			return &Value{Kind: OptimizerState}
		case base.Kind == Loader && e.Attr == "dataset" && base.Data != nil:
			return base.Data
		}
	case Host:
		return hostValue
	}
	if base.Kind == Unknown && e.Attr == "grad" {
		if inner, ok := e.Value.(*pyscan.Name); ok && (inner.ID == "p" || inner.ID == "param" || inner.ID == "parameter") {
			return gpuValue
		}
	}
	if variable != 0 {
		return f.byUse(e, unknownValue)
	}
	return unknownValue
}

func tensorAttribute(base *Value, attr string) *Value {
	switch {
	case hostAttributes[attr]:
		if attr == "device" {
			return &Value{Kind: Device, OnCPU: base.Kind == CPUTensor || base.Kind == Batch}
		}
		return hostValue
	case tensorAttributes[attr] && base.onGPU():
		return gpuValue
	case tensorAttributes[attr]:
		return base
	case base.Kind == GPUOutput || base.Kind == Batch:
		return base
	}
	return unknownValue
}

func (f *flow) subscript(e *pyscan.Subscript, at *Site) *Value {
	base, behind := f.evalNext(e.Value, at.first())
	f.evalNext(e.Index, behind)
	if v := f.env[f.number(at)]; v != nil {
		return v
	}
	c, constant := e.Index.(*pyscan.Constant)
	switch base.Kind {
	case GPUTensor:
		return gpuValue
	case GPUOutput:
		return outputValue
	case Batch, Host:
		return base
	case CPUTensor:
		return cpuValue
	case Sequence:
		if _, slice := e.Index.(*pyscan.Slice); slice {
			return sequenceOf(base.element())
		}
		if constant && c.Kind == pyscan.ConstInt && len(c.Text) == 1 {
			return base.at(int(c.Text[0] - '0'))
		}
		if u, ok := e.Index.(*pyscan.UnaryOp); ok && u.Op == "-" && len(base.Elems) > 0 {
			if n, ok := u.Operand.(*pyscan.Constant); ok && len(n.Text) == 1 {
				return base.at(len(base.Elems) - int(n.Text[0]-'0'))
			}
		}
		return base.element()
	case Mapping:
		return base.element()
	case ParamGroups:
		return &Value{Kind: ParamGroup}
	case ParamGroup:
		if text, ok := StringValue(e.Index); ok && text == "params" {
			return paramsValue
		}
		return hostValue
	case OptimizerState:
		return &Value{Kind: Mapping}
	case Module:
		return &Value{Kind: Module}
	}
	return unknownValue
}

// arithmetic is what an operator makes of two values.
func (f *flow) arithmetic(l, r *Value) *Value {
	switch {
	case l.Kind == GPUTensor || r.Kind == GPUTensor:
		return gpuValue
	case l.onGPU() || r.onGPU(): // an output may be of any class
		return outputValue
	case l.Kind == Sequence && r.Kind == Sequence:
		return sequenceOf(join(l.Elem, r.Elem))
	case l.Kind == Sequence && r.Kind == Host:
		return sequenceOf(l.element())
	case l.Kind == Unknown || r.Kind == Unknown:
		return unknownValue
	case l.Kind == CPUTensor || r.Kind == CPUTensor:
		if l.Kind == CPUTensor && l.Unpinned && r.Kind == Host { // in-place arithmetic keeps the buffer
			return l
		}
		return cpuValue
	case l.Kind == Batch:
		return l
	case r.Kind == Batch:
		return r
	case l.Kind == Host && r.Kind == Host:
		if l == numberValue && r == numberValue {
			return numberValue
		}
		return hostValue
	}
	return unknownValue
}

func (f *flow) compare(e *pyscan.Compare) *Value {
	out := f.eval(e.Left)
	host := false
	for i, r := range e.Rights {
		v := f.eval(r)
		switch e.Ops[i] {
		case "is", "is not", "in", "not in":
			host = true
		}
		if _, text := StringValue(r); text || v == noneValue {
			host = true // a tensor is not compared with text or None
		}
		out = f.arithmetic(out, v)
	}
	if host {
		return hostValue
	}
	if out.Kind == Sequence {
		return hostValue
	}
	return out
}
