package rules

import (
	"fmt"
	"strings"

	"stepline/pyscan"
)

// Hoist is the fix that moves `name = call(…)` in front of the outermost loop of its function around it that trains; nil where
// something in the loop makes what the call takes, or more than the assignment stands on its line.
func (f *Facts) Hoist(at *Site, title string) []Fix {
	loop := f.TrainingLoopAround(at)
	stmt := at.Statement()
	if loop == nil || stmt == nil || !f.OwnLine(stmt) || !f.OwnLineStart(loop) {
		return nil
	}
	assign, ok := stmt.Node.(*pyscan.Assign)
	if !ok || len(assign.Targets) != 1 || assign.Value != at.Node || lineOf(f.File, assign.Start) != lineOf(f.File, assign.End) {
		return nil
	}
	target, ok := assign.Targets[0].(*pyscan.Name)
	if !ok {
		return nil
	}
	call := at.Call()
	for _, a := range call.Args {
		if f.BoundInLoop(loop, a, nil) {
			return nil
		}
	}
	for _, k := range call.Keywords {
		if f.BoundInLoop(loop, k.Value, nil) {
			return nil
		}
	}
	if f.BoundInLoop(loop, target, assign) {
		return nil
	}
	start := f.lineStart(loop.Range().Start)
	return []Fix{{Title: title, Safety: Unsafe, Edits: []TextEdit{
		{File: f.File, Span: pyscan.Span{Start: start, End: start}, New: f.Indent(loop) + f.Text(assign) + f.newline()},
		f.DeleteStatement(stmt),
	}}}
}

// OwnLineStart reports whether only blanks stand before a statement on its line.
func (f *Facts) OwnLineStart(stmt *Site) bool {
	_, own := f.ownLine(stmt.Range().Start)
	return own
}

// DrawFromOne is the fix for `next(iter(loader))` in a training loop: one generator before the loop, which begins the loader again when
// its batches are used up, and `next` on it in the loop.
func (f *Facts) DrawFromOne(at *Site) []Fix {
	loop := f.TrainingLoopAround(at)
	if loop == nil || !f.OwnLineStart(loop) {
		return nil
	}
	inner, ok := at.Call().Args[0].(*pyscan.Call)
	if !ok || len(inner.Args) != 1 || len(at.Call().Args) != 1 || f.BoundInLoop(loop, inner.Args[0], nil) {
		return nil
	}
	loader := inner.Args[0]
	base := lastName(loader)
	if _, isCall := loader.(*pyscan.Call); isCall || base == "" {
		return nil
	}
	name := base + "_batches"
	if strings.Contains(f.File.Text, name) {
		return nil
	}
	counter, edits := "itertools.count()", []TextEdit(nil)
	if b, _ := f.index.lookup("itertools", at.Function); b == nil || b.path != "itertools" {
		if b != nil || strings.Contains(f.File.Text, "itertools") {
			return nil
		}
		edits = append(edits, f.AddImport("import itertools"))
	}
	start := f.lineStart(loop.Range().Start)
	line := fmt.Sprintf("%s%s = (batch for _ in %s for batch in %s)%s", f.Indent(loop), name, counter, f.Text(loader), f.newline())
	edits = append(edits, TextEdit{File: f.File, Span: pyscan.Span{Start: start, End: start}, New: line}, f.Replace(inner, name))
	return []Fix{{Title: fmt.Sprintf("Draw from one iterator over `%s`, made before the loop", f.Line(loader)), Safety: Unsafe, Edits: edits}}
}

// OpenOnce is the fix for a file a dataset opens for every item: it is opened on first use, in the worker, and kept in an attribute
// of self. at is the call that opens, in a method with self: the value of an assignment, or the context of a with statement.
func (f *Facts) OpenOnce(at *Site) []Fix {
	def := at.Def()
	if def == nil || def.Class == nil || selfOf(def) == "" || hasDecorator(def, "staticmethod") || hasDecorator(def, "classmethod") {
		return nil
	}
	stmt := at.Statement()
	if stmt == nil || !f.OwnLineStart(stmt) || lineOf(f.File, at.Range().Start) != lineOf(f.File, at.Range().End) {
		return nil
	}
	switch n := stmt.Node.(type) {
	case *pyscan.Assign:
		target, ok := n.Targets[0].(*pyscan.Name)
		if !ok || len(n.Targets) != 1 || n.Value != at.Node || !f.OwnLine(stmt) {
			return nil
		}
		keep := f.keepOpened(at, stmt, target.ID)
		if keep == nil {
			return nil
		}
		return []Fix{{Title: keep.title(), Safety: Unsafe, Edits: []TextEdit{keep.before(f, stmt), f.Replace(at.Node, keep.attribute)}}}
	case *pyscan.With:
		if len(n.Items) != 1 || n.Items[0].Context != at.Node || n.Async || len(n.Body) == 0 {
			return nil
		}
		target, ok := n.Items[0].Target.(*pyscan.Name)
		if !ok {
			return nil
		}
		keep := f.keepOpened(at, stmt, target.ID)
		body, ok := f.dedentBody(stmt, n)
		if keep == nil || !ok {
			return nil
		}
		header := keep.text(f, stmt) + fmt.Sprintf("%s%s = %s%s", f.Indent(stmt), target.ID, keep.attribute, f.newline())
		body.Span.Start, body.New = f.lineStart(n.Start), header+body.New
		return []Fix{{Title: keep.title(), Safety: Unsafe, Edits: []TextEdit{body}}}
	}
	return nil
}

// keptFile is where an opened file is kept.
type keptFile struct{ self, name, attribute, open string }

func (k *keptFile) title() string {
	return fmt.Sprintf("Open it on first use and keep it in `%s`", k.attribute)
}

// text is the lines that open the file on first use.
func (k *keptFile) text(f *Facts, stmt *Site) string {
	indent, unit := f.Indent(stmt), "    "
	if strings.HasPrefix(indent, "\t") {
		unit = "\t"
	}
	return fmt.Sprintf("%sif not hasattr(%s, %q):%s%s%s%s = %s%s", indent, k.self, k.name, f.newline(), indent, unit, k.attribute, k.open, f.newline())
}

func (k *keptFile) before(f *Facts, stmt *Site) TextEdit {
	start := f.lineStart(stmt.Range().Start)
	return TextEdit{File: f.File, Span: pyscan.Span{Start: start, End: start}, New: k.text(f, stmt)}
}

// keepOpened is where a file that a method opens into a variable can be kept; nil where the class has something of that name.
func (f *Facts) keepOpened(at, stmt *Site, variable string) *keptFile {
	def := at.Def()
	self := selfOf(def)
	name := "_" + strings.TrimLeft(variable, "_")
	if strings.Contains(f.within(def.Class).Text[def.Class.Start:def.Class.End], self+"."+name) || f.opensAnother(at, variable) {
		return nil
	}
	return &keptFile{self: self, name: name, attribute: self + "." + name, open: f.Text(at.Node)}
}

// opensAnother reports whether the class opens something into a variable of that name elsewhere too: both would be kept in one attribute.
func (f *Facts) opensAnother(at *Site, variable string) bool {
	class := at.Def().Class
	for _, s := range f.sitesOf(class) {
		if _, isCall := s.Node.(*pyscan.Call); !isCall || s == at || f.OpensFile(s) == nil {
			continue
		}
		switch n := s.Parent.Node.(type) {
		case *pyscan.Assign:
			if len(n.Targets) == 1 && lastName(n.Targets[0]) == variable {
				return true
			}
		case *pyscan.With:
			for _, item := range n.Items {
				if item.Context == s.Node && lastName(item.Target) == variable {
					return true
				}
			}
		}
	}
	return false
}

// dedentBody moves a with statement's whole body out of it.
func (f *Facts) dedentBody(at *Site, with *pyscan.With) (TextEdit, bool) {
	if len(with.Body) == 0 {
		return TextEdit{}, false
	}
	outer, inner := f.Indent(at), f.Indent(f.Site(with.Body[0]))
	if !strings.HasPrefix(inner, outer) || len(inner) == len(outer) || lineOf(f.File, with.Header.End) == lineOf(f.File, with.Body[0].Range().Start) {
		return TextEdit{}, false
	}
	start, end := f.nextLine(with.Header.End), f.lineEnd(with.Body[len(with.Body)-1].Range().End)
	var out strings.Builder
	for at := start; at < end; {
		next := min(f.nextLine(at), end)
		line := f.File.Text[at:next]
		if !f.insideString(at) && strings.HasPrefix(line, inner) {
			line = outer + line[len(inner):]
		}
		out.WriteString(line)
		at = next
	}
	return TextEdit{File: f.File, Span: pyscan.Span{Start: start, End: end}, New: out.String()}, true
}
