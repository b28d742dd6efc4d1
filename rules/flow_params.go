package rules

import (
	"strings"

	"stepline/pyscan"
)

var configWords = wordPattern(`(?i)^(args?|cfg|config|conf|opts?|options|params|hparams|hps|settings|flags|self|accelerator|fabric|trainer)$`)

// frameworkHooks are methods a training framework calls every step, with the parameters it fills with tensors on the device.
var frameworkHooks = map[string][]string{
	"training_step": {"batch", "inputs"}, "validation_step": {"batch"}, "test_step": {"batch"}, "predict_step": {"batch"},
	"compute_loss": {"inputs", "outputs"}, "on_train_batch_end": {"outputs", "batch"}, "on_train_batch_start": {"batch"},
	"training_step_end": {"outputs"}, "prediction_step": {"inputs"},
}

// bindParameters gives the function's parameters what is known of them: self's class, a framework's batch, what callers pass.
func (f *flow) bindParameters() {
	fn := f.fn
	for i, p := range fn.Params {
		f.env[f.named(p.Name)] = f.parameter(i, p)
	}
}

func (f *flow) parameter(i int, p *pyscan.Parameter) *Value {
	fn := f.fn
	static := hasDecorator(fn, "staticmethod")
	if i == 0 && fn.Class != nil && !static {
		d := definition{index: f.x, class: fn.Class}
		if hasDecorator(fn, "classmethod") {
			return &Value{Kind: Callable, Def: d}
		}
		return f.a.construct(d, nil, nil)
	}
	if v := f.hookParameter(i, p); v != nil {
		return v
	}
	if plainParameter(p) { // nothing a caller passes for it matters
		return hostValue
	}
	var out *Value
	for _, c := range f.a.callersOf(f.x, fn) {
		out = joinCallers(out, f.argument(c, i, p))
	}
	if out != nil && out.Kind != Unknown {
		return out
	}
	if v := f.annotated(p.Annotation); v != nil {
		return v
	}
	return f.guessed(p)
}

// plainParameter: annotated as, or defaulting to, a number, a flag or text that names no device.
func plainParameter(p *pyscan.Parameter) bool {
	switch a := p.Annotation.(type) {
	case *pyscan.Name:
		switch a.ID {
		case "int", "float", "bool", "str":
			return !deviceWords.MatchString(p.Name)
		}
		return false
	case nil:
		c, ok := p.Default.(*pyscan.Constant)
		if !ok {
			return false
		}
		switch c.Kind {
		case pyscan.ConstTrue, pyscan.ConstFalse, pyscan.ConstInt, pyscan.ConstFloat:
			return true
		}
	}
	return false
}

// joinCallers joins what several callers pass: a tensor on the GPU from one of them is what matters, unknown says nothing.
func joinCallers(a, b *Value) *Value {
	switch {
	case b == nil || b.Kind == Unknown || b == noneValue:
		return a
	case a == nil || a.onGPU() && !b.onGPU():
		if a == nil {
			return b
		}
		return a
	case b.onGPU() && !a.onGPU():
		return b
	}
	return join(a, b)
}

func hasDecorator(fn *pyscan.Function, name string) bool {
	for _, d := range fn.Decorators {
		if lastName(d) == name {
			return true
		}
	}
	return false
}

// hookParameter: parameters that PyTorch or a framework fills.
func (f *flow) hookParameter(i int, p *pyscan.Parameter) *Value {
	fn := f.fn
	if fn.Class == nil {
		return nil
	}
	if filled := frameworkHooks[fn.Name]; filled != nil && f.a.isFrameworkClass(f.x, fn.Class) {
		for _, name := range filled {
			if p.Name == name {
				return outputValue
			}
		}
		if p.Name == "model" || p.Name == "pl_module" {
			return &Value{Kind: Module}
		}
	}
	if fn.Name == "forward" && p.Star == 0 && f.a.classKind(definition{index: f.x, class: fn.Class}) == Module {
		if v := f.annotated(p.Annotation); v != nil {
			return v
		}
		if isTensorAnnotation(f.x, p.Annotation, fn) {
			return gpuValue
		}
		if p.Annotation == nil && (p.Default == nil || IsNone(p.Default)) {
			return f.byTensorUse(p.Name)
		}
		return unknownValue
	}
	return nil
}

// isFrameworkClass: Lightning modules and callbacks, Hugging Face trainers.
func (a *analysis) isFrameworkClass(x *fileIndex, c *pyscan.Class) bool {
	if d, other := a.elsewhereClass(definition{index: x, class: c}); other {
		return a.before.isFrameworkClass(d.index, d.class)
	}
	known, ok := a.framework[c]
	if ok {
		a.notes.use(a.kept.framework[c])
	} else {
		known = keep(&a.notes, a.kept.framework, c, func() bool { return a.findFramework(x, c) })
		a.framework[c] = known
	}
	return known
}

func (a *analysis) findFramework(x *fileIndex, c *pyscan.Class) bool {
	for _, path := range a.project.basePaths(definition{index: x, class: c}, 0) {
		last := path[strings.LastIndexByte(path, '.')+1:]
		switch last {
		case "LightningModule", "Callback", "Trainer", "Seq2SeqTrainer", "TrainerCallback", "SFTTrainer", "DPOTrainer", "Learner":
			return true
		}
		if strings.HasSuffix(last, "Trainer") && !strings.HasPrefix(path, "?.") || strings.HasSuffix(last, "LightningModule") {
			return true
		}
	}
	return false
}

func isTensorAnnotation(x *fileIndex, e pyscan.Expr, fn *pyscan.Function) bool {
	switch e := e.(type) {
	case *pyscan.Name, *pyscan.Attribute:
		name := lastName(e)
		return name == "Tensor" || name == "FloatTensor" || name == "LongTensor"
	case *pyscan.BinOp: // Tensor | None
		return isTensorAnnotation(x, e.Left, fn) || isTensorAnnotation(x, e.Right, fn)
	case *pyscan.Subscript:
		if lastName(e.Value) == "Optional" {
			return isTensorAnnotation(x, e.Index, fn)
		}
	case *pyscan.Constant:
		text, _ := StringValue(e)
		return text == "Tensor" || text == "torch.Tensor"
	}
	return false
}

// annotated is what an annotation says; nil for one that says nothing certain.
func (f *flow) annotated(e pyscan.Expr) *Value {
	if e == nil {
		return nil
	}
	name := lastName(e)
	if sub, ok := e.(*pyscan.Subscript); ok && lastName(sub.Value) == "Optional" {
		return f.annotated(sub.Index)
	}
	switch name {
	case "int", "float", "bool", "str", "bytes", "ndarray", "Path", "Namespace":
		return hostValue
	case "Module":
		return &Value{Kind: Module}
	case "Optimizer":
		return &Value{Kind: Optimizer}
	case "GradScaler":
		return &Value{Kind: Scaler}
	case "SummaryWriter":
		return &Value{Kind: Writer}
	}
	switch e.(type) {
	case *pyscan.Name, *pyscan.Attribute:
		if d := f.a.project.define(f.x, e, f.fn.Parent, 0); d.class != nil {
			return f.a.construct(d, nil, nil)
		}
	}
	return nil
}

// guessed is a parameter nobody is seen to pass: known by its default, or by its name in code that trains.
func (f *flow) guessed(p *pyscan.Parameter) *Value {
	if c, ok := p.Default.(*pyscan.Constant); ok {
		switch c.Kind {
		case pyscan.ConstInt, pyscan.ConstFloat:
			return numberValue
		case pyscan.ConstString:
			if d := deviceOf(nil, nil, c); d.Kind == Device && deviceWords.MatchString(p.Name) && !d.OnCPU {
				return d
			}
			return hostValue
		case pyscan.ConstTrue, pyscan.ConstFalse:
			return hostValue
		}
	}
	switch {
	case f.modules[p.Name]:
		return &Value{Kind: Module}
	case f.trains && optimizerParameter.MatchString(p.Name):
		return &Value{Kind: Optimizer}
	case f.trains && moduleWords.MatchString(p.Name) && !frameworkWords.MatchString(p.Name):
		return &Value{Kind: Module}
	}
	return unknownValue
}

var optimizerParameter = wordPattern(`(?i)^(opt|optim|optimizer|.*_(opt|optimizer))$`)

var tensorUses = wordSet("shape device dtype view reshape size permute transpose unsqueeze squeeze to float half mean sum flatten contiguous expand repeat chunk split type_as new_zeros new_ones masked_fill argmax softmax norm pow exp log clamp dim ndim T is_cuda requires_grad detach")

// byTensorUse: a parameter that forward asks for what only tensors have is one; one that it hands to a submodule or a torch
// function first lies on the GPU, in whatever container.
func (f *flow) byTensorUse(name string) *Value {
	out := unknownValue
	def := f.x.defs[f.fn]
	if def == nil {
		return out
	}
	for _, s := range f.x.tree.namedUnder(def, name) {
		if statementsOf(s, nil) != f.fn {
			continue
		}
		switch e := s.Parent.Node.(type) {
		case *pyscan.Attribute:
			if tensorUses[e.Attr] {
				return gpuValue
			}
		case *pyscan.Call:
			attr, ok := e.Func.(*pyscan.Attribute)
			if !ok || out != unknownValue || len(e.Args) == 0 || e.Args[0] != s.Node {
				continue
			}
			if isSelfName(attr.Value, f.selfName) && f.isSubmodule(attr.Attr) || strings.HasPrefix(f.x.resolve(attr, f.fn, 0), "torch.nn.functional.") {
				out = outputValue
			}
		}
	}
	return out
}

func isSelfName(e pyscan.Expr, self string) bool {
	n, ok := e.(*pyscan.Name)
	return ok && self != "" && n.ID == self
}

// isSubmodule: `self.name` of a module class is an attribute holding a module as far as is known, not a method.
func (f *flow) isSubmodule(name string) bool {
	d := definition{index: f.x, class: f.fn.Class}
	if m, _ := f.a.project.method(d, name, 0); m != nil {
		return false
	}
	v := f.attr(d, name)
	return v == nil || v.Kind == Module || v.Kind == Unknown
}

// selfOf is the name of a method's first parameter; nested functions see it too.
func selfOf(fn *pyscan.Function) string {
	for ; fn != nil; fn = fn.Parent {
		if fn.Class != nil && len(fn.Params) > 0 {
			return fn.Params[0].Name
		}
	}
	return ""
}

func methodClass(fn *pyscan.Function) *pyscan.Class {
	for ; fn != nil; fn = fn.Parent {
		if fn.Class != nil {
			return fn.Class
		}
	}
	return nil
}

// derives reports whether a class is another or derives from it.
func (a *analysis) derives(c definition, from *pyscan.Class, depth int) bool {
	if c.index == nil || c.class == nil || depth > 8 {
		return false
	}
	c = a.project.settled(c)
	if c.class == from {
		return true
	}
	for _, b := range a.basesOf(c) {
		if a.derives(b, from, depth+1) {
			return true
		}
	}
	return false
}

// argument is what a call passes for a function's i-th parameter; nil if it passes nothing.
func (f *flow) argument(c callSite, i int, p *pyscan.Parameter) *Value {
	call := c.site.Call()
	fl := f.below(c.index, c.site.Def())
	if fl == nil {
		return nil
	}
	if k := Keyword(call, p.Name); k != nil {
		return fl.noted(k.Value)
	}
	if p.KeywordOnly || p.Star != 0 {
		return nil
	}
	at := i - c.skip
	for j, arg := range call.Args {
		if _, star := arg.(*pyscan.Starred); star {
			return unknownValue
		}
		if j == at {
			return fl.noted(arg)
		}
	}
	return nil
}
