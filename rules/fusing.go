package rules

import (
	"fmt"
	"slices"
	"strings"

	"stepline/pyscan"
)

// Functional is how the file can name torch.nn.functional at a site: "F", "nn.functional", "torch.nn.functional"; "" if it imports none of them.
func (f *Facts) Functional(at *Site) string {
	for _, candidate := range []struct{ name, path, rest string }{
		{"F", "torch.nn.functional", ""}, {"nn", "torch.nn", ".functional"}, {"torch", "torch", ".nn.functional"},
	} {
		if b, _ := f.index.lookup(candidate.name, at.Function); b != nil && b.level == 0 && b.path == candidate.path {
			return candidate.name + candidate.rest
		}
	}
	return ""
}

// FuseAttention is the edit that puts scaled_dot_product_attention in an attention's place; ok is false where more than it lies
// between the products, or the source does not show an argument.
func (f *Facts) FuseAttention(a *Attention) (edit TextEdit, ok bool) {
	functional := f.Functional(a.Out)
	if !a.Plain || a.K == nil || functional == "" || len(a.Masks) > 1 {
		return TextEdit{}, false
	}
	args := []string{f.Text(a.Q), f.Text(a.K), f.Text(a.V)}
	causal := false
	if len(a.Masks) == 1 {
		text := f.maskArgument(a.Masks[0])
		if text == "" {
			return TextEdit{}, false
		}
		causal = text == "is_causal=True"
		args = append(args, text)
	}
	if a.Dropout != nil {
		text := f.dropoutArgument(a.Dropout)
		if text == "" {
			return TextEdit{}, false
		}
		args = append(args, "dropout_p="+text)
	}
	if text := f.scaleArgument(a); text != "" {
		args = append(args, text)
	}
	first, last := a.Scores.Statement(), a.Out.Statement()
	block := blockOf(first, f.File)
	i, j := slices.Index(block, first.Node.(pyscan.Stmt)), slices.Index(block, last.Node.(pyscan.Stmt))
	if i < 0 || j < i {
		return TextEdit{}, false
	}
	kept := ""
	for _, stmt := range block[i:j] {
		if slices.Contains(a.statements, stmt) || causal && f.onlyMask(stmt, a) {
			continue
		}
		if _, simple := stmt.(*pyscan.Assign); !simple || f.touches(stmt, a) {
			return TextEdit{}, false
		}
		kept += f.Text(stmt) + f.newline() + f.Indent(first)
	}
	out, whole := a.Out.Range(), last.Range()
	call := fmt.Sprintf("%s.scaled_dot_product_attention(%s)", functional, strings.Join(args, ", "))
	text := kept + f.File.Text[whole.Start:out.Start] + call + f.File.Text[out.End:whole.End]
	return TextEdit{File: f.File, Span: pyscan.Span{Start: first.Range().Start, End: whole.End}, New: text}, true
}

// maskArgument: is_causal=True, or attn_mask=… with True (or 0) where a position takes part.
func (f *Facts) maskArgument(m AttentionMask) string {
	switch {
	case f.Causal(m):
		return "is_causal=True"
	case m.Added != nil:
		return "attn_mask=" + f.Text(m.Added)
	}
	if c, ok := m.Hidden.(*pyscan.Compare); ok && len(c.Ops) == 1 && c.Ops[0] == "==" {
		return fmt.Sprintf("attn_mask=%s != %s", f.Text(c.Left), f.Text(c.Rights[0]))
	}
	if u, ok := m.Hidden.(*pyscan.UnaryOp); ok && u.Op == "~" {
		return "attn_mask=" + f.Text(u.Operand)
	}
	switch m.Hidden.(type) {
	case *pyscan.Name, *pyscan.Attribute, *pyscan.Subscript:
		return "attn_mask=~" + f.Text(m.Hidden)
	}
	return ""
}

func (f *Facts) dropoutArgument(call *pyscan.Call) string {
	if path := f.Resolve(call.Func); path != "" {
		training := Argument(call, 2, "training")
		p := Argument(call, 1, "p")
		if p == nil || training == nil {
			return ""
		}
		return fmt.Sprintf("%s if %s else 0.0", f.Text(p), f.Text(training))
	}
	if f.Value(call.Func).Path != "torch.nn.Dropout" {
		return ""
	}
	attr := call.Func.(*pyscan.Attribute)
	return fmt.Sprintf("%s.p if %s.training else 0.0", f.Text(attr), f.Text(attr.Value))
}

// scaleArgument is "" for 1/sqrt of the head's size, which is the default, and scale=… otherwise.
func (f *Facts) scaleArgument(a *Attention) string {
	if a.Scale == nil {
		return "scale=1.0"
	}
	text := strings.ReplaceAll(f.Text(a.Scale), " ", "")
	for _, operand := range []string{f.Text(a.Q), f.Text(a.K)} {
		for _, size := range []string{operand + ".size(-1)", operand + ".shape[-1]"} {
			root := "math.sqrt(" + size + ")"
			if a.ScaleDivides && (text == root || text == "("+size+"**0.5)" || text == size+"**0.5") || !a.ScaleDivides && (text == "(1.0/"+root+")" || text == "1.0/"+root || text == "(1/"+root+")" || text == "1/"+root || text == size+"**-0.5" || text == "("+size+"**-0.5)") {
				return ""
			}
		}
	}
	if a.ScaleDivides {
		if _, plain := a.Scale.(*pyscan.BinOp); plain {
			return "scale=1.0 / (" + f.Text(a.Scale) + ")"
		}
		return "scale=1.0 / " + f.Text(a.Scale)
	}
	return "scale=" + f.Text(a.Scale)
}

// onlyMask: the statement makes the causal mask and nothing else reads it.
func (f *Facts) onlyMask(stmt pyscan.Stmt, a *Attention) bool {
	assign, ok := stmt.(*pyscan.Assign)
	if !ok || len(assign.Targets) != 1 {
		return false
	}
	name, ok := assign.Targets[0].(*pyscan.Name)
	if !ok || !mentionsName(a.Masks[0].Hidden, map[string]bool{name.ID: true}) {
		return false
	}
	reads := 0
	for _, s := range f.named(name.ID) {
		if n, ok := s.Node.(*pyscan.Name); ok && n.ID == name.ID && s.Role != RoleTarget && s.Def() == a.Out.Def() {
			reads++
		}
	}
	return reads == 1
}

// touches reports whether a statement between the products rebinds an operand, or reads the scores or weights.
func (f *Facts) touches(stmt pyscan.Stmt, a *Attention) bool {
	assign := stmt.(*pyscan.Assign)
	held := map[string]bool{}
	for _, s := range a.statements {
		if own, ok := s.(*pyscan.Assign); ok {
			for _, t := range own.Targets {
				held[lastName(t)] = true
			}
		}
	}
	if assign.Value == nil || mentionsName(assign.Value, held) {
		return true
	}
	for _, t := range assign.Targets {
		name, ok := t.(*pyscan.Name)
		if !ok || held[name.ID] {
			return true
		}
		one := map[string]bool{name.ID: true}
		if mentionsName(a.Q, one) || mentionsName(a.K, one) {
			return true
		}
	}
	return false
}

// Causal reports whether a mask hides exactly what lies ahead: a lower triangle of ones is zero there, an upper triangle above
// the diagonal is one, read from where the mask is made.
func (f *Facts) Causal(m AttentionMask) bool {
	e := m.Hidden
	if e == nil {
		return false
	}
	upper := true // hidden where the mask is true
	for {
		switch n := e.(type) {
		case *pyscan.Compare:
			if len(n.Ops) != 1 || n.Ops[0] != "==" || !IsFalse(n.Rights[0]) && dimension(n.Rights[0]) != "0" && f.Text(n.Rights[0]) != "0.0" {
				return false
			}
			e, upper = n.Left, !upper
			continue
		case *pyscan.UnaryOp:
			if n.Op != "~" && n.Op != "not" {
				return false
			}
			e, upper = n.Operand, !upper
			continue
		case *pyscan.Call:
			if attr, ok := n.Func.(*pyscan.Attribute); ok && attr.Attr == "logical_not" {
				e, upper = attr.Value, !upper
				continue
			}
		}
		break
	}
	return f.triangle(e, upper, 0)
}

// triangle reports whether an expression is a triangle of ones: the lower one with its diagonal, or the upper one without.
func (f *Facts) triangle(e pyscan.Expr, upper bool, depth int) bool {
	if depth > 5 {
		return false
	}
	switch n := e.(type) {
	case *pyscan.Name:
		var value pyscan.Expr
		for _, a := range f.assignments(f.Site(n).Def()) {
			if a.Start < n.Start && len(a.Targets) == 1 && lastName(a.Targets[0]) == n.ID {
				value = a.Value
			}
		}
		return value != nil && f.triangle(value, upper, depth+1)
	case *pyscan.Attribute:
		return f.bufferTriangle(n, upper, depth)
	case *pyscan.Subscript:
		return f.triangle(n.Value, upper, depth+1)
	case *pyscan.Call:
		attr, ok := n.Func.(*pyscan.Attribute)
		if !ok {
			return false
		}
		path := f.Resolve(n.Func)
		switch {
		case path == "torch.tril" && !upper:
			return len(n.Args) > 0 && Argument(n, 1, "diagonal") == nil && f.ones(n.Args[0])
		case path == "torch.triu" && upper:
			return len(n.Args) > 0 && dimension(Argument(n, 1, "diagonal")) == "1" && f.ones(n.Args[0])
		case path == "" && attr.Attr == "tril" && !upper:
			return len(n.Args) == 0 && len(n.Keywords) == 0 && f.ones(attr.Value)
		case path == "" && attr.Attr == "triu" && upper:
			return dimension(Argument(n, 0, "diagonal")) == "1" && f.ones(attr.Value)
		case path == "":
			switch attr.Attr {
			case "to", "cuda", "bool", "view", "unsqueeze", "float", "type", "expand", "type_as", "reshape":
				return f.triangle(attr.Value, upper, depth+1)
			}
		}
	}
	return false
}

func (f *Facts) ones(e pyscan.Expr) bool {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return false
	}
	if attr, isMethod := call.Func.(*pyscan.Attribute); isMethod && f.Resolve(call.Func) == "" && (attr.Attr == "view" || attr.Attr == "bool" || attr.Attr == "to") {
		return f.ones(attr.Value)
	}
	switch f.Resolve(call.Func) {
	case "torch.ones":
		return true
	case "torch.full":
		return IsTrue(Argument(call, 1, "fill_value"))
	}
	return false
}

// bufferTriangle: `self.register_buffer("mask", torch.tril(torch.ones(…)))` in the class's methods.
func (f *Facts) bufferTriangle(attr *pyscan.Attribute, upper bool, depth int) bool {
	class := methodClass(f.Site(attr).Def())
	if class == nil {
		return false
	}
	for _, s := range f.sitesOf(class) {
		call, ok := s.Node.(*pyscan.Call)
		if !ok {
			continue
		}
		reg, ok := call.Func.(*pyscan.Attribute)
		if !ok || reg.Attr != "register_buffer" || methodClass(s.Def()) != class || len(call.Args) < 2 {
			continue
		}
		if name, ok := StringValue(call.Args[0]); ok && name == attr.Attr {
			return f.triangle(call.Args[1], upper, depth+1)
		}
	}
	return false
}
