package attribute

import "stepline/pyscan"

// tensorMethods give tensors, and are hardly ever methods of anything else.
var tensorMethods = nameSet("view", "permute", "unsqueeze", "contiguous", "softmax", "log_softmax", "masked_fill", "masked_fill_", "matmul", "bmm", "mm", "detach", "cuda", "float",
	"half", "bfloat16", "double", "expand", "expand_as", "repeat_interleave", "gather", "scatter", "scatter_add", "index_select", "type_as", "view_as", "sigmoid", "relu",
	"tanh", "clamp", "square", "sqrt", "rsqrt", "exp", "log", "flatten", "logsumexp", "cumsum", "tril", "triu", "argmax", "add_", "mul_", "div_", "sub_", "new_zeros", "new_ones",
	"new_tensor", "new_full", "new_empty", "norm", "pow", "softplus", "gelu", "requires_grad_", "backward_hook", "bool", "long")

// tensorFunctions of the torch module give tensors.
var tensorFunctions = nameSet("matmul", "bmm", "mm", "einsum", "cat", "stack", "zeros", "ones", "full", "empty", "arange", "tensor", "zeros_like", "ones_like", "full_like", "rand", "randn",
	"randint", "rand_like", "randn_like", "where", "softmax", "sigmoid", "tanh", "relu", "exp", "log", "sqrt", "rsqrt", "mean", "sum", "logsumexp", "tril", "triu", "outer", "cumsum",
	"clamp", "maximum", "minimum", "abs", "square", "pow", "add", "sub", "mul", "div", "baddbmm", "linspace", "eye", "argmax", "gather", "index_select", "roll", "flip", "sin", "cos", "norm", "erf")

// isTensor reports whether an expression is a tensor, so that an operator or a subscript on it must leave an event.
func (m *moduleFacts) isTensor(l *localFacts, e pyscan.Expr) bool {
	switch x := e.(type) {
	case *pyscan.Name:
		return l.tensors[x.ID]
	case *pyscan.BinOp:
		return m.isTensor(l, x.Left) || m.isTensor(l, x.Right)
	case *pyscan.UnaryOp:
		return x.Op != "not" && m.isTensor(l, x.Operand)
	case *pyscan.Subscript:
		return m.isTensor(l, x.Value)
	case *pyscan.IfExp:
		return m.isTensor(l, x.Body) && m.isTensor(l, x.Else)
	case *pyscan.Call:
		return m.isTensorCall(l, x)
	}
	return false
}

func (m *moduleFacts) isTensorCall(l *localFacts, call *pyscan.Call) bool {
	f, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return false
	}
	root := pyscan.RootName(f)
	switch {
	case l.bound[root] || !m.imports[root]:
		return tensorMethods[f.Attr] && !isName(f.Value, l.self)
	case root == "torch" || m.torchNames[root]:
		return tensorFunctions[f.Attr] && isName(f.Value, root) || tensorMethods[f.Attr] && m.isTensor(l, f.Value)
	}
	return false
}
