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

// loopsOf is what a file's loops and functions do directly, without other functions.
type loopInfo struct {
	// trains: loops that hold backward() or an optimizer step in no inner loop; functions that do so outside any loop.
	loops     map[*Site]bool
	functions map[*pyscan.Function]bool
	// calls are the calls directly in a loop (in no inner one), and those of a function outside its loops.
	loopCalls     map[*Site][]*Site
	functionCalls map[*pyscan.Function][]*Site
}

func (x *fileIndex) loopInfo() *loopInfo {
	x.loopsOnce.Do(func() {
		info := &loopInfo{loops: map[*Site]bool{}, functions: map[*pyscan.Function]bool{}, loopCalls: map[*Site][]*Site{}, functionCalls: map[*pyscan.Function][]*Site{}}
		for _, c := range x.tree.Calls {
			loop := enclosingLoop(c)
			trains := x.trainingCall(c.Call())
			if loop != nil {
				info.loopCalls[loop] = append(info.loopCalls[loop], c)
				if trains {
					info.loops[loop] = true
				}
				continue
			}
			def := c.Def()
			info.functionCalls[def] = append(info.functionCalls[def], c)
			if trains {
				info.functions[def] = true
			}
		}
		x.info = info
	})
	return x.info
}

// trainingCall: `….backward(…)` or an optimizer's (scaler's, engine's) `.step(…)`.
func trainingCall(call *pyscan.Call) bool {
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return false
	}
	switch attr.Attr {
	case "backward", "manual_backward":
		return true
	case "step":
		return optimizerName(attr.Value) && !schedulerWords.MatchString(lastName(attr.Value))
	}
	return false
}

var schedulerWords = wordPattern(`(?i)sched|lr_|profil`)

// trainingCall is trainingCall in a file: a backward pass alone, in a file that knows no optimizer, computes gradients to look at
// (Grad-CAM, saliency), and trains nothing.
func (x *fileIndex) trainingCall(call *pyscan.Call) bool {
	return trainingCall(call) && (lastName(call.Func) != "backward" || x.mentions("step", "optim", "Optim"))
}

// enclosingLoop is the innermost for or while statement of the same function whose body the site is in.
func enclosingLoop(s *Site) *Site {
	for at := s; at.Parent != nil; at = at.Parent {
		switch at.Parent.Node.(type) {
		case *pyscan.For:
			if at.Role == RoleBody {
				return at.Parent
			}
		case *pyscan.While:
			if at.Role == RoleBody || at.Role == RoleTest {
				return at.Parent
			}
		case *pyscan.FunctionDef, *pyscan.Lambda, *pyscan.ClassDef:
			if at.Role == RoleBody {
				return nil
			}
		}
	}
	return nil
}

// stepLoop reports whether a loop trains a step per turn: it holds backward() or an optimizer step, or calls a function that
// makes one step, in no loop inside it. A loop over epochs around such a loop is none.
func (a *analysis) stepLoop(x *fileIndex, loop *Site) bool {
	if known, ok := a.stepLoops[loop]; ok {
		return known
	}
	info := x.ready().loopInfo()
	trains := info.loops[loop]
	for _, c := range info.loopCalls[loop] {
		if trains {
			break
		}
		if a.project.mayTrain(lastName(c.Call().Func)) {
			d := a.callee(x, c)
			trains = d.def != nil && a.oneStep(d)
		}
	}
	a.stepLoops[loop] = trains
	if trains && !info.loops[loop] && a.countsEpochs(x, loop) {
		a.stepLoops[loop], trains = false, false
	}
	return trains
}

// countsEpochs: a loop over epochs that calls a function with the loop over batches is no loop of steps, even where another call in
// it (a warm-up, a preallocation) makes a single step.
func (a *analysis) countsEpochs(x *fileIndex, loop *Site) bool {
	each, ok := loop.Node.(*pyscan.For)
	if !ok || !epochNames.MatchString(lastName(each.Target)) {
		return false
	}
	for _, c := range x.loopInfo().loopCalls[loop] {
		if d := a.callee(x, c); d.def != nil && a.holdsStepLoop(d, 2) {
			return true
		}
	}
	return false
}

var epochNames = wordPattern(`(?i)epoch`)

// holdsStepLoop reports whether a function, or one it calls within the given number of calls, has a loop of steps.
func (a *analysis) holdsStepLoop(d definition, calls int) bool {
	x := d.index.ready()
	info := x.loopInfo()
	for loop := range info.loopCalls {
		if loop.Def() == d.def && a.stepLoop(x, loop) {
			return true
		}
	}
	if calls == 0 {
		return false
	}
	for _, c := range info.functionCalls[d.def] {
		if called := a.callee(x, c); called.def != nil && called.def != d.def && a.holdsStepLoop(called, calls-1) {
			return true
		}
	}
	return false
}

// oneStep reports whether a function makes one training step when called: backward() or an optimizer step outside its loops,
// in itself or in what it calls there.
func (a *analysis) oneStep(d definition) bool {
	if known, ok := a.oneSteps[d.def]; ok {
		return known
	}
	seen := map[*pyscan.Function]bool{}
	var search func(d definition) bool
	search = func(d definition) bool {
		if known, ok := a.oneSteps[d.def]; ok {
			return known
		}
		if seen[d.def] {
			return false
		}
		seen[d.def] = true
		info := d.index.ready().loopInfo()
		trains := info.functions[d.def]
		for _, c := range info.functionCalls[d.def] {
			if trains {
				break
			}
			if a.project.mayTrain(lastName(c.Call().Func)) {
				called := a.callee(d.index, c)
				trains = called.def != nil && search(called)
			}
		}
		if trains {
			a.oneSteps[d.def] = true
		}
		return trains
	}
	found := search(d)
	if !found { // then nothing it reaches makes a step either
		for fn := range seen {
			a.oneSteps[fn] = false
		}
	}
	return found
}

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
		if v := fl.values[attr.Value]; v != nil && v.Def.class != nil && (v.Kind != Callable) {
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
	if v := fl.values[c.Call().Func]; v != nil && v.Kind == Instance && v.Def.class != nil {
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

// functionHeat is the context a function is called in.
func (a *analysis) functionHeat(x *fileIndex, fn *pyscan.Function, callers int) (h *Heat, sure bool) {
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
	for _, c := range x.ready().calls["Engine"] {
		call := c.Call()
		if len(call.Args) == 0 || !strings.HasPrefix(x.calleePath(c), "ignite.engine") {
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
