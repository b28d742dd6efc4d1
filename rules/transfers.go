package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// MadeTree is the tree of the file a value was made in, for edits there; nil if unknown.
func (v *Value) MadeTree() *Tree {
	if v.MadeIn == nil {
		return nil
	}
	return v.MadeIn.ready().tree
}

// PathOf is Facts.Resolve for any file's tree.
func (t *Tree) PathOf(e pyscan.Expr) string {
	s := t.Site(e)
	if s == nil || t.index == nil {
		return ""
	}
	return t.index.resolve(e, s.Function, 0)
}

// Newline is the file's line break.
func (t *Tree) Newline() string { return t.newline() }

var prefetchNames = regexp.MustCompile(`(?i)prefetch|preload|pin_?thread|background|async`)

// InPrefetcher reports whether a site is in a function or class that, by its name, works ahead on a thread or stream of its own.
func (f *Facts) InPrefetcher(s *Site) bool {
	fn := s.Def()
	for at := fn; at != nil; at = at.Parent {
		if prefetchNames.MatchString(at.Name) || at.Class != nil && prefetchNames.MatchString(at.Class.Name) {
			return true
		}
	}
	return false
}

var (
	valueCreators  = wordSet("zeros ones full arange empty eye linspace logspace")
	randomCreators = wordSet("rand randn randint randperm normal")
)

// CreatedInside is the call of torch.zeros and its kin that an expression is, directly or through tril/triu; random tells that
// its values are drawn. nil for anything else, and where a device is given.
func (f *Facts) CreatedInside(e pyscan.Expr) (made *pyscan.Call, random bool) {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return nil, false
	}
	name, ok := strings.CutPrefix(f.Resolve(call.Func), "torch.")
	switch {
	case !ok || Keyword(call, "device") != nil || HasOpenArguments(call) && !valueCreators[name] && !randomCreators[name] || Keyword(call, "out") != nil:
		return nil, false
	case valueCreators[name]:
		return call, false
	case randomCreators[name]:
		if Keyword(call, "generator") != nil {
			return nil, false
		}
		return call, true
	case (name == "tril" || name == "triu") && len(call.Args) > 0:
		return f.CreatedInside(call.Args[0])
	}
	return nil, false
}

// DeviceText is the source of the device a move goes to: the argument of `.to(…)`, `"cuda"` for `.cuda()`; "" where a type or
// more is given too.
func (f *Facts) DeviceText(call *pyscan.Call) string {
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return ""
	}
	var device pyscan.Expr
	if len(call.Args) == 1 {
		device = call.Args[0]
	} else if len(call.Args) > 1 {
		return ""
	}
	for _, k := range call.Keywords {
		switch k.Name {
		case "non_blocking", "copy":
		case "device":
			device = k.Value
		default:
			return ""
		}
	}
	if device == nil {
		if attr.Attr == "cuda" {
			return `"cuda"`
		}
		return ""
	}
	if f.Value(device).onGPU() { // like another tensor: its type counts too
		return ""
	}
	return f.Text(device)
}

// EndWithParens is where an expression ends, closing parentheses around it included.
func (t *Tree) EndWithParens(e pyscan.Expr) int {
	end := e.Range().End
	text := t.File.Text
	at := end
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\n', '\r':
			at++
		case ')':
			at++
			end = at
		default:
			return end
		}
	}
	return end
}

// Literal reports whether an expression is made of literals alone: numbers, strings, and displays and signs of them.
func (f *Facts) Literal(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Constant:
		return e.Kind == pyscan.ConstInt || e.Kind == pyscan.ConstFloat || e.Kind == pyscan.ConstTrue || e.Kind == pyscan.ConstFalse
	case *pyscan.UnaryOp:
		return f.Literal(e.Operand)
	case *pyscan.BinOp:
		return f.Literal(e.Left) && f.Literal(e.Right)
	case *pyscan.List:
		return f.allLiteral(e.Elems)
	case *pyscan.Tuple:
		return f.allLiteral(e.Elems)
	case *pyscan.Call:
		name, ok := e.Func.(*pyscan.Name)
		return ok && name.ID == "float" && len(e.Args) == 1 && isText(e.Args[0])
	}
	return false
}

func (f *Facts) allLiteral(list []pyscan.Expr) bool {
	for _, e := range list {
		if !f.Literal(e) {
			return false
		}
	}
	return len(list) > 0
}

// BehindNoneTest reports whether a site is in a branch of an `is None` or `hasattr` test: made once and kept.
func (f *Facts) BehindNoneTest(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		branch, ok := at.Parent.Node.(*pyscan.If)
		if !ok || at.Role != RoleBody && at.Role != RoleElse {
			continue
		}
		found := false
		EachExpr(branch.Test, func(e pyscan.Expr) bool {
			switch e := e.(type) {
			case *pyscan.Compare:
				for _, r := range e.Rights {
					found = found || IsNone(r)
				}
			case *pyscan.Call:
				found = found || lastName(e.Func) == "hasattr"
			}
			return true
		})
		if found {
			return true
		}
	}
	return false
}

// ClassMentions reports whether a class's source holds a text.
func (f *Facts) ClassMentions(c *pyscan.Class, text string) bool {
	return strings.Contains(f.within(c).Text[c.Start:c.End], text)
}

// AfterSuperInit is where a line can be inserted behind `super().__init__()` of a class, with its indentation; −1 if there is none.
func (f *Facts) AfterSuperInit(c *pyscan.Class) (offset int, indent string) {
	for _, m := range f.methods(c) {
		if m.Name != "__init__" {
			continue
		}
		for _, s := range m.Body {
			expr, ok := s.(*pyscan.ExprStmt)
			if !ok {
				continue
			}
			call, ok := expr.Value.(*pyscan.Call)
			if !ok || lastName(call.Func) != "__init__" {
				continue
			}
			at := f.Site(s)
			if _, own := f.ownLine(s.Range().Start); !own || !onlyComment(f.File.Text[s.Range().End:f.lineEnd(s.Range().End)]) {
				return -1, ""
			}
			return f.lineEnd(s.Range().End), f.Indent(at)
		}
	}
	return -1, ""
}

// ReadBeforeSync finds what reads the host tensor of a non-blocking copy before anything waits for it; nil if nothing does.
func (f *Facts) ReadBeforeSync(s *Site) pyscan.Node {
	if attr, ok := s.Parent.Node.(*pyscan.Attribute); ok { // chained: .to("cpu", non_blocking=True).numpy()
		if call, ok := s.Parent.Parent.Node.(*pyscan.Call); ok && call.Func == pyscan.Expr(attr) && reads[attr.Attr] {
			return call
		}
		return nil
	}
	assign, ok := s.Parent.Node.(*pyscan.Assign)
	if !ok || len(assign.Targets) != 1 {
		return nil
	}
	name, ok := assign.Targets[0].(*pyscan.Name)
	if !ok {
		return nil
	}
	after := false
	for _, stmt := range blockOf(s.Parent, f.File) {
		if stmt == pyscan.Stmt(assign) {
			after = true
			continue
		}
		if !after {
			continue
		}
		if f.waits(stmt) {
			return nil
		}
		if read := f.readOf(stmt, name.ID); read != nil {
			return read
		}
	}
	return nil
}

var reads = wordSet("numpy item tolist sum mean max min argmax argsort float int long double clone")

// waits: a statement that synchronises in some way.
func (f *Facts) waits(stmt pyscan.Stmt) bool {
	found := false
	EachExprIn(stmt, func(e pyscan.Expr) bool {
		if call, ok := e.(*pyscan.Call); ok {
			name := lastName(call.Func)
			read := f.HostReadOf(call)
			found = found || name == "synchronize" || name == "wait" || read != nil && f.OnGPU(read.Tensor)
		}
		return !found
	})
	return found
}

// readOf finds the expression of a statement that reads a name's values: arithmetic, a reading method, print, a NumPy function.
func (f *Facts) readOf(stmt pyscan.Stmt, name string) pyscan.Node {
	var found pyscan.Node
	is := func(e pyscan.Expr) bool {
		n, ok := e.(*pyscan.Name)
		return ok && n.ID == name
	}
	EachExprIn(stmt, func(e pyscan.Expr) bool {
		if found != nil {
			return false
		}
		switch e := e.(type) {
		case *pyscan.BinOp:
			if is(e.Left) || is(e.Right) {
				found = e
			}
		case *pyscan.Compare:
			if is(e.Left) && len(e.Rights) == 1 && !IsNone(e.Rights[0]) {
				found = e
			}
		case *pyscan.Call:
			attr, ok := e.Func.(*pyscan.Attribute)
			if ok && is(attr.Value) && reads[attr.Attr] {
				found = e
			}
			path := f.Resolve(e.Func)
			if strings.HasPrefix(path, "numpy.") || path == "builtins.float" || path == "builtins.int" || path == "builtins.print" || lastName(e.Func) == "print" {
				for _, a := range e.Args {
					if is(a) {
						found = e
					}
				}
			}
		case *pyscan.FString:
			for _, v := range e.Values {
				if is(v) {
					found = e
				}
			}
		}
		return true
	})
	return found
}

// RoundTrip is a GPU tensor copied to the host whose result goes back to a device in the same function.
type RoundTrip struct {
	Copy, Back *Site
	// CPUOnly names the function in between that exists on the CPU alone, "" if there is none.
	CPUOnly string
}

var cpuOnlyPackages = regexp.MustCompile(`^(scipy|sklearn|cv2|skimage|pycocotools|networkx|faiss|pandas|shapely|numba)\.`)

var copiesToHost = wordSet("cpu numpy to") // the methods HostReadOf takes for copies

// RoundTrips finds the round trips of the file, by following the variables each function's host copies reach.
func (f *Facts) RoundTrips() []RoundTrip {
	if f.tripsDone {
		return f.trips
	}
	f.tripsDone = true
	type taint struct {
		copy *Site
		cpu  string
	}
	names := map[*pyscan.Function]map[string]taint{}
	var find func(e pyscan.Expr, fn *pyscan.Function) (taint, bool)
	find = func(e pyscan.Expr, fn *pyscan.Function) (out taint, ok bool) {
		EachExpr(e, func(sub pyscan.Expr) bool {
			if ok {
				return false
			}
			switch sub := sub.(type) {
			case *pyscan.Name:
				if t, known := names[fn][sub.ID]; known {
					out, ok = t, true
				}
			case *pyscan.Attribute: // shapes and the like carry no values
				if hostAttributes[sub.Attr] {
					return false
				}
			case *pyscan.Call:
				if read := f.HostReadOf(sub); read != nil {
					if !read.Copy {
						return false
					}
					if f.OnGPU(read.Tensor) {
						out, ok = taint{copy: f.Site(sub)}, true
						return false
					}
				}
				if path := f.Resolve(sub.Func); cpuOnlyPackages.MatchString(path) {
					for _, a := range sub.Args {
						if t, known := find(a, fn); known {
							t.cpu = lastName(sub.Func)
							out, ok = t, true
							return false
						}
					}
				}
			}
			return true
		})
		return out, ok
	}
	comesBack := func(s *Site) {
		recv := f.Moves(s)
		if recv == nil || f.OnGPU(recv) {
			return
		}
		if t, ok := find(recv, s.Def()); ok && t.copy != nil {
			f.trips = append(f.trips, RoundTrip{Copy: t.copy, Back: s, CPUOnly: t.cpu})
		}
	}
	for _, s := range f.Sites {
		switch n := s.Node.(type) {
		case *pyscan.Call:
			if _, assigned := s.Statement().Node.(*pyscan.Assign); !assigned {
				comesBack(s)
			}
		case *pyscan.Assign:
			if n.Value == nil {
				continue
			}
			value := f.Site(n.Value)
			copies := false
			for _, sub := range f.below(value) { // before the target changes
				if call, ok := sub.Node.(*pyscan.Call); ok {
					comesBack(sub)
					copies = copies || copiesToHost[lastName(call.Func)]
				}
			}
			fn := s.Def()
			var t taint
			ok := false
			if copies || len(names[fn]) > 0 {
				t, ok = find(n.Value, fn)
			}
			if ok && f.Value(n.Value).onGPU() { // it came back already
				ok = false
			}
			for _, target := range n.Targets {
				for _, e := range append([]pyscan.Expr{target}, elementsOf(target)...) {
					name, isName := e.(*pyscan.Name)
					if !isName {
						continue
					}
					if names[fn] == nil {
						names[fn] = map[string]taint{}
					}
					if ok {
						names[fn][name.ID] = t
					} else {
						delete(names[fn], name.ID)
					}
				}
			}
		}
	}
	return f.trips
}
