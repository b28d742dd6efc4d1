package rules

import "stepline/pyscan"

// EnvironmentSetting is a statement that sets an environment variable to a literal.
type EnvironmentSetting struct {
	Site        *Site
	Name, Value string
	// NameSpan is the name's literal, or the keyword of `os.environ.update(NAME=…)`; ValueNode the value's.
	NameSpan  pyscan.Span
	NameQuote string
	ValueNode pyscan.Expr
	// Alone: the statement sets nothing else, so it can be deleted.
	Alone bool
}

// EnvironmentSettings finds `os.environ["X"] = "…"`, `setdefault`, `putenv` and `os.environ.update(…)` in the file.
func (f *Facts) EnvironmentSettings() []EnvironmentSetting {
	var out []EnvironmentSetting
	add := func(s *Site, key pyscan.Expr, value pyscan.Expr, alone bool) {
		name, ok := StringValue(key)
		text, isText := StringValue(value)
		if ok && isText {
			out = append(out, EnvironmentSetting{Site: s, Name: name, Value: text, NameSpan: key.Range(), NameQuote: f.Text(key)[:1], ValueNode: value, Alone: alone})
		}
	}
	environ := func(e pyscan.Expr) bool { return f.Resolve(e) == "os.environ" }
	for _, s := range f.Sites {
		switch n := s.Node.(type) {
		case *pyscan.Assign:
			for _, t := range n.Targets {
				if sub, ok := t.(*pyscan.Subscript); ok && n.Value != nil && environ(sub.Value) {
					add(s, sub.Index, n.Value, len(n.Targets) == 1)
				}
			}
		case *pyscan.Call:
			attr, ok := n.Func.(*pyscan.Attribute)
			if !ok {
				continue
			}
			isStmt := isStatement(s)
			switch {
			case attr.Attr == "setdefault" && environ(attr.Value) && len(n.Args) == 2, f.Resolve(n.Func) == "os.putenv" && len(n.Args) == 2:
				add(s, n.Args[0], n.Args[1], isStmt)
			case attr.Attr == "update" && environ(attr.Value):
				for _, k := range n.Keywords {
					if text, ok := StringValue(k.Value); ok && k.Name != "" {
						out = append(out, EnvironmentSetting{Site: s, Name: k.Name, Value: text, NameSpan: pyscan.Span{Start: k.Start, End: k.Start + len(k.Name)}, ValueNode: k.Value})
					}
				}
				if len(n.Args) == 1 {
					if d, ok := n.Args[0].(*pyscan.Dict); ok {
						for i := range d.Keys {
							if d.Keys[i] != nil {
								add(s, d.Keys[i], d.Values[i], false)
							}
						}
					}
				}
			}
		}
	}
	return out
}

// DeleteSetting is the fix that deletes the statement of a setting, nil where it does more than that.
func (f *Facts) DeleteSetting(s EnvironmentSetting) []Fix {
	stmt := s.Site.Statement()
	if !s.Alone || stmt == nil {
		return nil
	}
	return []Fix{{Title: "Delete the setting of " + s.Name, Safety: Unsafe, Edits: []TextEdit{f.DeleteStatement(stmt)}}}
}
