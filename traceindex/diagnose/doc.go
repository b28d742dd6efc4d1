// Package diagnose says why the GPU waits.
//
// For every step of every rank it cuts the time in which nothing ran on the GPU into gaps, each with a cause and the source line
// the training thread was in (gaps.go, on the causes that hosting.go reads off the host threads). Busy time and gaps sum to the
// step, to the nanosecond. From the gaps follow the shares of a step and the bottleneck's class with its evidence (class.go), the
// table of a step's phases (phases.go), who waits for whom between ranks (stragglers.go), and the findings that need no source
// (traceonly.go, catalogued as TRC01–TRC16).
//
// The idle time a synchronisation causes is bounded by how long the host waited in it: without the call the host would have been
// that much earlier, and no more. Each waiting call therefore leaves a debt of its wait, which the idle time after it uses up
// (debt.go); what is idle beyond the debt would have been idle anyway. This is what prices rest on.
//
// Thresholds are settings (Settings), never facts.
//
// A run is diagnosed in memory (Run), or from what each of its ranks was indexed to (parts.go): both answer the same questions
// (measured.go), so that the words and numbers are the same.
//
// Importers: analysis, report, compare and rankset. It imports traceindex and traceindex/attribute.
package diagnose
