// Package wire is the guarded JSON-RPC 2.0 connection under the language server: framing that survives damage, dispatch that
// keeps order, and a writer that never lets a slow client stop the reading.
//
// What it promises, each shown by a test:
//   - Messages are read at all times. Notifications run in line and in order; their errors and panics are logged and swallowed.
//   - A request first takes what it needs (Handler.Request, in line, so it sees every notification before it and none after),
//     then its work runs beside. Panics become −32603, context.Canceled becomes −32800, bad params −32602.
//   - Ids are kept digit for digit: strings, numbers beyond 2³¹ or 2⁵³.
//   - A broken frame is answered −32700 and the reader finds the next header by itself.
//   - What the client does not read is bounded: superseded notifications are replaced, droppable ones dropped, answers shrink
//     to an error. Reading goes on.
//   - At the end (exit, end of input) short requests get a moment to be answered, then all is cancelled, and what does not heed
//     that is left behind: the end comes within a second.
//
// jsonrpc2's own Conn closes on a notification's error or a panic, reorders under Async and blocks reading while it writes;
// so only the error type and codes of go.lsp.dev/jsonrpc2 are used here. Only lsp imports this package.
package wire
