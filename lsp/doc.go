// Package lsp is the language server: sessions, open documents, and one file per feature of the protocol. Handlers are thin:
// they take an immutable snapshot of the session, ask package analysis, and translate byte spans into positions of the
// negotiated encoding.
//
// How a message flows: internal/wire reads it on one goroutine, the session's. Notifications (didChange, …) change the
// session's state there, in order, and publish a new immutable snapshot; requests take the snapshot of their moment and run
// beside. The checker has two goroutines. One takes edits and lints the edited definitions alone, which tells at once what nearly
// every keystroke changes (quick.go); the other parses and lints whole files, newest first: those where the first cannot tell, and
// every edited one once nobody types. Both drop what a newer change has overtaken; what a change elsewhere may concern waits until
// nobody types, or until it is asked for. Traces load on goroutines of their own and hand their result to the session's.
//
// Diagnostics are what `stepline check` lists, so that editor and CI agree. What a trace, a log or a snapshot says on its own
// (TRC…, NCCL) stands on its lines in hovers, and in the report.
//
// It is imported by cmd/stepline and editor tests only; nothing below it knows the protocol.
package lsp
