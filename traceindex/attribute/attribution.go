package attribute

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"stepline/pyscan"
	"stepline/traceindex"
)

// Attribution is a run with every call, launch and moment of its ranks placed on source lines as far as that is known. It is
// immutable and may be shared by goroutines.
type Attribution struct {
	Run *traceindex.Run
	// Files are the workspace files that the trace ran, by workspace path.
	Files    map[string]*pyscan.File
	Warnings []traceindex.Warning

	places *placeTable
	ranks  []*rankPlaces
}

// rankPlaces is one rank's placement.
type rankPlaces struct {
	ix *traceindex.Index
	// of is, per event, the statement of the innermost workspace frame that it runs under; −1 for none.
	of []placeID
	// timelines say which statement a thread was in when.
	timelines map[traceindex.ThreadID]*timeline
	// calls counts how often each statement began, by certain place.
	calls map[placeID]int64
	gpu   []gpuPlace // by position in ix.GPUEvents
	// framed has a bit for every frame with source in the workspace: its children are placed on their own.
	framed []uint64
	// pythonFrames counts Python frames on host threads, sourced those with source in the workspace.
	pythonFrames, sourced int
	ranges                *traceindex.RangeFinder // made at first need
}

// Run attributes a run to the sources and sums it up.
func Run(ctx context.Context, run *traceindex.Run, src Sources) (*traceindex.Costs, error) {
	a, err := Attribute(ctx, run, src)
	if err != nil {
		return nil, err
	}
	return a.Costs(), nil
}

// Attribute places everything in the run. It fails only when ctx ends.
func Attribute(ctx context.Context, run *traceindex.Run, src Sources) (*Attribution, error) {
	a := &Attribution{Run: run, Files: map[string]*pyscan.File{}, places: newPlaceTable()}
	r := &resolver{attribution: a, interner: tokenInterner{ids: map[string]tokenID{}}, byPath: map[string]*source{}, options: pyscan.FlowOptions{ComprehensionScopes: hasComprehensionScopes(run)}, builtins: recordsBuiltins(run)}
	recorded := recordedFiles(run)
	for _, f := range recorded {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.resolve(f, src)
	}
	if len(recorded) > 0 && len(r.byPath) == 0 && len(a.Warnings) == 0 {
		a.Warnings = append(a.Warnings, traceindex.Warning{Code: "no-source", Message: fmt.Sprintf("no Python file that the trace names is in the workspace (%s): give the folder of the project that was recorded (--root, or open it in the editor), or set pathMappings", recordedSample(recorded))})
	}
	dark := withoutGPU(run)
	if len(recorded) == 0 && len(run.Ranks) > len(dark) {
		a.Warnings = append(a.Warnings, noFramesWarning(run))
	}
	for _, file := range dark {
		a.Warnings = append(a.Warnings, traceindex.Warning{Code: "no-gpu-events", File: file, Message: "the trace holds no GPU events, so nothing is known of GPU time, idle time and waits: it was recorded without ProfilerActivity.CUDA, CUPTI was not permitted, nothing ran on a GPU, or another program wrote it"})
	}
	for i, ix := range run.Ranks {
		p, err := r.rank(ctx, ix)
		if err != nil {
			return nil, fmt.Errorf("attributing rank %d: %w", i, err)
		}
		a.ranks = append(a.ranks, p)
	}
	r.reportTooLarge()
	for _, p := range a.ranks {
		p.gpu = a.placeGPU(ctx, p)
	}
	return a, ctx.Err()
}

// withoutGPU lists the files of ranks that hold no GPU event.
func withoutGPU(run *traceindex.Run) []string {
	var files []string
	for _, ix := range run.Ranks {
		if len(ix.GPUEvents) == 0 {
			files = append(files, ix.Meta.File)
		}
	}
	return files
}

// noFramesWarning says what to record so that time fits lines.
func noFramesWarning(run *traceindex.Run) traceindex.Warning {
	message := "the trace holds no Python frames, so its GPU time fits no line: record with with_stack=True"
	if strings.HasPrefix(run.Ranks[0].Meta.Producer, "Nsight Systems") {
		message = "the export holds no Python backtraces, so its GPU time fits no line and is told by ranges and ops where it has them: record with `nsys profile --python-backtrace=cuda --cudabacktrace=all`"
	}
	return traceindex.Warning{Code: "no-python-frames", Message: message}
}

// resolver finds and compiles sources while ranks are walked. It is used by one goroutine.
type resolver struct {
	attribution *Attribution
	byPath      map[string]*source // by recorded path
	options     pyscan.FlowOptions
	builtins    bool
	interner    tokenInterner
	work        int // of all alignments so far
}

func (r *resolver) resolve(f RecordedFile, src Sources) {
	found := src.Resolve(f)
	if len(found.Candidates) > 1 {
		r.attribution.Warnings = append(r.attribution.Warnings, traceindex.Warning{Code: "ambiguous-path", File: f.Path,
			Message: fmt.Sprintf("%s may be any of %s: its time is on none of them; set pathMappings to say which", f.Path, someOf(found.Candidates, 5, len(found.Candidates)))})
		return
	}
	if found.File == nil {
		return
	}
	for path, s := range r.byPath {
		if s.module.file == found.File {
			r.byPath[f.Path] = r.byPath[path] // two recorded paths of one file
			return
		}
	}
	r.attribution.Files[found.File.Path] = found.File
	r.byPath[f.Path] = &source{module: newModuleFacts(found.File), base: path.Base(cleanRecorded(f.Path)), finder: r.finderOf(found.File, f), graphs: map[*pyscan.Function]*functionAlignments{}}
}

// finderOf finds the functions of a file. Nsight Systems names the line that was running, not the function's first: how far a
// function stands from it says nothing about edits.
func (r *resolver) finderOf(file *pyscan.File, recorded RecordedFile) *functionFinder {
	for _, ix := range r.attribution.Run.Ranks {
		if strings.HasPrefix(ix.Meta.Producer, "Nsight Systems") {
			return &functionFinder{file: file}
		}
	}
	return newFunctionFinder(file, recorded.Functions)
}

// recordedSample names a few recorded files, those outside Python's and torch's own folders first.
func recordedSample(files []RecordedFile) string {
	var names []string
	for _, f := range files {
		if !strings.HasPrefix(f.Path, "torch/") && !strings.HasPrefix(f.Path, "<") {
			names = append(names, f.Path)
		}
	}
	if len(names) == 0 {
		for _, f := range files {
			names = append(names, f.Path)
		}
	}
	return someOf(names, 3, len(files))
}

// someOf is the first few of names, and how many more there are.
func someOf(names []string, most, all int) string {
	shown := names[:min(most, len(names))]
	text := strings.Join(shown, ", ")
	if more := all - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// hasComprehensionScopes reports whether the run's Python gave list comprehensions frames of their own (before 3.12).
func hasComprehensionScopes(run *traceindex.Run) bool {
	for _, ix := range run.Ranks {
		for _, l := range ix.Locations {
			if _, name := splitQualified(l.Function); name == "<listcomp>" || name == "<setcomp>" || name == "<dictcomp>" {
				return true
			}
		}
	}
	return false
}

// recordsBuiltins reports whether the run holds calls of C functions; some versions of the profiler leave them out.
func recordsBuiltins(run *traceindex.Run) bool {
	for _, ix := range run.Ranks {
		for _, n := range ix.Names {
			if strings.HasPrefix(n, "<built-in ") {
				return true
			}
		}
	}
	return false
}

func (r *resolver) reportTooLarge() {
	var rows []string
	for _, s := range uniqueSources(r.byPath) {
		for fn, f := range s.graphs {
			if f.tooLarge > 0 {
				rows = append(rows, fmt.Sprintf("%s:%d %s (%d frames)", s.module.file.Path, fn.DefLine, functionName(fn), f.tooLarge))
			}
		}
	}
	slices.Sort(rows)
	for _, row := range rows {
		r.attribution.Warnings = append(r.attribution.Warnings, traceindex.Warning{Code: "function-too-large", Message: row + ": too many calls in one frame to tell its lines apart; its time is shown on the function"})
	}
}

func uniqueSources(byPath map[string]*source) []*source {
	seen := map[*source]bool{}
	var out []*source
	for _, s := range byPath {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// place is the row's text, the zero Place for noPlace.
func (a *Attribution) place(id placeID) (Place, bool) {
	if id == noPlace {
		return Place{}, false
	}
	return a.places.places[id], true
}

// Host is the statement that a host event runs under: that of the innermost workspace frame enclosing it. A frame's own place is
// where it was called from. It is false outside all workspace frames.
func (a *Attribution) Host(rank int, e traceindex.EventID) (Place, bool) {
	return a.place(a.ranks[rank].of[e])
}

// At is the innermost workspace statement that the training thread was in at a moment; false if it was in none.
func (a *Attribution) At(rank int, ns int64) (Place, bool) {
	p := a.ranks[rank]
	return a.place(p.timelineOf(p.ix.TrainingThread).at(ns))
}

// ThreadAt is At for any host thread.
func (a *Attribution) ThreadAt(rank int, thread traceindex.ThreadID, ns int64) (Place, bool) {
	return a.place(a.ranks[rank].timelineOf(thread).at(ns))
}

// Share is a part of an interval with the statement the training thread was in; Known is false for time in no statement.
type Share struct {
	traceindex.Interval
	Place Place
	Known bool
}

// Split cuts an interval by the statement that the training thread was in.
func (a *Attribution) Split(rank int, v traceindex.Interval) []Share {
	var shares []Share
	a.EachShare(rank, v, func(s Share) { shares = append(shares, s) })
	return shares
}

// EachShare visits what Split lists.
func (a *Attribution) EachShare(rank int, v traceindex.Interval, visit func(Share)) {
	p := a.ranks[rank]
	p.timelineOf(p.ix.TrainingThread).split(v, func(part traceindex.Interval, id placeID) {
		place, known := a.place(id)
		visit(Share{part, place, known})
	})
}

// HostEvents are the outermost host events under a line (calls and ops made by the statement itself, in row order): what ran
// "under line L".
func (a *Attribution) HostEvents(rank int, file string, line int) []traceindex.EventID {
	p := a.ranks[rank]
	var rows []traceindex.EventID
	for row, id := range p.of {
		if id == noPlace || a.places.places[id].Line != line || a.places.places[id].File != file {
			continue
		}
		e := traceindex.EventID(row)
		if parent := p.ix.Parent[e]; parent == traceindex.NoEvent || p.of[parent] != id || p.isSourced(parent) {
			rows = append(rows, e)
		}
	}
	return rows
}

// isSourced reports whether an event is a frame with source in the workspace.
func (p *rankPlaces) isSourced(e traceindex.EventID) bool { return p.framed[e/64]&(1<<(e%64)) != 0 }
