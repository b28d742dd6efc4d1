package traceindex

import (
	"cmp"
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exact is s without room to grow, where that is worth a copy.
func exact[T any](s []T) []T {
	if cap(s)-len(s) < len(s)/16 || cap(s) < 1<<12 {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

// inNewRows gives ids, which are in order of the rows as read, the rows as sorted.
func (ix *Index) inNewRows(ids []externalID, rows []int32) []externalID {
	if len(ids) == 0 {
		return nil
	}
	out := make([]externalID, 0, len(ids))
	for to, from := range rows {
		if !ix.Events.Category[to].IsGPUWork() {
			continue
		}
		i, ok := slices.BinarySearchFunc(ids, EventID(from), func(x externalID, row EventID) int { return cmp.Compare(x.row, row) })
		if ok {
			out = append(out, externalID{EventID(to), ids[i].id})
		}
	}
	return out
}

// byNewRow is the same for what few rows have.
func byNewRow[T any](of []rowValue[T], rows []int32) map[EventID]T {
	if len(of) == 0 {
		return nil
	}
	byOld := make(map[int32]T, len(of))
	for _, v := range of {
		byOld[int32(v.row)] = v.value
	}
	out := make(map[EventID]T, len(of))
	for to, from := range rows {
		if v, ok := byOld[from]; ok {
			out[EventID(to)] = v
		}
	}
	return out
}

// settle gives back what the last stage needed, in a large trace: columns are freed in pieces too small for the next column,
// and the collector alone would let the heap double. Below manyEvents it is not worth a collection.
func (ix *Index) settle() {
	const manyEvents = 2 << 20
	if ix.rows >= manyEvents {
		debug.FreeOSMemory()
	}
}

// Build orders and links the events. The Builder is empty afterwards. The only error is ctx's.
func (b *Builder) Build(ctx context.Context) (*Index, error) {
	b.orderThreads()
	rows, first, err := b.sortedRows(ctx)
	if err != nil {
		return nil, err
	}
	ix := &Index{
		Meta: b.Meta, Threads: b.threads, Warnings: b.Warnings,
		Ops: exact(b.ops), Python: exact(b.python), GPU: exact(b.gpu), Memory: exact(b.memory), Collectives: b.collectives,
		threadRows: make([]EventID, len(first)),
		rows:       b.n,
	}
	for i, r := range first {
		ix.threadRows[i] = EventID(r)
	}
	b.ops, b.python, b.gpu, b.memory = nil, nil, nil, nil
	b.evIdx, b.opRows, b.gpuRows, b.byKey = nil, nil, nil, nil
	ix.settle()
	ix.Events.StartNs = b.cols.start.gather(rows)
	ix.settle()
	ix.Events.DurNs = b.cols.dur.gather(rows)
	ix.settle()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ix.Events.Link = b.cols.link.gather(rows)
	ix.settle()
	ix.Events.Name = b.cols.name.gather(rows)
	ix.settle()
	ix.Events.Thread = b.cols.thread.gather(rows)
	ix.Events.Detail = b.cols.detail.gather(rows)
	ix.settle()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ix.Events.Category = b.cols.category.gather(rows)
	externals := ix.inNewRows(b.externals, rows)
	ix.opComms, ix.copySizes = byNewRow(b.opComms, rows), byNewRow(b.copySizes, rows)
	rows, b.externals, b.opComms, b.copySizes = nil, nil, nil, nil
	ix.settle()
	for i, n := range ix.Events.Name {
		if other, ok := b.renamed[n]; ok {
			ix.Events.Name[i] = other
		}
	}
	ix.Names = b.names.texts
	flows, launchFlows := b.flows, b.launchFlows
	b.names, b.flows, b.launchFlows, b.n = nil, nil, nil, 0
	ix.settle()
	if err := ix.link(ctx, flows, externals, launchFlows); err != nil {
		return nil, err
	}
	ix.nameDevice(b.DeviceNames)
	return ix, nil
}

// link computes everything that follows from the columns.
func (ix *Index) link(ctx context.Context, flows []forwardFlow, externals []externalID, launchFlows []launchFlow) error {
	ix.locate()
	for t := range ix.Threads {
		if ix.Threads[t].GPU {
			continue
		}
		first, end := ix.RowsOf(ThreadID(t))
		for row := first; row < end; row++ {
			if ix.Events.Category[row].IsHost() {
				ix.HostThreads = append(ix.HostThreads, ThreadID(t))
				break
			}
		}
	}
	if err := ix.linkFrames(ctx); err != nil {
		return err
	}
	ix.sharePythonDetails()
	ix.gpuEventsInOrder()
	if err := ix.linkLaunches(ctx, externals, launchFlows); err != nil {
		return err
	}
	if n := ix.dropDuplicates(); n > 0 {
		ix.Warnings = append(ix.Warnings, Warning{Code: "duplicate-events", File: ix.Meta.File,
			Message: plural(n, "GPU event is in the file twice and counts once", "GPU events are in the file twice and count once")})
		ix.gpuEventsInOrder()
		ix.launchRows = nil
		if err := ix.linkLaunches(ctx, externals, launchFlows); err != nil {
			return err
		}
	}
	ix.collectivesFromOps()
	ix.copySizesFromCalls()
	ix.settle()
	if err := ix.linkBackward(ctx, flows); err != nil {
		return err
	}
	ix.classifyCalls()
	ix.findSteps()
	ix.findOverruns()
	for _, g := range ix.GPUEvents {
		ix.longestGPUNs = max(ix.longestGPUNs, ix.GPUDurNs(g))
	}
	ix.judgeQuality()
	ix.settle()
	return ctx.Err()
}

// nameDevice fills Meta.Device with the name of the device with most GPU events, else of the lowest-numbered one.
func (ix *Index) nameDevice(names map[int64]string) {
	if len(names) == 0 || ix.Meta.Device != "" {
		return
	}
	events := map[int64]int{}
	for _, g := range ix.GPUEvents {
		events[ix.DeviceOf(g)]++
	}
	ids := slices.Sorted(maps.Keys(names))
	best := ids[0]
	for _, id := range ids {
		if events[id] > events[best] {
			best = id
		}
	}
	ix.Meta.Device = names[best]
}

// locate parses each distinct name of a Python frame once.
func (ix *Index) locate() {
	const unknown = -2
	ofName := make([]int32, len(ix.Names))
	for i := range ofName {
		ofName[i] = unknown
	}
	for row, c := range ix.Events.Category {
		d := ix.Events.Detail[row]
		if c != CategoryPython || d < 0 {
			continue
		}
		n := ix.Events.Name[row]
		if ofName[n] == unknown {
			ofName[n] = -1
			if l, ok := ParseLocation(ix.Names[n]); ok {
				ofName[n] = int32(len(ix.Locations))
				ix.Locations = append(ix.Locations, l)
			}
		}
		ix.Python[d].Location = ofName[n]
	}
}

// sharePythonDetails lets frames of one place and module share a row, now that Parent says what ParentID did: a trace with
// stacks has more frames than anything else.
func (ix *Index) sharePythonDetails() {
	rows := map[uint64]int32{}
	var shared []PythonDetail
	for row, c := range ix.Events.Category {
		d := ix.Events.Detail[row]
		if c != CategoryPython || d < 0 {
			continue
		}
		p := PythonDetail{ModuleID: ix.Python[d].ModuleID, Location: ix.Python[d].Location}
		key := uint64(uint32(p.Location))<<32 | uint64(uint32(p.ModuleID))
		to, ok := rows[key]
		if !ok {
			to = int32(len(shared))
			shared = append(shared, p)
			rows[key] = to
		}
		ix.Events.Detail[row] = to
	}
	ix.Python = shared
}

// ParseLocation reads a Python frame's name, `file.py(LINE): function` (torch/csrc/profiler: fmt::format("{}({}): {}")). It
// reports false for names of any other form: modules, built-in functions.
func ParseLocation(name string) (Location, bool) {
	// The function's name may hold "): " only in damaged files, a path may hold "(": the first "(digits): " counts.
	for from := 0; ; {
		i := strings.Index(name[from:], "): ")
		if i < 0 {
			return Location{}, false
		}
		i += from
		open := strings.LastIndexByte(name[:i], '(')
		if open > 0 && open+1 < i {
			if line, err := strconv.Atoi(name[open+1 : i]); err == nil {
				if line < 0 {
					line = 0
				}
				return Location{File: strings.ReplaceAll(name[:open], `\`, "/"), Line: line, Function: name[i+len("): "):]}, true
			}
		}
		from = i + 1
	}
}

// UnixTime is a moment of the trace as wall-clock time.
func (ix *Index) UnixTime(ns int64) time.Time { return time.Unix(0, ix.Meta.BaseUnixNs+ns) }
