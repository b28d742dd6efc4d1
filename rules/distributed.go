package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// ddpPath names PyTorch's DistributedDataParallel in resolved paths.
const ddpPath = "torch.nn.parallel.DistributedDataParallel"

// IsDDP reports whether a call wraps a model in torch's DistributedDataParallel.
func (f *Facts) IsDDP(call *pyscan.Call) bool { return f.Resolve(call.Func) == ddpPath }

// Wrapped is the call that wrapped a module value in DistributedDataParallel, with its file; nil for any other value.
func (f *Facts) Wrapped(v *Value) (*pyscan.Call, *Tree) {
	if v.Kind != Module || v.Wrapper == nil || v.WrapperPath != ddpPath || v.WrappedIn == nil {
		return nil, nil
	}
	return v.Wrapper, v.WrappedIn.ready().tree
}

// MultiRank reports whether the project runs one process per GPU: it sets up torch.distributed or a framework that does.
func (f *Facts) MultiRank() bool {
	return f.MentionsInProject("init_process_group", "DistributedDataParallel", "fully_shard", "FullyShardedDataParallel", "deepspeed.initialize", "init_device_mesh")
}

// Accumulation is a loop that adds up gradients over several backward passes before the optimizer steps.
type Accumulation struct {
	// Loop is the loop whose turns are micro-batches; Backward and Step the calls.
	Loop, Backward, Step *Site
	// Model is the expression called in the loop that is a DistributedDataParallel module; Forward is its call.
	Model   pyscan.Expr
	Forward *Site
	// Wrapper is the wrapping call, in WrapperTree.
	Wrapper     *pyscan.Call
	WrapperTree *Tree
	// Guard is the `if` around the step where it stands in the same loop, nil where the step comes after the loop.
	Guard *pyscan.If
}

// Accumulations finds gradient accumulation over DistributedDataParallel modules in the file.
func (f *Facts) Accumulations() []Accumulation {
	var out []Accumulation
	for _, b := range f.Calls {
		attr, ok := b.Call().Func.(*pyscan.Attribute)
		if !ok || attr.Attr != "backward" || frameworkWords.MatchString(lastName(attr.Value)) {
			continue
		}
		loop := enclosingLoop(b)
		if loop == nil || f.Periodic(b) {
			continue
		}
		a := Accumulation{Loop: loop, Backward: b}
		if f.findStep(&a) && f.findForward(&a) && !f.controlsGradientSync(&a) {
			out = append(out, a)
		}
	}
	return out
}

// findStep finds the optimizer step that comes after several backward passes: behind the loop, or in it under a count.
func (f *Facts) findStep(a *Accumulation) bool {
	def := a.Loop.Def()
	var behind *Site
	for _, s := range f.Calls {
		if s.Def() != def || !stepsOptimizer(s.Call()) {
			continue
		}
		if s.Under(a.Loop) {
			guard := f.countGuard(s, a.Loop)
			if guard == nil || a.Backward.Under(f.Site(guard)) {
				return false // a step for every backward pass, or another scheme
			}
			a.Step, a.Guard = s, guard
			continue
		}
		if behind == nil && s.Range().Start > a.Loop.Range().End {
			behind = s
		}
	}
	if a.Step != nil {
		return true
	}
	// The step after the loop belongs to it only where both stand in the same step: in one training loop, or in a function
	// that is one step.
	if behind == nil || f.stepsElsewhere(a.Loop) {
		return false
	}
	outer := enclosingLoop(a.Loop)
	if outer == nil && f.functionHot(def) == nil || enclosingLoop(behind) != outer {
		return false
	}
	a.Step = behind
	return true
}

func (f *Facts) functionHot(fn *pyscan.Function) *Heat {
	h, _ := f.analysis.functionHeat(f.index, fn, nil)
	return h
}

// stepsOptimizer: `….step()` of anything that can be an optimizer.
func stepsOptimizer(call *pyscan.Call) bool {
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return false
	}
	switch attr.Attr {
	case "step":
		return trainingCall(call) && !strings.Contains(strings.ToLower(lastName(attr.Value)), "prof")
	case "optimizer_step", "step_optimizer":
		return true
	}
	return false
}

// stepsElsewhere: a loop that hands its optimizer to a call may step it there.
func (f *Facts) stepsElsewhere(loop *Site) bool {
	found := false
	for _, s := range f.Calls {
		if !s.Under(loop) || found {
			continue
		}
		for _, e := range s.Call().Args {
			found = found || f.Value(e).Kind == Optimizer || optimizerWords.MatchString(lastName(e)) && lastName(e) != ""
		}
	}
	return found
}

// countGuard is the `if` between a step and its loop whose test counts turns: it holds a remainder, itself or through a flag.
func (f *Facts) countGuard(s, loop *Site) *pyscan.If {
	for up := s; up != nil && up != loop; up = up.Parent {
		if up.Parent == nil {
			return nil
		}
		branch, ok := up.Parent.Node.(*pyscan.If)
		if ok && up.Role == RoleBody && f.countsTurns(branch.Test, up.Parent, 0) {
			return branch
		}
	}
	return nil
}

func (f *Facts) countsTurns(test pyscan.Expr, at *Site, depth int) bool {
	found := false
	EachExpr(test, func(e pyscan.Expr) bool {
		switch e := e.(type) {
		case *pyscan.BinOp:
			found = found || e.Op == "%"
		case *pyscan.Name:
			if value := f.assignedTest(e, at); value != nil && depth < 3 {
				found = found || f.countsTurns(value, at, depth+1)
			}
		}
		return !found
	})
	return found
}

// findForward finds the call of the wrapped model in the loop, or the call that is handed it.
func (f *Facts) findForward(a *Accumulation) bool {
	for _, s := range f.Calls {
		if !s.Under(a.Loop) || enclosingLoop(s) != a.Loop && !enclosingLoop(s).Under(a.Loop) {
			continue
		}
		call := s.Call()
		candidates := append([]pyscan.Expr{call.Func}, call.Args...)
		for _, e := range candidates {
			if w, tree := f.Wrapped(f.Value(e)); w != nil {
				a.Model, a.Forward, a.Wrapper, a.WrapperTree = e, s, w, tree
				return true
			}
		}
	}
	return false
}

var syncControls = wordSet("no_sync require_backward_grad_sync set_requires_gradient_sync accumulate set_gradient_accumulation_steps")

// controlsGradientSync reports whether the function switches the all-reduce off for some backward passes, or may do so
// through a context manager of its own.
func (f *Facts) controlsGradientSync(a *Accumulation) bool {
	def := a.Loop.Def()
	for _, s := range f.Sites {
		if attr, ok := s.Node.(*pyscan.Attribute); ok && syncControls[attr.Attr] && s.Def() == def {
			return true
		}
	}
	if !f.MentionsInProject("no_sync", "require_backward_grad_sync") {
		return false
	}
	for up := range a.Backward.Ancestors() {
		if with, ok := up.Node.(*pyscan.With); ok && f.Autocast(with) == nil {
			return true
		}
	}
	return false
}

// NullContext is how the file can name contextlib.nullcontext, with the edit that imports it where it does not yet.
func (f *Facts) NullContext() (name string, edits []TextEdit) {
	for _, stmt := range f.File.Module.Body {
		imp, ok := stmt.(*pyscan.Import)
		if !ok {
			continue
		}
		for _, n := range imp.Names {
			bound := n.Alias
			switch {
			case imp.From && imp.Module == "contextlib" && n.Name == "nullcontext":
				if bound == "" {
					bound = n.Name
				}
				return bound, nil
			case !imp.From && n.Name == "contextlib":
				if bound == "" {
					bound = n.Name
				}
				return bound + ".nullcontext", nil
			}
		}
	}
	return "contextlib.nullcontext", []TextEdit{f.AddImport("import contextlib")}
}

// AddImport is the edit that puts an import line in front of the module's first import behind its docstring and
// `from __future__` lines.
func (t *Tree) AddImport(line string) TextEdit {
	at := 0
	for i, stmt := range t.File.Module.Body {
		imp, isImport := stmt.(*pyscan.Import)
		doc, isDoc := stmt.(*pyscan.ExprStmt)
		if isDoc && i == 0 && isText(doc.Value) || isImport && imp.Module == "__future__" {
			at = t.nextLine(stmt.Range().End)
			continue
		}
		at = t.lineStart(stmt.Range().Start)
		break
	}
	return TextEdit{File: t.File, Span: pyscan.Span{Start: at, End: at}, New: line + t.newline()}
}

// WrapIn is the edit that puts the statements body[from:to] of one block under a new header line (`with …:`), one level deeper.
// ok is false where the statements share lines or their lines are laid out unusually.
func (t *Tree) WrapIn(body []pyscan.Stmt, from, to int, header string) (TextEdit, bool) {
	first, last := body[from].Range(), body[to-1].Range()
	indent, own := t.ownLine(first.Start)
	if !own {
		return TextEdit{}, false
	}
	deeper := "    "
	if strings.HasPrefix(indent, "\t") {
		deeper = "\t"
	}
	start, end := t.lineStart(first.Start), t.lineEnd(last.End)
	if !onlyComment(t.File.Text[last.End:end]) {
		return TextEdit{}, false
	}
	var out strings.Builder
	out.WriteString(indent + header + t.newline())
	for at := start; at < end; {
		next := t.nextLine(at)
		line := t.File.Text[at:min(next, end)]
		if strings.TrimSpace(line) != "" && !t.insideString(at) {
			out.WriteString(deeper)
		}
		out.WriteString(line)
		at = next
	}
	return TextEdit{File: t.File, Span: pyscan.Span{Start: start, End: end}, New: out.String()}, true
}

var collectives = wordSet("all_reduce reduce all_gather all_gather_into_tensor reduce_scatter reduce_scatter_tensor broadcast gather scatter barrier monitored_barrier all_gather_object gather_object broadcast_object_list scatter_object_list")

// Collective is the name of the torch.distributed collective a call starts, "" for anything else. A framework's
// `wait_for_everyone` is a barrier.
func (f *Facts) Collective(s *Site) string {
	call := s.Call()
	if name, ok := strings.CutPrefix(f.Resolve(call.Func), "torch.distributed."); ok && collectives[name] {
		return name
	}
	if attr, ok := call.Func.(*pyscan.Attribute); ok && attr.Attr == "wait_for_everyone" && frameworkWords.MatchString(lastName(attr.Value)) {
		return "barrier"
	}
	return ""
}

var (
	metricWords = regexp.MustCompile(`(?i)loss|acc(uracy)?($|_|[0-9])|metric|correct|err(or)?($|_)|perplex|ppl|top_?[15]|score|meter|\bstats?\b|\bprec|reward|mse|mae`)
	notMetric   = regexp.MustCompile(`(?i)grad|norm|num_|count|tokens|boxes|weight|scale|param|inf|nan|overflow|flag|stop|signal|should|denom|batch|feat|embed|logit`)
)

// LoggedOnly reports whether what a collective combines is a metric that is only reported: its name or the call's argument
// says so, and afterwards it is read, returned or logged, and neither decides anything nor goes through backward().
func (f *Facts) LoggedOnly(s *Site, hot *Heat) bool {
	tensor := Argument(s.Call(), 0, "tensor")
	for {
		attr, ok := tensor.(*pyscan.Attribute)
		if !ok || attr.Attr != "data" {
			break
		}
		tensor = attr.Value
	}
	name, ok := tensor.(*pyscan.Name)
	if !ok || notMetric.MatchString(name.ID) {
		return false
	}
	def := s.Def()
	caller, callerIn := f.callerOf(hot)
	metric := metricWords.MatchString(name.ID)
	if !metric && caller != nil {
		for i, p := range def.Params {
			if f.parameterOf(name, s, p) {
				if arg := f.passed(caller.Call(), i, p, def); arg != nil {
					text := callerIn.tree.Text(arg)
					metric = metricWords.MatchString(text) && !notMetric.MatchString(text)
				}
			}
		}
	}
	if !metric {
		return false
	}
	names := map[string]bool{name.ID: true}
	use := f.uses(f.index, def, s, names)
	if use.decides || use.backward {
		return false
	}
	if use.returned && caller != nil {
		bound := boundNames(caller)
		if len(bound) == 0 {
			return use.read || isStatement(caller)
		}
		after := f.uses(callerIn, caller.Def(), caller, bound)
		return !after.decides && !after.backward && (use.read || after.read || after.stored)
	}
	return use.read || use.stored
}

// parameterOf: the name is the parameter, or a copy made of it before.
func (f *Facts) parameterOf(name *pyscan.Name, s *Site, p *pyscan.Parameter) bool {
	if name.ID == p.Name {
		return true
	}
	for _, a := range f.assignments(s.Def()) {
		if a.Start < s.Range().Start && len(a.Targets) == 1 && lastName(a.Targets[0]) == name.ID && mentionsName(a.Value, map[string]bool{p.Name: true}) {
			return true
		}
	}
	return false
}

// callerOf is the call that leads straight into the hot function.
func (f *Facts) callerOf(hot *Heat) (*Site, *fileIndex) {
	if hot == nil || len(hot.Calls) == 0 {
		return nil, nil
	}
	place := hot.Calls[len(hot.Calls)-1]
	x := f.project.index(place.File).ready()
	for _, s := range x.tree.Calls {
		if s.Range() == place.Span {
			return s, x
		}
	}
	return nil, nil
}

func (f *Facts) passed(call *pyscan.Call, i int, p *pyscan.Parameter, def *pyscan.Function) pyscan.Expr {
	if def.Class != nil {
		i--
	}
	return Argument(call, i, p.Name)
}

// boundNames are the names a call's result is bound to.
func boundNames(call *Site) map[string]bool {
	stmt := call.Statement()
	a, ok := stmt.Node.(*pyscan.Assign)
	if !ok || a.Value == nil {
		return nil
	}
	out := map[string]bool{}
	for _, t := range a.Targets {
		EachExpr(t, func(e pyscan.Expr) bool {
			if n, ok := e.(*pyscan.Name); ok {
				out[n.ID] = true
			}
			return true
		})
	}
	return out
}

func isStatement(s *Site) bool {
	if s.Parent == nil {
		return false
	}
	_, ok := s.Parent.Node.(*pyscan.ExprStmt)
	return ok
}

type usage struct{ decides, backward, read, returned, stored bool }

// uses looks at what a function does with names after a site: reads on the host, logs, stores, returns, tests, backward.
func (f *Facts) uses(x *fileIndex, def *pyscan.Function, after *Site, names map[string]bool) usage {
	var u usage
	for _, s := range x.tree.Sites {
		if s.Range().Start < after.Range().Start || s.Def() != def {
			continue
		}
		switch n := s.Node.(type) {
		case *pyscan.Assign:
			if n.Value != nil && mentionsName(n.Value, names) && s != after.Statement() {
				for _, t := range n.Targets {
					if name, ok := t.(*pyscan.Name); ok {
						names[name.ID] = true
					}
				}
			}
		case *pyscan.AugAssign:
			if mentionsName(n.Value, names) && !mentionsName(n.Target, names) {
				u.stored = true
			}
		case *pyscan.If:
			u.decides = u.decides || mentionsName(n.Test, names)
		case *pyscan.While:
			u.decides = u.decides || mentionsName(n.Test, names)
		case *pyscan.Return:
			if n.Value != nil && mentionsName(n.Value, names) {
				u.returned = true
			}
		case *pyscan.Call:
			f.callUse(&u, n, names)
		}
	}
	return u
}

func (f *Facts) callUse(u *usage, call *pyscan.Call, names map[string]bool) {
	attr, isMethod := call.Func.(*pyscan.Attribute)
	if isMethod && mentionsName(attr.Value, names) {
		switch attr.Attr {
		case "backward":
			u.backward = true
		case "item", "tolist", "cpu", "numpy":
			u.read = true
		}
		return
	}
	handed := false
	for _, a := range call.Args {
		handed = handed || mentionsName(a, names)
	}
	for _, k := range call.Keywords {
		handed = handed || mentionsName(k.Value, names)
	}
	if !handed {
		return
	}
	switch name := lastName(call.Func); {
	case name == "backward" || name == "scale":
		u.backward = true
	case name == "print" || name == "float" || name == "int" || isMethod && (logLevels[name] || strings.HasPrefix(name, "add_scalar") || name == "log" || name == "log_dict" || name == "set_postfix" || name == "set_description"):
		u.read = true
	case isMethod && (name == "append" || name == "update"):
		u.stored = true
	}
}

// mentionsName reports whether an expression reads one of the names.
func mentionsName(e pyscan.Expr, names map[string]bool) bool {
	found := false
	EachExpr(e, func(e pyscan.Expr) bool {
		if n, ok := e.(*pyscan.Name); ok {
			found = found || names[n.ID]
		}
		return !found
	})
	return found
}

var savesFiles = regexp.MustCompile(`(?i)save|load|makedirs|mkdir|download|write|remove|unlink|destroy|exists|checkpoint`)

// AroundFiles reports whether the block of a site works on files, so that a barrier there orders what the ranks see.
func (f *Facts) AroundFiles(s *Site) bool {
	stmt := s.Statement()
	for _, other := range blockOf(stmt, f.File) {
		found := false
		EachExprIn(other, func(e pyscan.Expr) bool {
			if call, ok := e.(*pyscan.Call); ok {
				found = found || savesFiles.MatchString(lastName(call.Func))
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// LoopBody is the body of a for or while loop.
func (f *Facts) LoopBody(loop *Site) []pyscan.Stmt {
	switch n := loop.Node.(type) {
	case *pyscan.For:
		return n.Body
	case *pyscan.While:
		return n.Body
	}
	return nil
}

// AssignsAny reports whether statements bind a name that the Python text names.
func (f *Facts) AssignsAny(body []pyscan.Stmt, text string) bool {
	named := map[string]bool{}
	for _, word := range identifiers.FindAllString(text, -1) {
		named[word] = true
	}
	found := false
	for _, stmt := range body {
		EachStmt(stmt, func(s pyscan.Stmt) bool {
			switch s := s.(type) {
			case *pyscan.Assign:
				for _, t := range s.Targets {
					found = found || mentionsName(t, named)
				}
			case *pyscan.AugAssign:
				found = found || mentionsName(s.Target, named)
			}
			return !found
		})
	}
	return found
}

var identifiers = regexp.MustCompile(`[A-Za-z_]\w*`)

// OnlyIfDistributed reports whether a wrapping call stands under a condition, so that the model may also be a plain one.
func (f *Facts) OnlyIfDistributed(wrapper *pyscan.Call, tree *Tree) bool {
	s := tree.Site(wrapper)
	if s == nil {
		return true
	}
	for up := range s.Ancestors() {
		switch up.Node.(type) {
		case *pyscan.If, *pyscan.IfExp, *pyscan.Try:
			return true
		case *pyscan.FunctionDef:
			return false
		}
	}
	return false
}

// UsesCUDAIndex reports whether a call's module runs on the CPU only, where device wrappers do nothing.
func (f *Facts) UsesCUDAIndex(call *pyscan.Call) bool {
	m := Argument(call, 0, "module")
	return m != nil && f.Value(m).Kind == Module && f.Value(m).OnCPU
}

// ParameterUse says how a model of the project uses its layers.
type ParameterUse struct {
	// Class is the model's class, nil where it is not in the project; File its file.
	Class *pyscan.Class
	File  *pyscan.File
	// Conditional: some layers run only under a condition, or the model picks among experts or drops layers.
	Conditional bool
	// Unused are layers that __init__ makes and nothing else names.
	Unused []UnusedLayer
}

// UnusedLayer is an attribute that holds a layer which takes no part in forward.
type UnusedLayer struct {
	Name string
	Span pyscan.Span
}

var dropWords = regexp.MustCompile(`(?i)expert|\bmoe|moe\b|router|layer_?drop|freeze|unfreeze|requires_grad`)

// ParameterUse looks at the class of a module expression, and the project's classes below it.
func (f *Facts) ParameterUse(e pyscan.Expr) ParameterUse {
	if e == nil {
		return ParameterUse{}
	}
	v := f.Value(e)
	if v.Kind != Module || v.Def.class == nil {
		return ParameterUse{}
	}
	use := ParameterUse{Class: v.Def.class, File: v.Def.index.file}
	for _, d := range f.analysis.modulesBelow(v.Def) {
		own := d.index.file.Text[d.class.Start:d.class.End]
		use.Conditional = use.Conditional || dropWords.MatchString(own) || f.conditionalLayers(d)
	}
	if len(v.Def.class.Bases) == 1 && f.analysis.directModule(v.Def) {
		use.Unused = unusedLayers(v.Def)
	}
	return use
}

// directModule reports whether a class derives from torch.nn.Module itself: then nothing inherited uses its attributes.
func (a *analysis) directModule(d definition) bool {
	paths := a.project.basePaths(d, 0)
	return len(paths) == 1 && paths[0] == "torch.nn.Module"
}

// modulesBelow are a module class and the project's module classes that its methods (and theirs) make.
func (a *analysis) modulesBelow(d definition) []definition {
	var out []definition
	seen := map[*pyscan.Class]bool{}
	var add func(d definition)
	add = func(d definition) {
		if d.class == nil || seen[d.class] || a.classKind(d) != Module || len(out) > 200 {
			return
		}
		seen[d.class] = true
		out = append(out, d)
		for _, b := range a.basesOf(d) {
			add(b)
		}
		x := d.index.ready()
		for _, s := range x.tree.Calls {
			if d.class.Span.Covers(s.Range()) {
				if made := a.project.define(x, s.Call().Func, s.Function, 0); made.class != nil {
					add(made)
				}
			}
		}
	}
	add(d)
	return out
}

// conditionalLayers reports whether a module's forward calls attributes of self under a condition, or leaves early.
func (f *Facts) conditionalLayers(d definition) bool {
	fwd, in := f.project.method(d, "forward", 0)
	if fwd == nil {
		return true
	}
	self := selfOf(fwd)
	for _, s := range in.ready().tree.Sites {
		if s.Def() != fwd {
			continue
		}
		switch n := s.Node.(type) {
		case *pyscan.If:
			for _, stmt := range append(append([]pyscan.Stmt(nil), n.Body...), n.Else...) {
				if leavesOrCallsSelf(stmt, self) {
					return true
				}
			}
		case *pyscan.IfExp:
			if callsSelf(n.Body, self) || callsSelf(n.Else, self) {
				return true
			}
		case *pyscan.Try:
			return true
		}
	}
	return false
}

func leavesOrCallsSelf(stmt pyscan.Stmt, self string) bool {
	found := false
	eachIn(stmt, func(n pyscan.Node) bool {
		switch n := n.(type) {
		case *pyscan.Simple:
			found = found || n.Keyword != "pass"
		case *pyscan.Return:
			found = true
		case *pyscan.Call:
			found = found || callsSelf(n, self)
		}
		return !found
	})
	return found
}

func callsSelf(e pyscan.Expr, self string) bool {
	found := false
	EachExpr(e, func(e pyscan.Expr) bool {
		if call, ok := e.(*pyscan.Call); ok {
			fn := call.Func
			if sub, ok := fn.(*pyscan.Subscript); ok {
				fn = sub.Value
			}
			if attr, ok := fn.(*pyscan.Attribute); ok && isSelfName(attr.Value, self) {
				found = true
			}
			if _, ok := fn.(*pyscan.Name); ok { // a layer of a loop
				found = found || len(call.Args) > 0
			}
		}
		return !found
	})
	return found
}

// unusedLayers: attributes that __init__ binds to a torch.nn layer and the class never names again.
func unusedLayers(d definition) []UnusedLayer {
	x := d.index.ready()
	count := map[string]int{}
	var made []UnusedLayer
	for _, s := range x.tree.Sites {
		attr, ok := s.Node.(*pyscan.Attribute)
		if !ok {
			continue
		}
		count[attr.Attr]++
		def := s.Def()
		if s.Role != RoleTarget || def == nil || def.Class != d.class || def.Name != "__init__" || !isSelfName(attr.Value, selfOf(def)) {
			continue
		}
		a, ok := s.Parent.Node.(*pyscan.Assign)
		if !ok {
			continue
		}
		call, ok := a.Value.(*pyscan.Call)
		if ok && strings.HasPrefix(x.resolve(call.Func, s.Function, 0), "torch.nn.") && parametered[lastName(call.Func)] {
			made = append(made, UnusedLayer{Name: attr.Attr, Span: attr.Range()})
		}
	}
	var out []UnusedLayer
	own := x.file.Text[d.class.Start:d.class.End]
	if strings.Contains(own, "getattr(") || strings.Contains(own, "children(") || strings.Contains(own, "modules(") || strings.Contains(own, "_modules") {
		return nil
	}
	for _, m := range made {
		if count[m.Name] == 1 {
			out = append(out, m)
		}
	}
	return out
}

var parametered = wordSet("Linear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding LayerNorm BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm LSTM GRU RNN MultiheadAttention Bilinear")
