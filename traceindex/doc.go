// Package traceindex holds a run's traces as columns and everything that follows from them: frames as a tree per thread,
// launches joined to GPU events, backward nodes to the forward ops they come from, steps, busy and idle time.
//
// A reader fills a Builder; Build puts the rows in order and links them; the Index is immutable from then on.
//
// # Memory
//
// An Index takes 49 bytes an event: 37 of columns, 12 of links (Parent, SubtreeEnd, Launch), and 8 more for each GPU event. Names,
// steps and details come on top; details alike are kept once. With 14 million events (2.4 GB of JSON, a name for each of 1.4
// million steps; testdata/cases/15-huge-trace) the heap holds 792 MB when the index is built and at most 0.91 GB of the
// process are resident while it is read; `stepline lines` peaks at 1.08 GB. Columns are gathered one at a time, ascending runs of
// rows are merged in place of a sort of keys, and what has millions of intervals (Busy, Idle) is walked, not listed.
//
// Importers: the readers (traceindex/kineto, …), traceindex/load, traceindex/attribute, traceindex/diagnose, rules, analysis and
// report. It imports none of them, knows no file format and no Python source.
package traceindex
