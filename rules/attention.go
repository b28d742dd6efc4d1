package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// Attention is softmax(q @ kᵀ) @ v written out in one function.
type Attention struct {
	// Scores is the product q @ kᵀ, Softmax the softmax, Out the product with v.
	Scores, Softmax, Out *Site
	// Q, K and V are the operands; K is nil where the transpose is not written at the product.
	Q, K, V pyscan.Expr
	// Scale is what the scores are multiplied by (ScaleDivides: divided by); nil for none.
	Scale        pyscan.Expr
	ScaleDivides bool
	// Masks are what hides positions, in order.
	Masks []AttentionMask
	// Dropout is the call that drops weights, nil if none.
	Dropout *pyscan.Call
	// Plain: only what scaled_dot_product_attention does itself is between the products, so that one call can take their place.
	Plain bool
	// Kept: the scores or weights are returned or stored.
	Kept bool
	// statements are the assignments that belong to it.
	statements []pyscan.Stmt
}

// AttentionMask is one masking of the scores.
type AttentionMask struct {
	// Hidden is the condition of masked_fill: true where a position is hidden. Added is an additive mask.
	Hidden, Added pyscan.Expr
}

type attentionStage uint8

const (
	stageScores attentionStage = iota + 1
	stageWeights
)

// attentionScan follows scores and weights through one function's assignments.
type attentionScan struct {
	f     *Facts
	env   map[string]*tracked
	used  map[*pyscan.Name]bool
	found []*Attention
	seen  map[string][]*Attention // every name that held scores or weights
}

type tracked struct {
	*Attention
	stage attentionStage
	dead  bool
}

var (
	maskWords    = regexp.MustCompile(`(?i)mask|causal|triu|tril`)
	biasWords    = regexp.MustCompile(`(?i)bias|rel|alibi|pos|rpe`)
	dropWord     = regexp.MustCompile(`(?i)drop`)
	veryNegative = regexp.MustCompile(`inf|-\s*1e|-\s*\d{4}|finfo|\.min|(?i)neg|min`)
	fusedByName  = wordPattern(`scaled_dot_product_attention|flash_attn|xformers|memory_efficient_attention|flex_attention`)
)

// Attentions are the functions' written-out attentions whose weights are used for nothing else.
func (f *Facts) Attentions() []*Attention {
	if !f.index.mentions("softmax", "Softmax") {
		return nil
	}
	fused := map[*pyscan.Function]bool{} // functions whose written-out attention is the fallback of a fused one
	for _, s := range f.fusedSites() {
		switch s.Node.(type) {
		case *pyscan.Attribute, *pyscan.Name:
			if name := lastName(s.Node.(pyscan.Expr)); len(name) >= len("xformers") && fusedByName.MatchString(name) {
				fused[s.Def()] = true
			}
		}
	}
	var out []*Attention
	for _, fn := range f.File.Functions {
		if fn.Name == "<module>" || fn.Name == "<lambda>" || fn.Comprehension != nil || fused[fn] || !strings.Contains(strings.ToLower(f.File.Text[fn.Start:fn.End]), "softmax") {
			continue
		}
		scan := &attentionScan{f: f, env: map[string]*tracked{}, used: map[*pyscan.Name]bool{}, seen: map[string][]*Attention{}}
		for _, s := range f.in(fn) {
			if s.Def() == fn {
				scan.statement(s)
			}
		}
		for _, a := range scan.found {
			if !a.Kept && scan.weightsStay(fn, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// fusedSites are the sites to look at for fused attention: none where the text names none.
func (f *Facts) fusedSites() []*Site {
	if !f.index.mentions("scaled_dot_product_attention", "flash_attn", "xformers", "memory_efficient_attention", "flex_attention") {
		return nil
	}
	return f.Sites
}

func (a *attentionScan) statement(s *Site) {
	switch n := s.Node.(type) {
	case *pyscan.Assign:
		if n.Value == nil {
			return
		}
		t := a.eval(n.Value)
		if len(n.Targets) != 1 {
			return
		}
		name, ok := n.Targets[0].(*pyscan.Name)
		if !ok {
			a.kept(t)
			return
		}
		a.bind(name.ID, t, n)
	case *pyscan.AugAssign:
		name, ok := n.Target.(*pyscan.Name)
		if !ok || a.env[name.ID] == nil {
			return
		}
		a.used[name] = true
		a.bind(name.ID, a.binary(a.env[name.ID], n.Op, n.Value), n)
	case *pyscan.Return:
		a.kept(a.eval(n.Value))
	case *pyscan.ExprStmt:
		a.eval(n.Value)
	}
}

// kept: scores or weights that are returned or stored are not the attention's alone.
func (a *attentionScan) kept(t *tracked) {
	if t != nil {
		t.Kept = true
	}
}

func (a *attentionScan) bind(name string, t *tracked, stmt pyscan.Stmt) {
	if t == nil || t.dead {
		delete(a.env, name)
		return
	}
	a.env[name] = t
	a.seen[name] = append(a.seen[name], t.Attention)
	t.statements = append(t.statements, stmt)
}

// eval is the scores or weights an expression gives, nil for anything else.
func (a *attentionScan) eval(e pyscan.Expr) *tracked {
	switch e := e.(type) {
	case *pyscan.Name:
		if t := a.env[e.ID]; t != nil {
			a.used[e] = true
			return t
		}
	case *pyscan.BinOp:
		if e.Op == "@" {
			return a.product(e, e.Left, e.Right)
		}
		if t := a.eval(e.Left); t != nil {
			return a.binary(t, e.Op, e.Right)
		}
		if t := a.eval(e.Right); t != nil {
			if e.Op == "*" || e.Op == "+" {
				return a.binary(t, e.Op, e.Left)
			}
			return custom(t)
		}
	case *pyscan.Call:
		return a.call(e)
	}
	return nil
}

func custom(t *tracked) *tracked {
	return &tracked{Attention: t.Attention, stage: t.stage, dead: true}
}

func (a *attentionScan) binary(t *tracked, op string, other pyscan.Expr) *tracked {
	text := a.f.Text(other)
	switch {
	case t.stage != stageScores:
		return custom(t)
	case (op == "*" || op == "/") && a.f.Value(other).onGPU():
		return custom(t) // a learned temperature; a scale must be a number
	case (op == "*" || op == "/") && !maskWords.MatchString(text):
		if t.Scale != nil || len(t.Masks) > 0 {
			t.Plain = false
		}
		t.Scale, t.ScaleDivides = other, op == "/"
		return t
	case op == "+" && maskWords.MatchString(text) && !biasWords.MatchString(text):
		t.Masks = append(t.Masks, AttentionMask{Added: other})
		return t
	}
	return custom(t)
}

// product: weights @ v ends an attention; q @ kᵀ begins one.
func (a *attentionScan) product(at, left, right pyscan.Expr) *tracked {
	if t := a.eval(left); t != nil {
		if t.stage == stageWeights && !t.dead {
			t.Out, t.V = a.f.Site(at), right
			a.found = append(a.found, t.Attention)
		}
		return nil
	}
	k, ok := transposed(right)
	if !ok {
		return nil
	}
	return &tracked{Attention: &Attention{Scores: a.f.Site(at), Q: left, K: k, Plain: k != nil}, stage: stageScores}
}

// transposed is what an expression is the transpose of its last two dimensions of.
func transposed(e pyscan.Expr) (of pyscan.Expr, ok bool) {
	switch e := e.(type) {
	case *pyscan.Attribute:
		if e.Attr == "mT" {
			return e.Value, true
		}
	case *pyscan.Call:
		attr, isMethod := e.Func.(*pyscan.Attribute)
		if !isMethod {
			return nil, false
		}
		switch attr.Attr {
		case "transpose", "swapaxes", "swapdims":
			if len(e.Args) == 2 {
				i, j := dimension(e.Args[0]), dimension(e.Args[1])
				if i == "-2" && j == "-1" || i == "-1" && j == "-2" || i == "2" && j == "3" || i == "3" && j == "2" {
					return attr.Value, true
				}
				if i == "1" && j == "2" || i == "2" && j == "1" { // heads folded into the batch
					return attr.Value, true
				}
			}
		case "permute":
			n := len(e.Args)
			if n >= 3 && dimension(e.Args[n-2]) == itoa(n-1) && dimension(e.Args[n-1]) == itoa(n-2) {
				return attr.Value, true
			}
		case "contiguous":
			return transposed(attr.Value)
		}
	}
	return nil, false
}

func itoa(n int) string { return string(rune('0' + n)) }

func dimension(e pyscan.Expr) string {
	switch e := e.(type) {
	case *pyscan.Constant:
		return e.Text
	case *pyscan.UnaryOp:
		if c, ok := e.Operand.(*pyscan.Constant); ok && e.Op == "-" {
			return "-" + c.Text
		}
	}
	return ""
}

func (a *attentionScan) call(e *pyscan.Call) *tracked {
	path := a.f.Resolve(e.Func)
	attr, isMethod := e.Func.(*pyscan.Attribute)
	switch path {
	case "torch.matmul", "torch.bmm":
		if len(e.Args) == 2 {
			return a.product(e, e.Args[0], e.Args[1])
		}
	case "torch.einsum":
		return a.einsum(e)
	case "torch.softmax", "torch.nn.functional.softmax":
		if len(e.Args) > 0 {
			return a.softmax(e, a.eval(e.Args[0]), Argument(e, 1, "dim"))
		}
	case "torch.nn.functional.dropout", "torch.dropout":
		if len(e.Args) > 0 {
			return dropped(a.eval(e.Args[0]), e)
		}
	case "torch.where":
		if len(e.Args) == 3 {
			if t := a.eval(e.Args[1]); t != nil {
				t.Plain = false
				t.Masks = append(t.Masks, AttentionMask{Hidden: e.Args[0]})
				return t
			}
			if t := a.eval(e.Args[2]); t != nil {
				t.Masks = append(t.Masks, AttentionMask{Hidden: e.Args[0]})
				return t
			}
		}
	}
	if !isMethod || path != "" {
		return nil
	}
	if t := a.eval(attr.Value); t != nil {
		return a.method(t, attr.Attr, e)
	}
	switch { // modules
	case attr.Attr == "matmul" || attr.Attr == "bmm":
		if len(e.Args) == 1 {
			return a.product(e, attr.Value, e.Args[0])
		}
	case len(e.Args) == 1:
		t := a.eval(e.Args[0])
		if t == nil {
			return nil
		}
		layer := a.f.Value(e.Func)
		if layer.Path == "torch.nn.Softmax" || strings.EqualFold(attr.Attr, "softmax") {
			return a.softmax(e, t, nil)
		}
		if layer.Path == "torch.nn.Dropout" || dropWord.MatchString(attr.Attr) && layer.Def.class == nil {
			return dropped(t, e)
		}
		return custom(t)
	}
	return nil
}

func dropped(t *tracked, call *pyscan.Call) *tracked {
	if t == nil || t.stage != stageWeights {
		return nil
	}
	if t.Dropout != nil {
		t.Plain = false
	}
	t.Dropout = call
	return t
}

func (a *attentionScan) softmax(e *pyscan.Call, t *tracked, dim pyscan.Expr) *tracked {
	if t == nil || t.stage != stageScores || t.dead {
		return nil
	}
	if d := dimension(dim); dim != nil && d != "-1" && d != "3" && d != "2" {
		return custom(t)
	}
	t.Softmax = a.f.Site(e)
	return &tracked{Attention: t.Attention, stage: stageWeights}
}

func (a *attentionScan) method(t *tracked, name string, e *pyscan.Call) *tracked {
	switch name {
	case "masked_fill", "masked_fill_":
		if t.stage == stageScores && len(e.Args) == 2 && veryNegative.MatchString(a.f.Text(e.Args[1])) {
			t.Masks = append(t.Masks, AttentionMask{Hidden: e.Args[0]})
			return t
		}
	case "softmax":
		return a.softmax(e, t, Argument(e, 0, "dim"))
	case "to", "type_as", "float", "half", "type", "contiguous", "bfloat16":
		return t
	case "mul", "mul_", "div", "div_":
		if len(e.Args) == 1 {
			return a.binary(t, map[byte]string{'m': "*", 'd': "/"}[name[0]], e.Args[0])
		}
	case "matmul", "bmm":
		if t.stage == stageWeights && !t.dead && len(e.Args) == 1 {
			t.Out, t.V = a.f.Site(e), e.Args[0]
			a.found = append(a.found, t.Attention)
			return nil
		}
	case "size", "dim", "new_zeros", "new_ones", "new_full":
		return nil
	}
	return custom(t)
}

// einsum: "bhid,bhjd->bhij" makes scores; with weights first, the product with v.
func (a *attentionScan) einsum(e *pyscan.Call) *tracked {
	if len(e.Args) != 3 {
		return nil
	}
	equation, ok := StringValue(e.Args[0])
	if !ok {
		return nil
	}
	equation = strings.ReplaceAll(equation, " ", "")
	in, out, ok := strings.Cut(equation, "->")
	left, right, two := strings.Cut(in, ",")
	if !ok || !two || len(out) < 3 {
		return nil
	}
	if t := a.eval(e.Args[1]); t != nil {
		if t.stage == stageWeights && !t.dead {
			t.Out, t.V, t.Plain = a.f.Site(e), e.Args[2], false
			a.found = append(a.found, t.Attention)
		}
		return nil
	}
	q, k := out[len(out)-2:len(out)-1], out[len(out)-1:]
	summed := ""
	for _, c := range left {
		if strings.ContainsRune(right, c) && !strings.ContainsRune(out, c) {
			summed += string(c)
		}
	}
	if len(summed) != 1 || !strings.Contains(left, q) || strings.Contains(right, q) || !strings.Contains(right, k) || strings.Contains(left, k) {
		return nil
	}
	return &tracked{Attention: &Attention{Scores: a.f.Site(e), Q: e.Args[1]}, stage: stageScores}
}

// weightsStay reports whether nothing but the attention itself uses its scores and weights (their shapes may be asked).
func (a *attentionScan) weightsStay(fn *pyscan.Function, att *Attention) bool {
	names := map[string]bool{}
	for name, list := range a.seen {
		for _, other := range list {
			if other == att {
				names[name] = true
			}
		}
	}
	for held := range names {
		for _, s := range a.f.named(held) {
			name, ok := s.Node.(*pyscan.Name)
			if !ok || !within(s.Def(), fn) || s.Role == RoleTarget || a.used[name] {
				continue
			}
			if name.Start < att.Scores.Range().Start || name.Start > att.Out.Range().End && reboundBefore(a.f, fn, name, att.Out.Range().End) {
				continue
			}
			if attr, ok := s.Parent.Node.(*pyscan.Attribute); ok && tensorFacts[attr.Attr] {
				continue
			}
			return false
		}
	}
	return true
}

var tensorFacts = wordSet("shape size dtype device dim ndim")

// reboundBefore: the name holds something else by then.
func reboundBefore(f *Facts, fn *pyscan.Function, name *pyscan.Name, after int) bool {
	for _, s := range f.named(name.ID) {
		n, ok := s.Node.(*pyscan.Name)
		if ok && n.ID == name.ID && s.Def() == fn && s.Role == RoleTarget && n.Start > after && n.Start < name.Start {
			return true
		}
	}
	return false
}

// Span is the whole attention, from the scores' statement to the output's.
func (a *Attention) Span() pyscan.Span {
	return pyscan.Span{Start: a.Scores.Statement().Range().Start, End: a.Out.Statement().Range().End}
}
