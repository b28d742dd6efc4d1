package rules

import (
	"fmt"
	"regexp"
	"strings"

	"stepline/pyscan"
)

// HostRead is a call that reads a tensor on the host and so waits for the GPU if the tensor is there.
type HostRead struct {
	Tensor pyscan.Expr
	// Method is set for `t.item()` and the like, nil for `float(t)`.
	Method *pyscan.Attribute
	// Copy: the whole tensor is copied (`.cpu()`, `.numpy()`, `.to("cpu")`), not one value read.
	Copy bool
}

// HostRead tells whether a call reads a tensor on the host, whatever the tensor; nil if not.
func (f *Facts) HostRead(s *Site) *HostRead { return f.HostReadOf(s.Call()) }

// HostReadOf is HostRead for a call.
func (f *Facts) HostReadOf(call *pyscan.Call) *HostRead {
	switch fn := call.Func.(type) {
	case *pyscan.Attribute:
		switch fn.Attr {
		case "item", "tolist":
			if len(call.Args)+len(call.Keywords) == 0 {
				return &HostRead{Tensor: fn.Value, Method: fn}
			}
		case "cpu", "numpy":
			if len(call.Args) == 0 {
				return &HostRead{Tensor: fn.Value, Method: fn, Copy: true}
			}
		case "to":
			if k := Keyword(call, "non_blocking"); k != nil && !IsFalse(k.Value) {
				return nil
			}
			e := Argument(call, 0, "device")
			if e == nil {
				return nil
			}
			if d := deviceOf(nil, f.Value(e), e); d.Kind == Device && d.OnCPU {
				return &HostRead{Tensor: fn.Value, Method: fn, Copy: true}
			}
		}
	case *pyscan.Name:
		if (fn.ID == "float" || fn.ID == "int" || fn.ID == "bool") && len(call.Args) == 1 && len(call.Keywords) == 0 && f.Resolve(fn) == "builtins."+fn.ID {
			return &HostRead{Tensor: call.Args[0]}
		}
	}
	return nil
}

// KeepOnGPU is the fix that leaves a number on the GPU where it is only added up, collected or returned: `.detach()` in the place of
// `.item()` or `float()`. It is none where the number is compared, printed or passed on.
func (f *Facts) KeepOnGPU(s *Site, read *HostRead) []Fix {
	if read.Copy || read.Method != nil && read.Method.Attr != "item" {
		return nil
	}
	for up := range s.Ancestors() {
		switch n := up.Node.(type) {
		case *pyscan.BinOp, *pyscan.Comprehension, *pyscan.Keyword:
			continue
		case *pyscan.Call:
			if name := lastName(n.Func); name == "sum" || name == "append" {
				continue
			}
			return nil
		case *pyscan.Assign, *pyscan.AugAssign, *pyscan.Return, *pyscan.ExprStmt:
		default:
			return nil
		}
		break
	}
	title := fmt.Sprintf("Keep `%s` on the GPU: `.detach()`, and read the total once", f.Line(read.Tensor))
	if read.Method != nil {
		return []Fix{{Title: title, Safety: Unsafe, Edits: []TextEdit{{File: f.File, Span: read.Method.AttrSpan, New: "detach"}}}}
	}
	text := f.Text(read.Tensor)
	switch read.Tensor.(type) {
	case *pyscan.Call, *pyscan.Name, *pyscan.Attribute, *pyscan.Subscript:
	default:
		text = "(" + text + ")"
	}
	return []Fix{{Title: title, Safety: Unsafe, Edits: []TextEdit{{File: f.File, Span: s.Range(), New: text + ".detach()"}}}}
}

// InsideHostRead reports whether the read's value goes straight into another read (`x.cpu().item()`, `float(x.item())`).
func (f *Facts) InsideHostRead(s *Site) bool {
	at := s.Parent
	if at == nil {
		return false
	}
	if attr, ok := at.Node.(*pyscan.Attribute); ok && at.Parent != nil {
		if call, ok := at.Parent.Node.(*pyscan.Call); ok && call.Func == pyscan.Expr(attr) {
			read := f.HostReadOf(call)
			return read != nil && !read.Copy
		}
	}
	return false
}

// ReportedElsewhere reports whether a read has a rule of its own: in a log call (SYN008), over parameters (SYN006), as a
// loop's bound (SYN009).
func (f *Facts) ReportedElsewhere(s *Site) bool {
	if f.ParameterLoop(s) != nil && f.OptimizerStep(s) == nil {
		return true
	}
	for up := range s.Ancestors() {
		call, ok := up.Node.(*pyscan.Call)
		if !ok {
			if _, isStmt := up.Node.(pyscan.Stmt); isStmt {
				return false
			}
			continue
		}
		if f.LogName(up) != "" {
			return true
		}
		if name, ok := call.Func.(*pyscan.Name); ok && name.ID == "range" && up.Role == RoleIter {
			return true
		}
	}
	return false
}

// ParameterLoop is the loop over a model's parameters (a for statement or a comprehension) that a site runs in, nil if none.
func (f *Facts) ParameterLoop(s *Site) *Site {
	for at := s; at.Parent != nil; at = at.Parent {
		switch n := at.Parent.Node.(type) {
		case *pyscan.For:
			if at.Role == RoleBody && f.iteratesParameters(n.Iter) {
				return at.Parent
			}
		case *pyscan.Comprehension:
			if at.Role != RoleIter && len(n.Clauses) > 0 && f.iteratesParameters(n.Clauses[len(n.Clauses)-1].Iter) {
				return at.Parent
			}
		case *pyscan.FunctionDef:
			return nil
		}
	}
	return nil
}

func (f *Facts) iteratesParameters(e pyscan.Expr) bool {
	v := f.Value(e)
	switch v.Kind {
	case Parameters, NamedParameters:
		return true
	case Sequence: // a list made from parameters
		call, ok := e.(*pyscan.Name)
		return ok && parameterNames.MatchString(call.ID) && v.element().onGPU()
	case Unknown:
		name, ok := e.(*pyscan.Name)
		return ok && (name.ID == "parameters" || name.ID == "params")
	}
	return false
}

var parameterNames = regexp.MustCompile(`(?i)param|grads`)

// InLoop reports whether a site is in the body of any loop of its function.
func (f *Facts) InLoop(s *Site) bool { return enclosingLoop(s) != nil }

// HeaderSpan is the header of a loop or block, for related locations.
func (f *Facts) HeaderSpan(s *Site) pyscan.Span { return headerSpan(f.Tree, s) }

// InDefNamed reports whether a site runs in a function of that name.
func (f *Facts) InDefNamed(s *Site, name string) bool {
	fn := s.Def()
	return fn != nil && fn.Name == name
}

// IsSynchronize reports whether a call waits for a device or stream: `torch.cuda.synchronize()` and its kin.
func (f *Facts) IsSynchronize(s *Site) bool {
	call := s.Call()
	switch path := f.Resolve(call.Func); path {
	case "torch.cuda.synchronize", "torch.accelerator.synchronize", "torch.xpu.synchronize":
		return true
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok || attr.Attr != "synchronize" {
		return false
	}
	return f.Value(attr.Value).Kind == Stream
}

// syncFlags are options whose purpose is to synchronise, mostly for measuring.
var syncFlags = regexp.MustCompile(`(?i)(^|_)synchroni[sz]e`)

var timerWords = regexp.MustCompile(`(?i)time|timer|clock|tic\b|toc\b|elapsed|perf_counter|stopwatch|bench`)

// TimesCode reports whether a clock is read, or an event's time asked, close to a site: in the same block of statements.
func (f *Facts) TimesCode(s *Site) bool {
	stmt := s.Statement()
	if stmt == nil {
		return false
	}
	block := blockOf(stmt, f.File)
	for up := stmt.Parent; up != nil; up = up.Parent { // `if device.type == "cuda": synchronize()` counts with what surrounds it
		branch, ok := up.Node.(*pyscan.If)
		if !ok {
			break
		}
		if syncFlags.MatchString(lastName(branch.Test)) {
			return true
		}
		block = append(append([]pyscan.Stmt(nil), block...), blockOf(up, f.File)...)
	}
	for _, other := range block {
		found := false
		EachExprIn(other, func(e pyscan.Expr) bool {
			switch e := e.(type) {
			case *pyscan.Call:
				name := lastName(e.Func)
				path := f.Resolve(e.Func)
				found = found || strings.HasPrefix(path, "time.") || path == "timeit.default_timer" || name == "elapsed_time" ||
					timerWords.MatchString(name) && !strings.HasPrefix(path, "torch.")
			case *pyscan.Attribute:
				found = found || e.Attr == "elapsed_time"
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// CapturesGraph reports whether the function captures a CUDA graph.
func (f *Facts) CapturesGraph(s *Site) bool {
	fn := s.Def()
	if fn == nil {
		return false
	}
	text := f.File.Text[fn.Start:min(fn.End, len(f.File.Text))]
	return strings.Contains(text, "CUDAGraph") || strings.Contains(text, "cuda.graph(") || strings.Contains(text, "make_graphed_callables")
}

// TensorTests are the tests, in code that runs every step, whose truth Python asks of a GPU tensor: of if, while, assert, not, and/or, conditional
// expressions and comprehension conditions.
func (f *Facts) TensorTests() []*Site {
	var out []*Site
	for _, s := range f.Sites {
		if s.Role != RoleTest {
			continue
		}
		if e, ok := s.Node.(pyscan.Expr); ok && (f.Hot(s) != nil || f.OptimizerStep(s) != nil) {
			f.tensorTest(e, &out)
		}
	}
	return out
}

// BehindTensorTest reports whether a site runs only if a test of a GPU tensor's value says so.
func (f *Facts) BehindTensorTest(s *Site) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		branch, ok := at.Parent.Node.(*pyscan.If)
		if !ok || at.Role != RoleBody {
			continue
		}
		if _, ok := branch.Test.(*pyscan.Compare); ok && f.OnGPU(branch.Test) {
			return true
		}
		var tests []*Site
		f.tensorTest(branch.Test, &tests)
		if len(tests) > 0 {
			return true
		}
	}
	return false
}

func (f *Facts) tensorTest(e pyscan.Expr, out *[]*Site) {
	switch e := e.(type) {
	case *pyscan.UnaryOp:
		if e.Op == "not" {
			f.tensorTest(e.Operand, out)
			return
		}
	case *pyscan.BoolOp:
		for _, v := range e.Values {
			f.tensorTest(v, out)
		}
		return
	}
	if f.IsTensor(e) {
		*out = append(*out, f.Site(e))
	}
}

// IsPrintOfTensor is the GPU tensor whose value a call turns into text, nil if there is none.
func (f *Facts) IsPrintOfTensor(s *Site) pyscan.Expr {
	call := s.Call()
	if !f.makesText(call) {
		return nil
	}
	var found pyscan.Expr
	look := func(e pyscan.Expr) {
		if found == nil {
			found = f.formatted(e)
		}
	}
	for _, a := range call.Args {
		look(a)
	}
	for _, k := range call.Keywords {
		look(k.Value)
	}
	return found
}

var logLevels = wordSet("debug info warning warn error critical log exception")

// makesText: print, logging, tqdm's postfix and description.
func (f *Facts) makesText(call *pyscan.Call) bool {
	switch fn := call.Func.(type) {
	case *pyscan.Name:
		if fn.ID == "print" {
			b, _ := f.index.lookup("print", f.Site(fn).Function)
			return b == nil
		}
	case *pyscan.Attribute:
		switch fn.Attr {
		case "set_postfix", "set_description", "set_postfix_str", "set_description_str":
			return f.Resolve(fn) == ""
		case "write":
			return strings.HasSuffix(f.Resolve(fn), "tqdm.write")
		}
		if !logLevels[fn.Attr] {
			return false
		}
		if path := f.Resolve(fn); path != "" {
			return strings.HasPrefix(path, "logging.")
		}
		// an own logger's debug is usually switched off
		return fn.Attr != "debug" && (loggerNames.MatchString(lastName(fn.Value)) || f.Value(fn.Value).Kind == PythonLogger)
	}
	return false
}

var loggerNames = regexp.MustCompile(`(?i)^_?(log|logger|logging)$`)

// formatted finds the GPU tensor whose text an argument needs: itself, or inside an f-string, `%`, `.format`, `str()`, a display.
func (f *Facts) formatted(e pyscan.Expr) pyscan.Expr {
	if f.OnGPU(e) {
		if bin, ok := e.(*pyscan.BinOp); !ok || bin.Op != "%" || !isText(bin.Left) {
			return e
		}
	}
	look := func(list ...pyscan.Expr) pyscan.Expr {
		for _, sub := range list {
			if found := f.formatted(sub); found != nil {
				return found
			}
		}
		return nil
	}
	switch e := e.(type) {
	case *pyscan.FString:
		return look(e.Values...)
	case *pyscan.BinOp:
		if e.Op == "%" && isText(e.Left) {
			return look(e.Right)
		}
		if e.Op == "+" {
			return look(e.Left, e.Right)
		}
	case *pyscan.Tuple:
		return look(e.Elems...)
	case *pyscan.List:
		return look(e.Elems...)
	case *pyscan.Dict:
		return look(e.Values...)
	case *pyscan.Call:
		if attr, ok := e.Func.(*pyscan.Attribute); ok && attr.Attr == "format" && isText(attr.Value) {
			for _, k := range e.Keywords {
				if found := look(k.Value); found != nil {
					return found
				}
			}
			return look(e.Args...)
		}
		if name, ok := e.Func.(*pyscan.Name); ok && (name.ID == "str" || name.ID == "repr" || name.ID == "dict") {
			for _, k := range e.Keywords {
				if found := look(k.Value); found != nil {
					return found
				}
			}
			return look(e.Args...)
		}
	}
	return nil
}

func isText(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Constant:
		return e.Kind == pyscan.ConstString
	case *pyscan.FString:
		return true
	}
	return false
}

// LogName is the log function a call is (`writer.add_scalar`, `wandb.log`, `self.log`), "" if it is none.
func (f *Facts) LogName(s *Site) string {
	call := s.Call()
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return ""
	}
	name := f.Line(attr)
	switch attr.Attr {
	case "add_scalar", "add_scalars":
		return name
	case "log", "log_dict":
		if path := f.Resolve(attr); path == "wandb.log" {
			return name
		}
		if fn := s.Def(); fn != nil && isSelfName(attr.Value, selfOf(fn)) && methodClass(fn) != nil && f.analysis.isFrameworkClass(f.index, methodClass(fn)) {
			return name
		}
		if v := f.Value(attr.Value); v.Kind == Writer || runNames.MatchString(lastName(attr.Value)) && attr.Attr == "log" && len(call.Args) > 0 {
			return name
		}
	case "log_metric", "log_metrics":
		if strings.HasPrefix(f.Resolve(attr), "mlflow.") || loggerOwner.MatchString(lastName(attr.Value)) {
			return name
		}
	}
	return ""
}

var (
	runNames    = regexp.MustCompile(`(?i)^(wandb|wandb_run|accelerator|fabric)$`)
	loggerOwner = regexp.MustCompile(`(?i)log|experiment|mlflow|comet|tracker|writer|\brun$`)
)

// LoggedTensor is the tensor or read a log call hands over, with what to do about it; nil if there is none.
func (f *Facts) LoggedTensor(s *Site) (pyscan.Expr, string) {
	if f.LogName(s) == "" {
		return nil, ""
	}
	call := s.Call()
	lightning := isSelfName(call.Func.(*pyscan.Attribute).Value, selfOf(s.Def()))
	advice := "log every N steps"
	if lightning {
		advice = "pass the tensor itself, the framework reads it when it writes"
	}
	var found pyscan.Expr
	var look func(e pyscan.Expr)
	look = func(e pyscan.Expr) {
		if found != nil || e == nil {
			return
		}
		if c, ok := e.(*pyscan.Call); ok {
			if read := f.HostReadOf(c); read != nil && f.OnGPU(read.Tensor) {
				found = e
				return
			}
		}
		if !lightning && f.OnGPU(e) {
			found = e
			return
		}
		switch e := e.(type) {
		case *pyscan.Dict:
			for _, v := range e.Values {
				look(v)
			}
		case *pyscan.BinOp:
			look(e.Left)
			look(e.Right)
		case *pyscan.Call:
			if name, ok := e.Func.(*pyscan.Name); ok && name.ID == "dict" {
				for _, k := range e.Keywords {
					look(k.Value)
				}
			}
			if name, ok := e.Func.(*pyscan.Name); ok && name.ID == "round" && len(e.Args) > 0 {
				look(e.Args[0])
			}
		}
	}
	for _, a := range call.Args {
		look(a)
	}
	for _, k := range call.Keywords {
		look(k.Value)
	}
	return found, advice
}

// LogsTensors reports whether a log call belongs to a framework that takes tensors and reads them itself (Lightning's self.log).
func (f *Facts) LogsTensors(s *Site) bool {
	attr, ok := s.Call().Func.(*pyscan.Attribute)
	return ok && isSelfName(attr.Value, selfOf(s.Def()))
}

// ComesBack reports whether a host copy is moved to a device again in the same expression or through the variable it is
// bound to.
func (f *Facts) ComesBack(s *Site) bool {
	for up := range s.Ancestors() {
		if call, ok := up.Node.(*pyscan.Call); ok {
			if v := f.Value(call); v.onGPU() {
				return true
			}
		}
		if _, ok := up.Node.(pyscan.Stmt); ok {
			break
		}
	}
	for _, trip := range f.RoundTrips() {
		if trip.Copy == s {
			return true
		}
	}
	return false
}

// DataDependent names the operation whose result's size depends on a tensor's values, with that tensor; "" if a site is none.
func (f *Facts) DataDependent(s *Site) (string, pyscan.Expr) {
	switch n := s.Node.(type) {
	case *pyscan.Subscript:
		if s.Role == RoleTarget {
			return "", nil
		}
		if f.isMask(n.Index, s) && f.OnGPU(n.Value) {
			return "boolean-mask index", n.Value
		}
	case *pyscan.Call:
		path := f.Resolve(n.Func)
		switch path {
		case "torch.nonzero", "torch.masked_select", "torch.unique", "torch.unique_consecutive", "torch.argwhere":
			if len(n.Args) > 0 {
				return "`" + path + "`", n.Args[0]
			}
		case "torch.where":
			if len(n.Args) == 1 {
				return "one-argument `torch.where`", n.Args[0]
			}
		}
		attr, ok := n.Func.(*pyscan.Attribute)
		if !ok || path != "" {
			return "", nil
		}
		switch attr.Attr {
		case "nonzero", "masked_select", "unique", "unique_consecutive", "argwhere":
			return "`." + attr.Attr + "`", attr.Value
		}
	}
	return "", nil
}

// isMask: a comparison of GPU tensors, `~mask`, or a variable bound to one in the function.
func (f *Facts) isMask(e pyscan.Expr, s *Site) bool {
	switch e := e.(type) {
	case *pyscan.Compare:
		return f.OnGPU(e)
	case *pyscan.UnaryOp:
		return e.Op == "~" && f.isMask(e.Operand, s)
	case *pyscan.BinOp:
		return (e.Op == "&" || e.Op == "|") && f.isMask(e.Left, s) && f.isMask(e.Right, s)
	case *pyscan.Call:
		attr, ok := e.Func.(*pyscan.Attribute)
		return ok && attr.Attr == "bool" && len(e.Args) == 0 && f.OnGPU(attr.Value)
	case *pyscan.Name:
		var value *pyscan.Assign
		for _, a := range f.assignments(s.Def()) {
			if a.Start >= s.Range().Start || a.Covers(s.Range()) {
				break
			}
			for _, t := range a.Targets {
				if n, ok := t.(*pyscan.Name); ok && n.ID == e.ID {
					value = a
				}
			}
		}
		if value == nil || value.Value == nil {
			return false
		}
		if _, isName := value.Value.(*pyscan.Name); isName {
			return false
		}
		return f.isMask(value.Value, f.Site(value)) // from there on upwards: this ends
	}
	return false
}

// HoldsList reports whether a name is known to hold a list or tuple.
func (f *Facts) HoldsList(e pyscan.Expr) bool { return f.Value(e).Kind == Sequence }

// IfTensor reports whether a site runs only if isinstance says that an expression is a tensor (`x.item() if isinstance(x, torch.Tensor)
// else x`): the caller may pass a number all the time.
func (f *Facts) IfTensor(s *Site, e pyscan.Expr) bool {
	for at := s; at.Parent != nil; at = at.Parent {
		var test pyscan.Expr
		switch up := at.Parent.Node.(type) {
		case *pyscan.If:
			test = up.Test
		case *pyscan.IfExp:
			test = up.Test
		}
		if call, ok := test.(*pyscan.Call); ok && at.Role == RoleBody && lastName(call.Func) == "isinstance" && len(call.Args) == 2 && f.Text(call.Args[0]) == f.Text(e) {
			return true
		}
	}
	return false
}

// MadeAsTensor reports whether every value a variable is given in its function comes from an operation that gives one tensor: a
// function of torch, a method tensors alone have, arithmetic. A parameter, or what a call of unknown code returns, may be a list.
func (f *Facts) MadeAsTensor(name *pyscan.Name) bool {
	made := false
	for _, a := range f.assignments(f.Site(name).Def()) {
		for _, target := range a.Targets {
			if tuple := elementsOf(target); tuple != nil && boundIn(tuple, name.ID) {
				return false
			}
			if n, ok := target.(*pyscan.Name); !ok || n.ID != name.ID {
				continue
			}
			made = true
			if !f.givesOneTensor(a.Value) {
				return false
			}
		}
	}
	return made
}

func boundIn(targets []pyscan.Expr, id string) bool {
	for _, t := range targets {
		if n, ok := t.(*pyscan.Name); ok && n.ID == id {
			return true
		}
	}
	return false
}

func (f *Facts) givesOneTensor(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.BinOp, *pyscan.UnaryOp, *pyscan.Compare:
		return true
	case *pyscan.Call:
		path := f.Resolve(e.Func)
		attr, isMethod := e.Func.(*pyscan.Attribute)
		return strings.HasPrefix(path, "torch.") && !strings.HasPrefix(path, "torch.nn.") || strings.HasPrefix(path, "torch.nn.functional.") ||
			isMethod && path == "" && (tensorMethods[attr.Attr] || attr.Attr == "to" || attr.Attr == "cuda")
	}
	return false
}

// ReadsGradients reports whether the function of a site uses `.grad` as a tensor where it may have been zeroed before.
func (f *Facts) ReadsGradients(s *Site) bool {
	fn := s.Def()
	if fn == nil {
		return false
	}
	found := false
	for _, stmt := range fn.Body {
		EachExprIn(stmt, func(e pyscan.Expr) bool {
			if attr, ok := e.(*pyscan.Attribute); ok {
				if inner, ok := attr.Value.(*pyscan.Attribute); ok && inner.Attr == "grad" {
					found = true
				}
			}
			return !found
		})
	}
	return found
}

// TrainsOnCUDA reports whether the project names CUDA.
func (f *Facts) TrainsOnCUDA() bool {
	return f.MentionsInProject("cuda", "Accelerator", "accelerator=\"gpu\"")
}
