package rules

import (
	"stepline/pyscan"
)

// Facts is what all rules share about one file in one run: the tree, the surroundings, the settings.
type Facts struct {
	*Tree
	// Torch is the torch version range aimed at; the zero value is unknown.
	Torch TorchRange
	// Costs is the loaded trace, nil without one.
	Costs Costs

	index    *fileIndex
	analysis *analysis
	project  *Project
	usesGPU  bool
	torch    bool
	inTests  bool

	trips     []RoundTrip
	tripsDone bool

	// nextCallee is the place in callees of the one likely to be asked for next.
	nextCallee int

	loaders     []*LoaderCall
	loadersDone bool

	profilers     []ProfilerUse
	profilersDone bool

	autocastCalls []*Site
	autocastsDone bool
	autocastTypes map[*Site]string

	// before are the facts about the whole file before an edit, where these are about the changed definitions.
	before *Facts
}

func newFacts(target Target, config Config) *Facts {
	project := target.Project
	if project == nil {
		project = NewProject([]*pyscan.File{target.File})
	} else {
		project = project.With(target.File)
	}
	x := project.index(target.File).ready()
	f := &Facts{Tree: x.tree, Torch: config.TargetTorch, Costs: target.Costs, index: x, analysis: project.borrow()}
	f.project = f.analysis.project
	f.analysis.notes.begin() // what the run rests on
	f.inTests = testPath.MatchString(target.File.Path) && x.mentions("def test", "unittest", "pytest")
	f.usesGPU, f.torch = f.project.subject()
	f.torch = f.torch && (x.mentions("torch", "lightning") || !x.mentions(otherFrameworks...))
	return f
}

// otherFrameworks are imports of code that trains without torch, beside torch code in the same project.
var otherFrameworks = []string{"import mxnet", "from mxnet", "import tensorflow", "from tensorflow", "import jax", "from jax", "import paddle", "from paddle"}

// Resolve is the dotted path an expression names through imports and aliases ("torch.cuda.synchronize"), "" for anything
// else: locals, parameters, the project's own definitions.
func (f *Facts) Resolve(e pyscan.Expr) string {
	switch e.(type) {
	case *pyscan.Name, *pyscan.Attribute:
	default:
		return ""
	}
	// Most questions come from walks over the calls: the next callee is at hand.
	for i := f.nextCallee; i < min(f.nextCallee+calleesAhead, len(f.callees)); i++ {
		if s := f.callees[i]; s.Node == pyscan.Node(e) {
			f.nextCallee = i + 1
			return f.index.path(s)
		}
	}
	s := f.Site(e)
	if s == nil {
		return ""
	}
	if s.Role == RoleFunc {
		f.nextCallee = f.calleeAfter(s)
	}
	return f.index.path(s)
}

// calleesAhead bounds how far Resolve looks for the callee that follows the last one.
const calleesAhead = 4

// Value is what is known about an expression's value; never nil.
func (f *Facts) Value(e pyscan.Expr) *Value {
	s := f.Site(e)
	if s == nil {
		return unknownValue
	}
	return f.analysis.value(f.index, s)
}

// OnGPU reports whether the expression is known to be a tensor, or a model's output, on the GPU (guard g3).
func (f *Facts) OnGPU(e pyscan.Expr) bool { return f.Value(e).onGPU() }

// IsTensor reports whether the expression is certainly one tensor on the GPU, and no container.
func (f *Facts) IsTensor(e pyscan.Expr) bool { return f.Value(e).Kind == GPUTensor }

// Hot is the context a site runs in every training step, nil if there is none in sight (guard g6).
func (f *Facts) Hot(s *Site) *Heat {
	h := f.HotOrSaving(s)
	if h != nil && h.Saves {
		return nil
	}
	return h
}

// HotOrSaving is Hot, also where the way leads through a function that writes a checkpoint.
func (f *Facts) HotOrSaving(s *Site) *Heat {
	h := f.analysis.heat(f.index, s)
	if h != nil && h.Kind == InItem {
		return nil
	}
	return h
}

// HasCallers reports whether the project calls the function of a site.
func (f *Facts) HasCallers(s *Site) bool {
	fn := s.Def()
	return fn != nil && fn.Name != "<module>" && f.analysis.hasCallers(f.index, fn)
}

// PerItem is the Dataset or collate context of a site, nil if there is none.
func (f *Facts) PerItem(s *Site) *Heat {
	h, _ := f.analysis.functionHeat(f.index, s.Def(), maxCallers)
	if h != nil && h.Kind == InItem {
		return h
	}
	return nil
}

// OptimizerStep is the optimizer's step a site runs in, nil if there is none.
func (f *Facts) OptimizerStep(s *Site) *Heat {
	h, _ := f.analysis.functionHeat(f.index, s.Def(), maxCallers)
	if h != nil && h.Kind == OptimizerStep {
		return h
	}
	return nil
}

// InEvaluation reports whether a site runs without gradients or in an evaluation function (guard g2).
func (f *Facts) InEvaluation(s *Site) bool { return f.analysis.evaluation(f.index, s) }

// UsesGPU reports whether the project names a GPU at all (guard g4).
func (f *Facts) UsesGPU() bool { return f.usesGPU }

// MentionsInProject reports whether any file of the project holds one of the texts.
func (f *Facts) MentionsInProject(texts ...string) bool {
	for _, t := range texts {
		if f.project.mentions(t) {
			return true
		}
	}
	return false
}

// assignments are the plain assignments of a function in source order, comprehension scopes excluded.
func (t *Tree) assignments(f *pyscan.Function) []*pyscan.Assign {
	if t.outside(f) {
		return t.base.assignments(f)
	}
	t.assignedOnce.Do(func() {
		t.assigned = map[*pyscan.Function][]*pyscan.Assign{}
		for _, s := range t.Sites {
			if a, ok := s.Node.(*pyscan.Assign); ok {
				def := DefOf(s.Function)
				t.assigned[def] = append(t.assigned[def], a)
			}
		}
	})
	return t.assigned[f]
}

// InLoop reports whether a site is in the body of any loop of its function.
func (f *Facts) InLoop(s *Site) bool { return enclosingLoop(s) != nil }

// HeaderSpan is the header of a loop or block, for related locations.
func (f *Facts) HeaderSpan(s *Site) pyscan.Span { return headerSpan(f.Tree, s) }

// InDefNamed reports whether a site runs in a function of that name.
func (f *Facts) InDefNamed(s *Site, name string) bool {
	fn := s.Def()
	return fn != nil && fn.Name == name
}

// HoldsList reports whether a name is known to hold a list or tuple.
func (f *Facts) HoldsList(e pyscan.Expr) bool { return f.Value(e).Kind == Sequence }

// TrainsOnHost reports whether the file trains and names no device: in a project for GPUs too, it is an example for the CPU.
func (f *Facts) TrainsOnHost() bool { return !f.index.namesGPU && f.index.mentions("backward(") }

// TrainsOnCUDA reports whether the project names CUDA.
func (f *Facts) TrainsOnCUDA() bool {
	return f.MentionsInProject("cuda", "Accelerator", "accelerator=\"gpu\"")
}
