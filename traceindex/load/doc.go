// Package load opens any input by its content: a trace file, a folder of ranks, a glob or a list of them becomes one
// traceindex.Run.
//
// It unpacks (gzip of many members, zip), tells formats apart by what is in the file and never by its name, names a file that
// is no trace for what it is, finds each file's rank, reads recorded call lines from the sidecar X.callers.json.gz, and keeps
// finished indexes in the user's cache folder.
//
// Importers: analysis and cmd. It imports the readers and traceindex.
package load
