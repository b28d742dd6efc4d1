package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// halfPrecisionWords are what code says that trains or runs in half precision, lowPrecisionWords what a project says when it does not
// train in plain float32.
var (
	halfPrecisionWords = []string{"autocast", "bfloat16", "bf16", "float16", "fp16", ".half()"}
	lowPrecisionWords  = append([]string{"mixed_precision", "fp8", "precision="}, halfPrecisionWords...)
)

// HalfPrecision reports whether the project trains or runs in half precision somewhere.
func (f *Facts) HalfPrecision() bool { return f.MentionsInProject(halfPrecisionWords...) }

// RunsInHalfPrecision reports whether this file, or one that imports it, trains or runs in half precision.
func (f *Facts) RunsInHalfPrecision() bool {
	if f.index.mentions(halfPrecisionWords...) {
		return true
	}
	last := lastPart(f.index.module)
	return last != "" && ask(f.analysis, halfImporters{last}, nil, equal[bool], func(a *analysis) bool { return a.halfImports(last) })
}

type halfImporters struct{ module string }

// halfImports reports whether a file that names half precision imports a module, or something of it.
func (a *analysis) halfImports(module string) bool {
	from, relative, whole := "from "+module+" import", "."+module+" import", "import "+module
	return a.project.anyFile(func(x *fileIndex) bool {
		imports := x.halfPrecisionImports()
		return imports != "" && (strings.Contains(imports, from) || strings.Contains(imports, relative) || strings.Contains(imports, whole))
	})
}

// halfPrecisionImports are the lines of a file that import, where it names half precision; "" where it does not.
func (x *fileIndex) halfPrecisionImports() string {
	x.halfOnce.Do(func() {
		if !x.mentions(halfPrecisionWords...) {
			return
		}
		var lines strings.Builder
		for line := range strings.Lines(x.file.Text) {
			if strings.Contains(line, "import ") || strings.Contains(line, " import") {
				lines.WriteString(line)
			}
		}
		x.halfImports = lines.String()
	})
	return x.halfImports
}

// MentionsTiedWeight reports whether the file assigns one module's weight to another.
func (f *Facts) MentionsTiedWeight() bool { return tiedWeight.MatchString(f.File.Text) }

var tiedWeight = regexp.MustCompile(`\.weight\s*=\s*[\w.\[\]]+\.weight\b|tie_weights`)

// FullPrecisionTraining is the first training loop of the project's first training file, if the project trains on CUDA in
// float32 without TF32 and that file is this one; nil otherwise. The first file by path speaks for the project.
func (f *Facts) FullPrecisionTraining() *Site {
	if !f.MentionsInProject("cuda") || f.MentionsInProject(lowPrecisionWords...) ||
		f.MentionsInProject("set_float32_matmul_precision", "allow_tf32", "fp32_precision", "TF32", "tf32") ||
		!f.MentionsInProject("Linear(", "Transformer", "Attention", "from_pretrained", "LSTM(", "GRU(", "matmul", "einsum") {
		return nil
	}
	x := f.index
	return ask(f.analysis, firstTrainingIn{x}, x, equal[*Site], func(a *analysis) *Site {
		if first := ask(a, firstTraining{}, nil, equal[*Site], (*analysis).firstTraining); first != nil && x.tree.ownSite(first.Node) == first {
			return first
		}
		return nil
	})
}

type (
	firstTraining   struct{}
	firstTrainingIn struct{ x *fileIndex }
)

// firstTraining is the first training loop of the project's first training file for GPUs, nil if there is none.
func (a *analysis) firstTraining() *Site {
	for _, x := range a.project.filesWith(func(x *fileIndex) bool {
		return !testPath.MatchString(x.file.Path) && x.mentions("cuda", "device") && x.mentions("backward(")
	}) {
		for _, s := range a.project.eachSite(x) {
			switch s.Node.(type) {
			case *pyscan.For, *pyscan.While:
				in := x
				if e := a.project.edit; e != nil && e.index.tree.own(s.Node) {
					in = e.index
				}
				if a.stepLoop(in, s) && !a.evaluation(in, s) {
					return s
				}
			}
		}
	}
	return nil
}

// AfterImports is the end of the last import at the top of the file.
func (f *Facts) AfterImports() (int, bool) {
	end := -1
	for _, s := range f.File.Module.Body {
		if _, ok := s.(*pyscan.Import); ok {
			end = s.Range().End
		} else if end >= 0 {
			break
		}
	}
	if end < 0 || !onlyComment(f.File.Text[end:f.lineEnd(end)]) {
		return 0, false
	}
	return f.lineEnd(end), true
}

// NameIsTorch reports whether a module-level name is the torch package.
func (f *Facts) NameIsTorch(name string) bool {
	b := f.index.scopes[f.File.Module][name]
	return b != nil && b.path == "torch"
}

// autocasts are the calls of the file that make an autocast context.
func (f *Facts) autocasts() []*Site {
	if !f.autocastsDone {
		f.autocastsDone = true
		for _, s := range f.Calls {
			if f.AutocastCall(s.Call()) != nil {
				f.autocastCalls = append(f.autocastCalls, s)
			}
		}
		if e := f.project.edit; e != nil {
			f.autocastCalls = e.joined(f.before.autocasts(), f.autocastCalls, nil)
		}
	}
	return f.autocastCalls
}

// AutocastTypes are the types the file's autocast contexts use: "float16", "bfloat16", "?" for one that is not written out.
// The default type on CUDA is float16.
func (f *Facts) AutocastTypes() map[string]bool {
	out := map[string]bool{}
	for _, s := range f.autocasts() {
		if t := f.autocastType(s); t != "" {
			out[t] = true
		}
	}
	return out
}

// autocastType is the type of an autocast context, "" for one that is off. Those of a whole file are remembered, for edits of it.
func (f *Facts) autocastType(s *Site) string {
	if f.before != nil {
		if t, known := f.before.autocastTypes[s]; known {
			return t
		}
		return f.findAutocastType(s.Call())
	}
	if _, known := f.autocastTypes[s]; !known {
		if f.autocastTypes == nil {
			f.autocastTypes = map[*Site]string{}
		}
		f.autocastTypes[s] = f.findAutocastType(s.Call())
	}
	return f.autocastTypes[s]
}

func (f *Facts) findAutocastType(call *pyscan.Call) string {
	if f.AutocastOff(call) {
		return ""
	}
	e := Argument(call, 1, "dtype")
	switch path := f.Resolve(orName(e)); {
	case e == nil && HasOpenArguments(call):
		return "?"
	case e == nil:
		return "float16"
	case path == "torch.bfloat16":
		return "bfloat16"
	case path == "torch.float16" || path == "torch.half":
		return "float16"
	}
	return "?"
}

func orName(e pyscan.Expr) pyscan.Expr {
	if e == nil {
		return &pyscan.Name{}
	}
	return e
}

// ScaledStep finds, for a clipping call, the scaler whose `step(optimizer)` follows in the same block with the scaled backward
// before it and no unscale_ between; "" if there is none.
func (f *Facts) ScaledStep(s *Site) (scaler, optimizer string) {
	fn := s.Def()
	if fn == nil {
		return "", ""
	}
	clip := s.Range().Start
	scaled, unscaled := false, false
	for _, c := range f.Calls {
		if c.Def() != fn {
			continue
		}
		attr, ok := c.Call().Func.(*pyscan.Attribute)
		if !ok {
			continue
		}
		at := c.Range().Start
		name := f.Text(attr.Value)
		isScaler := f.Value(attr.Value).Kind == Scaler || scalerName.MatchString(lastName(attr.Value))
		switch {
		case attr.Attr == "scale" && isScaler && at < clip && exclusive(c, s) == false:
			scaled = true
		case attr.Attr == "unscale_" && at < clip && !exclusive(c, s):
			unscaled = true
		case attr.Attr == "step" && isScaler && at > clip && len(c.Call().Args) > 0 && !exclusive(c, s) && scaler == "":
			if v := f.Value(attr.Value); v.Made == nil || !IsFalse(keywordValue(v.Made, "enabled")) {
				scaler, optimizer = name, f.Text(c.Call().Args[0])
			}
		}
	}
	if !scaled || unscaled {
		return "", ""
	}
	return scaler, optimizer
}

func keywordValue(call *pyscan.Call, name string) pyscan.Expr {
	if k := Keyword(call, name); k != nil {
		return k.Value
	}
	return nil
}

// exclusive reports whether two sites lie in different branches of one if.
func exclusive(a, b *Site) bool {
	for at := a; at.Parent != nil; at = at.Parent {
		branch, ok := at.Parent.Node.(*pyscan.If)
		if !ok || at.Role != RoleBody && at.Role != RoleElse {
			continue
		}
		other := RoleBody
		if at.Role == RoleBody {
			other = RoleElse
		}
		for up := b; up.Parent != nil; up = up.Parent {
			if up.Parent.Node == pyscan.Node(branch) && up.Role == other {
				return true
			}
		}
	}
	return false
}

// OwnLine reports whether a statement begins its line and ends its own line (a comment aside).
func (f *Facts) OwnLine(stmt *Site) bool {
	if stmt == nil {
		return false
	}
	r := stmt.Range()
	_, own := f.ownLine(r.Start)
	return own && onlyComment(f.File.Text[r.End:f.lineEnd(r.End)])
}

// LineStart is the offset of the first byte of an offset's line.
func (t *Tree) LineStart(offset int) int { return t.lineStart(offset) }

// InsideAutocast reports whether a site lies in an autocast block of its function.
func (f *Facts) InsideAutocast(s *Site) bool {
	for up := range s.Ancestors() {
		if with, ok := up.Node.(*pyscan.With); ok && f.Autocast(with) != nil {
			return true
		}
		if _, ok := up.Node.(*pyscan.FunctionDef); ok {
			return false
		}
	}
	return false
}

// LayerLoop is the innermost loop around a site if it goes over modules, nil otherwise.
func (f *Facts) LayerLoop(s *Site) *Site {
	loop := enclosingLoop(s)
	if loop == nil {
		return nil
	}
	each, ok := loop.Node.(*pyscan.For)
	if !ok {
		return nil
	}
	v := f.Value(each.Iter)
	switch elem := v.element(); {
	case v.Kind == Module || elem.Kind == Module:
		return loop
	case elem.Kind == Sequence && len(elem.Elems) == 2 && elem.Elems[1].Kind == Module: // enumerate, named_children
		return loop
	}
	return nil
}

// BoundName is the variable an expression statement's whole value is assigned to: "model" in `model = Net().half()`.
func (f *Facts) BoundName(s *Site) string {
	if s.Parent == nil {
		return ""
	}
	if a, ok := s.Parent.Node.(*pyscan.Assign); ok && len(a.Targets) == 1 && a.Value == s.Node {
		return envKey(a.Targets[0])
	}
	return ""
}

// AutocastAround is an autocast block in a site's function in which the named module is called, if the function trains.
func (f *Facts) AutocastAround(s *Site, module string) *Site {
	fn := s.Def()
	fl := f.analysis.at(f.index, fn, topLevel)
	if fl == nil || !fl.trains {
		return nil
	}
	for _, c := range f.Calls {
		if c.Def() != fn || envKey(c.Call().Func) != module {
			continue
		}
		for up := range c.Ancestors() {
			if with, ok := up.Node.(*pyscan.With); ok && f.Autocast(with) != nil {
				return up
			}
		}
	}
	return nil
}

var float64Makers = wordSet("rand randn random random_sample uniform normal standard_normal zeros ones linspace logspace eye float64")

// Float64Source is the NumPy call that makes the float64 array a torch call converts, nil if it is none or its type is given.
func (f *Facts) Float64Source(s *Site) pyscan.Expr {
	call := s.Call()
	switch f.Resolve(call.Func) {
	case "torch.from_numpy", "torch.tensor", "torch.as_tensor":
	default:
		return nil
	}
	if len(call.Args) != 1 || Keyword(call, "dtype") != nil {
		return nil
	}
	e := call.Args[0]
	if name, ok := e.(*pyscan.Name); ok {
		e = nil
		for _, a := range f.assignments(s.Def()) {
			if a.Start < s.Range().Start && len(a.Targets) == 1 && envKey(a.Targets[0]) == name.ID {
				e = a.Value
			}
		}
	}
	inner, ok := e.(*pyscan.Call)
	if !ok {
		return nil
	}
	path := f.Resolve(inner.Func)
	name, isNumpy := strings.CutPrefix(path, "numpy.")
	name = strings.TrimPrefix(name, "random.")
	if !isNumpy || !float64Makers[name] || Keyword(inner, "dtype") != nil {
		return nil
	}
	if (name == "zeros" || name == "ones" || name == "eye") && len(inner.Args) > 1 {
		return nil
	}
	return inner
}

// Converted reports whether a method that sets the type follows an expression: `.float()`, `.to(torch.float32)`, ….
func (f *Facts) Converted(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		switch n := at.Parent.Node.(type) {
		case *pyscan.Attribute:
			switch n.Attr {
			case "float", "half", "bfloat16", "long", "int", "bool", "type", "type_as":
				return true
			case "to":
				if call, ok := at.Parent.Parent.Node.(*pyscan.Call); ok {
					for _, a := range call.Args {
						if p := f.Resolve(a); strings.HasPrefix(p, "torch.") || strings.Contains(lastName(a), "dtype") {
							return true
						}
					}
					if Keyword(call, "dtype") != nil {
						return true
					}
				}
			}
		case *pyscan.Call:
			if at.Role != RoleFunc {
				return false
			}
		default:
			return false
		}
	}
	return false
}
