// Package traceindex holds a run's traces as columns and everything that follows from them: frames as a tree per thread,
// launches joined to GPU events, backward nodes to the forward ops they come from, steps, busy and idle time.
//
// A reader fills a Builder; Build puts the rows in order and links them; the Index is immutable from then on.
//
// Importers: the readers (traceindex/kineto, …), traceindex/load, traceindex/attribute, traceindex/diagnose, rules, analysis and
// report. It imports none of them, knows no file format and no Python source.
package traceindex
