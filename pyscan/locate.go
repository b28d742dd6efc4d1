package pyscan

import "sort"

// FunctionAt is the innermost function, lambda or comprehension scope whose source holds the byte offset;
// decorators and parameters count as the def's own. It is the Module where there is no other.
func (f *File) FunctionAt(offset int) *Function {
	at := sort.Search(len(f.Functions), func(i int) bool { return f.Functions[i].Start > offset }) - 1
	for at > 0 && !f.Functions[at].Contains(offset) {
		at = int(f.enclosing[at])
	}
	return f.Functions[max(at, 0)]
}

// RunsIn is the function whose frame runs the code at the byte offset: unlike FunctionAt it counts a def's
// decorators, defaults and annotations, and a comprehension's first iterable, to the function around it.
func (f *File) RunsIn(offset int) *Function {
	fn := f.FunctionAt(offset)
	for fn.Parent != nil && !runs(fn, offset) {
		fn = f.Functions[f.enclosing[fn.Index]]
	}
	return fn
}

func runs(fn *Function, offset int) bool {
	switch {
	case fn.Comprehension != nil:
		clauses := fn.Comprehension.Clauses
		return len(clauses) == 0 || !clauses[0].Iter.Range().Contains(offset)
	case fn.Value != nil:
		return offset >= fn.Value.Range().Start
	}
	return len(fn.Body) > 0 && offset >= fn.Body[0].Range().Start
}

// enclosingFunctions is, for each function, the index of the one whose source it lies in.
func enclosingFunctions(functions []*Function) []int32 {
	enclosing := make([]int32, len(functions))
	for i := 1; i < len(functions); i++ {
		at := int32(i - 1)
		for at > 0 && !functions[at].Covers(functions[i].Span) {
			at = enclosing[at]
		}
		enclosing[i] = at
	}
	return enclosing
}

// ClassAt is the innermost class whose source holds the byte offset, nil where there is none.
func (f *File) ClassAt(offset int) *Class {
	at := sort.Search(len(f.Classes), func(i int) bool { return f.Classes[i].Start > offset }) - 1
	for ; at >= 0; at-- {
		if f.Classes[at].Contains(offset) {
			return f.Classes[at]
		}
	}
	return nil
}

// StatementAt is the innermost statement whose source holds the byte offset: a simple statement, or a
// compound one where the offset is in its header, on an `else:` or between the statements of its body.
// It is nil outside all statements.
func (f *File) StatementAt(offset int) Stmt {
	var found Stmt
	list := f.Module.Body
	for {
		stmt := statementIn(list, offset)
		if stmt == nil {
			return found
		}
		found = stmt
		list = nil
		for _, body := range Bodies(stmt) {
			if statementIn(body, offset) != nil {
				list = body
				break
			}
		}
	}
}

// statementIn is the statement of the list that holds the offset, nil if none does.
func statementIn(list []Stmt, offset int) Stmt {
	at := sort.Search(len(list), func(i int) bool { return list[i].Range().End > offset })
	if at < len(list) && list[at].Range().Contains(offset) {
		return list[at]
	}
	return nil
}

// Bodies are the statement lists directly inside a compound statement, in source order; nil for a simple one.
func Bodies(stmt Stmt) [][]Stmt {
	switch s := stmt.(type) {
	case *FunctionDef:
		return [][]Stmt{s.Function.Body}
	case *ClassDef:
		return [][]Stmt{s.Class.Body}
	case *If:
		return [][]Stmt{s.Body, s.Else}
	case *For:
		return [][]Stmt{s.Body, s.Else}
	case *While:
		return [][]Stmt{s.Body, s.Else}
	case *With:
		return [][]Stmt{s.Body}
	case *Try:
		out := [][]Stmt{s.Body}
		for _, handler := range s.Handlers {
			out = append(out, handler.Body)
		}
		return append(out, s.Else, s.Finally)
	case *Match:
		var out [][]Stmt
		for _, one := range s.Cases {
			out = append(out, one.Body)
		}
		return out
	case *BadStmt:
		return [][]Stmt{s.Stmts}
	}
	return nil
}

// StatementLine is the statement's line as Python's ast has it (1-based): that of its first token, but of
// `def` or `class` for a decorated definition.
func (f *File) StatementLine(stmt Stmt) int {
	switch s := stmt.(type) {
	case *FunctionDef:
		return s.Function.DefLine
	case *ClassDef:
		return f.Line(s.Class.NameSpan.Start)
	}
	return f.Line(stmt.Range().Start)
}

// HeaderSpan is a compound statement's header, from its start (decorators included) to the colon that opens
// its body, and the whole of a simple statement.
func HeaderSpan(stmt Stmt) Span {
	switch s := stmt.(type) {
	case *If:
		return s.Header
	case *For:
		return s.Header
	case *While:
		return s.Header
	case *With:
		return s.Header
	case *Match:
		return s.Header
	case *Try:
		return Span{s.Start, min(s.Start+len("try"), s.End)}
	case *FunctionDef:
		return Span{s.Start, min(s.Function.headerEnd, s.End)}
	case *ClassDef:
		return Span{s.Start, min(s.Class.headerEnd, s.End)}
	}
	return stmt.Range()
}

// StatementsAtLine are the statements with source on the 1-based line, in source order: simple statements
// that touch it and compound statements whose header does.
func (f *File) StatementsAtLine(line int) []Stmt {
	if line < 1 || line > f.LineCount() {
		return nil
	}
	return statementsIn(f.Module.Body, f.LineSpan(line), nil)
}

func statementsIn(list []Stmt, line Span, out []Stmt) []Stmt {
	at := sort.Search(len(list), func(i int) bool { return list[i].Range().End > line.Start })
	for ; at < len(list) && list[at].Range().Start < line.End; at++ {
		stmt := list[at]
		if header := HeaderSpan(stmt); header.Start < line.End && line.Start < header.End {
			out = append(out, stmt)
		}
		for _, body := range Bodies(stmt) {
			out = statementsIn(body, line, out)
		}
	}
	return out
}
