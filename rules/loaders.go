package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stepline/pyscan"
)

// LoaderCall is a call that makes a torch.utils.data.DataLoader.
type LoaderCall struct {
	Site *Site
	Call *pyscan.Call
	File *pyscan.File
	// Tree is the file's tree, for edits.
	Tree *Tree
	// Data is the dataset's value.
	Data *Value
}

// Positions of DataLoader's parameters that may be given by position.
const (
	loaderWorkersPosition = 5
	loaderPinPosition     = 7
)

// Workers tells what the source says about a loader's number of workers.
type Workers uint8

const (
	// WorkersUnknown: a variable, a configuration value, open arguments.
	WorkersUnknown Workers = iota
	// WorkersNone: not given, or the literal 0.
	WorkersNone
	// WorkersSome: a literal above 0.
	WorkersSome
)

// Workers reads num_workers; given is its expression, nil if it is not given.
func (l *LoaderCall) Workers() (w Workers, given pyscan.Expr) {
	if HasOpenArguments(l.Call) {
		return WorkersUnknown, nil
	}
	e := Argument(l.Call, loaderWorkersPosition, "num_workers")
	if e == nil {
		return WorkersNone, nil
	}
	c, ok := e.(*pyscan.Constant)
	switch {
	case !ok || c.Kind != pyscan.ConstInt:
		return WorkersUnknown, e
	case c.Text == "0":
		return WorkersNone, e
	}
	return WorkersSome, e
}

// PinMemory is the expression given for pin_memory, nil if none.
func (l *LoaderCall) PinMemory() pyscan.Expr {
	return Argument(l.Call, loaderPinPosition, "pin_memory")
}

// SingleProcess reports whether a loader runs in the main process: by its arguments, or by what the trace proves about a
// number the source leaves open.
func (f *Facts) SingleProcess(l *LoaderCall) bool {
	w, given := l.Workers()
	return w == WorkersNone || w == WorkersUnknown && (given != nil || HasOpenArguments(l.Call)) && f.ProvenSingleProcess()
}

// ProvenSingleProcess reports whether the trace shows that every loader in it ran without workers.
func (f *Facts) ProvenSingleProcess() bool {
	return f.Costs != nil && f.Costs.Loader() == LoaderSingleProcess
}

// Loaders are the DataLoader calls of the file.
func (f *Facts) Loaders() []*LoaderCall {
	if !f.loadersDone {
		f.loaders, f.loadersDone = f.analysis.loadersIn(f.index), true
	}
	return f.loaders
}

func (a *analysis) loadersIn(x *fileIndex) []*LoaderCall {
	var out []*LoaderCall
	if !x.mentions("DataLoader", "dataloader") {
		return nil
	}
	for _, s := range x.ready().tree.Calls {
		if x.calleePath(s) != "torch.utils.data.DataLoader" {
			continue
		}
		if l := loaderCall(a.value(x, s)); l != nil {
			out = append(out, l)
		}
	}
	return out
}

// LoaderOf is the call that made a loader or the loader of a batch, nil if it is not in the project.
func (f *Facts) LoaderOf(v *Value) *LoaderCall {
	if v.Kind != Loader && v.Kind != Batch {
		return nil
	}
	return loaderCall(v)
}

func loaderCall(v *Value) *LoaderCall {
	if v.Made == nil || v.MadeIn == nil || v.Kind != Loader && v.Kind != Batch {
		return nil
	}
	tree := v.MadeIn.ready().tree
	return &LoaderCall{Site: tree.Site(v.Made), Call: v.Made, File: v.MadeIn.file, Tree: tree, Data: v.Data}
}

// LoadersOfDataset are the project's loaders whose dataset is of a class or of one derived from it.
func (f *Facts) LoadersOfDataset(class *pyscan.Class) []*LoaderCall {
	return ask(f.analysis, loadersOf{class}, nil, sameLoaders, func(a *analysis) []*LoaderCall {
		var out []*LoaderCall
		for _, x := range a.project.calling("DataLoader") {
			for _, l := range a.loadersIn(x) {
				if l.Data != nil && l.Data.Def.class != nil && a.derives(l.Data.Def, class, 0) {
					out = append(out, l)
				}
			}
		}
		return out
	})
}

type loadersOf struct{ class *pyscan.Class }

func sameLoaders(a, b []*LoaderCall) bool {
	return slices.EqualFunc(a, b, func(a, b *LoaderCall) bool { return a.Call == b.Call && a.Site == b.Site && sameValue(a.Data, b.Data) })
}

// InMemory reports whether a dataset is known to hold its items ready as tensors or arrays: workers would only add copies.
func (f *Facts) InMemory(data *Value) bool {
	if data == nil || data.Kind != Dataset && data.Kind != Sequence {
		return data != nil && (data.onGPU() || data.Kind == CPUTensor)
	}
	if data.Path == "torch.utils.data.TensorDataset" || data.Kind == Sequence {
		return true
	}
	if data.Def.class == nil {
		return false
	}
	get, in := f.project.method(data.Def, "__getitem__", 0)
	return get != nil && f.light(in, get)
}

// light: a function that only indexes and converts what it holds.
func (f *Facts) light(x *fileIndex, fn *pyscan.Function) bool {
	light := true
	for _, s := range fn.Body {
		EachExprIn(s, func(e pyscan.Expr) bool {
			call, ok := e.(*pyscan.Call)
			if !ok {
				return light
			}
			path := x.ready().resolve(call.Func, fn, 0)
			name := lastName(call.Func)
			switch {
			case strings.HasPrefix(path, "torch.") && !strings.Contains(path, "load"), lightCalls[name] && !strings.HasPrefix(path, "PIL"):
			case strings.HasPrefix(path, "numpy.") && !strings.Contains(path, "load"):
			default:
				light = false
			}
			return light
		})
	}
	return light
}

var lightCalls = wordSet("len int float tuple list dict range slice min max clone float long to astype copy view reshape unsqueeze squeeze astype item detach permute transpose isinstance is_tensor tolist")

// UnshardedStream reports whether a dataset is an IterableDataset of the project that does not ask get_worker_info, so
// that every worker would yield all of it.
func (f *Facts) UnshardedStream(data *Value) bool {
	if data == nil || data.Def.class == nil {
		return data != nil && strings.Contains(data.Path, "Iterable")
	}
	iterable := false
	for _, path := range f.project.basePaths(data.Def, 0) {
		iterable = iterable || strings.HasSuffix(path, "IterableDataset")
	}
	if !iterable {
		return false
	}
	it, in := f.project.method(data.Def, "__iter__", 0)
	if it == nil {
		return true
	}
	class := data.Def.class
	own := data.Def.index.file.Text[class.Start:class.End]
	return !strings.Contains(in.file.Text[it.Start:it.End], "worker_info") && !strings.Contains(own, "worker_info")
}

// Moves is the receiver of a call that copies to a device: `x.to(device)`, `x.cuda()`; nil for any other call, for the CPU,
// and for a type alone.
func (f *Facts) Moves(s *Site) pyscan.Expr {
	call := s.Call()
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok || attr.Attr != "cuda" && attr.Attr != "xpu" && attr.Attr != "to" || f.Resolve(attr) != "" {
		return nil
	}
	switch attr.Attr {
	case "cuda", "xpu":
		return attr.Value
	case "to":
		if v := f.Value(call); v.onGPU() {
			return attr.Value
		}
	}
	return nil
}

var evaluationNames = regexp.MustCompile(`(?i)(^|_)(val|valid|validation|test|eval|evaluation|dev|calib|calibration|infer|inference|predict)`)

// ForEvaluation reports whether a loader is bound to a name that says validation or test, or is made in such a function.
func (l *LoaderCall) ForEvaluation() bool {
	if l.Site == nil {
		return false
	}
	if fn := l.Site.Def(); fn != nil && fn.Name != "<module>" && evaluationNames.MatchString(fn.Name) {
		return true
	}
	if l.Site.Parent == nil {
		return false
	}
	switch n := l.Site.Parent.Node.(type) {
	case *pyscan.Assign:
		return len(n.Targets) == 1 && evaluationNames.MatchString(lastName(n.Targets[0]))
	}
	return false
}

// InTests reports whether the file is a test: by its path, and by holding tests.
func (f *Facts) InTests() bool {
	return f.inTests
}

// testPath matches the paths of tests.
var testPath = pathPattern{regexp.MustCompile(`(?i)(^|/)(tests?|testing|unittests?)/|(^|/)test_[^/]*\.py$|_test\.py$|(^|/)conftest\.py$`)}

// pathPattern is a pattern of paths. An editor may name a document as it likes, at any length: of more than maxPathBytes only
// the end is looked at.
type pathPattern struct{ pattern *regexp.Regexp }

// maxPathBytes is the longest path that systems take (Linux' PATH_MAX).
const maxPathBytes = 4096

// MatchString reports whether the pattern matches a path.
func (p pathPattern) MatchString(path string) bool {
	return p.pattern.MatchString(path[max(0, len(path)-maxPathBytes):])
}

// InMemoryOnGPU reports whether a dataset's items lie on the GPU already.
func (f *Facts) InMemoryOnGPU(data *Value) bool {
	return data != nil && (data.onGPU() || data.Elem != nil && data.Elem.onGPU())
}

// CollatesOwnType reports whether a loader's collate function returns an object of a class of the project: pinning such a
// batch needs a pin_memory method on it.
func (f *Facts) CollatesOwnType(l *LoaderCall) bool {
	k := Keyword(l.Call, "collate_fn")
	if k == nil {
		return false
	}
	x := f.project.index(l.File)
	s := x.ready().tree.Site(k.Value)
	if s == nil {
		return false
	}
	v := f.analysis.value(x, s)
	if v.Def.def == nil {
		return false
	}
	fl := f.analysis.at(v.Def.index, v.Def.def, topLevel)
	return fl != nil && fl.returns != nil && fl.returns.Kind == Instance
}

// IsCreation reports whether a dotted path is a function of torch that makes a tensor from nothing or from Python values.
func (f *Facts) IsCreation(path string) bool {
	name, ok := strings.CutPrefix(path, "torch.")
	return ok && creators[name]
}

// LineNumber is the 1-based line a node starts on.
func (t *Tree) LineNumber(n pyscan.Node) int { return lineOf(t.File, n.Range().Start) }

// PlaceOf is where a loader is made, in words: "line 12", or "loaders.py:12" in another file.
func (f *Facts) PlaceOf(l *LoaderCall) string {
	line := l.Tree.LineNumber(l.Call)
	if e := f.project.edit; e != nil && l.Tree == e.base.tree {
		at, _ := e.patch.ToNew(l.Call.Start)
		line = f.File.Line(at)
	}
	if l.File.Path == f.File.Path {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", l.File.Path, line)
}
