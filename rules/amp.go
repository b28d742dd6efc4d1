package rules

import (
	"strings"

	"stepline/pyscan"
)

// Autocast is the autocast context of a with statement that switches it on, nil if there is none.
func (f *Facts) Autocast(with *pyscan.With) *pyscan.Call {
	for _, item := range with.Items {
		if call := f.AutocastCall(item.Context); call != nil && !f.AutocastOff(call) {
			return call
		}
	}
	return nil
}

// AutocastCall is a call that makes an autocast context, nil for anything else.
func (f *Facts) AutocastCall(e pyscan.Expr) *pyscan.Call {
	call, ok := e.(*pyscan.Call)
	if !ok {
		return nil
	}
	switch f.Resolve(call.Func) {
	case "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.cpu.amp.autocast":
		return call
	}
	if attr, ok := call.Func.(*pyscan.Attribute); ok && attr.Attr == "autocast" && frameworkWords.MatchString(lastName(attr.Value)) {
		return call
	}
	return nil
}

// AutocastOff reports whether an autocast context is switched off, or is for the CPU.
func (f *Facts) AutocastOff(call *pyscan.Call) bool {
	if k := Keyword(call, "enabled"); k != nil && IsFalse(k.Value) {
		return true
	}
	if e := Argument(call, 0, "device_type"); e != nil {
		if text, ok := StringValue(e); ok && text == "cpu" {
			return true
		}
		return IsFalse(e) // torch.cuda.amp.autocast(False)
	}
	return false
}

// GradientWork names what a call does after the loss: "backward", "step", "update", "zero_grad", "unscale", "clip"; "" for
// anything else.
func (f *Facts) GradientWork(call *pyscan.Call) string {
	path := f.Resolve(call.Func)
	if strings.HasPrefix(path, "torch.nn.utils.clip_grad_") {
		return "clip"
	}
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return ""
	}
	switch attr.Attr { // the others ask what the receiver is
	case "step", "update", "backward", "manual_backward", "unscale_", "zero_grad", "clip_grad_norm_", "clip_grad_value_", "clip_grad_norm":
	default:
		return ""
	}
	v := f.Value(attr.Value)
	name := lastName(attr.Value)
	isOptimizer := v.Kind == Optimizer || v.Kind == Scaler || v.Kind == Unknown && optimizerName(attr.Value) && !schedulerWords.MatchString(name)
	switch attr.Attr {
	case "backward", "manual_backward":
		return "backward"
	case "step":
		if isOptimizer {
			return "step"
		}
	case "update":
		if v.Kind == Scaler || v.Kind == Unknown && scalerName.MatchString(name) {
			return "update"
		}
	case "unscale_":
		return "unscale"
	case "zero_grad":
		return "zero_grad"
	case "clip_grad_norm_", "clip_grad_value_", "clip_grad_norm":
		return "clip"
	}
	return ""
}

var scalerName = wordPattern(`(?i)scaler`)

// ForwardWork reports whether a statement computes something of the forward pass: it calls a model, a loss or a tensor
// operation, other than in the gradient work itself.
func (f *Facts) ForwardWork(s pyscan.Stmt) bool {
	found := false
	EachExprIn(s, func(e pyscan.Expr) bool {
		switch e := e.(type) {
		case *pyscan.Call:
			if f.GradientWork(e) != "" {
				return false
			}
			if read := f.HostReadOf(e); read != nil {
				return true
			}
			switch f.Value(e.Func).Kind {
			case Module:
				found = true
			}
			if f.Value(e).onGPU() {
				found = true
			}
		case *pyscan.BinOp:
			found = found || e.Op == "@"
		}
		return !found
	})
	return found
}

// DedentFrom moves the statements of a with block from the given one on out of the block: their lines lose the block's
// indentation, the lines inside strings excepted. ok is false where lines are shared or the layout is unusual.
func (t *Tree) DedentFrom(at *Site, with *pyscan.With, from int) (TextEdit, bool) {
	text := t.File.Text
	outer := t.Indent(at)
	inner := t.Indent(t.Site(with.Body[0]))
	if !strings.HasPrefix(inner, outer) || len(inner) == len(outer) || lineOf(t.File, with.Start) == lineOf(t.File, with.Body[0].Range().Start) {
		return TextEdit{}, false
	}
	step := inner[len(outer):]
	prevEnd := with.Body[from-1].Range().End
	start := t.nextLine(prevEnd)
	first, last := with.Body[from].Range(), with.Body[len(with.Body)-1].Range()
	if first.Start < start {
		return TextEdit{}, false
	}
	end := t.lineEnd(last.End)
	var out strings.Builder
	for lineStart := start; lineStart < end; {
		next := t.nextLine(lineStart)
		line := text[lineStart:min(next, end)]
		switch {
		case t.insideString(lineStart), strings.TrimSpace(line) == "":
			out.WriteString(line)
		case strings.HasPrefix(line, inner):
			out.WriteString(outer + line[len(outer)+len(step):])
		default: // continuation lines and comments set less deep
			trimmed := line
			for range step {
				if trimmed != "" && (trimmed[0] == ' ' || trimmed[0] == '\t') {
					trimmed = trimmed[1:]
				}
			}
			out.WriteString(trimmed)
		}
		lineStart = next
	}
	return TextEdit{File: t.File, Span: pyscan.Span{Start: start, End: end}, New: out.String()}, true
}

// insideString reports whether a line begins inside a string literal.
func (t *Tree) insideString(lineStart int) bool {
	t.stringsOnce.Do(func() { t.strings = stringSpans(t) })
	for _, s := range t.strings {
		if s.Start < lineStart && lineStart < s.End {
			return true
		}
	}
	return false
}
