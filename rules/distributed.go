package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// DDP names PyTorch's DistributedDataParallel in resolved paths.
const DDP = "torch.nn.parallel.DistributedDataParallel"

// Wrapped is the call that wrapped a module value in DistributedDataParallel, with its file; nil for any other value.
func (f *Facts) Wrapped(v *Value) (*pyscan.Call, *Tree) {
	if v.Kind != Module || v.Wrapper == nil || v.WrapperPath != DDP || v.WrappedIn == nil {
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
	// Loop is the loop whose turns are micro-batches; Backward and Step the calls. Backward is the call of `backward` or of a
	// function of the project that makes one backward pass.
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
	distributed := f.MentionsInProject("DistributedDataParallel")
	for _, b := range f.Calls {
		if !distributed {
			break
		}
		loop := enclosingLoop(b)
		if loop == nil || !callsBackward(b) && !f.makesBackward(b) || f.Periodic(b) {
			continue
		}
		a := Accumulation{Loop: loop, Backward: b}
		if f.findStep(&a) && f.findForward(&a) && !f.controlsGradientSync(&a) {
			out = append(out, a)
		}
	}
	return out
}

// callsBackward: `….backward()` of anything but a framework's engine, which knows of accumulation itself.
func callsBackward(s *Site) bool {
	attr, ok := s.Call().Func.(*pyscan.Attribute)
	return ok && attr.Attr == "backward" && !frameworkWords.MatchString(lastName(attr.Value))
}

// makesBackward: the call of a function of the project that makes backward passes, none of them in a loop of its own, steps no
// optimizer, and says nothing of when gradients are summed.
func (f *Facts) makesBackward(s *Site) bool {
	d := f.analysis.callee(f.index, s)
	if d.def == nil {
		return false
	}
	tree, found := d.index.ready().tree, false
	for _, c := range tree.callsIn(d.def) {
		switch {
		case stepsOptimizer(c.Call()):
			return false
		case callsBackward(c) && c.Def() == d.def:
			if enclosingLoop(c) != nil {
				return false
			}
			found = true
		}
	}
	for _, part := range tree.in(d.def) {
		if attr, ok := part.Node.(*pyscan.Attribute); ok && syncControls[attr.Attr] {
			return false
		}
	}
	return found
}

// findStep finds the optimizer step that comes after several backward passes: behind the loop, or in it under a count.
func (f *Facts) findStep(a *Accumulation) bool {
	def := a.Loop.Def()
	var behind *Site
	for _, s := range f.callsIn(def) {
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
	h, _ := f.analysis.functionHeat(f.index, fn, maxCallers)
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
	for _, s := range f.below(loop) {
		if _, ok := s.Node.(*pyscan.Call); !ok || !s.Under(loop) || found {
			continue
		}
		for _, e := range s.Call().Args {
			found = found || f.Value(e).Kind == Optimizer || optimizerWords.MatchString(lastName(e)) && lastName(e) != ""
		}
	}
	return found
}

// countGuard is the `if` between a step and its loop whose test counts turns: it holds a remainder or names accumulation,
// itself or through a flag.
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
		case *pyscan.Attribute:
			found = found || accumulationWords.MatchString(e.Attr)
		case *pyscan.Name:
			found = found || accumulationWords.MatchString(e.ID)
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
	for _, s := range f.below(a.Loop) {
		if _, ok := s.Node.(*pyscan.Call); !ok || !s.Under(a.Loop) || enclosingLoop(s) != a.Loop && !enclosingLoop(s).Under(a.Loop) {
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
	for _, s := range f.in(def) {
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

// ModuleOnCPU reports whether a call's module runs on the CPU only, where device wrappers do nothing.
func (f *Facts) ModuleOnCPU(call *pyscan.Call) bool {
	m := Argument(call, 0, "module")
	return m != nil && f.Value(m).Kind == Module && f.Value(m).OnCPU
}
