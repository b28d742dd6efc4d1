// Package kineto reads the JSON that torch.profiler (kineto) and the exporters before it write.
//
// A trace is read once, in order, by a byte scanner of our own: the events in it are found, and the few parts that
// analysis uses are handed to a traceindex.Builder. Nothing is kept but
// those; names are interned by their raw bytes and decoded once each, at the end. Times are read from their decimal digits.
//
// Damage stops nothing: what is whole is used, what is lost is counted and told with its place.
//
// Three goroutines share the work: one reads ahead and unpacks, two parse, each half of what is in memory (fork.go). Where the
// text is anything but plain events in a row, one of them goes on in order, so that the result never depends on the sharing;
// fuzzing holds one against two.
//
// # Where the time goes
//
// A 248 MB trace of 800,000 events in a gzip of 16 MB, to the finished index (load.Open; Xeon of 2026, November 2026):
//
//	                 python3 json.load   stepline
//	one thread                   4.9 s     1.05 s
//	two hyperthreads             4.9 s     0.76 s
//	four threads                 4.9 s     0.60 s
//	peak memory                1173 MB     110 MB
//
// Profiled (pprof) on one thread:
//
//	39 %  unpacking
//	35 %  finding keys and values in events; half of it was comparing keys until each key's successor was guessed from the
//	      last event (keys.go), which is right more than nine times in ten
//	12 %  interning names and adding rows
//	 4 %  putting rows in order: ascending runs, of which two parsers leave a few, are merged; others are sorted in halves
//	10 %  linking frames, launches, backward; the frames of two threads at a time
//
// Growth is linear (load.BenchmarkGrowth). Memory while reading is the columns once (37 bytes an event) and half a dozen blocks
// of half a megabyte.
//
// Importers: traceindex/load. It imports traceindex and knows nothing of Python source.
package kineto
