// Package rankset is a run of many ranks, each indexed on its own node: what a rank writes down, and how a thousand ranks are put
// together again.
//
// A trace of one rank is hundreds of megabytes, a run has a thousand of them, and no single machine wants to read that. But what
// a report says of a rank fits in a few hundred kilobytes: its steps with their gaps, its lines, its GPU time by step, kernel, op
// and line, its collectives. RowsOf (rows_of.go) makes these tables of one attributed and diagnosed rank; rows.go defines them,
// column by column with units. Package rankset/parquet stores and reads them.
//
// Merge (merge.go) takes ranks one after the other, holding sums only, and ends in a Run: the same Costs and
// Diagnosis that the traces themselves would give (stragglers and all, because collectives are joined by process group and
// sequence number), and the samples that compare needs.
//
// Importers: analysis and report (what a set says), cmd/stepline. It imports traceindex, traceindex/attribute,
// traceindex/diagnose and traceindex/compare, and knows no file format.
package rankset
