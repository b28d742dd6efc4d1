// Package text holds open documents' texts as the editor has them: immutable texts with their lines, positions in any of
// LSP's encodings mapped to byte offsets and back, and edits applied the way the protocol says.
//
// Only lsp imports it.
package text
