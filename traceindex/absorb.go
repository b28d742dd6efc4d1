package traceindex

import (
	"cmp"
	"maps"
	"slices"
	"unsafe"
)

// segment is a run of rows that stand together in the file, from first up to the next segment's.
type segment struct {
	first int32
	place int64
}

// Segment tells that the rows added from now on stand at or behind a place in the file. With several Builders for one file, it
// keeps the file's order of events that are alike in all else.
func (b *Builder) Segment(place int64) {
	s := segment{int32(b.n), place}
	if n := len(b.segments); n > 0 && b.segments[n-1].first == s.first {
		b.segments[n-1] = s
		return
	}
	b.segments = append(b.segments, s)
}

// compareInFile orders rows as they stand in the file.
func (b *Builder) compareInFile(x, y int32) int {
	if len(b.segments) > 0 {
		if c := cmp.Compare(b.placeOf(x), b.placeOf(y)); c != 0 {
			return c
		}
	}
	return cmp.Compare(x, y)
}

func (b *Builder) placeOf(row int32) int64 {
	i, found := slices.BinarySearchFunc(b.segments, row, func(s segment, row int32) int { return cmp.Compare(s.first, row) })
	if !found {
		i--
	}
	if i < 0 {
		return -1
	}
	return b.segments[i].place
}

// Mark is a state of a Builder to go back to.
type Mark struct {
	rows, ops, python, gpu, memory, collectives, flows, externals, launchFlows, opComms, copySizes, segments int
}

// Mark notes the state. Names and threads are not undone: they do no harm.
func (b *Builder) Mark() Mark {
	return Mark{b.n, len(b.ops), len(b.python), len(b.gpu), len(b.memory), len(b.collectives), len(b.flows), len(b.externals),
		len(b.launchFlows), len(b.opComms), len(b.copySizes), len(b.segments)}
}

// Undo goes back to a mark.
func (b *Builder) Undo(m Mark) {
	b.n = m.rows
	b.cols.truncate(m.rows)
	if b.evIdx != nil {
		b.evIdx = b.evIdx[:min(len(b.evIdx), m.rows)]
	}
	b.ops, b.python, b.gpu, b.memory, b.collectives = b.ops[:m.ops], b.python[:m.python], b.gpu[:m.gpu], b.memory[:m.memory], b.collectives[:m.collectives]
	b.flows, b.externals, b.launchFlows = b.flows[:m.flows], b.externals[:m.externals], b.launchFlows[:m.launchFlows]
	b.opComms, b.copySizes, b.segments = b.opComms[:m.opComms], b.copySizes[:m.copySizes], b.segments[:m.segments]
	maps.DeleteFunc(b.opRows, func(_ OpDetail, row int32) bool { return int(row) >= m.ops })
	maps.DeleteFunc(b.gpuRows, func(_ gpuKey, row int32) bool { return int(row) >= m.gpu })
}

// Absorb adds all that another Builder of the same file holds and empties it. It returns, by the other's NameIDs, those here.
func (b *Builder) Absorb(o *Builder) []NameID {
	names := make([]NameID, len(o.names.texts))
	for i, text := range o.names.texts {
		names[i], _ = b.names.intern(unsafe.Slice(unsafe.StringData(text), len(text)))
	}
	threads := make([]ThreadID, len(o.threads))
	for i, t := range o.threads {
		threads[i] = b.Thread(t.PID, t.TID, t.GPU)
	}
	ops := make([]int32, len(o.ops))
	for i, d := range o.ops {
		d.Dims, d.Types, d.CallStack = names[d.Dims], names[d.Types], names[d.CallStack]
		ops[i] = b.AddOp(d)
	}
	collectives := int32(len(b.collectives))
	b.collectives = append(b.collectives, o.collectives...)
	gpu := make([]int32, len(o.gpu))
	for i, d := range o.gpu {
		if d.Collective >= 0 {
			d.Collective += collectives
		}
		gpu[i] = b.AddGPU(d)
	}
	python, memory := int32(len(b.python)), int32(len(b.memory))
	b.python = append(b.python, o.python...)
	b.memory = append(b.memory, o.memory...)
	first := EventID(b.n)
	for row := range int32(o.n) {
		e := Event{StartNs: o.cols.start.at(row), DurNs: o.cols.dur.at(row), Name: names[o.cols.name.at(row)], Category: o.cols.category.at(row),
			Thread: threads[o.cols.thread.at(row)], Link: o.cols.link.at(row), Detail: o.cols.detail.at(row), EvIdx: -1}
		if int(row) < len(o.evIdx) {
			e.EvIdx = o.evIdx[row]
		}
		if e.Detail >= 0 {
			switch e.Category {
			case CategoryOp:
				e.Detail = ops[e.Detail]
			case CategoryPython:
				e.Detail += python
			case CategoryMemory:
				e.Detail += memory
			default:
				e.Detail = gpu[e.Detail]
			}
		}
		if !b.Add(e) {
			break
		}
		if row&chunkMask == chunkMask {
			o.cols.drop(int(row) >> chunkShift)
		}
	}
	for _, f := range o.flows {
		f.thread = threads[f.thread]
		b.flows = append(b.flows, f)
	}
	for _, f := range o.launchFlows {
		f.thread = threads[f.thread]
		b.launchFlows = append(b.launchFlows, f)
	}
	for _, e := range o.externals {
		b.externals = append(b.externals, externalID{first + e.row, e.id})
	}
	for _, c := range o.opComms {
		b.opComms = append(b.opComms, rowValue[int32]{first + c.row, collectives + c.value})
	}
	for _, c := range o.copySizes {
		b.copySizes = append(b.copySizes, rowValue[int64]{first + c.row, c.value})
	}
	for _, s := range o.segments {
		b.segments = append(b.segments, segment{int32(first) + s.first, s.place})
	}
	*o = *NewBuilder(o.Meta.File)
	return names
}
