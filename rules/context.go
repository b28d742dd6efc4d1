package rules

import (
	"cmp"
	"fmt"
	"strings"

	"stepline/pyscan"
)

// HeatKind says why code runs often.
type HeatKind uint8

const (
	// InLoop: lexically in a training loop (LOOP in the catalogue).
	InLoop HeatKind = iota + 1
	// Reached: in a function called from such a loop, across files (REACH).
	Reached
	// InHook: in a method a training framework calls every step; counts as LOOP.
	InHook
	// InForward: in nn.Module.forward or a function it calls (FWD).
	InForward
	// OptimizerStep: in an optimizer's step or a method it calls (STEP).
	OptimizerStep
	// InItem: in Dataset.__getitem__/__iter__ or a collate function, or what they call (GETITEM, COLLATE).
	InItem
)

// Heat is a context that runs every step, with the places that show it.
type Heat struct {
	Kind HeatKind
	// Name is the function concerned: "Net.forward", "training_step"; "" in a loop of its own function.
	Name string
	// Loop is the training loop, nil where there is none in sight (hooks, forward).
	Loop *Place
	// Class is the dataset's class for InItem, nil for collate functions.
	Class *pyscan.Class
	// Evaluation: the way leads through an evaluation function, or through code without gradients (guard g2).
	Evaluation bool
	// Saves: the way leads through a function that writes a checkpoint, which no training does in every step but by mistake (IOL001).
	Saves bool
	// Calls lead from the loop (or hook) to the function, outermost first.
	Calls []Place
}

// Place is a span of a file.
type Place struct {
	File *pyscan.File
	Span pyscan.Span
}

// When is the context in words, to end a sentence with.
func (h *Heat) When() string {
	switch h.Kind {
	case InForward:
		return fmt.Sprintf("in every call of `%s`", h.Name)
	case InHook:
		return fmt.Sprintf("in every step (`%s`)", h.Name)
	case OptimizerStep:
		return fmt.Sprintf("in every optimizer step (`%s`)", h.Name)
	case InItem:
		return fmt.Sprintf("for every item (`%s`)", h.Name)
	}
	return "in every training step"
}

// Related lists the loop and the calls for a finding.
func (h *Heat) Related() []Related {
	var out []Related
	if h.Loop != nil {
		out = append(out, Related{File: h.Loop.File, Span: h.Loop.Span, Message: "the training loop"})
	}
	for _, c := range h.Calls {
		out = append(out, Related{File: c.File, Span: c.Span, Message: "called here"})
	}
	return out
}

var (
	trainHooks = wordSet("training_step compute_loss training_step_end on_train_batch_start on_train_batch_end on_before_zero_grad on_after_backward optimizer_step " +
		"on_step_begin on_step_end on_substep_end on_pre_optimizer_step on_optimizer_step before_batch after_pred after_loss before_backward after_batch")
	evalHooks = wordSet("validation_step test_step predict_step prediction_step")
	stepNames = wordPattern(`(?i)^_?(train|training|optimi[sz]e|update|run|do|fit|learn)_?(step|batch|iteration|iter|parameters|one_batch|one_step|params|on_batch|minibatch)$|^_?step_?(batch|train)?$|^train_single_(batch|step)$`)
	evalNames = wordPattern(`(?i)(^|_)(eval|evaluate|evaluation|validate|validation|val|test|predict|prediction|infer|inference|sample|generate)(_|$)|^(eval|valid|test|predict|infer)`)
)

// callee finds the project's function a call runs: by name, by self's class, or by the value of its receiver.
func (a *analysis) callee(x *fileIndex, c *Site) definition {
	call := c.Call()
	if d := a.project.define(x, call.Func, c.Function, 0); d.def != nil {
		return d
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return a.calledObject(x, c)
	}
	if name, isName := attr.Value.(*pyscan.Name); isName {
		if fn := c.Def(); fn != nil && selfOf(fn) == name.ID {
			if class := methodClass(fn); class != nil {
				if m, in := a.project.method(definition{index: x, class: class}, attr.Attr, 0); m != nil {
					return definition{index: in, def: m}
				}
			}
		}
	}
	if fl := a.at(x, c.Def(), topLevel); fl != nil {
		if v := fl.kept(attr.Value); v != nil && v.Def.class != nil && (v.Kind != Callable) {
			if m, in := a.project.method(v.Def, attr.Attr, 0); m != nil {
				return definition{index: in, def: m}
			}
		}
	}
	return definition{}
}

// calledObject finds the `__call__` of an object of the project: timm's and MAE's `loss_scaler(loss, optimizer)` trains there.
func (a *analysis) calledObject(x *fileIndex, c *Site) definition {
	fl := a.at(x, c.Def(), topLevel)
	if fl == nil {
		return definition{}
	}
	if v := fl.kept(c.Call().Func); v != nil && v.Kind == Instance && v.Def.class != nil {
		if m, in := a.project.method(v.Def, "__call__", 0); m != nil {
			return definition{index: in, def: m}
		}
	}
	return definition{}
}

// heat is the context a site runs in every step, nil if it runs once, rarely, or in no training.
func (a *analysis) heat(x *fileIndex, s *Site) *Heat {
	h, _ := a.siteHeat(x, s, maxCallers)
	return h
}

// siteHeat is heat on the way through at most the given number of callers. sure is false where that number cut the search short:
// a longer way may be hotter.
func (a *analysis) siteHeat(x *fileIndex, s *Site, callers int) (h *Heat, sure bool) {
	for loop := enclosingLoop(s); loop != nil; loop = enclosingLoop(loop) {
		if a.stepLoop(x, loop) {
			return &Heat{Kind: InLoop, Loop: &Place{x.file, headerSpan(x.tree, loop)}}, true
		}
	}
	return a.functionHeat(x, s.Def(), callers)
}

// maxCallers bounds how many calls a chain from the loop to the code may have.
const maxCallers = 6

// heatKey is a function and how many calls up the search may still go. Answers are kept by both: so a cycle ends by itself, what is
// found does not depend on the order of the questions, and a project of many callers costs six looks at each of them at most.
type heatKey struct {
	fn      *pyscan.Function
	callers int
}

// findHeat is functionHeat, without note of what it rests on.
func (a *analysis) findHeat(x *fileIndex, fn *pyscan.Function, callers int) (h *Heat, sure bool) {
	if h, ok := a.heats[fn]; ok {
		return h, true
	}
	if fn == nil || fn.Name == "<module>" {
		return nil, true
	}
	key := heatKey{fn, callers}
	if h, ok := a.cutHeats[key]; ok {
		return h, false
	}
	sure = true
	h = a.ownHeat(x, fn)
	if h == nil && callers == 0 {
		return nil, false
	}
	if h == nil {
		h, sure = a.calledHeat(x, fn, callers-1)
	}
	if h == nil && sure && stepNames.MatchString(fn.Name) && a.oneStep(definition{index: x, def: fn}) && len(a.callersOf(x, fn)) == 0 {
		h = &Heat{Kind: InHook, Name: fn.Name}
	}
	if sure {
		a.heats[fn] = h
	} else {
		a.cutHeats[key] = h
	}
	return h, sure
}

// ownHeat: what a function is by its name and class.
func (a *analysis) ownHeat(x *fileIndex, fn *pyscan.Function) *Heat {
	name := fn.QualName
	if fn.Class == nil {
		if strings.Contains(fn.Name, "collate") {
			return &Heat{Kind: InItem, Name: fn.Name}
		}
		return nil
	}
	d := definition{index: x, class: fn.Class}
	switch {
	case trainHooks[fn.Name] || evalHooks[fn.Name]:
		if a.isFrameworkClass(x, fn.Class) {
			return &Heat{Kind: InHook, Name: fn.Name}
		}
	case fn.Name == "forward":
		if a.classKind(d) == Module {
			return &Heat{Kind: InForward, Name: name}
		}
	case fn.Name == "step":
		if a.classKind(d) == Optimizer {
			return &Heat{Kind: OptimizerStep, Name: name}
		}
	case fn.Name == "__getitem__" || fn.Name == "__getitems__" || fn.Name == "__iter__":
		if a.classKind(d) == Dataset {
			return &Heat{Kind: InItem, Name: name, Class: fn.Class}
		}
	case fn.Name == "__call__" && strings.Contains(strings.ToLower(fn.Class.Name), "collat"):
		return &Heat{Kind: InItem, Name: name}
	}
	return nil
}

// calledHeat follows the callers: the hottest call that is not periodic decides, of equally hot ones the shortest way. A loop comes
// before forward, forward before the rest.
func (a *analysis) calledHeat(x *fileIndex, fn *pyscan.Function, callers int) (best *Heat, sure bool) {
	sure = true
	consider := func(in *fileIndex, s *Site) {
		if in.tree.Periodic(s) || evalNames.MatchString(fn.Name) && a.evaluation(in, s) {
			return
		}
		if saveNames.MatchString(fn.Name) && underComparison(s) {
			return // a checkpoint of the best model, or at the end
		}
		h, known := a.siteHeat(in, s, callers)
		sure = sure && known
		if h == nil {
			return
		}
		called := *h
		if testPath.MatchString(in.file.Path) && !testPath.MatchString(x.file.Path) {
			return // what tests do says nothing of training
		}
		called.Evaluation = h.Evaluation || a.evaluation(in, s)
		called.Saves = h.Saves || saveNames.MatchString(fn.Name)
		if best != nil && cmp.Or(cmp.Compare(best.coldness(), called.coldness()), cmp.Compare(len(best.Calls), len(h.Calls)+1)) <= 0 {
			return
		}
		if h.Kind == InLoop {
			called.Kind = Reached
		}
		called.Calls = append(append([]Place(nil), h.Calls...), Place{in.file, s.Range()})
		best = &called
	}
	for _, c := range a.callersOf(x, fn) {
		consider(c.index, c.site)
	}
	if best == nil && a.runByEngine(x, fn) {
		best = &Heat{Kind: InHook, Name: fn.Name}
	}
	if site := x.ready().defs[fn]; best == nil && site != nil && (fn.Name == "closure" || fn.Name == "<lambda>") {
		consider(x, site)
	}
	return best, sure
}

// runByEngine reports whether a function is what an Ignite engine runs for every batch: `Engine(train_step)`. An engine whose function
// makes no training step evaluates.
func (a *analysis) runByEngine(x *fileIndex, fn *pyscan.Function) bool {
	in := x.ready()
	if x.edit != nil { // engines are made elsewhere in the file
		in = x.edit.base
	}
	for _, c := range in.calls["Engine"] {
		call := c.Call()
		if len(call.Args) == 0 || !strings.HasPrefix(in.calleePath(c), "ignite.engine") {
			continue
		}
		if name, ok := call.Args[0].(*pyscan.Name); ok && name.ID == fn.Name {
			return a.oneStep(definition{index: x, def: fn})
		}
	}
	return false
}

var saveNames = wordPattern(`(?i)(^|_)(save|checkpoint|checkpoints|ckpt)(_|$)`)

// coldness orders contexts: training before evaluation, a loop before forward, forward before the rest.
func (h *Heat) coldness() int {
	if h.Evaluation {
		return 10 + rank(h.Kind)
	}
	return rank(h.Kind)
}

func rank(k HeatKind) int {
	return [...]int{InLoop: 0, Reached: 0, InHook: 1, OptimizerStep: 2, InForward: 3, InItem: 4}[k]
}

// evaluation: under no_grad or inference_mode, or in an evaluation function or hook (g2).
func (a *analysis) evaluation(x *fileIndex, s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		switch up := at.Parent.Node.(type) {
		case *pyscan.With:
			for _, item := range up.Items {
				if noGrad(item.Context) {
					return true
				}
			}
		case *pyscan.If: // `if not self.training:`
			negated := false
			test := up.Test
			if u, ok := test.(*pyscan.UnaryOp); ok && u.Op == "not" {
				negated, test = true, u.Operand
			}
			if attr, ok := test.(*pyscan.Attribute); ok && attr.Attr == "training" && (negated && at.Role == RoleBody || !negated && at.Role == RoleElse) {
				return true
			}
		}
	}
	for fn := s.Def(); fn != nil; fn = fn.Parent {
		if evalHooks[fn.Name] || evalNames.MatchString(fn.Name) && fn.Name != "<module>" {
			return true
		}
		for _, d := range fn.Decorators {
			if noGrad(d) {
				return true
			}
		}
	}
	return false
}

func noGrad(e pyscan.Expr) bool {
	name := lastName(e) // also wrappers of a project's own: smart_inference_mode
	return strings.HasSuffix(name, "no_grad") || strings.HasSuffix(name, "inference_mode")
}

// headerSpan is the line(s) of a compound statement's header.
func headerSpan(t *Tree, s *Site) pyscan.Span {
	switch n := s.Node.(type) {
	case *pyscan.For:
		return n.Header
	case *pyscan.While:
		return n.Header
	case *pyscan.With:
		return n.Header
	case *pyscan.If:
		return n.Header
	}
	return s.Range()
}
