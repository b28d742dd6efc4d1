package pyscan

import (
	"slices"
	"strings"
)

// Point is a program point of a Flow: a place between two steps of a function's evaluation.
type Point int32

// NoPoint is the absent Point: what follows an unconditional return, break, continue or raise.
const NoPoint Point = -1

// SiteKind tells what a Site does that may run other code.
type SiteKind uint8

const (
	SiteCall         SiteKind = iota // calling Name; Node is the *Call, a *ClassDef (its body runs) or a decorator expression
	SiteConstruct                    // the second frame a class call may make (`__init__` after `__new__`); Node is the *Call
	SiteAttribute                    // loading attribute Name; Node is the *Attribute
	SiteSetAttribute                 // storing or deleting attribute Name; Node is the *Attribute
	SiteBinary                       // operator Name (`+`, `@`, `//`); Node is the *BinOp or *AugAssign
	SiteUnary                        // operator Name (`-`, `+`, `~`); Node is the *UnaryOp
	SiteCompare                      // operator Name (`<`, `in`); Node is the *Compare, Operands its two sides
	SiteIndex                        // one element of a subscript's index; Node is the element's expression
	SiteSubscript                    // loading Value[Index]; Node is the *Subscript
	SiteStorePart                    // finding the part of Value that a store to Value[Index] writes; Node is the *Subscript
	SiteSetSubscript                 // storing or deleting Value[Index]; Node is the *Subscript
	SiteTruth                        // asking a value for its truth; Node is the tested expression
	SiteIterate                      // iter(); Node is the iterated expression, Name its last identifier
	SiteNext                         // one next(); Name is what the values come from (`parameters` of `enumerate(m.parameters())`)
	SiteUnpack                       // unpacking into several targets; Node is the *Tuple or *List
	SiteEnter                        // `__enter__` of a with; Node is the context expression
	SiteExit                         // `__exit__` of a with; Node is the context expression
	SiteFormat                       // formatting a value in an f-string; Node is the value
	SiteGenerator                    // the frames of a generator expression, or of a comprehension with a scope of its own; Node is the *Comprehension, Name its code name
	SiteCallback                     // functions given to a lazy map or filter run here; Names are theirs
	SiteConsume                      // a consumer of an unknown iterable runs that iterable's frames; Node is the *Call
	SiteAwait                        // frames of the awaited value; Name is the awaited call's last identifier; Node is the *Await
	SiteImport                       // importing a module; Node is the *Import
)

// Site is a step of a function's evaluation that may run other code: a call, an operator, a subscript, an iteration.
// From leads to To whether the step leaves a trace or not.
type Site struct {
	Kind     SiteKind
	From, To Point
	// Name is the last identifier of the callee, the attribute or the operator, "" if there is none.
	Name  string
	Names []string // of SiteCallback
	Node  Node
	// Operands are the two sides of a SiteCompare or SiteBinary, or the single one of a SiteUnary.
	Operands []Expr
	// Line is the first line of the innermost statement (from 1). A compound statement's header has its own line.
	Line int
}

// EdgeKind tells why control passes from one point to another without running other code.
type EdgeKind uint8

const (
	EdgeNext   EdgeKind = iota // sequence, a branch taken, a jump
	EdgeBack                   // back to a loop's head
	EdgeExcept                 // an exception raised by the step before goes to a handler
	EdgeRaise                  // a raise statement leaves the function
	EdgeYield                  // the function is left at a yield or an await, to be resumed after it
)

// Edge is a silent passage between two points.
type Edge struct {
	From, To Point
	Kind     EdgeKind
}

// StatementStart says that execution reaching Point begins the statement whose first line is Line.
type StatementStart struct {
	Point Point
	Line  int
	// Span is the statement, or the header of a compound one.
	Span Span
}

// Resumption is the point after a yield or an await, where a generator's or coroutine's frame starts again.
type Resumption struct {
	Point Point
	// Line is the line of the yield expression itself, which is what a recorded frame names; LastLine is the expression's last line.
	Line, LastLine int
}

// Branch is a test that decides where control goes: from After to Yes where it holds, to No where it does not. Tests joined by
// `and`, `or` and `not` are branches of their own.
type Branch struct {
	Test           Expr
	After, Yes, No Point
}

// Flow is the control flow of one function with its sites in CPython's order of evaluation. It is immutable.
type Flow struct {
	Function    *Function
	Entry, Exit Point
	// Lines holds, per point, the first line of the innermost statement it lies in. Its length is the number of points.
	Lines       []int32
	Sites       []Site
	Edges       []Edge
	Statements  []StatementStart
	Branches    []Branch
	Resumptions []Resumption
	// Truncated is set when the function is too large to be modelled (MaxFlowPoints); the flow is then incomplete.
	Truncated bool
}

// MaxFlowPoints bounds the size of a Flow. `finally` blocks are copied for each way out of their `try`, so nested ones grow fast.
const MaxFlowPoints = 60_000

// FlowOptions are facts about the Python that ran the code.
type FlowOptions struct {
	// ComprehensionScopes is true before Python 3.12, where list, set and dict comprehensions run in a frame of their own.
	ComprehensionScopes bool
}

// Flow builds the control flow of one of the file's functions.
func (f *File) Flow(fn *Function, options FlowOptions) *Flow {
	b := &flowBuilder{file: f, options: options, flow: &Flow{Function: fn}}
	b.line = f.statementLine(fn)
	b.flow.Entry = b.point()
	b.flow.Exit = b.point()
	var end Point
	switch {
	case fn.Comprehension != nil:
		end = b.comprehensionBody(fn.Comprehension, b.flow.Entry)
	case fn.Value != nil:
		end = b.expr(fn.Value, b.flow.Entry)
	default:
		end = b.block(fn.Body, b.flow.Entry)
	}
	b.edge(end, b.flow.Exit, EdgeNext)
	return b.flow
}

// statementLine is the first line of the statement that holds a lambda or a comprehension; for a def it is the def's own.
func (f *File) statementLine(fn *Function) int {
	if fn.Comprehension == nil && fn.Value == nil {
		return fn.DefLine
	}
	if statement := f.StatementAt(fn.Start); statement != nil {
		return f.Line(statement.Range().Start)
	}
	return fn.FirstLine
}

// flowBuilder holds the state of one walk. Points are numbered in program order as far as loops allow, which keeps sweeps over a Flow short.
type flowBuilder struct {
	file    *File
	options FlowOptions
	flow    *Flow
	line    int
	loops   []loopTargets
	// cleanups are the `with` exits and `finally` blocks that a jump out of here runs, innermost last.
	cleanups []cleanup
	// handlers are the points to which an exception raised here goes, innermost last.
	handlers []Point
}

type loopTargets struct {
	head, after Point
	cleanups    int
}

// cleanup is one with-exit or finally block together with the depths of handlers and loops outside it.
type cleanup struct {
	run             func(Point) Point
	handlers, loops int
}

func (b *flowBuilder) point() Point {
	p := Point(len(b.flow.Lines))
	b.flow.Lines = append(b.flow.Lines, int32(b.line))
	if len(b.flow.Lines) > MaxFlowPoints {
		b.flow.Truncated = true
	}
	return p
}

func (b *flowBuilder) edge(from, to Point, kind EdgeKind) {
	if from == NoPoint || to == NoPoint {
		return
	}
	b.flow.Edges = append(b.flow.Edges, Edge{From: from, To: to, Kind: kind})
}

// site adds a step after cur and returns the point after it. A step in a try may raise to its handlers.
func (b *flowBuilder) site(cur Point, s Site) Point {
	if cur == NoPoint || b.flow.Truncated {
		return cur
	}
	s.From, s.To, s.Line = cur, b.point(), b.line
	b.flow.Sites = append(b.flow.Sites, s)
	if n := len(b.handlers); n > 0 {
		b.edge(s.To, b.handlers[n-1], EdgeExcept)
	}
	return s.To
}

// leave runs the cleanups above depth, as return, break and continue do.
func (b *flowBuilder) leave(cur Point, depth int) Point {
	cleanups, handlers, loops := b.cleanups, b.handlers, b.loops
	for i := len(cleanups) - 1; i >= depth && cur != NoPoint; i-- {
		c := cleanups[i]
		b.cleanups, b.handlers, b.loops = cleanups[:i], handlers[:c.handlers], loops[:c.loops]
		cur = c.run(cur)
	}
	b.cleanups, b.handlers, b.loops = cleanups, handlers, loops
	return cur
}

func (b *flowBuilder) pushCleanup(run func(Point) Point) {
	// Clip the shared slices so that appends made while one cleanup runs cannot overwrite the saved ones.
	b.cleanups = append(slices.Clip(b.cleanups), cleanup{run: run, handlers: len(b.handlers), loops: len(b.loops)})
}

func (b *flowBuilder) popCleanup() { b.cleanups = b.cleanups[:len(b.cleanups)-1] }

func (b *flowBuilder) pushHandler(p Point) { b.handlers = append(slices.Clip(b.handlers), p) }

func (b *flowBuilder) popHandler() { b.handlers = b.handlers[:len(b.handlers)-1] }

// outward is where an exception that is not handled here goes: the next handler, or out of the function.
func (b *flowBuilder) outward(cur Point) {
	if n := len(b.handlers); n > 0 {
		b.edge(cur, b.handlers[n-1], EdgeNext)
		return
	}
	b.edge(cur, b.flow.Exit, EdgeRaise)
}

// LastName is the last identifier of a callee or value: `f` of `f`, `a.f`, `f(x)`, `f[i]`; "" if there is none.
func LastName(e Expr) string {
	for {
		switch x := e.(type) {
		case *Name:
			return x.ID
		case *Attribute:
			return x.Attr
		case *Call:
			e = x.Func
		case *Subscript:
			e = x.Value
		case *Await:
			e = x.Value
		default:
			return ""
		}
	}
}

// RootName is the first identifier of a dotted path: `a` of `a.b(c)[d].e`; "" if it starts with something else.
func RootName(e Expr) string {
	for {
		switch x := e.(type) {
		case *Name:
			return x.ID
		case *Attribute:
			e = x.Value
		case *Call:
			e = x.Func
		case *Subscript:
			e = x.Value
		default:
			return ""
		}
	}
}

// LineOfStatement is the first line of the innermost statement that a line belongs to. A line of a compound statement outside its
// header and its blocks (`except X:`, `case 3:`, `else:`) is its own.
func (f *File) LineOfStatement(line int) int {
	span := f.LineSpan(line)
	for span.Start < span.End && strings.IndexByte(" \t\f\ufeff", f.Text[span.Start]) >= 0 {
		span.Start++
	}
	s := f.StatementAt(span.Start)
	if s == nil || len(Bodies(s)) > 0 && span.Start >= HeaderSpan(s).End {
		return line
	}
	return f.Line(s.Range().Start)
}
