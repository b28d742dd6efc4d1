package rules

import "stepline/pyscan"

// branch runs both sides of an if and joins them; a side that leaves the block does not count.
func (f *flow) branch(s *pyscan.If) bool {
	f.eval(s.Test)
	before := f.copyEnv(f.env)
	narrowed, to := f.narrow(s.Test)
	bodyFalls := f.block(s.Body)
	if to != nil && f.env[narrowed] == to {
		f.env[narrowed] = before[narrowed]
	}
	afterBody := f.env
	f.env = before
	elseFalls := f.block(s.Else)
	switch {
	case bodyFalls && elseFalls:
		f.env.merge(afterBody)
		f.dropEnv(afterBody)
	case bodyFalls:
		f.dropEnv(f.env)
		f.env = afterBody
	default:
		f.dropEnv(afterBody)
	}
	return bodyFalls || elseFalls
}

// narrow binds what `if isinstance(x, (list, tuple))` says of x in its body: a list, a mapping or something of the host is no tensor,
// whatever x can be otherwise. It answers the variable and its value there, nil where nothing is said.
func (f *flow) narrow(test pyscan.Expr) (variable int32, is *Value) {
	call, ok := test.(*pyscan.Call)
	if !ok || lastName(call.Func) != "isinstance" || len(call.Args) != 2 {
		return 0, nil
	}
	variable = f.number(f.site(call.Args[0]))
	if old := f.env[variable]; old == nil || !old.onGPU() {
		return 0, nil
	}
	types := elementsOf(call.Args[1])
	if types == nil {
		types = []pyscan.Expr{call.Args[1]}
	}
	for _, t := range types {
		switch lastName(t) {
		case "list", "tuple", "List", "Tuple", "Sequence", "set":
			is = sequenceOf(outputValue)
		case "dict", "Dict", "Mapping", "OrderedDict", "BatchEncoding", "UserDict":
			is = &Value{Kind: Mapping, Elem: outputValue}
		case "str", "int", "float", "bool", "bytes", "ndarray", "Number", "Path":
			is = hostValue
		default:
			return 0, nil
		}
	}
	if is == nil {
		return 0, nil
	}
	f.env[variable] = is
	return variable, is
}
