package rules

import (
	"strings"

	"stepline/pyscan"
)

// ProfilerUse is one torch.profiler.profile call and how the code uses what it makes.
type ProfilerUse struct {
	Site *Site
	Call *pyscan.Call
	// With is the with statement that runs it, nil where it is started otherwise.
	With *Site
	// Name is the variable that holds it, "" if none does.
	Name string
	// Stepped: `.step()` is called on it. Escapes: it is handed on, so that other code may step it.
	Stepped, Escapes bool
}

// Profilers are the torch.profiler.profile calls of the file.
func (f *Facts) Profilers() []ProfilerUse {
	if !f.profilersDone {
		f.profilers, f.profilersDone = f.findProfilers(), true
	}
	return f.profilers
}

func (f *Facts) findProfilers() []ProfilerUse {
	if !f.index.mentions("profile") {
		return nil
	}
	var out []ProfilerUse
	for _, s := range f.Calls {
		switch f.Resolve(s.Call().Func) {
		case "torch.profiler.profile", "torch.profiler.profiler.profile":
		default:
			continue
		}
		u := ProfilerUse{Site: s, Call: s.Call()}
		f.bindProfiler(&u)
		if u.Name != "" {
			f.followProfiler(&u)
		}
		out = append(out, u)
	}
	return out
}

// bindProfiler finds the with statement or the variable: `with profile(…) as p`, `with (profile(…) if on else nullcontext()) as p`,
// `p = profile(…)`; a call anywhere else escapes.
func (f *Facts) bindProfiler(u *ProfilerUse) {
	at := u.Site
	for up := range u.Site.Ancestors() {
		switch n := up.Node.(type) {
		case *pyscan.IfExp:
			at = up
			continue
		case *pyscan.With:
			u.With = up
			for _, item := range n.Items {
				if item.Context == at.Node {
					if name, ok := item.Target.(*pyscan.Name); ok {
						u.Name = name.ID
					} else {
						u.Escapes = item.Target != nil
					}
				}
			}
			return
		case *pyscan.Assign:
			if len(n.Targets) == 1 && n.Value == at.Node {
				if name, ok := n.Targets[0].(*pyscan.Name); ok {
					u.Name = name.ID
					return
				}
			}
		}
		u.Escapes = true
		return
	}
}

// followProfiler looks at every use of the variable in the function and the functions inside it.
func (f *Facts) followProfiler(u *ProfilerUse) {
	def := u.Site.Def()
	until := def.End // the variable's next binding
	for _, s := range f.named(u.Name) {
		name, ok := s.Node.(*pyscan.Name)
		if ok && name.ID == u.Name && s.Role == RoleTarget && s.Def() == def && name.Start > u.Call.End && !sameBinding(s, u) && !otherBranch(s, u.Site) {
			until = min(until, name.Start)
		}
	}
	for _, s := range f.named(u.Name) {
		name, ok := s.Node.(*pyscan.Name)
		if !ok || name.ID != u.Name || !within(s.Def(), def) || s.Role == RoleTarget {
			continue
		}
		if s.Def() == def && (name.Start < u.Call.Start || name.Start >= until) {
			continue
		}
		switch p := s.Parent.Node.(type) {
		case *pyscan.Attribute:
			if p.Attr == "step" || p.Attr == "__getattribute__" {
				u.Stepped = true
			}
		case *pyscan.With:
			u.With = s.Parent
			for _, item := range p.Items {
				if inner, ok := item.Target.(*pyscan.Name); ok && item.Context == pyscan.Expr(name) && inner.ID != u.Name {
					u.Escapes = true
				}
			}
		case *pyscan.Compare, *pyscan.If, *pyscan.UnaryOp, *pyscan.BoolOp:
		default:
			u.Escapes = true
		}
	}
}

// otherBranch reports whether a binding stands in a branch that the profiler's own binding is not in, such as the else of `if profile:`.
func otherBranch(target, made *Site) bool {
	for at := target.Statement(); at != nil && at.Parent != nil; at = at.Parent {
		if _, ok := at.Parent.Node.(*pyscan.If); !ok {
			continue
		}
		shared := false
		for own := made; own.Parent != nil; own = own.Parent {
			shared = shared || own.Parent == at.Parent && own.Role == at.Role
		}
		if !shared {
			return true
		}
	}
	return false
}

// sameBinding: `with profile(…) as p` binds its own name.
func sameBinding(target *Site, u *ProfilerUse) bool { return u.With != nil && target.Parent == u.With }

func within(fn, outer *pyscan.Function) bool {
	for ; fn != nil; fn = fn.Parent {
		if fn == outer {
			return true
		}
	}
	return false
}

// Schedule is the schedule given to a profiler: its argument, and the torch.profiler.schedule call where the source shows it.
func (f *Facts) Schedule(u ProfilerUse) (given pyscan.Expr, call *pyscan.Call) {
	given = Argument(u.Call, 1, "schedule")
	if given == nil {
		return nil, nil
	}
	e := given
	if name, ok := e.(*pyscan.Name); ok {
		for _, a := range f.assignments(u.Site.Def()) {
			if a.Start < name.Start && len(a.Targets) == 1 && lastName(a.Targets[0]) == name.ID {
				e = a.Value
			}
		}
	}
	if c, ok := e.(*pyscan.Call); ok && strings.HasPrefix(f.Resolve(c.Func), "torch.profiler.") && lastName(c.Func) == "schedule" {
		return given, c
	}
	return given, nil
}

// StepLoop is the loop in a profiler's with block that makes a step per turn: the training loop, or the only loop there is.
func (f *Facts) StepLoop(u ProfilerUse) *Site {
	if u.With == nil {
		return nil
	}
	var only, trains *Site
	loops := 0
	for _, s := range f.below(u.With) {
		switch s.Node.(type) {
		case *pyscan.For, *pyscan.While:
		default:
			continue
		}
		if !s.Under(u.With) || s == u.With || s.Def() != u.With.Def() {
			continue
		}
		if f.analysis.stepLoop(f.index, s) && trains == nil {
			trains = s
		}
		loops++
		only = s
	}
	if trains != nil {
		return trains
	}
	if loops == 1 {
		return only
	}
	return nil
}

// LongTraining is the loop under a profiler's with block that trains over a whole loader or without end, or the call of a
// function that does; nil where the source bounds it or does not show it.
func (f *Facts) LongTraining(u ProfilerUse) *Site {
	if u.With == nil {
		return nil
	}
	for _, s := range f.below(u.With) {
		if !s.Under(u.With) || s.Def() != u.With.Def() {
			continue
		}
		switch s.Node.(type) {
		case *pyscan.For, *pyscan.While:
			if s != u.With && f.trainsBelow(s) && f.endless(f.index, s) {
				return s
			}
		case *pyscan.Call:
			d := f.analysis.callee(f.index, s)
			if d.def == nil || s.Under(f.Site(u.Call)) {
				continue
			}
			x := d.index.ready()
			for loop, trains := range x.loopInfo().loops {
				if trains && loop.Def() == d.def && f.endless(x, loop) {
					return s
				}
			}
		}
	}
	return nil
}

// endless: over a loader, or `while True`, without a way out that counts.
func (f *Facts) endless(x *fileIndex, loop *Site) bool {
	switch n := loop.Node.(type) {
	case *pyscan.While:
		if !IsTrue(n.Test) {
			return false
		}
	case *pyscan.For:
		if !f.iteratesLoader(x, n.Iter) {
			return false
		}
	}
	body := loop.Node
	found := false
	pyscan.Walk(body, func(n pyscan.Node) bool {
		if s, ok := n.(*pyscan.Simple); ok && s.Keyword == "break" {
			found = true
		}
		if _, ok := n.(*pyscan.Return); ok {
			found = true
		}
		return !found
	})
	return !found
}

func (f *Facts) iteratesLoader(x *fileIndex, e pyscan.Expr) bool {
	if call, ok := e.(*pyscan.Call); ok {
		name := lastName(call.Func)
		if (name == "enumerate" || name == "tqdm") && len(call.Args) > 0 {
			return f.iteratesLoader(x, call.Args[0])
		}
	}
	s := x.tree.Site(e)
	if s == nil {
		return false
	}
	if f.analysis.value(x, s).Kind == Loader {
		return true
	}
	name := strings.ToLower(lastName(e))
	return strings.Contains(name, "loader") || strings.HasSuffix(name, "dataloader")
}

// AppendToLoop is the edit that adds a statement at the end of a loop's body; ok is false where some turns leave before the end.
func (f *Facts) AppendToLoop(loop *Site, statement string) (edit TextEdit, ok bool) {
	body := f.LoopBody(loop)
	if len(body) == 0 {
		return TextEdit{}, false
	}
	last := f.Site(body[len(body)-1])
	for _, s := range f.below(loop) {
		if simple, isSimple := s.Node.(*pyscan.Simple); isSimple && simple.Keyword == "continue" && enclosingLoop(s) == loop {
			return TextEdit{}, false
		}
	}
	indent, own := f.ownLine(body[0].Range().Start)
	if !own || !onlyComment(f.File.Text[last.Range().End:f.lineEnd(last.Range().End)]) {
		return TextEdit{}, false
	}
	at := f.nextLine(last.Range().End)
	text := indent + statement + f.newline()
	if at == len(f.File.Text) && !strings.HasSuffix(f.File.Text, "\n") {
		text = f.newline() + indent + statement
	}
	return TextEdit{File: f.File, Span: pyscan.Span{Start: at, End: at}, New: text}, true
}

// InsertBefore is the edit that puts a statement on a line of its own in front of another; ok is false where that one shares
// its line.
func (t *Tree) InsertBefore(stmt pyscan.Stmt, statement string) (edit TextEdit, ok bool) {
	start := stmt.Range().Start
	indent, own := t.ownLine(start)
	if !own {
		return TextEdit{}, false
	}
	at := t.lineStart(start)
	return TextEdit{File: t.File, Span: pyscan.Span{Start: at, End: at}, New: indent + statement + t.newline()}, true
}

// InsertAfter is InsertBefore for the line behind a statement.
func (t *Tree) InsertAfter(stmt pyscan.Stmt, statement string) (edit TextEdit, ok bool) {
	r := stmt.Range()
	indent := t.Indent(t.Site(stmt))
	if !onlyComment(t.File.Text[r.End:t.lineEnd(r.End)]) {
		return TextEdit{}, false
	}
	at := t.nextLine(r.End)
	text := indent + statement + t.newline()
	if at == len(t.File.Text) && !strings.HasSuffix(t.File.Text, "\n") {
		text = t.newline() + indent + statement
	}
	return TextEdit{File: t.File, Span: pyscan.Span{Start: at, End: at}, New: text}, true
}

// Names reports whether the module can write a dotted torch path as it is: `import torch` (or of the submodule) is there.
func (f *Facts) Names(path string, at *Site) bool {
	b, _ := f.index.lookup("torch", at.Function)
	return b != nil && b.path == "torch" && b.level == 0 && strings.HasPrefix(path, "torch")
}

// TargetFree reports whether a profiler runs in no with statement and has no name: nothing is known about its use.
func (f *Facts) TargetFree(u ProfilerUse) bool { return u.With == nil && u.Name == "" }

// AsksFor reports whether code tests that an attribute exists before reading it.
func (f *Facts) AsksFor(s *Site, attr *pyscan.Attribute) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		switch n := at.Parent.Node.(type) {
		case *pyscan.If:
			if strings.Contains(f.Text(n.Test), "hasattr") || strings.Contains(f.Text(n.Test), "version") {
				return true
			}
		case *pyscan.IfExp:
			if strings.Contains(f.Text(n.Test), "hasattr") || strings.Contains(f.Text(n.Test), "version") {
				return true
			}
		case *pyscan.Try:
			if at.Role == RoleBody || at.Role == RoleHandler {
				return true
			}
		}
	}
	return false
}
