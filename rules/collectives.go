package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

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
	if !metric { // `mean = loss.detach().clone()`
		for _, a := range f.assignments(def) {
			if a.Start < s.Range().Start && a.Value != nil && len(a.Targets) == 1 && lastName(a.Targets[0]) == name.ID {
				text := f.Text(a.Value)
				metric = metricWords.MatchString(text) && !notMetric.MatchString(text)
			}
		}
	}
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
	for _, s := range x.tree.in(def) {
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

var (
	rankWords   = regexp.MustCompile(`(?i)(^|_)rank($|_)|^rank\d*$|is_main|is_master|main_process|is_rank_?zero|is_global_zero|is_chief|master_process|get_rank`)
	memoryWords = regexp.MustCompile(`(?i)^(memory_allocated|memory_reserved|max_memory_allocated|mem_get_info|memory_stats|virtual_memory|memory_info|getrusage)$`)
)

// RankDependent is the test around a site that differs between ranks: it names the rank, measures this process's memory or
// reads its clock; nil if there is none.
func (f *Facts) RankDependent(s *Site) (test pyscan.Expr, why string) {
	for at := s; at.Parent != nil; at = at.Parent {
		branch, ok := at.Parent.Node.(*pyscan.If)
		if !ok {
			if _, def := at.Parent.Node.(*pyscan.FunctionDef); def {
				return nil, ""
			}
			continue
		}
		if at.Role != RoleBody && at.Role != RoleElse {
			continue
		}
		EachExpr(branch.Test, func(e pyscan.Expr) bool {
			switch e := e.(type) {
			case *pyscan.Name:
				if rankWords.MatchString(e.ID) {
					why = "on some ranks only"
				}
			case *pyscan.Attribute:
				if rankWords.MatchString(e.Attr) {
					why = "on some ranks only"
				}
			case *pyscan.Call:
				name := lastName(e.Func)
				switch {
				case rankWords.MatchString(name):
					why = "on some ranks only"
				case memoryWords.MatchString(name):
					why = "when this rank's memory says so"
				case strings.HasPrefix(f.Resolve(e.Func), "time."):
					why = "when this rank's clock says so"
				}
			}
			return why == ""
		})
		if why != "" {
			return branch.Test, why
		}
	}
	return nil, ""
}

// LargeJob is the expression that shows a job of several nodes or of several kinds of parallelism: `num_nodes=4`, a device
// mesh of two dimensions; nil if nothing does.
func (f *Facts) LargeJob() *Site {
	for _, s := range f.Calls {
		call := s.Call()
		if strings.HasSuffix(f.Resolve(call.Func), ".init_device_mesh") {
			switch shape := Argument(call, 1, "mesh_shape").(type) {
			case *pyscan.Tuple:
				if len(shape.Elems) > 1 {
					return s
				}
			}
		}
		if k := Keyword(call, "num_nodes"); k != nil {
			if c, ok := k.Value.(*pyscan.Constant); ok && c.Kind == pyscan.ConstInt && c.Text != "1" && c.Text != "0" {
				return s
			}
		}
	}
	return nil
}
