package rules

import "stepline/pyscan"

// Which loops are loops of training steps: those that hold backward() or an optimizer step, or call a function that makes one step.

// loopInfo is what a file's loops and functions do directly, without other functions.
type loopInfo struct {
	// loops hold backward() or an optimizer step in no inner loop; functions do so outside any loop.
	loops     map[*Site]bool
	functions map[*pyscan.Function]bool
	// loopCalls are the calls directly in a loop (in no inner one), functionCalls those of a function outside its loops.
	loopCalls     map[*Site][]*Site
	functionCalls map[*pyscan.Function][]*Site
	// renames are the names that imports and assignments give to what has another name: `from steps import one_step as step`.
	renames []rename
}

// rename is one name more for what is called of (the last part of its path).
type rename struct{ name, of string }

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
		for _, s := range x.scopes {
			for name, b := range s {
				if of := b.renames(); of != "" && of != name {
					info.renames = append(info.renames, rename{name, of})
				}
			}
		}
		x.info = info
	})
	return x.info
}

// renames is the last part of what a binding stands for, as define follows it; "" for definitions and other values.
func (b *binding) renames() string {
	if b.path != "" {
		return lastPart(b.path)
	}
	switch b.alias.(type) {
	case *pyscan.Name, *pyscan.Attribute:
		return lastName(b.alias)
	}
	return ""
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
	if a.before != nil && x != a.project.edit.index {
		return a.before.stepLoop(x, loop)
	}
	if known, ok := a.stepLoops[loop]; ok {
		a.notes.use(a.kept.loop(loop))
		return known
	}
	a.notes.begin()
	trains := a.findStepLoop(x, loop)
	a.kept.loops[loop] = a.notes.end()
	a.notes.use(a.kept.loops[loop])
	return trains
}

func (a *analysis) findStepLoop(x *fileIndex, loop *Site) bool {
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
	a.stepLoops[loop] = trains // for a function that calls itself
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
	if x, fn, other := a.elsewhere(d.index, d.def); other {
		return a.before.oneStep(definition{index: x, def: fn})
	}
	if known, ok := a.oneSteps[d.def]; ok {
		a.notes.use(a.kept.steps[d.def])
		return known
	}
	a.notes.begin()
	known, about := a.findOneStep(d)
	on := a.notes.end()
	a.notes.use(on)
	for _, fn := range about {
		a.kept.steps[fn] = on
	}
	return known
}

// findOneStep is oneStep, with the functions it has found that of.
func (a *analysis) findOneStep(d definition) (trains bool, about []*pyscan.Function) {
	seen := map[*pyscan.Function]bool{}
	var search func(d definition) bool
	search = func(d definition) bool {
		if x, fn, other := a.elsewhere(d.index, d.def); other {
			return a.before.oneStep(definition{index: x, def: fn})
		}
		if known, ok := a.oneSteps[d.def]; ok {
			a.notes.use(a.kept.steps[d.def])
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
			about = append(about, d.def)
		}
		return trains
	}
	found := search(d)
	if !found { // then nothing it reaches makes a step either
		for fn := range seen {
			a.oneSteps[fn] = false
			about = append(about, fn)
		}
	}
	return found, about
}

// mayTrain reports whether a function of that name may make a training step; false is certain.
func (p *Project) mayTrain(name string) bool {
	if p.edit != nil {
		return p.before.mayTrain(name) || p.edit.trains(name)
	}
	may := p.trainingName(name)
	if !may {
		p.notes.trainsNothing(name)
	}
	return may
}

func (p *Project) trainingName(name string) bool {
	p.trainOnce.Do(func() {
		p.callingFiles("") // makes the index
		p.training = p.names.training
		if len(p.changed) > 0 {
			p.training = trainingNames(p.changed, p.names.training)
			if len(p.training) > len(p.names.training) { // the other files may call what is new
				p.training = trainingNames(p.files, p.training)
			}
		}
	})
	return p.training[name] || p.training["__call__"] // an object of any name may train where it is called
}

// trainingNames is the set of names of functions that hold a training call outside their loops, closed over calls by name and over
// renames; known is a set to begin with.
func trainingNames(files []*fileIndex, known map[string]bool) map[string]bool {
	out := make(map[string]bool, len(known))
	for name := range known {
		out[name] = true
	}
	for grown := true; grown; {
		grown = false
		for _, x := range files {
			info := x.ready().loopInfo()
			add := func(name string) {
				if !out[name] {
					out[name], grown = true, true
				}
			}
			for fn := range info.functions {
				add(fn.Name)
			}
			for _, r := range info.renames {
				if out[r.of] {
					add(r.name)
				}
			}
			for fn, calls := range info.functionCalls {
				if fn == nil || out[fn.Name] {
					continue
				}
				for _, c := range calls {
					if out[lastName(c.Call().Func)] {
						add(fn.Name)
						break
					}
				}
			}
		}
	}
	return out
}

// trains tells whether one of the changed definitions of that name holds a training call.
func (e *edit) trains(name string) bool {
	for fn := range e.index.ready().loopInfo().functions {
		if fn.Name == name {
			return true
		}
	}
	return false
}
