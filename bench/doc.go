// Command bench measures what the README claims, on this machine: `make bench`.
//
//   - `stepline lines` on a large trace against Python's json.load of the same gzip: time and peak memory, first open and
//     reopened from the index cache. BIG_TRACE names the trace; without it the shipped gpt trace is replicated to 250 MB of
//     JSON (replicate.go).
//   - `stepline check`, TorchFix and ruff on the same files, a release of timm: time, and findings by rule (lint_beside.go).
//   - pyscan.Parse of a 5,000-line file.
//   - an editing session through `stepline lsp` and a pipe (session.go): 2,000 keystrokes in that file, inside a workspace of
//     700 files and with the large trace loaded; the same session through ruff's server where scripts/ruff.sh installed it.
//
// It prints one Markdown table. Every figure is a median of several runs; nothing is asserted here. Nobody imports it.
package main
