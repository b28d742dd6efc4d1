// Package report turns finished results into text, JSON, CSV, SARIF and the other formats that `stepline` prints.
//
// It computes nothing: costs come finished from traceindex/attribute, findings from rules, the diagnosis from
// traceindex/diagnose. What happens here is choosing, ordering, scaling to a step and writing down. The JSON rows
// (LineRow, TraceSummary, FindingRow …) are the documented contract and are shared with the language server, which answers
// `stepline/lineCosts` with the same rows.
//
// cmd, lsp and analysis import this package. It imports rules, traceindex (and rankset, for runs of
// indexed ranks) and pyscan (for positions), and no protocol.
//
// Nothing that comes from a file reaches a terminal unfiltered: names and source lines go through Printable.
package report
