package rules

import (
	"strings"

	"stepline/pyscan"
)

var (
	hostMethods = wordSet("item tolist numpy size dim numel nelement ndimension stride storage_offset element_size data_ptr get_device is_contiguous is_floating_point is_complex is_pinned type backward register_hook retain_grad __len__ keys")
	// tensorMethods are methods only tensors have, for values that may be containers.
	tensorMethods = wordSet(`abs add all any argmax argmin argsort bmm clamp clip clone contiguous cos cumsum detach diff div dot double eq exp expand
		expand_as exp flatten float floor gather ge gt half index_select int isfinite isinf isnan le log log_softmax logical_and logical_not long lt
		masked_fill matmul max mean median min mm mul narrow ne neg new_zeros new_ones nonzero norm permute pow prod relu repeat reshape
		round rsqrt scatter sigmoid sin softmax sqrt square squeeze std sub sum swapaxes t tanh transpose type_as unsqueeze unflatten var view view_as where bool bfloat16`)
	listMethods = wordSet("split chunk unbind tensor_split")
	selfModule  = wordSet("cuda half float double bfloat16 train eval requires_grad_ apply share_memory to_empty type xpu")
)

// method is what a method call gives; nil leaves it to the callee's own value.
func (f *flow) method(base *Value, m *pyscan.Attribute, a *arguments) *Value {
	if v := f.env[f.number(a.callee)]; v != nil && v.Kind != Unknown {
		return nil // a callable kept in an attribute
	}
	switch base.Kind {
	case GPUTensor, GPUOutput, CPUTensor, Batch:
		return f.tensorMethod(base, m.Attr, a)
	case Module:
		return f.moduleMethod(base, m.Attr, a)
	case Optimizer, Scheduler:
		if base.Def.class != nil {
			return nil
		}
		return hostValue
	case Scaler:
		if m.Attr == "scale" && len(a.args) > 0 {
			return a.args[0]
		}
		return hostValue
	case Sequence:
		return f.sequenceMethod(base, m, a)
	case Mapping:
		return mappingMethod(base, m.Attr)
	case Host, Bar, Writer, PythonLogger, Event, Stream, Device, Profiler:
		return hostValue
	case Loader:
		if m.Attr == "__iter__" {
			return sequenceOf(base.element())
		}
		if base.Def.class == nil {
			return unknownValue
		}
	case Unknown:
		return f.unknownMethod(base, m, a)
	}
	return nil
}

func mappingMethod(base *Value, name string) *Value {
	switch name {
	case "items":
		return sequenceOf(&Value{Kind: Sequence, Elems: []*Value{hostValue, base.element()}})
	case "values":
		return sequenceOf(base.element())
	case "keys":
		return sequenceOf(hostValue)
	case "get", "pop", "setdefault":
		return base.element()
	case "copy":
		return base
	}
	return unknownValue
}

func (f *flow) sequenceMethod(base *Value, m *pyscan.Attribute, a *arguments) *Value {
	switch m.Attr {
	case "append", "add", "insert", "extend":
		if variable := f.number(f.site(m.Value)); variable != 0 && len(a.args) > 0 {
			v := a.args[len(a.args)-1]
			if m.Attr == "extend" {
				v = v.element()
			}
			if base.Elem == nil && len(base.Elems) == 0 {
				f.env[variable] = sequenceOf(v)
			} else {
				f.env[variable] = sequenceOf(join(base.element(), v))
			}
		}
		return hostValue
	case "pop":
		return base.element()
	case "copy":
		return base
	}
	return hostValue
}

func (f *flow) tensorMethod(base *Value, name string, a *arguments) *Value {
	switch {
	case name == "cpu":
		return &Value{Kind: CPUTensor, Unpinned: true}
	case name == "cuda":
		return f.moved(base)
	case name == "to":
		return f.to(base, a)
	case name == "pin_memory":
		return &Value{Kind: CPUTensor, Pinned: true, Made: base.Made}
	case hostMethods[name], strings.HasPrefix(name, "num_"):
		return hostValue
	case base.Kind == GPUOutput || base.Kind == Batch:
		switch name {
		case "items":
			return sequenceOf(&Value{Kind: Sequence, Elems: []*Value{hostValue, base}})
		case "values":
			return sequenceOf(base)
		case "get", "pop", "copy":
			return base
		}
	}
	switch {
	case listMethods[name]:
		return sequenceOf(base.element())
	case manyResults[name] && base.onGPU():
		if (name == "max" || name == "min") && len(a.args) == 0 && len(a.kws) == 0 {
			return gpuValue
		}
		return outputValue
	case strings.HasSuffix(name, "_") && !strings.HasSuffix(name, "__"): // in place: the same buffer
		return base
	case base.Kind == GPUTensor || base.onGPU() && tensorMethods[name]:
		return gpuValue
	case base.onGPU(): // a method of a container or of an output's own class
		return outputValue
	case base.Kind == CPUTensor:
		if name == "contiguous" || name == "view" || name == "reshape" || name == "detach" {
			return base
		}
		return cpuValue
	}
	return base
}

// moved is a value after `.cuda()`.
func (f *flow) moved(base *Value) *Value {
	if base.Kind == GPUTensor || base.Kind == CPUTensor {
		return gpuValue
	}
	return outputValue
}

// to is a tensor after `.to(…)`: elsewhere for a device, where it was for a type.
func (f *flow) to(base *Value, a *arguments) *Value {
	switch where := f.destination(a); {
	case where == nil:
		return base
	case where.Kind == Device && where.OnCPU:
		return &Value{Kind: CPUTensor, Unpinned: true}
	case where.Kind == Device:
		return f.moved(base)
	case where.onGPU(): // like another tensor
		return gpuValue
	case where.Kind == CPUTensor || where.Kind == Batch:
		return cpuValue
	}
	return unknownValue
}

// destination reads the device of a `.to(…)` call: a Device value, another tensor's, unknown, or nil when only a type is given.
func (f *flow) destination(a *arguments) *Value {
	var e pyscan.Expr
	v := a.keyword("device")
	if k := Keyword(a.call, "device"); k != nil {
		e = k.Value
	} else if len(a.call.Args) > 0 {
		e, v = a.call.Args[0], a.args[0]
	}
	if e == nil {
		return nil
	}
	if d := deviceOf(nil, v, e); d.Kind == Device {
		return d
	}
	if v.Kind != Unknown && v.Kind != Host {
		return v
	}
	name := lastName(e)
	path := f.x.resolve(e, f.scopeFunction(e), 0)
	switch {
	case strings.HasPrefix(path, "torch."), name == "dtype", strings.HasSuffix(name, "dtype"), name == "float" || name == "half" || name == "long":
		return nil
	case deviceWords.MatchString(name):
		if attr, ok := e.(*pyscan.Attribute); ok && attr.Attr == "device" {
			if inner := f.kept(attr.Value); inner != nil && inner.Kind == Unknown && envKey(attr.Value) != "" && !isSelf(attr.Value, f) && !f.moduleish(attr.Value) {
				if !configWords.MatchString(lastName(attr.Value)) {
					return unknownValue // the device of something unknown
				}
			}
		}
		return &Value{Kind: Device}
	}
	if _, ok := e.(*pyscan.Constant); ok {
		return unknownValue
	}
	return unknownValue
}

func (f *flow) moduleish(e pyscan.Expr) bool {
	return len(f.modules) > 0 && f.modules[envKey(e)] || moduleWords.MatchString(lastName(e)) || frameworkWords.MatchString(lastName(e))
}

func (f *flow) moduleMethod(base *Value, name string, a *arguments) *Value {
	switch {
	case name == "parameters" || name == "buffers":
		return paramsValue
	case name == "named_parameters" || name == "named_buffers":
		return &Value{Kind: NamedParameters}
	case name == "modules" || name == "children":
		return sequenceOf(&Value{Kind: Module})
	case name == "named_modules" || name == "named_children":
		return sequenceOf(&Value{Kind: Sequence, Elems: []*Value{hostValue, {Kind: Module}}})
	case selfModule[name]:
		if name == "cuda" && base.OnCPU {
			c := *base
			c.OnCPU = false
			return &c
		}
		return base
	case name == "cpu":
		c := *base
		c.OnCPU = true
		return &c
	case name == "to":
		if where := f.destination(a); where != nil && where.Kind == Device && where.OnCPU != base.OnCPU {
			c := *base
			c.OnCPU = where.OnCPU
			return &c
		}
		return base
	case name == "forward" || name == "__call__":
		return f.forward(base, a)
	case name == "generate" && base.Def.class == nil:
		return outputValue
	case name == "state_dict" || name == "load_state_dict" || name == "zero_grad" || name == "named_modules":
		return unknownValue
	case base.Def.class != nil:
		if m, _ := f.a.project.method(base.Def, name, 0); m != nil {
			return nil
		}
	case base.Path != "" || name == "get_input_embeddings":
		return &Value{Kind: Module}
	}
	if v := f.member(base, name); v != nil && v.Kind != Unknown {
		return nil
	}
	if base.Def.class != nil && a.all().onGPU() { // an attribute of unknown origin that is called like a submodule
		return outputValue
	}
	return unknownValue
}

// unknownMethod is a method of a value of unknown origin.
func (f *flow) unknownMethod(base *Value, m *pyscan.Attribute, a *arguments) *Value {
	name := lastName(m.Value)
	switch m.Attr {
	case "cuda":
		if f.moduleish(m.Value) {
			return &Value{Kind: Module}
		}
		return outputValue
	case "to":
		where := f.destination(a)
		switch {
		case f.moduleish(m.Value):
			return &Value{Kind: Module, OnCPU: where != nil && where.Kind == Device && where.OnCPU}
		case where != nil && where.Kind == Device && where.OnCPU:
			return cpuValue
		case where != nil && (where.Kind == Device || where.onGPU()):
			return outputValue
		}
	case "cpu":
		return &Value{Kind: CPUTensor, Unpinned: true}
	case "prepare", "setup", "setup_dataloaders", "setup_module", "setup_optimizers":
		if base.Framework || frameworkWords.MatchString(name) {
			return prepared(a)
		}
	case "parameters":
		return paramsValue
	case "named_parameters":
		return &Value{Kind: NamedParameters}
	case "item", "tolist", "numpy", "size", "dim", "numel":
		return hostValue
	case "gather", "gather_for_metrics", "reduce", "all_gather":
		if (base.Framework || frameworkWords.MatchString(name)) && a.all().onGPU() {
			return gpuValue
		}
	case "scale":
		if len(a.args) == 1 && strings.Contains(strings.ToLower(name), "scaler") {
			return a.args[0]
		}
	case "module", "forward":
		if f.moduleish(m.Value) {
			return outputValue
		}
	}
	return nil
}

// prepared is what Accelerate's `prepare` and Fabric's `setup` give back for what they take.
func prepared(a *arguments) *Value {
	out := &Value{Kind: Sequence}
	for _, v := range a.args {
		c := *v
		switch v.Kind {
		case Loader, Optimizer, Scheduler:
			c.Framework = true
		case Module:
			c.Distributed = true
		}
		out.Elems = append(out.Elems, &c)
	}
	if len(out.Elems) == 1 {
		return out.Elems[0]
	}
	return out
}
