package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"stepline/pyscan"
)

var (
	convName = regexp.MustCompile(`^torch\.nn\.Conv(Transpose)?[123]d$`)
	normName = regexp.MustCompile(`^torch\.nn\.(BatchNorm[123]d|SyncBatchNorm)$`)
)

// ConvBeforeNorm is a convolution whose bias a batch norm right behind it takes away again.
type ConvBeforeNorm struct {
	Conv, Norm *pyscan.Call
	// Name is the convolution as the code calls it: `self.conv1`, or the call itself.
	Name string
}

// biasPosition is where Conv1d, Conv2d, … take bias by position; the transposed ones have output_padding before groups, too.
const biasPosition = 7

// ConvsBeforeNorm finds convolutions with a bias in front of a batch norm: next to each other in nn.Sequential, or called as
// norm(conv(x)) in forward.
func (f *Facts) ConvsBeforeNorm() []ConvBeforeNorm {
	var out []ConvBeforeNorm
	seen := map[*pyscan.Call]bool{}
	add := func(conv, norm *pyscan.Call, name string) {
		if conv != nil && norm != nil && !seen[conv] && f.hasBias(conv) {
			seen[conv] = true
			out = append(out, ConvBeforeNorm{Conv: conv, Norm: norm, Name: name})
		}
	}
	for _, s := range f.Sites {
		switch n := s.Node.(type) {
		case *pyscan.Call:
			if f.Resolve(n.Func) == "torch.nn.Sequential" {
				f.neighbours(n.Args, add)
			}
		case *pyscan.List:
			if f.becomesSequential(s) {
				f.neighbours(n.Elems, add)
			}
		case *pyscan.FunctionDef:
			if n.Function.Name == "forward" && n.Function.Class != nil {
				f.normedInForward(n.Function, add)
			}
		}
	}
	for _, class := range f.project.edit.classes() { // the layers were edited, their forward was not
		for _, m := range class.Methods {
			if m.Name == "forward" && f.project.edit.newOf[m] == nil {
				f.normedInForward(m, add)
			}
		}
	}
	return out
}

func (f *Facts) hasBias(conv *pyscan.Call) bool {
	if HasOpenArguments(conv) {
		return false
	}
	e := Argument(conv, biasPosition, "bias")
	return e == nil || IsTrue(e)
}

func (f *Facts) neighbours(list []pyscan.Expr, add func(conv, norm *pyscan.Call, name string)) {
	for i := 1; i < len(list); i++ {
		conv, norm := f.layer(list[i-1], convName), f.layer(list[i], normName)
		if conv != nil && norm != nil {
			add(conv, norm, f.Line(conv))
		}
	}
}

// layer is a call of one of torch.nn's layers, through a `("name", layer)` pair.
func (f *Facts) layer(e pyscan.Expr, kind *regexp.Regexp) *pyscan.Call {
	if pair, ok := e.(*pyscan.Tuple); ok && len(pair.Elems) == 2 {
		e = pair.Elems[1]
	}
	call, ok := e.(*pyscan.Call)
	if ok && kind.MatchString(f.Resolve(call.Func)) {
		return call
	}
	return nil
}

// becomesSequential: the list is given to nn.Sequential, or put into a variable that is.
func (f *Facts) becomesSequential(s *Site) bool {
	for up := range s.Ancestors() {
		switch n := up.Node.(type) {
		case *pyscan.Starred, *pyscan.List:
			continue
		case *pyscan.Call:
			return f.Resolve(n.Func) == "torch.nn.Sequential" || lastName(n.Func) == "OrderedDict"
		case *pyscan.Assign:
			return len(n.Targets) == 1 && f.spreadIntoSequential(n.Targets[0], s)
		case *pyscan.AugAssign:
			return f.spreadIntoSequential(n.Target, s)
		}
		return false
	}
	return false
}

func (f *Facts) spreadIntoSequential(target pyscan.Expr, at *Site) bool {
	name, ok := target.(*pyscan.Name)
	if !ok {
		return false
	}
	for _, s := range f.callsIn(at.Def()) {
		if s.Def() != at.Def() || f.Resolve(s.Call().Func) != "torch.nn.Sequential" || len(s.Call().Args) != 1 {
			continue
		}
		if star, ok := s.Call().Args[0].(*pyscan.Starred); ok && lastName(star.Value) == name.ID {
			return true
		}
	}
	return false
}

// normedInForward finds `self.bn(self.conv(x))` and `x = self.conv(x)` followed by `x = self.bn(x)` where the class uses the
// convolution nowhere else.
func (f *Facts) normedInForward(fwd *pyscan.Function, add func(conv, norm *pyscan.Call, name string)) {
	self := selfOf(fwd)
	layers := f.layersOf(fwd.Class)
	uses := map[string]int{}
	for _, s := range f.sitesOf(fwd.Class) {
		if attr, ok := s.Node.(*pyscan.Attribute); ok && isSelfName(attr.Value, self) && s.Role != RoleTarget {
			uses[attr.Attr]++
		}
	}
	pair := func(conv, norm string) {
		if uses[conv] != 1 || layers[conv] == nil || layers[norm] == nil {
			return
		}
		if convName.MatchString(f.Resolve(layers[conv].Func)) && normName.MatchString(f.Resolve(layers[norm].Func)) {
			add(layers[conv], layers[norm], "self."+conv)
		}
	}
	for _, s := range f.callsIn(fwd) {
		if s.Def() != fwd || len(s.Call().Args) != 1 {
			continue
		}
		norm := selfCall(s.Call(), self)
		if norm == "" {
			continue
		}
		switch arg := s.Call().Args[0].(type) {
		case *pyscan.Call:
			if conv := selfCall(arg, self); conv != "" {
				pair(conv, norm)
			}
		case *pyscan.Name:
			if conv := f.assignedJustBefore(s, arg.ID, self); conv != "" {
				pair(conv, norm)
			}
		}
	}
}

// assignedJustBefore is the layer whose result the statement before put into a name that the statement itself rebinds.
func (f *Facts) assignedJustBefore(s *Site, name, self string) string {
	stmt := s.Statement()
	now, ok := stmt.Node.(*pyscan.Assign)
	if !ok || len(now.Targets) != 1 || lastName(now.Targets[0]) != name {
		return ""
	}
	block := blockOf(stmt, f.File)
	for i, other := range block {
		if other != stmt.Node.(pyscan.Stmt) || i == 0 {
			continue
		}
		before, ok := block[i-1].(*pyscan.Assign)
		if !ok || len(before.Targets) != 1 || lastName(before.Targets[0]) != name {
			return ""
		}
		if call, ok := before.Value.(*pyscan.Call); ok {
			return selfCall(call, self)
		}
	}
	return ""
}

func selfCall(call *pyscan.Call, self string) string {
	if attr, ok := call.Func.(*pyscan.Attribute); ok && isSelfName(attr.Value, self) {
		return attr.Attr
	}
	return ""
}

// layersOf are the calls a class's __init__ binds to attributes of self, those bound once.
func (f *Facts) layersOf(class *pyscan.Class) map[string]*pyscan.Call {
	out := map[string]*pyscan.Call{}
	for _, m := range f.methods(class) {
		for name, targets := range f.Tree.attributeTargets(m) {
			for _, t := range targets {
				call := (*pyscan.Call)(nil)
				if a, ok := f.Site(t).Parent.Node.(*pyscan.Assign); ok {
					call, _ = a.Value.(*pyscan.Call)
				}
				if _, twice := out[name]; twice || m.Name != "__init__" {
					call = nil
				}
				out[name] = call
			}
		}
	}
	return out
}

// FormatUse is one conversion to channels_last in the project.
type FormatUse struct {
	Place Place
	// Module: of a module's weights; Tensor: of a tensor. Neither: the source does not show which.
	Module, Tensor bool
	Call           *pyscan.Call
}

// ChannelsLast lists the project's conversions to channels_last.
func (f *Facts) ChannelsLast() []FormatUse {
	return ask(f.analysis, formatUses{}, nil, slices.Equal[[]FormatUse], (*analysis).channelsLast)
}

type formatUses struct{}

func (a *analysis) channelsLast() []FormatUse {
	var out []FormatUse
	for _, x := range a.project.filesWith(func(x *fileIndex) bool { return x.mentions("channels_last") && !testPath.MatchString(x.file.Path) }) {
		x.ready()
		for _, s := range x.tree.Calls {
			call := s.Call()
			k := Keyword(call, "memory_format")
			if k == nil {
				continue
			}
			use := FormatUse{Place: Place{x.file, s.Range()}, Call: call}
			attr, isMethod := call.Func.(*pyscan.Attribute)
			if x.resolve(k.Value, s.Function, 0) == "torch.channels_last" && isMethod && (attr.Attr == "to" || attr.Attr == "contiguous") {
				switch v := a.value(x, x.tree.Site(attr.Value)); v.Kind {
				case Module:
					use.Module = true
				case GPUTensor, CPUTensor, Batch, GPUOutput:
					use.Tensor = true
				}
				if attr.Attr == "contiguous" {
					use.Tensor = true
				}
			}
			out = append(out, use)
		}
	}
	return out
}

// MovedInput is the call that moves a model's first input to the device in the loop of a model call: `x = x.to(device)`; nil
// if the source does not show it.
func (f *Facts) MovedInput(model *Site) *pyscan.Call {
	call := model.Call()
	if len(call.Args) == 0 {
		return nil
	}
	if moved, ok := call.Args[0].(*pyscan.Call); ok && f.Moves(f.Site(moved)) != nil {
		return moved
	}
	name, ok := call.Args[0].(*pyscan.Name)
	if !ok {
		return nil
	}
	var moved *pyscan.Call
	for _, a := range f.assignments(model.Def()) {
		if a.Start > model.Range().Start || len(a.Targets) != 1 || lastName(a.Targets[0]) != name.ID {
			continue
		}
		moved = nil
		if c, ok := a.Value.(*pyscan.Call); ok && f.Moves(f.Site(c)) != nil {
			if attr := c.Func.(*pyscan.Attribute); attr.Attr == "to" {
				moved = c
			}
		}
	}
	return moved
}

// ModelCalls are the calls of modules in training steps of the file, in source order.
func (f *Facts) ModelCalls() []*Site {
	var out []*Site
	for _, s := range f.Calls {
		if f.Value(s.Call().Func).Kind != Module || f.InEvaluation(s) {
			continue
		}
		if h := f.Hot(s); h != nil && (h.Kind == InLoop || h.Kind == Reached || h.Kind == InHook) {
			out = append(out, s)
		}
	}
	return out
}

// HasConvolutions reports whether a module is known to hold 2-D or 3-D convolutions.
func (f *Facts) HasConvolutions(v *Value) bool {
	if v.Kind != Module {
		return false
	}
	if strings.HasPrefix(v.Path, "torchvision.models.") {
		return convModels.MatchString(v.Path)
	}
	if v.Def.class == nil {
		return false
	}
	for _, d := range f.analysis.modulesBelow(v.Def) {
		x := d.index.ready()
		for _, s := range x.tree.Calls {
			if d.class.Span.Covers(s.Range()) && convName.MatchString(x.resolve(s.Call().Func, s.Function, 0)) && !strings.HasSuffix(lastName(s.Call().Func), "1d") {
				return true
			}
		}
	}
	return false
}

var convModels = regexp.MustCompile(`resnet|vgg|alexnet|densenet|mobilenet|efficientnet|convnext|regnet|squeezenet|inception|googlenet|shufflenet|resnext`)

// SizeEvidence is a place that shows whether inputs keep their size.
type SizeEvidence struct {
	Place Place
	Why   string
}

// VaryingSizes finds what makes the inputs' sizes change: a collate function that pads each batch, a random rescale in the
// training loop; nil if nothing does.
func (f *Facts) VaryingSizes() *SizeEvidence {
	file := f.File
	return ask(f.analysis, varyingSizes{file}, nil, sameEvidence, func(a *analysis) *SizeEvidence { return a.varyingSizes(file) })
}

// FixedSizes finds what gives all inputs one size: a crop to literal sizes, a data set of equal images; nil if nothing does, or if
// more than one size is asked for.
func (f *Facts) FixedSizes() *SizeEvidence {
	file := f.File
	return ask(f.analysis, fixedSizes{file}, nil, sameEvidence, func(a *analysis) *SizeEvidence { return a.fixedSizes(file) })
}

type (
	varyingSizes struct{ file *pyscan.File }
	fixedSizes   struct{ file *pyscan.File }
)

func sameEvidence(a, b *SizeEvidence) bool { return a == b || a != nil && b != nil && *a == *b }

func (a *analysis) varyingSizes(file *pyscan.File) *SizeEvidence {
	for _, x := range a.project.filesWith(func(x *fileIndex) bool {
		return x.mentions("pad_sequence", "interpolate") && !testPath.MatchString(x.file.Path) && near(file, x.file)
	}) {
		x.ready()
		for _, s := range x.tree.Calls {
			call := s.Call()
			name := x.resolve(call.Func, s.Function, 0)
			def := s.Def()
			switch {
			case name == "torch.nn.utils.rnn.pad_sequence" && def != nil:
				if h, _ := a.functionHeat(x, def, maxCallers); h != nil && h.Kind == InItem || strings.Contains(strings.ToLower(def.Name), "collat") {
					return &SizeEvidence{Place{x.file, s.Range()}, "each batch is padded to its own longest item"}
				}
			case name == "torch.nn.functional.interpolate":
				h, _ := a.siteHeat(x, s, maxCallers)
				if h == nil || h.Kind == InForward || def == nil {
					continue
				}
				size := Argument(call, 1, "size")
				if side, ok := size.(*pyscan.Name); ok && !x.underOption(s) && x.tree.randomName(side.ID, def, 0) {
					return &SizeEvidence{Place{x.file, s.Range()}, "batches are rescaled to a random size"}
				}
			}
		}
	}
	return nil
}

// underOption reports whether a statement stands under a test of a setting, which may be off: an attribute such as
// `opt.multi_scale`, or a lone name.
func (x *fileIndex) underOption(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		branch, ok := at.Parent.Node.(*pyscan.If)
		if !ok {
			continue
		}
		switch branch.Test.(type) {
		case *pyscan.Attribute, *pyscan.Name:
			return true
		}
	}
	return false
}

// near reports whether another file lies in a file's folder, above it or below it: collections of programs hold files that
// have nothing to do with each other.
func near(file, other *pyscan.File) bool {
	a, b := path.Dir(file.Path)+"/", path.Dir(other.Path)+"/"
	return a == "./" || b == "./" || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

var randomText = regexp.MustCompile(`random|randint|randrange|choice`)

// randomName reports whether a name is assigned from a random number in a function, through other names.
func (t *Tree) randomName(name string, def *pyscan.Function, depth int) bool {
	if depth > 4 {
		return false
	}
	for _, a := range t.assignments(def) {
		if len(a.Targets) != 1 || lastName(a.Targets[0]) != name || a.Value == nil {
			continue
		}
		found := false
		EachExpr(a.Value, func(e pyscan.Expr) bool {
			switch e := e.(type) {
			case *pyscan.Call:
				found = found || randomText.MatchString(t.Text(e.Func))
			case *pyscan.Name:
				found = found || e.ID != name && t.randomName(e.ID, def, depth+1)
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

var (
	fixedDatasets = regexp.MustCompile(`^torchvision\.datasets\.(CIFAR10|CIFAR100|MNIST|FashionMNIST|KMNIST|EMNIST|SVHN|STL10)$`)
	fixedCrops    = regexp.MustCompile(`^torchvision\.transforms(\.v2)?\.(RandomResizedCrop|CenterCrop|RandomCrop|Resize)$`)
)

func (a *analysis) fixedSizes(file *pyscan.File) *SizeEvidence {
	var out *SizeEvidence
	for _, x := range a.project.filesWith(func(x *fileIndex) bool {
		return x.mentions("torchvision") && !testPath.MatchString(x.file.Path) && near(file, x.file)
	}) {
		x.ready()
		for _, s := range x.tree.Calls {
			call := s.Call()
			name := x.resolve(call.Func, s.Function, 0)
			switch {
			case fixedDatasets.MatchString(name) && out == nil:
				out = &SizeEvidence{Place{x.file, call.Func.Range()}, "all images have one size"}
			case fixedCrops.MatchString(name):
				size := Argument(call, 0, "size")
				if lastPart(name) == "Resize" {
					if _, pair := size.(*pyscan.Tuple); !pair {
						continue
					}
				}
				if literalSize(size) && out == nil {
					out = &SizeEvidence{Place{x.file, s.Range()}, "all inputs get this size"}
				}
			}
		}
	}
	return out
}

func literalSize(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Constant:
		return e.Kind == pyscan.ConstInt
	case *pyscan.Tuple:
		return len(e.Elems) == 2 && literalSize(e.Elems[0]) && literalSize(e.Elems[1])
	case *pyscan.List:
		return len(e.Elems) == 2 && literalSize(e.Elems[0]) && literalSize(e.Elems[1])
	}
	return false
}
