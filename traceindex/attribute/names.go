package attribute

// The tables of this file say which recorded names a construct of the source can produce. They rest on CPython's data model
// (dunder methods), on torch's Python bindings (which aten operator an operator, a subscript or a conversion dispatches to) and
// on torch's own wrappers, as seen in traces of torch 1.13 to 2.11.

// binaryOps are the aten operators of a Python operator; a trailing underscore (in place) is dropped before the look-up.
var binaryOps = map[string][]string{
	"+": {"add"}, "-": {"sub", "rsub"}, "*": {"mul"}, "/": {"div", "true_divide", "reciprocal"}, "@": {"matmul", "mm", "bmm", "mv", "dot", "linear"},
	"**": {"pow", "sqrt"}, "//": {"floor_divide", "div"}, "%": {"remainder", "fmod"},
	"&": {"bitwise_and", "__and__", "logical_and", "and"}, "|": {"bitwise_or", "__or__", "logical_or", "or"}, "^": {"bitwise_xor", "__xor__", "logical_xor", "xor"},
	"<<": {"__lshift__", "bitwise_left_shift"}, ">>": {"__rshift__", "bitwise_right_shift"},
}

// binaryMethods are the stems of the dunder methods of a Python operator.
var binaryMethods = map[string]string{
	"+": "add", "-": "sub", "*": "mul", "/": "truediv", "@": "matmul", "**": "pow", "//": "floordiv", "%": "mod",
	"&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}

var compareOps = map[string][]string{
	"==": {"eq"}, "!=": {"ne"}, "<>": {"ne"}, "<": {"lt"}, "<=": {"le"}, ">": {"gt"}, ">=": {"ge"}, "in": {"__contains__"}, "not in": {"__contains__"},
}

// compareMethods hold the dunder of an operator and that of its reflection.
var compareMethods = map[string][]string{
	"==": {"__eq__"}, "!=": {"__ne__", "__eq__"}, "<": {"__lt__", "__gt__"}, "<=": {"__le__", "__ge__"}, ">": {"__gt__", "__lt__"}, ">=": {"__ge__", "__le__"},
	"in": {"__contains__"}, "not in": {"__contains__"},
}

var unaryOps = nameSet("neg", "bitwise_not", "logical_not", "positive")
var unaryMethods = nameSet("__neg__", "__invert__", "__pos__")

// silentCallables are C types and other callables that leave no event of their own.
var silentCallables = nameSet("int", "float", "bool", "str", "list", "tuple", "dict", "set", "range", "zip", "enumerate", "map", "filter", "reversed", "slice",
	"object", "super", "type", "frozenset", "bytes", "bytearray", "complex", "memoryview", "property", "staticmethod", "classmethod", "device", "Size", "dtype",
	"Generator", "partial", "OrderedDict", "deque", "defaultdict", "count", "chain", "Event", "Stream", "itemgetter", "attrgetter", "methodcaller", "repeat", "cycle", "islice",
	"starmap", "groupby", "accumulate", "product", "takewhile", "dropwhile", "zip_longest", "StringIO", "BytesIO", "Decimal", "datetime", "timedelta", "date", "TextIOWrapper")

// conversionOps are the aten operators inside a silent conversion: `float(t)` shows only aten::item.
var conversionOps = map[string]map[string]bool{
	"int": nameSet("item", "_local_scalar_dense", "is_nonzero"), "float": nameSet("item", "_local_scalar_dense"), "bool": nameSet("is_nonzero", "item"),
	"range": nameSet("item", "_local_scalar_dense"), "complex": nameSet("item"), "list": nameSet("unbind", "item"), "tuple": nameSet("unbind"),
	"Tensor": nameSet("empty", "to", "lift_fresh", "detach_", "detach"), "str": nameSet("item"),
}

// indexOps are what reading a subscript of a tensor can dispatch to. Writing one takes a part (storePartOps), then ends with one of
// storeOps; it never emits `index`.
var indexOps = nameSet("slice", "select", "index", "unsqueeze", "alias", "item", "_local_scalar_dense", "is_nonzero", "to", "expand", "view", "nonzero",
	"index_select", "masked_select", "take", "squeeze", "lift_fresh", "_to_copy", "tensor_split", "narrow", "unbind")
var storePartOps = nameSet("slice", "select", "unsqueeze", "alias", "item", "_local_scalar_dense", "is_nonzero", "to", "expand", "view", "squeeze", "lift_fresh", "_to_copy",
	"tensor_split", "full", "expand_as", "zeros", "empty", "nonzero", "detach_", "scalar_tensor")
var storeOps = nameSet("copy_", "fill_", "index_put_", "masked_fill_", "_index_put_impl_", "set_item", "index_fill_", "masked_scatter_")

// firstIndexOps are those that usually come one per subscript; taking more than the index has elements costs something.
var firstIndexOps = nameSet("slice", "select", "unsqueeze", "index")

// attributeOps are the operators that reading a tensor's attribute can dispatch to (`x.T`, `x.data`, `x.real`, `p.grad`).
var attributeOps = nameSet("detach", "alias", "numpy_T", "T", "mT", "mH", "H", "adjoint", "real", "imag", "view_as_real", "conj", "matrix_H", "_version",
	"to_dense", "values", "indices", "permute", "t", "transpose", "_values", "_indices")

// generatorCallables return generators: the call is silent, their frames come at next().
var generatorCallables = nameSet("parameters", "named_parameters", "children", "modules", "named_modules", "named_children", "buffers", "named_buffers")

// wrapperNames are functions that stand for another one: decorators' inner functions and torch's own wrappers.
var wrapperNames = nameSet("wrapper", "inner", "wrapped", "_fn", "decorate_context", "<lambda>", "__call__", "_wrapped_call_impl", "_call_impl", "decorate_autocast",
	"_no_grad_wrapper", "wrapped_func", "wrap", "func", "helper", "wrapped_fn", "decorate_fwd", "wrapper_fn", "compile_wrapper", "decorate_bwd", "new_func", "call_function",
	"convert_to_fp32", "_wrapper", "decorated", "__torch_function__", "_wrapped", "wrapped_function", "wrapper_func", "inner_fn", "inner_wrapper", "_inner", "decorator",
	"wrapped_forward", "new_forward", "_compile_wrapper", "_decorated", "profile_wrapper", "use_closure", "profile_hook_step", "fn", "f", "_f", "use_grad")

// noiseNames are frames that attribute access, hashing and garbage collection make anywhere.
var noiseNames = nameSet("__getattr__", "__hash__", "__del__", "__eq__", "__setattr__", "__getattribute__", "__instancecheck__", "__subclasscheck__", "_cb", "_remove",
	"__missing__", "__get__", "__set__", "__set_name__", "__subclasshook__")

// lowerClassNames are classes with a lower-case name that training code constructs.
var lowerClassNames = nameSet("no_grad", "enable_grad", "autocast", "cls", "profile", "record_function", "set_grad_enabled", "inference_mode", "__class__", "suppress")

// integerMethods give plain Python numbers, whatever they are called on.
var integerMethods = nameSet("size", "dim", "numel", "ndimension", "element_size", "nelement", "get_device", "stride")
var integerFunctions = nameSet("len", "int", "float", "round", "id", "ord", "str", "bool")

func nameSet(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}
