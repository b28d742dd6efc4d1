package rules

import "stepline/pyscan"

// Kind is what a value is, as far as the source shows. It is a small forward data flow: unknown stays unknown.
type Kind uint8

const (
	Unknown Kind = iota
	// Host: a Python number, text, a shape, a NumPy array, None: nothing that lies on a device.
	Host
	// CPUTensor: a tensor made on, or copied to, the host.
	CPUTensor
	// Batch: what a DataLoader that the code makes yields, not yet moved; Value.Loader is its call.
	Batch
	// GPUTensor: certainly a tensor, on the GPU (where the project trains on one).
	GPUTensor
	// GPUOutput: what a model returned or a framework handed over: a tensor or a container of tensors, on the GPU.
	GPUOutput
	// Module: an nn.Module. Optimizer, Scaler, Loader, Dataset, Sampler, Scheduler: what their names say.
	Module
	Optimizer
	Scaler
	Loader
	Dataset
	Sampler
	Scheduler
	// Device: a torch.device or a device string; OnCPU tells which.
	Device
	// Parameters: an iterable of parameters; ParamGroups a list of parameter groups; ParamGroup one of them.
	Parameters
	NamedParameters
	ParamGroups
	ParamGroup
	// OptimizerState: what is behind `optimizer.state`.
	OptimizerState
	// Sequence: a list, tuple, set or generator of Elem, or a tuple with the known Elems. Mapping: a dict of Elem.
	Sequence
	Mapping
	// Instance of a class of the project. Callable: a function, method or class of the project. ModuleFile: a module of it.
	Instance
	Callable
	// Writer: a TensorBoard, wandb or similar logger. Bar: a tqdm bar around Elem.
	Writer
	Bar
	// Profiler: torch.profiler.profile(…). Event: torch.cuda.Event. Logger: logging.getLogger(…).
	Profiler
	Event
	PythonLogger
	// Stream: a CUDA stream.
	Stream

	kindCount // how many kinds there are
)

// Value is a kind with what else is known. Values are shared and never changed.
type Value struct {
	Kind Kind
	// OnCPU: a device that is the CPU, or a module put there.
	OnCPU bool
	// Unpinned: a CPU tensor known to lie in ordinary memory; Pinned: in page-locked memory.
	Unpinned, Pinned bool
	// Elem is the element of a sequence, mapping, bar or generator; Elems those of a tuple.
	Elem  *Value
	Elems []*Value
	// Def is the class of an instance, module or dataset, or the function of a callable.
	Def definition
	// Self is the object a method is bound to.
	Self *Value
	// Made is the call that made it (loaders, datasets, optimizers), in MadeIn.
	Made   *pyscan.Call
	MadeIn *fileIndex
	// MadeFrom is the function the call runs in.
	MadeFrom *pyscan.Function
	// Args of a loader: its dataset's value.
	Data *Value
	// Framework: the framework moves what this loader yields, or owns this optimizer.
	Framework bool
	// Compiled: the module went through torch.compile. Wrapped: through DistributedDataParallel.
	Compiled, Distributed bool
	// CompiledBy is the torch.compile call, in CompiledIn.
	CompiledBy *pyscan.Call
	CompiledIn *fileIndex
	// Wrapper is the call that wrapped the module (DistributedDataParallel, FullyShardedDataParallel, …), in WrappedIn;
	// WrapperPath names its class.
	Wrapper     *pyscan.Call
	WrappedIn   *fileIndex
	WrapperPath string
	// Path is the dotted name of the class outside the project ("torch.nn.Linear").
	Path string
}

var (
	unknownValue = &Value{}
	hostValue    = &Value{Kind: Host}
	noneValue    = &Value{Kind: Host, Path: "None"}
	cpuValue     = &Value{Kind: CPUTensor}
	gpuValue     = &Value{Kind: GPUTensor}
	outputValue  = &Value{Kind: GPUOutput}
	paramsValue  = &Value{Kind: Parameters, Elem: gpuValue}
)

func sequenceOf(elem *Value) *Value { return &Value{Kind: Sequence, Elem: elem} }

// onGPU reports whether the value lies on the GPU (a tensor, or a model's output).
func (v *Value) onGPU() bool { return v.Kind == GPUTensor || v.Kind == GPUOutput }

// join is what is known about a value that may be either.
func join(a, b *Value) *Value {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	case a == noneValue: // None is tested for before use
		return b
	case b == noneValue:
		return a
	}
	if a.Kind == b.Kind {
		return joinSame(a, b)
	}
	if a.onGPU() && b.onGPU() {
		return outputValue
	}
	// A number that a tensor is added to (`total = 0` … `total += loss`) is the tensor from then on.
	if a.Kind == Host && b.onGPU() && a.Path == "number" {
		return b
	}
	if b.Kind == Host && a.onGPU() && b.Path == "number" {
		return a
	}
	return unknownValue
}

func joinSame(a, b *Value) *Value {
	switch a.Kind {
	case Host, GPUTensor, GPUOutput, Parameters, Optimizer, Scaler, Scheduler, Writer:
		return a
	case CPUTensor:
		if a.Unpinned == b.Unpinned && a.Pinned == b.Pinned {
			return a
		}
		return cpuValue
	case Device:
		if a.OnCPU && !b.OnCPU { // `"cuda" if available else "cpu"`: the GPU is what it is for
			return b
		}
		return a
	case Sequence, Mapping:
		if len(a.Elems) > 0 && len(a.Elems) == len(b.Elems) {
			elems := make([]*Value, len(a.Elems))
			for i := range elems {
				elems[i] = join(a.Elems[i], b.Elems[i])
			}
			return &Value{Kind: a.Kind, Elems: elems, Elem: join(a.Elem, b.Elem)}
		}
		return &Value{Kind: a.Kind, Elem: join(a.element(), b.element())}
	case Module:
		if a.Wrapper == nil || b.WrapperPath == DDP { // `if distributed: model = DDP(model)`
			a, b = b, a
		}
		if a.Def.class == b.Def.class && (a.Compiled || !b.Compiled) {
			return a
		}
		out := &Value{Kind: Module, OnCPU: a.OnCPU && b.OnCPU, Compiled: a.Compiled || b.Compiled, Distributed: a.Distributed || b.Distributed,
			Wrapper: a.Wrapper, WrappedIn: a.WrappedIn, WrapperPath: a.WrapperPath}
		if a.Def.class == b.Def.class {
			out.Def, out.Path, out.Made, out.MadeIn, out.MadeFrom = a.Def, a.Path, a.Made, a.MadeIn, a.MadeFrom
		}
		return out
	case Instance, Callable:
		if a.Def == b.Def {
			return a
		}
		return unknownValue
	case Loader, Batch:
		if a.Made == b.Made {
			return a
		}
		return unknownValue
	}
	return a
}

// element is what iterating the value yields.
func (v *Value) element() *Value {
	switch v.Kind {
	case Sequence, Bar, Parameters, Mapping:
		if v.Elem != nil {
			return v.Elem
		}
		var out *Value
		for _, e := range v.Elems {
			out = join(out, e)
		}
		if out != nil {
			return out
		}
	case NamedParameters:
		return &Value{Kind: Sequence, Elems: []*Value{hostValue, gpuValue}}
	case ParamGroups:
		return &Value{Kind: ParamGroup}
	case Loader:
		if v.Framework {
			return outputValue
		}
		return &Value{Kind: Batch, Made: v.Made, MadeIn: v.MadeIn, MadeFrom: v.MadeFrom, Data: v.Data}
	case Batch, GPUTensor, GPUOutput:
		return v
	case CPUTensor:
		return cpuValue
	case Host:
		return hostValue
	case Module: // ModuleList, Sequential
		return &Value{Kind: Module}
	}
	return unknownValue
}

// at is the i-th element of a tuple-like value.
func (v *Value) at(i int) *Value {
	if v.Kind == Sequence && i >= 0 && i < len(v.Elems) {
		return v.Elems[i]
	}
	return v.element()
}
