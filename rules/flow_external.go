package rules

import (
	"strings"

	"stepline/pyscan"
)

var (
	hostModules = wordSet("numpy math random os time json re sys pathlib datetime glob shutil collections itertools string statistics pickle csv yaml argparse builtins psutil")
	creators    = wordSet("zeros ones rand randn randint empty full arange linspace logspace eye tensor randperm normal tril_indices triu_indices")
	hostTorch   = wordSet("is_tensor is_floating_point numel equal allclose get_default_dtype initial_seed get_rng_state")
	manyResults = wordSet("max min sort topk median mode kthvalue split chunk unbind tensor_split svd qr meshgrid unique unique_consecutive where nonzero std_mean var_mean slogdet aminmax")
	moduleFns   = wordSet("torch.jit.script torch.jit.trace torch.nn.SyncBatchNorm.convert_sync_batchnorm torch.quantization.prepare copy.deepcopy copy.copy")
)

// external is what calling something outside the project gives; path is its dotted name.
func (f *flow) external(path string, a *arguments) *Value {
	first, rest, _ := strings.Cut(path, ".")
	last := path[strings.LastIndexByte(path, '.')+1:]
	made := func(kind Kind) *Value {
		return &Value{Kind: kind, Path: path, Made: a.call, MadeIn: f.x, MadeFrom: f.fn}
	}
	capital := last != "" && last[0] >= 'A' && last[0] <= 'Z'
	switch {
	case first == "torch":
		return f.torch(path, rest, last, capital, made, a)
	case first == "builtins":
		return f.builtin(last, a)
	case path == "copy.deepcopy" || path == "copy.copy":
		if v := a.get(0, "x"); v != nil {
			return v
		}
	case first == "tqdm" || last == "tqdm" || last == "track" && first == "rich":
		if v := a.get(0, "iterable"); v != nil {
			return &Value{Kind: Bar, Elem: v.element(), Data: v}
		}
		return &Value{Kind: Bar, Elem: hostValue}
	case hostModules[first]:
		return hostValue
	case last == "SummaryWriter", path == "wandb.init":
		return made(Writer)
	case path == "logging.getLogger":
		return &Value{Kind: PythonLogger}
	case path == "accelerate.Accelerator" || last == "Fabric":
		return &Value{Kind: Unknown, Framework: true}
	case path == "deepspeed.initialize":
		return &Value{Kind: Sequence, Elems: []*Value{{Kind: Module, Distributed: true}, {Kind: Optimizer, Framework: true}, {Kind: Loader, Framework: true}, {Kind: Scheduler}}}
	case strings.HasPrefix(path, "torchvision.models.") && !capital, path == "timm.create_model",
		first == "transformers" && last == "from_pretrained" && (strings.Contains(path, "Model") || strings.Contains(path, "For")),
		first == "transformers" && last == "from_config":
		return made(Module)
	case strings.HasPrefix(path, "torchvision.datasets."):
		return made(Dataset)
	case first == "transformers" && last == "AdamW", first == "bitsandbytes" && strings.Contains(path, ".optim."):
		return made(Optimizer)
	case strings.HasSuffix(path, "DistributedDataParallel") && first == "apex":
		return wrapped(a.get(0, "module"), made(Module))
	}
	return unknownValue
}

// wrapped is a module inside the distributed wrapper that the call `by` makes.
func wrapped(v, by *Value) *Value {
	c := Value{Kind: Module}
	if v != nil && v.Kind == Module {
		c = *v
	}
	c.Distributed, c.Wrapper, c.WrappedIn, c.WrapperPath = true, by.Made, by.MadeIn, by.Path
	return &c
}

func (f *flow) torch(path, rest, last string, capital bool, made func(Kind) *Value, a *arguments) *Value {
	switch {
	case path == "torch.utils.data.DataLoader":
		v := made(Loader)
		v.Data = a.get(0, "dataset")
		return v
	case path == "torch.utils.data.random_split":
		if v := a.get(0, "dataset"); v != nil {
			return sequenceOf(v)
		}
	case path == "torch.utils.data.Subset":
		if v := a.get(0, "dataset"); v != nil {
			return v
		}
	case path == "torch.utils.data.ConcatDataset":
		if v := a.get(0, "datasets"); v != nil {
			return v.element()
		}
	case strings.HasPrefix(path, "torch.utils.data.") && strings.HasSuffix(last, "Sampler"):
		return made(Sampler)
	case path == "torch.utils.data.TensorDataset":
		v := made(Dataset)
		v.Elem = a.all()
		return v
	case path == "torch.utils.tensorboard.SummaryWriter":
		return made(Writer)
	case path == "torch.device":
		d := *deviceOf(a.call, a.get(0, "type"))
		if len(a.call.Args) > 0 {
			if text, ok := StringValue(a.call.Args[0]); ok && strings.HasPrefix(text, "cuda") {
				d.Made, d.MadeIn = a.call, f.x // certainly CUDA
			}
		}
		return &d
	case path == "torch.compile":
		if v := a.get(0, "model"); v != nil && (v.Kind == Module || v.Kind == Callable) {
			c := *v
			c.Compiled, c.CompiledBy, c.CompiledIn = true, a.call, f.x
			return &c
		}
		return &Value{Kind: Unknown, Compiled: true}
	case moduleFns[path]:
		if v := a.get(0, "module"); v != nil {
			return v
		}
	case path == "torch.nn.Parameter" || path == "torch.nn.parameter.Parameter":
		return gpuValue
	case last == "DistributedDataParallel" || last == "DataParallel" || last == "FullyShardedDataParallel":
		return wrapped(a.get(0, "module"), made(Module))
	case strings.HasPrefix(path, "torch.optim.lr_scheduler."):
		return made(Scheduler)
	case strings.HasPrefix(path, "torch.optim.") && capital:
		return made(Optimizer)
	case last == "GradScaler":
		return made(Scaler)
	case path == "torch.nn.utils.clip_grad_norm_" || path == "torch.nn.utils.get_total_norm":
		return gpuValue
	case strings.HasPrefix(path, "torch.nn.functional."):
		return f.operation(last, a)
	case strings.HasPrefix(path, "torch.nn.") && capital:
		return made(Module)
	case path == "torch.cuda.Event" || path == "torch.Event":
		return &Value{Kind: Event}
	case path == "torch.cuda.Stream" || path == "torch.cuda.current_stream" || path == "torch.cuda.default_stream":
		return &Value{Kind: Stream}
	case path == "torch.profiler.profile":
		return made(Profiler)
	case path == "torch.hub.load":
		return made(Module)
	case strings.HasPrefix(rest, "cuda.") || strings.HasPrefix(rest, "distributed.") || strings.HasPrefix(rest, "backends.") || strings.HasPrefix(rest, "version."):
		return hostValue
	case strings.HasPrefix(rest, "linalg.") || strings.HasPrefix(rest, "fft.") || strings.HasPrefix(rest, "special."):
		return f.operation(last, a)
	case !strings.Contains(rest, "."):
		return f.torchFunction(rest, a)
	}
	return unknownValue
}

// torchFunction is a function of the torch module itself.
func (f *flow) torchFunction(name string, a *arguments) *Value {
	switch {
	case hostTorch[name]:
		return hostValue
	case creators[name]:
		return f.created(a)
	case name == "from_numpy" || name == "frombuffer":
		return &Value{Kind: CPUTensor, Unpinned: true}
	case name == "as_tensor" || name == "asarray":
		if v := a.get(0, "data"); v != nil && v.onGPU() {
			return gpuValue
		}
		return f.created(a)
	case strings.HasSuffix(name, "_like"):
		if a.keyword("device") != nil {
			return f.created(a)
		}
		if v := a.get(0, "input"); v != nil && v.onGPU() {
			return gpuValue
		} else if v != nil && v.Kind == CPUTensor {
			return &Value{Kind: CPUTensor, Unpinned: v.Unpinned && a.keyword("pin_memory") == nil}
		}
		return unknownValue
	case name == "load" || name == "save" || name == "no_grad" || name == "inference_mode" || name == "autocast" || name == "Generator":
		return unknownValue
	}
	return f.operation(name, a)
}

// operation is the result of a tensor operation: where its arguments are.
func (f *flow) operation(name string, a *arguments) *Value {
	v := a.all()
	if v.onGPU() {
		if manyResults[name] {
			return outputValue
		}
		return gpuValue
	}
	if v.Kind == CPUTensor {
		return cpuValue
	}
	return v
}

// created is a tensor made by torch.zeros and the like: on the device asked for, else on the host.
func (f *flow) created(a *arguments) *Value {
	if k := Keyword(a.call, "device"); k != nil {
		switch d := deviceOf(nil, a.keyword("device"), k.Value); {
		case d.Kind == Device && d.OnCPU:
			return &Value{Kind: CPUTensor, Unpinned: Keyword(a.call, "pin_memory") == nil}
		case d.Kind == Device:
			return gpuValue
		}
		if name := lastName(k.Value); deviceWords.MatchString(name) {
			if attr, ok := k.Value.(*pyscan.Attribute); ok && attr.Attr == "device" && !isSelf(attr.Value, f) {
				return unknownValue // the device of something unknown
			}
			return gpuValue
		}
		return unknownValue
	}
	if Keyword(a.call, "") != nil || f.x.mentions("set_default_device", "set_default_tensor_type") || f.underDeviceContext(a.call) {
		return unknownValue
	}
	pin := Keyword(a.call, "pin_memory")
	return &Value{Kind: CPUTensor, Unpinned: pin == nil || IsFalse(pin.Value), Pinned: pin != nil && IsTrue(pin.Value), Made: a.call, MadeIn: f.x}
}

func isSelf(e pyscan.Expr, f *flow) bool {
	n, ok := e.(*pyscan.Name)
	return ok && n.ID == f.selfName && f.selfName != ""
}

// underDeviceContext: `with torch.device("cuda"):` decides where tensors are made.
func (f *flow) underDeviceContext(call *pyscan.Call) bool {
	s := f.x.tree.Site(call)
	if s == nil {
		return false
	}
	for up := range s.Ancestors() {
		if with, ok := up.Node.(*pyscan.With); ok {
			for _, item := range with.Items {
				if lastName(item.Context) == "device" || deviceWords.MatchString(lastName(item.Context)) {
					return true
				}
			}
		}
	}
	return false
}

// deviceOf reads a device from a torch.device(...) call's argument or from a value given as device.
func deviceOf(call *pyscan.Call, v *Value, exprs ...pyscan.Expr) *Value {
	if call != nil && len(call.Args) > 0 {
		exprs = append(exprs, call.Args[0])
	}
	for _, e := range exprs {
		if text, ok := StringValue(e); ok {
			return deviceText(text)
		}
		switch e := e.(type) {
		case *pyscan.FString:
			return &Value{Kind: Device}
		case *pyscan.Constant:
			if e.Kind == pyscan.ConstInt {
				return &Value{Kind: Device}
			}
		case *pyscan.IfExp:
			a, b := deviceOf(nil, nil, e.Body), deviceOf(nil, nil, e.Else)
			return join(a, b)
		}
	}
	if v != nil && v.Kind == Device {
		return v
	}
	if call != nil {
		return &Value{Kind: Device}
	}
	return unknownValue
}

func deviceText(text string) *Value {
	kind, _, _ := strings.Cut(text, ":")
	switch kind {
	case "cpu", "mps", "meta":
		return &Value{Kind: Device, OnCPU: true}
	case "cuda", "xpu", "hip", "npu", "hpu":
		return &Value{Kind: Device}
	}
	return unknownValue
}

func (f *flow) builtin(name string, a *arguments) *Value {
	first := a.get(0, "iterable")
	if first == nil {
		first = unknownValue
	}
	switch name {
	case "enumerate":
		return sequenceOf(&Value{Kind: Sequence, Elems: []*Value{numberValue, first.element()}})
	case "zip":
		elems := make([]*Value, len(a.args))
		for i, v := range a.args {
			elems[i] = v.element()
		}
		return sequenceOf(&Value{Kind: Sequence, Elems: elems})
	case "list", "tuple", "sorted", "reversed", "iter", "set", "filter":
		if name == "filter" && len(a.args) == 2 {
			first = a.args[1]
		}
		if first.Kind == Parameters || first.Kind == ParamGroups || first.Kind == NamedParameters {
			return first
		}
		if first.Kind == Sequence && (name == "list" || name == "tuple") {
			return first
		}
		return sequenceOf(first.element())
	case "next":
		return first.element()
	case "sum":
		if e := first.element(); e.onGPU() {
			return gpuValue
		} else if e.Kind == Host {
			return numberValue
		}
		return unknownValue
	case "max", "min", "abs", "round":
		if v := a.all(); v.onGPU() {
			return gpuValue
		} else if v.Kind != Unknown || len(a.args) == 0 {
			return hostValue
		}
		for _, v := range a.args {
			if v.Kind != Host {
				return unknownValue
			}
		}
		return numberValue
	case "dict":
		return &Value{Kind: Mapping, Elem: first.element()}
	case "map", "getattr", "super", "vars", "object", "type", "open":
		return unknownValue
	}
	return hostValue
}
