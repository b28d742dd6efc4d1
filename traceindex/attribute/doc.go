// Package attribute puts every nanosecond of GPU time on the source statement that caused it.
//
// A trace names a function's first line, never the line that was running. What it does hold is each frame's calls, in order; the
// source holds the calls each statement makes, in order of evaluation. Run aligns the two (align.go) for every frame whose
// source is in the workspace, and says how sure it is of each call's line. From the placed calls follow the lines of launches
// (forward.go), of backward work through the forward op that made it (backward.go), of the GPU's idle time (idle.go),
// synchronisations (sync.go) and copies (copies.go). What fits no line is accounted for with its reason (unattributed.go).
//
// The files: sources.go and paths.go find the source of a recorded path; tokens.go reads event names; facts.go and locals.go
// say what a file and a function know about the names they call; names.go, tensors.go, graph.go, gates.go, match.go and
// families.go hold the tables and costs; arguments.go decides branches by what a caller passed; compiled.go knows torch.compile;
// starts.go and edits.go find a frame's function, also after edits, and where in it the frame began; callers.go uses
// recorded call lines, callstacks.go those of old traces; frames.go walks a rank's frames, segments.go divides their time and
// timeline.go says which line a thread was in when.
//
// Beside the index an Attribution takes 4 bytes an event (the statement it ran under), 8 a GPU event (place, reason) and 8 for each
// change of a thread's statement. Of a second `lines` on 800,000 events (90 ms of CPU, the index from the cache) a third is reading
// the index, a third walking frames and aligning the few hundred distinct ones, a sixth each following launches and summing up.
//
// Importers: analysis, diagnose and rules (prices) read Attribution. It imports pyscan and traceindex.
package attribute
