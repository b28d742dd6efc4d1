package rules

import "stepline/pyscan"

// branch runs both sides of an if and joins them; a side that leaves the block does not count.
func (f *flow) branch(s *pyscan.If) bool {
	f.eval(s.Test)
	before := f.env.clone()
	key, narrowed := f.narrow(s.Test)
	bodyFalls := f.block(s.Body)
	if narrowed != nil && f.env[key] == narrowed {
		f.env[key] = before[key]
	}
	afterBody := f.env
	f.env = before
	elseFalls := f.block(s.Else)
	switch {
	case bodyFalls && elseFalls:
		f.env.merge(afterBody)
	case bodyFalls:
		f.env = afterBody
	}
	return bodyFalls || elseFalls
}

// narrow binds what `if isinstance(x, (list, tuple))` says of x in its body: a list, a mapping or something of the host is no tensor,
// whatever x can be otherwise. It answers the variable and its value there, nil where nothing is said.
func (f *flow) narrow(test pyscan.Expr) (string, *Value) {
	call, ok := test.(*pyscan.Call)
	if !ok || lastName(call.Func) != "isinstance" || len(call.Args) != 2 {
		return "", nil
	}
	key := envKey(call.Args[0])
	old := f.env[key]
	if key == "" || old == nil || !old.onGPU() {
		return "", nil
	}
	types := elementsOf(call.Args[1])
	if types == nil {
		types = []pyscan.Expr{call.Args[1]}
	}
	var v *Value
	for _, t := range types {
		switch lastName(t) {
		case "list", "tuple", "List", "Tuple", "Sequence", "set":
			v = sequenceOf(outputValue)
		case "dict", "Dict", "Mapping", "OrderedDict", "BatchEncoding", "UserDict":
			v = &Value{Kind: Mapping, Elem: outputValue}
		case "str", "int", "float", "bool", "bytes", "ndarray", "Number", "Path":
			v = hostValue
		default:
			return "", nil
		}
	}
	if v == nil {
		return "", nil
	}
	f.env[key] = v
	return key, v
}
