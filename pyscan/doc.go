// Package pyscan turns Python source into an immutable model: functions, classes, statements and expressions
// with byte spans, and for each function the steps of its evaluation in CPython's order. It knows neither
// traces nor rules nor editors; rules, traceindex/attribute, analysis and lsp import it, it imports nothing
// of stepline.
//
// # From text to model
//
// Parse cuts the text into tokens (lexer.go), and a recursive-descent parser (parse*.go) builds the model of
// ast.go from them in one pass. The model follows CPython's ast in what is a node, where it starts and where
// it ends; functions carry the first line that a code object of CPython has (co_firstlineno, the first
// decorator's), for that is what traces name. Lambdas and comprehensions are functions too. Where the model is
// simpler than ast, ast.go says so: parentheses leave no node, a pattern is the expressions it evaluates and
// the names it binds, type parameters are left out.
//
// TestCorpusAgainstCPython compares kinds, spans, argument names, imports and frames with CPython's own parser
// on any folder; with the standard libraries of CPython 3.11 and 3.13 nothing differs.
//
// Parse never fails. Source that does not parse becomes BadStmt and BadExpr nodes that keep what can be read
// inside them, one SyntaxError a logical line, and the lines around it are modelled as if it were not there:
// a bracket left open while typing ends where a line cannot belong to it any more, a missing colon or body
// costs nothing else. Depth and size are bounded (maxDepth, MaxFileSize), so that recursions over a model
// are safe; time is linear in the text.
//
// Why not a generated parser: tree-sitter's Python grammar was measured first. It takes about 95 ms of
// processor time for 4,600 lines, this one under a tenth of that, which is what lets an editor parse at every
// keystroke without keeping trees in C memory; and it reads less of a file that is being typed in.
//
// Patch (patch.go) models a file after an edit within definitions: it reads those alone, where it can show that the rest reads as
// before, so that a keystroke costs what the edited function does.
//
// # Using the model
//
// LineTable maps offsets and lines; FunctionAt, RunsIn, ClassAt, StatementAt and StatementsAtLine find what is
// at a place; Walk and Children go over any node. Flow (flow*.go) is a function's control flow with a site for
// every call, operator and iteration, in evaluation order: what traceindex/attribute aligns recorded calls
// with.
//
// Notebook reads a .ipynb as one module, with IPython's magics blanked, and writes edits back so that all
// other bytes stay as they are.
//
// A File and everything reached from it is immutable: it may be shared by goroutines freely.
package pyscan
