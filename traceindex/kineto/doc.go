// Package kineto reads the JSON that torch.profiler (kineto) and the exporters before it write.
//
// A trace is read once, in order, by a byte scanner of our own: blocks are read ahead (and unpacked) by one goroutine, while
// another finds the events in them and hands the few parts that analysis uses to a traceindex.Builder. Nothing is kept but
// those; names are interned by their raw bytes and decoded once each, at the end. Times are read from their decimal digits.
//
// Damage stops nothing: what is whole is used, what is lost is counted and told with its place.
//
// # Where the time goes
//
// Profiled (pprof, November 2026) on a 248 MB trace of 800,000 events in a gzip of 16 MB, two cores shared with other work:
// 1.4 s of CPU to the finished index, where python3's json.load needs 14.4 s under the same load; 0.10 GB of memory at the peak
// against 1.43 GB.
//
//	20 %  unpacking (its own goroutine, beside all below)
//	45 %  finding keys and values in events; half of it was comparing keys until each key's successor was guessed from the
//	      last event (keys.go), which is right more than nine times in ten
//	15 %  interning names and adding rows
//	 5 %  sorting, in two halves at once
//	10 %  linking frames, launches, backward; the frames of two threads at a time
//
// Scanning and unpacking overlap, so the wall time of a compressed trace is nearly that of the scanning alone. An event costs
// 0.3–0.5 µs to scan on an idle core, growth is linear (load.BenchmarkGrowth). Memory while reading is the columns once (37
// bytes an event) and half a dozen blocks of half a megabyte.
//
// Importers: traceindex/load. It imports traceindex and knows nothing of Python source.
package kineto
