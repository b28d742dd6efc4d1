package pyscan

// Span is a half-open range of byte offsets into File.Text.
type Span struct{ Start, End int }

// Contains reports whether offset lies inside the span.
func (s Span) Contains(offset int) bool { return s.Start <= offset && offset < s.End }

// Covers reports whether other lies wholly inside the span.
func (s Span) Covers(other Span) bool { return s.Start <= other.Start && other.End <= s.End }

// Len is the length of the span in bytes.
func (s Span) Len() int { return s.End - s.Start }

// Node is any piece of the Python model: an expression, a statement, or a part of one.
type Node interface{ Range() Span }

// Range returns the span itself, so that every struct embedding a Span is a Node.
func (s Span) Range() Span { return s }

// Expr is a Python expression. The set of implementations is closed: a type switch over them is exhaustive.
type Expr interface {
	Node
	isExpr()
}

// Stmt is a Python statement. The set of implementations is closed: a type switch over them is exhaustive.
type Stmt interface {
	Node
	isStmt()
}

// ConstantKind tells what literal a Constant is.
type ConstantKind uint8

const (
	ConstNone ConstantKind = iota
	ConstTrue
	ConstFalse
	ConstEllipsis
	ConstInt
	ConstFloat
	ConstImaginary
	ConstString // concatenations of plain strings are one constant
	ConstBytes
)

// ComprehensionKind tells what a Comprehension builds.
type ComprehensionKind uint8

const (
	ListComprehension ComprehensionKind = iota
	SetComprehension
	DictComprehension
	GeneratorExpression
)

type (
	// Name is an identifier: `x`.
	Name struct {
		Span
		ID string
	}
	// Attribute is `Value.Attr`; AttrSpan covers the attribute's identifier alone.
	Attribute struct {
		Span
		Value    Expr
		Attr     string
		AttrSpan Span
	}
	// Call is `Func(Args, Keywords)`. Starred arguments stay in Args as Starred; `**kw` is a Keyword with no Name.
	// ArgList covers the parentheses and what is between them.
	Call struct {
		Span
		Func     Expr
		Args     []Expr
		Keywords []*Keyword
		ArgList  Span
	}
	// Keyword is one `Name=Value` of a call or a class header; Name is "" for `**Value`.
	Keyword struct {
		Span
		Name  string
		Value Expr
	}
	// Subscript is `Value[Index]`; several indices are one Tuple.
	Subscript struct {
		Span
		Value, Index Expr
	}
	// Slice is `Lower:Upper:Step` inside a subscript; each part may be nil.
	Slice struct {
		Span
		Lower, Upper, Step Expr
	}
	// BinOp is `Left Op Right`; Op is the operator's text (`+`, `@`, `//`).
	BinOp struct {
		Span
		Left, Right Expr
		Op          string
	}
	// UnaryOp is `Op Operand`; Op is `-`, `+`, `~` or `not`.
	UnaryOp struct {
		Span
		Op      string
		Operand Expr
	}
	// BoolOp is a chain of `and` or of `or`, flattened.
	BoolOp struct {
		Span
		Op     string
		Values []Expr
	}
	// Compare is a comparison chain: Left Ops[0] Rights[0] Ops[1] Rights[1] …; `not in` and `is not` are one operator.
	Compare struct {
		Span
		Left   Expr
		Ops    []string
		Rights []Expr
	}
	// IfExp is `Body if Test else Else`.
	IfExp struct {
		Span
		Test, Body, Else Expr
	}
	// Lambda is an anonymous function; Function holds its parameters and body expression.
	Lambda struct {
		Span
		Function *Function
	}
	// Comprehension is a list, set, dict comprehension or a generator expression. Key is nil except for dicts.
	Comprehension struct {
		Span
		Kind       ComprehensionKind
		Key, Value Expr
		Clauses    []*ForClause
		// Function is the implicit scope ("<genexpr>", "<listcomp>", …) that Python makes for it.
		Function *Function
	}
	// ForClause is one `for Target in Iter if Conditions…` of a comprehension.
	ForClause struct {
		Span
		Target, Iter Expr
		Conditions   []Expr
		Async        bool
	}
	// Constant is a literal; Text is its source.
	Constant struct {
		Span
		Kind ConstantKind
		Text string
	}
	// FString is an f-string (or an implicit concatenation with one in it); Values are the interpolated expressions in order.
	FString struct {
		Span
		Values []Expr
	}
	// Tuple is `a, b` with or without parentheses.
	Tuple struct {
		Span
		Elems []Expr
	}
	// List is `[a, b]`.
	List struct {
		Span
		Elems []Expr
	}
	// Set is `{a, b}`.
	Set struct {
		Span
		Elems []Expr
	}
	// Dict is `{k: v, **m}`; the key of a `**m` entry is nil.
	Dict struct {
		Span
		Keys, Values []Expr
	}
	// Starred is `*Value` in a call, a display or a target.
	Starred struct {
		Span
		Value Expr
	}
	// Await is `await Value`.
	Await struct {
		Span
		Value Expr
	}
	// Yield is `yield Value` (Value may be nil) or `yield from Value`.
	Yield struct {
		Span
		Value Expr
		From  bool
	}
	// NamedExpr is `Target := Value`.
	NamedExpr struct {
		Span
		Target *Name
		Value  Expr
	}
	// BadExpr is source that does not parse as an expression; Parts are the expressions that could be read inside it.
	BadExpr struct {
		Span
		Parts []Expr
	}
)

func (*Name) isExpr()          {}
func (*Attribute) isExpr()     {}
func (*Call) isExpr()          {}
func (*Subscript) isExpr()     {}
func (*Slice) isExpr()         {}
func (*BinOp) isExpr()         {}
func (*UnaryOp) isExpr()       {}
func (*BoolOp) isExpr()        {}
func (*Compare) isExpr()       {}
func (*IfExp) isExpr()         {}
func (*Lambda) isExpr()        {}
func (*Comprehension) isExpr() {}
func (*Constant) isExpr()      {}
func (*FString) isExpr()       {}
func (*Tuple) isExpr()         {}
func (*List) isExpr()          {}
func (*Set) isExpr()           {}
func (*Dict) isExpr()          {}
func (*Starred) isExpr()       {}
func (*Await) isExpr()         {}
func (*Yield) isExpr()         {}
func (*NamedExpr) isExpr()     {}
func (*BadExpr) isExpr()       {}

type (
	// FunctionDef is a `def`; its body is in Function.
	FunctionDef struct {
		Span     // from the first decorator, if any, to the end of the body
		Function *Function
	}
	// ClassDef is a `class`; its body is in Class.
	ClassDef struct {
		Span
		Class *Class
	}
	// Assign is `Targets[0] = Targets[1] = Value`, or an annotated assignment (Annotation not nil, Value may be nil).
	// A `type X = …` alias is an Assign without Value: what it stands for, evaluated on demand only, is the Annotation.
	Assign struct {
		Span
		Targets    []Expr
		Value      Expr
		Annotation Expr
	}
	// AugAssign is `Target Op= Value`; Op is the operator without `=`.
	AugAssign struct {
		Span
		Target Expr
		Op     string
		Value  Expr
	}
	// ExprStmt is an expression on its own.
	ExprStmt struct {
		Span
		Value Expr
	}
	// Return is `return Value`; Value may be nil.
	Return struct {
		Span
		Value Expr
	}
	// If is `if Test: Body else: Else`; an `elif` is an If alone in Else with ElseIf set on it.
	If struct {
		Span
		Test       Expr
		Body, Else []Stmt
		ElseIf     bool
		Header     Span // the line(s) from `if` to its colon
	}
	// For is a `for` loop with its optional `else`.
	For struct {
		Span
		Target, Iter Expr
		Body, Else   []Stmt
		Async        bool
		Header       Span
	}
	// While is a `while` loop with its optional `else`.
	While struct {
		Span
		Test       Expr
		Body, Else []Stmt
		Header     Span
	}
	// With is `with Items: Body`.
	With struct {
		Span
		Items  []*WithItem
		Body   []Stmt
		Async  bool
		Header Span
	}
	// WithItem is one `Context as Target` of a With; Target may be nil.
	WithItem struct {
		Span
		Context, Target Expr
	}
	// Try is `try` with its handlers, `else` and `finally`.
	Try struct {
		Span
		Body, Else, Finally []Stmt
		Handlers            []*Handler
		Star                bool // `except*`
	}
	// Handler is one `except Type as Name:`; Type is nil for a bare `except:`.
	Handler struct {
		Span
		Type Expr
		Name string
		Body []Stmt
	}
	// Match is a `match` statement.
	Match struct {
		Span
		Subject Expr
		Cases   []*MatchCase
		Header  Span
	}
	// MatchCase is one `case Pattern if Guard:`. Pattern is kept as the expressions it evaluates
	// (class names, value patterns); Captures are the names it binds.
	MatchCase struct {
		Span
		Pattern  []Expr
		Captures []*Name
		Guard    Expr
		Body     []Stmt
		Header   Span
	}
	// Raise is `raise Exc from Cause`; both may be nil.
	Raise struct {
		Span
		Exc, Cause Expr
	}
	// Assert is `assert Test, Message`; Message may be nil.
	Assert struct {
		Span
		Test, Message Expr
	}
	// Delete is `del Targets`.
	Delete struct {
		Span
		Targets []Expr
	}
	// Import is `import …` or `from … import …`.
	Import struct {
		Span
		// Module is the dotted module after `from` (without leading dots), "" for a plain import.
		Module string
		// Level is the number of leading dots of a relative import.
		Level int
		From  bool
		Names []*ImportedName
	}
	// ImportedName is one `Name as Alias`; Name is "*" for a star import and dotted for plain imports.
	ImportedName struct {
		Span
		Name, Alias string
	}
	// Scope is `global Names` or `nonlocal Names`.
	Scope struct {
		Span
		Nonlocal bool
		Names    []string
	}
	// Simple is `pass`, `break` or `continue`; Keyword tells which.
	Simple struct {
		Span
		Keyword string
	}
	// BadStmt is source that does not parse; Exprs and Stmts are what could be read inside it.
	BadStmt struct {
		Span
		Exprs []Expr
		Stmts []Stmt
	}
)

func (*FunctionDef) isStmt() {}
func (*ClassDef) isStmt()    {}
func (*Assign) isStmt()      {}
func (*AugAssign) isStmt()   {}
func (*ExprStmt) isStmt()    {}
func (*Return) isStmt()      {}
func (*If) isStmt()          {}
func (*For) isStmt()         {}
func (*While) isStmt()       {}
func (*With) isStmt()        {}
func (*Try) isStmt()         {}
func (*Match) isStmt()       {}
func (*Raise) isStmt()       {}
func (*Assert) isStmt()      {}
func (*Delete) isStmt()      {}
func (*Import) isStmt()      {}
func (*Scope) isStmt()       {}
func (*Simple) isStmt()      {}
func (*BadStmt) isStmt()     {}

// Parameter is one parameter of a function.
type Parameter struct {
	Span
	Name       string
	Annotation Expr // may be nil
	Default    Expr // may be nil
	// Star is 0 for a plain parameter, 1 for `*args`, 2 for `**kwargs`. KeywordOnly parameters follow a star.
	Star        int
	KeywordOnly bool
}

// Function is anything Python runs as a frame of its own: a def, a lambda, a comprehension's scope, or the module's top level.
type Function struct {
	Span // decorators included
	// Name is the code object's name: "forward", "<lambda>", "<genexpr>", "<module>".
	Name     string
	NameSpan Span
	// QualName is the path from the module in Python's __qualname__ style without "<locals>": "MLP.forward", "main.helper".
	QualName   string
	Decorators []Expr
	Params     []*Parameter
	Returns    Expr   // annotation, may be nil
	Body       []Stmt // of a def or the module
	Value      Expr   // of a lambda (its expression)
	// Comprehension is set for an implicit comprehension scope.
	Comprehension *Comprehension
	Async         bool
	Generator     bool // has a yield of its own, or is a generator expression
	// Class is the class whose body directly holds this def, nil otherwise. Parent is the enclosing function or the module's.
	Class  *Class
	Parent *Function
	// FirstLine is CPython's co_firstlineno: the first decorator's line if decorated, else the def's (1-based). DefLine is the def's own.
	FirstLine, DefLine, LastLine int
	// Index is the position in File.Functions.
	Index int

	headerEnd int // offset after the colon of a def
}

// Class is a class definition.
type Class struct {
	Span
	Name       string
	NameSpan   Span
	QualName   string
	Decorators []Expr
	Bases      []Expr
	Keywords   []*Keyword
	Body       []Stmt
	// Methods are the defs directly in the body (branches of if/try included), in order.
	Methods []*Function
	Outer   *Class
	Parent  *Function // the function whose body holds the class
	// FirstLine is the first decorator's line if decorated, else that of `class` (1-based).
	FirstLine, LastLine int
	Index               int // the position in File.Classes

	headerEnd int // offset after the header's colon
}
