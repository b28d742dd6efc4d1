package attribute

import (
	"path"
	"slices"
	"strings"

	"stepline/pyscan"
)

// matchCost is what it costs to believe that a token was left by a gate; impossible if it cannot have been.
func matchCost(t *token, x *gate) cost {
	c := kindCost(t, x)
	switch x.kind {
	case pyscan.SiteBinary, pyscan.SiteUnary, pyscan.SiteCompare:
		c = min(c+x.own, impossible)
	}
	if c < impossible && t.callLine > 0 && int32(t.callLine) != x.line {
		// The call's line is recorded: only gaps in the source's model may overrule it.
		return impossible
	}
	return c
}

func kindCost(t *token, x *gate) cost {
	switch x.kind {
	case pyscan.SiteCall:
		return callCost(t, x)
	case pyscan.SiteConstruct:
		if t.kind == tokenPython && (isConstructor(t.name) || t.name == x.name) {
			return callCost(t, x)
		}
	case pyscan.SiteAttribute:
		return attributeCost(t, x)
	case pyscan.SiteSetAttribute:
		return setAttributeCost(t, x)
	case pyscan.SiteBinary:
		return binaryCost(t, x)
	case pyscan.SiteUnary:
		if t.kind == tokenOp && unaryOps[t.name] || t.kind == tokenPython && unaryMethods[t.name] {
			return 0
		}
	case pyscan.SiteCompare:
		return compareCost(t, x)
	case pyscan.SiteIndex:
		if t.kind == tokenOp && x.accepts[t.name] {
			if t.name == "item" || t.name == "_local_scalar_dense" {
				return x.own + 100 // a tensor of one number as an index is rare
			}
			return x.own
		}
	case pyscan.SiteSubscript:
		return subscriptCost(t)
	case pyscan.SiteStorePart:
		if t.kind == tokenOp && storePartOps[t.name] {
			return 0
		}
	case pyscan.SiteSetSubscript:
		return storeCost(t)
	case pyscan.SiteTruth:
		switch {
		case t.kind == tokenOp && t.name == "is_nonzero", t.kind == tokenPython && (t.name == "__bool__" || t.name == "__len__"):
			return 0
		case t.kind == tokenOp && (t.name == "item" || t.name == "_local_scalar_dense"):
			return 100 // a tensor's truth goes through is_nonzero
		}
	case pyscan.SiteIterate, pyscan.SiteUnpack:
		return iterateCost(t)
	case pyscan.SiteNext, pyscan.SiteAwait:
		return nextCost(t, x)
	case pyscan.SiteEnter:
		return contextCost(t, "__enter__", "__aenter__")
	case pyscan.SiteExit:
		return contextCost(t, "__exit__", "__aexit__")
	case pyscan.SiteFormat:
		return formatCost(t)
	case pyscan.SiteGenerator:
		return generatorCost(t, x)
	case pyscan.SiteCallback:
		return callbackCost(t, x)
	case pyscan.SiteConsume:
		if t.kind == tokenPython && !noiseNames[t.name] {
			if t.name == "__iter__" || t.name == "__next__" {
				return 0
			}
			return 600
		}
	case pyscan.SiteImport:
		return importCost(t)
	}
	return impossible
}

func isConstructor(name string) bool {
	return name == "__init__" || name == "__new__" || name == "__post_init__"
}

func callCost(t *token, x *gate) cost {
	switch t.kind {
	case tokenBuiltin:
		return builtinCallCost(t, x)
	case tokenPython:
		return pythonCallCost(t, x)
	case tokenModule:
		return moduleCallCost(t, x)
	}
	// A bare operator: the call itself left no event.
	if conversionOps[x.name][t.name] {
		return 0
	}
	if t.name == x.name || t.name == x.name+"_" {
		return 300
	}
	if x.callee.variable || x.callee.class {
		return 2200
	}
	return impossible
}

func builtinCallCost(t *token, x *gate) cost {
	k := &x.callee
	switch {
	case t.name == x.name || slices.Contains(k.aliases, t.name):
		return 0
	case t.name == "__call__":
		return 500
	case t.name == "" || t.name == "?":
		return 1200
	case t.name == "__new__" && k.class:
		return 100
	case k.known:
		return impossible
	case strings.Trim(t.name, "_") == strings.Trim(x.name, "_"):
		return 300
	case k.plain || k.held:
		return 1500
	case k.imported && !k.class:
		return 2000
	case k.variable:
		return renamedCall // a built-in's method keeps its name
	}
	return impossible
}

// renamedCall is the cost of a named callable that runs under another name.
const renamedCall cost = 2500

func pythonCallCost(t *token, x *gate) cost {
	k := &x.callee
	if t.name == x.name || slices.Contains(k.aliases, t.name) {
		return 0
	}
	if isConstructor(t.name) {
		switch {
		case k.class && (t.owner == "" || t.owner == x.name):
			return 0
		case k.class:
			return 300
		case slices.ContainsFunc(k.aliases, startsUpper):
			return 0
		case k.variable:
			return 1200
		}
		return 2200
	}
	for _, inner := range t.inside {
		if inner == x.name || slices.Contains(k.aliases, inner) {
			return 150
		}
	}
	wrapper := wrapperNames[t.name]
	switch {
	case compileWrappers[t.name]:
		return 500 // the compiled function leaves no frame of its own within
	case k.known && wrapper:
		return 1000
	case k.known:
		return impossible
	case wrapper && k.plain:
		return 500
	case wrapper && (k.variable || t.name != "<lambda>"):
		return 1000
	case wrapper:
		return 1500
	case k.plain || k.variable && len(k.classes) > 0:
		return 800
	case k.variable:
		return 1200
	case k.imported:
		return renamedCall
	}
	return 2200
}

func moduleCallCost(t *token, x *gate) cost {
	k := &x.callee
	switch {
	case t.name == x.name:
		return 0
	case k.imported || k.known:
		return impossible
	case len(k.classes) > 0:
		switch {
		case k.classes[t.name]:
			return 0
		case !k.classes[unknownClass]:
			return 1000
		}
		return familyCost(t.name, x.name)
	case k.held && k.unassigned:
		return 500
	case k.variable && neverModules[x.name]:
		return 1500
	case k.variable:
		return familyCost(t.name, x.name)
	case k.class:
		return 1200
	}
	return 700
}

// compileWrappers are the functions that torch.compile puts around another (torch/_dynamo/eval_frame.py).
var compileWrappers = nameSet("compile_wrapper", "_fn")

// neverModules are methods of tensors and optimizers by whose names no one calls a module.
var neverModules = nameSet("view", "permute", "transpose", "reshape", "squeeze", "unsqueeze", "contiguous", "masked_fill", "detach", "cuda", "cpu", "to", "float", "half", "bfloat16",
	"expand", "gather", "type_as", "split", "chunk", "sum", "mean", "max", "min", "size", "item", "numpy", "backward", "step", "zero_grad")

func attributeCost(t *token, x *gate) cost {
	switch t.kind {
	case tokenPython:
		switch t.name {
		case x.name, "__get__":
			return 50
		case "__getattr__":
			return x.own
		case "__getattribute__":
			return 0
		}
	case tokenOp:
		if attributeOps[t.name] {
			return 200
		}
	}
	return impossible
}

func setAttributeCost(t *token, x *gate) cost {
	switch t.kind {
	case tokenPython:
		if t.name == "__setattr__" || t.name == "__set__" || t.name == "__delattr__" || t.name == x.name {
			return 0
		}
	case tokenOp:
		switch t.name {
		case "set_", "set_data", "detach", "detach_", "copy_":
			return 200
		}
	}
	return impossible
}

func binaryCost(t *token, x *gate) cost {
	switch t.kind {
	case tokenOp:
		name := t.name
		if strings.HasSuffix(name, "_") && !strings.HasSuffix(name, "__") {
			name = name[:len(name)-1]
		}
		if slices.Contains(binaryOps[x.name], name) {
			return 0
		}
	case tokenPython:
		stem := binaryMethods[x.name]
		if isDunder(t.name, stem) {
			return 0
		}
		for _, inner := range t.inside {
			if isDunder(inner, stem) {
				return 0
			}
		}
		if t.name == "wrapped" {
			return 400
		}
	}
	return impossible
}

// isDunder reports whether name is `__stem__`, or its reflected or in-place form.
func isDunder(name, stem string) bool {
	if stem == "" || !strings.HasPrefix(name, "__") || !strings.HasSuffix(name, "__") || len(name) < 5 {
		return false
	}
	inner := name[2 : len(name)-2]
	return inner == stem || len(inner) == len(stem)+1 && (inner[0] == 'r' || inner[0] == 'i') && inner[1:] == stem
}

func compareCost(t *token, x *gate) cost {
	membership := x.name == "in" || x.name == "not in"
	switch t.kind {
	case tokenOp:
		if slices.Contains(compareOps[x.name], t.name) {
			return 0
		}
		if membership && (t.name == "eq" || t.name == "any" || t.name == "is_nonzero") {
			return 100
		}
	case tokenPython:
		for _, m := range compareMethods[x.name] {
			if t.name == m || slices.Contains(t.inside, m) {
				return 0
			}
		}
		if membership {
			switch t.name {
			case "__hash__", "__eq__", "__iter__", "__getitem__", "__next__":
				return 100
			}
		}
		if t.name == "wrapped" {
			return 400
		}
	}
	return impossible
}

func subscriptCost(t *token) cost {
	switch t.kind {
	case tokenOp:
		if !indexOps[t.name] {
			return impossible
		}
		switch {
		case firstIndexOps[t.name]:
			return 150
		case t.name == "item", t.name == "_local_scalar_dense", t.name == "is_nonzero":
			return 100
		}
		return 0
	case tokenPython:
		switch t.name {
		case "__getitem__", "__class_getitem__", "__missing__", "__hash__", "__index__":
			return 0
		case "wrapped":
			return 100
		}
		if slices.Contains(t.inside, "__getitem__") {
			return 100
		}
	case tokenBuiltin:
		if t.name == "__class_getitem__" {
			return 200
		}
	}
	return impossible
}

func storeCost(t *token) cost {
	switch t.kind {
	case tokenOp:
		if storeOps[t.name] {
			return 0
		}
	case tokenPython:
		switch t.name {
		case "__setitem__", "__delitem__", "__hash__", "__delattr__":
			return 0
		case "wrapped":
			return 100
		}
		if slices.Contains(t.inside, "__setitem__") {
			return 100
		}
	}
	return impossible
}

func iterateCost(t *token) cost {
	switch {
	case t.kind == tokenPython && (t.name == "__iter__" || t.name == "__getitem__" || t.name == "__aiter__"):
		return 0
	case t.kind == tokenOp && t.name == "unbind":
		return 0
	}
	return impossible
}

func nextCost(t *token, x *gate) cost {
	switch t.kind {
	case tokenPython:
		switch {
		case t.name == "__next__" || t.name == "__getitem__" || t.name == "__anext__":
			return 0
		case x.name != "" && t.name == x.name, slices.Contains(x.sources, t.name):
			return 0
		case x.kind == pyscan.SiteAwait && !noiseNames[t.name]:
			return 300
		case t.name == "<genexpr>", t.name == "__iter__" && x.kind == pyscan.SiteNext:
			return 100 // an __iter__ that is itself a generator goes on at each next()
		}
		for _, inner := range t.inside {
			if x.name != "" && inner == x.name {
				return 200
			}
		}
		if x.open && !noiseNames[t.name] {
			return 700 // a generator that reached this name from elsewhere
		}
	case tokenBuiltin:
		if t.name == "__next__" {
			return 100
		}
	}
	return impossible
}

func contextCost(t *token, name, async string) cost {
	if (t.kind == tokenPython || t.kind == tokenBuiltin) && (t.name == name || t.name == async) {
		return 0
	}
	if t.kind == tokenBuiltin && (t.name == "acquire" && name == "__enter__" || t.name == "release" && name == "__exit__") {
		return 300
	}
	return impossible
}

func formatCost(t *token) cost {
	switch t.kind {
	case tokenPython:
		if t.name == "__format__" || t.name == "__repr__" || t.name == "__str__" {
			return 0
		}
	case tokenOp:
		if t.name == "item" || t.name == "_local_scalar_dense" {
			return 0
		}
	}
	return impossible
}

func generatorCost(t *token, x *gate) cost {
	if t.kind != tokenPython || t.name != x.name || t.line > 0 && (t.line < x.firstLine || t.line > x.lastLine) {
		return impossible
	}
	return 0
}

// callbackCost is for functions that map or filter call.
func callbackCost(t *token, x *gate) cost {
	switch {
	case t.kind == tokenPython && t.name == "<lambda>":
		if x.file == path.Base(t.file) && (t.line < x.firstLine || t.line > x.lastLine) {
			return impossible // another lambda of this file
		}
		return 50
	case slices.Contains(x.site.Names, t.name):
		return 100 // a C function that C code calls leaves only its operator
	}
	return impossible
}

func importCost(t *token) cost {
	switch {
	case t.kind == tokenPython && strings.Contains(t.file, "importlib"):
		return 100
	case t.name == "__import__" || t.name == "_find_and_load" || t.name == "_handle_fromlist":
		return 100
	}
	return impossible
}

// skipCost is what it costs to leave a token unexplained.
func skipCost(t *token) cost {
	switch {
	case t.kind == tokenPython && noiseNames[t.name]:
		return skipNoise
	case t.kind == tokenOp:
		return skipOp
	}
	return skipToken
}
