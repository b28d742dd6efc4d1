// Package rules is the frame every lint rule runs in: rules, findings, fixes, suppressions and prices.
//
// A rule lives in a folder of its own below this one (rules/syn001) with its page and its fixture, and is listed in
// rules/catalog, which is generated from the folders. A rule sees a Pass: one parsed file as a tree of Sites, what the
// project around it knows (contexts, provenance, frameworks), the torch version aimed at, and, when a trace is loaded,
// what the trace proves. It reports Findings with byte spans. The guards every rule shares (a statement that runs every
// N steps, an evaluation function, a project without a GPU) are applied here, when a finding is reported, so that a rule
// states only what is its own.
//
// What expressions are comes from a data flow (flow.go): one of each function and level, its values kept by place and by the
// numbers of variables (variables.go).
//
// Run lints one file, among a Project of others. Live goes on from there while the file is typed into: it lints the edited
// definitions alone (live.go), in front of what was found of everything else (edited.go), wherever they show the code around them
// the same as before (footprint.go). A Result tells what it rests on (depends.go) and, after edits of other files, whether it still
// holds: what calls a function or names a thing is asked again where it was edited (questions.go), and only where the answer is
// another one the file is to be linted anew. ApplyFixes turns findings into a new text.
//
// The package knows pyscan and the measured costs behind the small Costs interface; it knows no editor, no protocol and
// no trace format. Package analysis wires it to traces; report, cmd and lsp show what it finds.
package rules
