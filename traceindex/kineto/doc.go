// Package kineto reads the JSON that torch.profiler (kineto) and the exporters before it write.
//
// A trace is read once, in order, by a byte scanner of our own: blocks are read ahead (and unpacked) by one goroutine, while
// another finds the events in them and hands the few parts that analysis uses to a traceindex.Builder. Nothing is kept but
// those; names are interned by their raw bytes and decoded once each, at the end. Times are read from their decimal digits.
//
// Damage stops nothing: what is whole is used, what is lost is counted and told with its place.
//
// Importers: traceindex/load. It imports traceindex and knows nothing of Python source.
package kineto
