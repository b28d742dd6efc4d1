package analysis

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"stepline/pyscan"
	"stepline/report"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/memsnap"
)

// memoryPart puts the snapshots' allocations on the workspace's lines.
func memoryPart(ctx context.Context, l *Loaded, snapshots []*memsnap.Snapshot, sources *ranSources) (*report.MemoryPart, error) {
	part := &report.MemoryPart{Devices: []report.MemoryDeviceRow{}, Fragmentation: []report.FragmentationRow{}, Lines: []report.MemoryLineRow{}, Steps: []report.MemoryStepRow{}}
	rows := map[memoryKey]*report.MemoryLineRow{}
	for _, m := range snapshots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part.Files = append(part.Files, m.File)
		source := filepath.Base(m.File)
		places := placeFrames(m, sources)
		for device := range m.Devices() {
			if u := m.Usage(device); u.PeakBytes > 0 || u.HeldBytes > 0 || u.Allocs+u.Frees > 0 || len(u.OutOfMemory) > 0 { // others were idle
				part.Devices = append(part.Devices, deviceRow(source, u))
			}
		}
		part.Fragmentation = append(part.Fragmentation, fragmentationRow(source, m.Fragmentation()))
		for _, line := range m.Lines(places.accept) {
			addMemory(places.row(rows, line.File, line.Line, line.Function), &line)
		}
		bounds := stepBounds(m, l.Run)
		for _, step := range m.Steps(bounds) {
			part.Steps = append(part.Steps, report.MemoryStepRow{Source: source, Device: step.Device, Index: step.Number, Allocs: step.Allocs, AllocBytes: step.AllocBytes,
				Frees: step.Frees, PeakBytes: step.PeakBytes, HeldAtEndBytes: step.HeldAtEndBytes, SegmentAllocs: step.SegmentAllocs, SegmentFrees: step.SegmentFrees})
		}
		for _, grows := range m.Growth(bounds, places.accept) {
			row := places.row(rows, grows.File, grows.Line, grows.Function)
			row.GrowthBytesPerStep += grows.BytesPerStep
			row.GrowthSteps = max(row.GrowthSteps, grows.Steps)
		}
	}
	for _, row := range rows {
		part.Lines = append(part.Lines, *row)
	}
	slices.SortFunc(part.Lines, func(a, b report.MemoryLineRow) int {
		return cmp.Or(cmp.Compare(b.HeldBytes, a.HeldBytes), cmp.Compare(b.PeakBytes, a.PeakBytes), cmp.Compare(b.AllocBytes, a.AllocBytes), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return part, nil
}

type memoryKey struct {
	file string
	line int
}

// framePlaces says where a snapshot's frames are in the workspace.
type framePlaces struct {
	files map[string]*pyscan.File // by the snapshot's name; nil: not in the workspace
	any   bool
	// ran leads from the sources that ran to those of now.
	ran *ranSources
}

// placeFrames finds the workspace files of a snapshot.
func placeFrames(s *memsnap.Snapshot, sources *ranSources) *framePlaces {
	places := &framePlaces{ran: sources, files: map[string]*pyscan.File{}}
	for name, frames := range s.PythonFrames() {
		if memsnap.IsLibrary(name) {
			continue
		}
		recorded := attribute.RecordedFile{Path: name}
		for _, f := range frames {
			recorded.Functions = append(recorded.Functions, attribute.RecordedFunction{Name: f.Function, Line: f.Line})
		}
		if found := sources.Resolve(recorded); found.File != nil {
			places.files[name], places.any = found.File, true
		}
	}
	return places
}

// accept takes the workspace's files; all that are no libraries' where nothing of the snapshot is in the workspace.
func (p *framePlaces) accept(file string) bool {
	if !p.any {
		return !memsnap.IsLibrary(file)
	}
	return p.files[file] != nil
}

// row is the row of a frame: its statement in the workspace, or its line as the snapshot has it.
func (p *framePlaces) row(rows map[memoryKey]*report.MemoryLineRow, file string, line int, function string) *report.MemoryLineRow {
	place := attribute.Place{File: strings.ReplaceAll(file, `\`, "/"), Line: line, Function: function, Confidence: traceindex.ConfidenceExact}
	source := p.files[file]
	if source != nil {
		place.File = source.Path
		var sure bool
		if place.Line, place.Function, sure = statementOf(source, line, function); !sure {
			place.Confidence = traceindex.ConfidenceFunction
		}
		place = p.ran.move(place)
	}
	row := report.MemoryLineRow{File: place.File, Line: place.Line, Function: place.Function, Workspace: source != nil, Confidence: place.Confidence.String()}
	key := memoryKey{row.File, row.Line}
	if rows[key] == nil {
		rows[key] = &row
	} else if row.Confidence != rows[key].Confidence {
		rows[key].Confidence = traceindex.ConfidenceFunction.String()
	}
	return rows[key]
}

// statementOf is the statement a frame was at. A line that is in no function of the frame's name now shows that the file was
// edited since: then only the function is known, by its def's line.
func statementOf(file *pyscan.File, line int, function string) (at int, name string, sure bool) {
	plain := function[strings.LastIndexByte(function, '.')+1:]
	if plain == "<module>" || plain == "" || strings.HasPrefix(plain, "<") {
		return file.LineOfStatement(line), function, line <= file.LineCount()
	}
	var named []*pyscan.Function
	for _, fn := range file.Functions {
		if fn.Name != plain || fn.Comprehension != nil || fn.Value != nil {
			continue
		}
		if fn.FirstLine <= line && line <= fn.LastLine {
			return file.LineOfStatement(line), fn.QualName, true
		}
		named = append(named, fn)
	}
	if len(named) == 1 {
		return named[0].DefLine, named[0].QualName, false
	}
	return line, function, false
}

// addMemory adds one frame's memory to its statement's row. A statement of several lines has several frames: what it held at most
// is at least the most of one of them, and at least what it holds now and at the peak.
func addMemory(row *report.MemoryLineRow, line *memsnap.LineMemory) {
	row.HeldBytes += line.HeldBytes
	row.HeldCount += line.HeldCount
	row.PeakBytes += line.PeakBytes
	row.OwnPeakBytes = max(row.OwnPeakBytes, line.OwnPeakBytes, row.HeldBytes, row.PeakBytes)
	row.AllocBytes += line.AllocBytes
	row.Allocs += line.Allocs
	row.Frees += line.Frees
}

func deviceRow(source string, u memsnap.Usage) report.MemoryDeviceRow {
	return report.MemoryDeviceRow{Source: source, Device: u.Device, HeldBytes: u.HeldBytes, BeforeBytes: u.BeforeBytes, PeakBytes: u.PeakBytes, AllocBytes: u.AllocBytes,
		Allocs: u.Allocs, Frees: u.Frees, SegmentAllocs: u.SegmentAllocs, SegmentFrees: u.SegmentFrees, OutOfMemory: len(u.OutOfMemory)}
}

func fragmentationRow(source string, f memsnap.Fragmentation) report.FragmentationRow {
	return report.FragmentationRow{Source: source, ReservedBytes: f.ReservedBytes, AllocatedBytes: f.AllocatedBytes, PendingBytes: f.PendingBytes,
		InactiveSplitBytes: f.InactiveSplitBytes, CachedBytes: f.CachedBytes, LargestFreeBytes: f.LargestFreeBytes, SplitShare: f.SplitShare()}
}

// stepBounds are the steps of a snapshot: those the profiler marked beside its recording, else those of a trace recorded at the same
// time, the rank named alike first.
func stepBounds(s *memsnap.Snapshot, run *traceindex.Run) []memsnap.StepBound {
	if bounds := s.StepBounds(); len(bounds) > 0 {
		return bounds
	}
	first, last := s.Span()
	if first == 0 {
		return nil
	}
	ranks := slices.Clone(run.Ranks)
	slices.SortStableFunc(ranks, func(a, b *traceindex.Index) int {
		return cmp.Compare(commonStem(b.Meta.File, s.File), commonStem(a.Meta.File, s.File))
	})
	for _, ix := range ranks {
		var bounds []memsnap.StepBound
		for _, step := range ix.Steps {
			bound := memsnap.StepBound{Number: step.Number, StartUs: (ix.Meta.BaseUnixNs + step.StartNs) / 1000, EndUs: (ix.Meta.BaseUnixNs + step.EndNs) / 1000}
			if bound.EndUs > first && bound.StartUs < last {
				bounds = append(bounds, bound)
			}
		}
		if len(bounds) > 0 {
			return bounds
		}
	}
	return nil
}

// commonStem is how many bytes two files' names begin alike.
func commonStem(a, b string) int {
	a, b = filepath.Base(a), filepath.Base(b)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
