// Command bench measures what the README claims, on this machine: `make bench`.
//
//   - `stepline lines` on a large trace against Python's json.load of the same gzip: time and peak memory, first open and
//     reopened from the index cache. BIG_TRACE names the trace; without it the shipped gpt trace is replicated to 250 MB of
//     JSON (replicate.go).
//   - pyscan.Parse of a 5,000-line file.
//   - keystroke to fresh diagnostics in the same file, through `stepline lsp` and a pipe.
//
// It prints one Markdown table. Every figure is a median of several runs; nothing is asserted here. Nobody imports it.
package main
