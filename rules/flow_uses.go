package rules

import "stepline/pyscan"

// uses is what a function's own statements tell of models and losses, wherever the flow stands; it rests on the text alone.
type uses struct {
	losses  map[string]bool // variables that backward() is called on
	modules map[string]bool // variables used as modules (.train(), .parameters())
	trains  bool
}

var noUses = &uses{}

// usingMethods are the methods whose calls tell of models and losses.
var usingMethods = []string{"backward", "manual_backward", "train", "eval", "parameters", "named_parameters", "requires_grad_", "modules", "step"}

// usesOf are a function's uses, those in the lambdas of its statements included, those in the defs and classes in it not.
func (x *fileIndex) usesOf(fn *pyscan.Function) *uses {
	x.usesOnce.Do(func() {
		x.uses = map[*pyscan.Function]*uses{}
		for _, method := range usingMethods {
			for _, call := range x.calls[method] {
				attr, ok := call.Call().Func.(*pyscan.Attribute)
				if !ok {
					continue
				}
				in := statementsOf(call, x.file.Module)
				if in == nil {
					continue
				}
				u := x.uses[in]
				if u == nil {
					u = &uses{losses: map[string]bool{}, modules: map[string]bool{}}
					x.uses[in] = u
				}
				u.add(call.Call(), attr)
			}
		}
	})
	if u := x.uses[fn]; u != nil {
		return u
	}
	return noUses
}

// statementsOf is the function, or the module given, whose statements hold a site; nil for what stands in a class outside of methods
// or in the header of a def.
func statementsOf(s *Site, module *pyscan.Function) *pyscan.Function {
	for at := s; at.Parent != nil; at = at.Parent {
		switch n := at.Parent.Node.(type) {
		case *pyscan.FunctionDef:
			if at.Role == RoleBody {
				return n.Function
			}
			return nil
		case *pyscan.ClassDef:
			return nil
		}
	}
	return module
}

// add takes in a call of a method.
func (u *uses) add(call *pyscan.Call, method *pyscan.Attribute) {
	switch method.Attr {
	case "backward", "manual_backward":
		u.trains = true
		if len(call.Args) > 0 && (method.Attr == "manual_backward" || frameworkWords.MatchString(lastName(method.Value))) {
			u.markLoss(call.Args[0])
		} else {
			u.markLoss(method.Value)
		}
	case "step":
		u.trains = u.trains || optimizerName(method.Value)
	default:
		if key := envKey(method.Value); key != "" {
			u.modules[key] = true
		}
	}
}

// markLoss notes the variables in what backward is called on: `(loss / accum)`, `scaler.scale(loss)`, `sum(losses)` no.
func (u *uses) markLoss(e pyscan.Expr) {
	switch e := e.(type) {
	case *pyscan.Name:
		u.losses[e.ID] = true
	case *pyscan.Attribute:
		if key := envKey(e); key != "" {
			u.losses[key] = true
		}
	case *pyscan.BinOp:
		u.markLoss(e.Left)
		if e.Op != "/" {
			u.markLoss(e.Right)
		}
	case *pyscan.Call:
		if attr, ok := e.Func.(*pyscan.Attribute); ok && attr.Attr == "scale" && len(e.Args) == 1 {
			u.markLoss(e.Args[0])
		} else if ok && (attr.Attr == "mean" || attr.Attr == "sum") && len(e.Args) == 0 {
			u.markLoss(attr.Value)
		}
	}
}

// byUse: a variable of unknown origin that backward() is called on is a loss; one whose parameters() are asked is a module.
func (f *flow) byUse(e pyscan.Expr, v *Value) *Value {
	if len(f.losses) == 0 && len(f.modules) == 0 {
		return v
	}
	key := envKey(e)
	switch {
	case f.losses[key] && v.Kind == GPUOutput: // backward is a tensor's
		return gpuValue
	case v.Kind == GPUOutput:
		return v
	case f.losses[key] && f.x.namesGPU: // code that never names a device may well train on the CPU
		return gpuValue
	case f.modules[key]:
		return &Value{Kind: Module}
	}
	return v
}
