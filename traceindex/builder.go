package traceindex

import (
	"math"
)

// Builder collects one rank's events in any order and makes an Index of them. Readers fill it; Build links it.
// It is used by one goroutine.
//
// Columns are kept in chunks while they grow, so that no column is ever copied to twice its size: the peak while building is
// the events once more, one column at a time.
type Builder struct {
	Meta     Meta
	Warnings []Warning
	// DeviceNames are the GPUs' names by device number; Build names the one that worked.
	DeviceNames map[int64]string

	cols    columns
	n       int
	evIdx   []int32 // "Ev Idx" by row, nil until the first event has one; ties in time are ordered by it
	names   *nameTable
	renamed map[NameID]NameID
	threads []Thread
	byKey   map[threadKey]ThreadID

	ops         []OpDetail
	opRows      map[OpDetail]int32
	python      []PythonDetail
	gpu         []GPUDetail
	gpuRows     map[gpuKey]int32
	memory      []MemoryDetail
	collectives []Collective
	flows       []forwardFlow
	externals   []externalID
	launchFlows []launchFlow
	opComms     []rowValue[int32] // ops that start collectives: row of collectives
	copySizes   []rowValue[int64] // calls that copy: bytes
	segments    []segment
}

type threadKey struct {
	pid, tid string
	gpu      bool
}

// gpuKey is GPUDetail with its floats as bits, so that NaN equals itself.
type gpuKey struct {
	d                   GPUDetail
	occupancy, perBlock uint32
}

// forwardFlow is one end of a forward–backward flow: its id joins a forward op and the backward op of the same id.
type forwardFlow struct {
	id      uint64
	startNs int64
	thread  ThreadID
	forward bool
}

// rowValue is what one row says that few do.
type rowValue[T any] struct {
	row   EventID
	value T
}

// externalID is the "External id" of the GPU event in a row: it names an op, and is used where there is no runtime call.
type externalID struct {
	row EventID
	id  uint64
}

// Event is one event as a reader hands it over.
type Event struct {
	StartNs, DurNs int64
	Name           NameID
	Category       Category
	Thread         ThreadID
	Link           uint64
	Detail         int32 // from AddOp, AddPython, AddGPU, AddMemory; −1 if none
	EvIdx          int32 // the profiler's own order ("Ev Idx"), −1 if unknown
}

// NewBuilder returns an empty Builder for a trace read from file.
func NewBuilder(file string) *Builder {
	return &Builder{
		Meta:        Meta{File: file, Rank: -1},
		names:       newNameTable(),
		DeviceNames: map[int64]string{},
		byKey:       map[threadKey]ThreadID{},
		opRows:      map[OpDetail]int32{},
		gpuRows:     map[gpuKey]int32{},
	}
}

// Len is the number of events added.
func (b *Builder) Len() int { return b.n }

// Name interns a name.
func (b *Builder) Name(text string) NameID {
	id, _ := b.names.intern([]byte(text))
	return id
}

// NameBytes interns a name and tells whether it was new; text is copied.
func (b *Builder) NameBytes(text []byte) (NameID, bool) { return b.names.intern(text) }

// NameText is the text of a name.
func (b *Builder) NameText(id NameID) string { return b.names.texts[id] }

// Rename gives a name another text (a reader interns names as they are written and decodes each once, at the end). Where the
// new text is a name already, both become one.
func (b *Builder) Rename(id NameID, text string) {
	if other, ok := b.names.find([]byte(text)); ok && other != id && b.names.texts[other] == text {
		if b.renamed == nil {
			b.renamed = map[NameID]NameID{}
		}
		b.renamed[id] = other
	}
	b.names.texts[id] = text
}

// Thread interns a host thread or GPU stream by the ids as written.
func (b *Builder) Thread(pid, tid string, gpu bool) ThreadID {
	k := threadKey{pid, tid, gpu}
	if id, ok := b.byKey[k]; ok {
		return id
	}
	id := ThreadID(len(b.threads))
	b.threads = append(b.threads, Thread{PID: pid, TID: tid, GPU: gpu})
	b.byKey[k] = id
	return id
}

// ThreadInfo is the thread's row, to be filled with names; the pointer is good until the next call of Thread.
func (b *Builder) ThreadInfo(id ThreadID) *Thread { return &b.threads[id] }

// Threads are the threads so far.
func (b *Builder) Threads() []Thread { return b.threads }

// AddOp stores an op's detail. Equal details without a sequence number share a row.
func (b *Builder) AddOp(d OpDetail) int32 {
	if d.Sequence >= 0 || d.ForwardThread > 0 {
		b.ops = append(b.ops, d)
		return int32(len(b.ops) - 1)
	}
	if row, ok := b.opRows[d]; ok {
		return row
	}
	b.ops = append(b.ops, d)
	row := int32(len(b.ops) - 1)
	if len(b.opRows) < 1<<20 { // beyond that, sharing costs more than it saves
		b.opRows[d] = row
	}
	return row
}

// AddPython stores a Python frame's detail. Location is filled by Build.
func (b *Builder) AddPython(d PythonDetail) int32 {
	b.python = append(b.python, d)
	return int32(len(b.python) - 1)
}

// AddGPU stores a GPU event's detail; equal details share a row (most kernels of a trace are alike).
func (b *Builder) AddGPU(d GPUDetail) int32 {
	k := gpuKey{d, math.Float32bits(d.OccupancyPercent), math.Float32bits(d.BlocksPerSM)}
	k.d.OccupancyPercent, k.d.BlocksPerSM = 0, 0
	if row, ok := b.gpuRows[k]; ok {
		return row
	}
	b.gpu = append(b.gpu, d)
	row := int32(len(b.gpu) - 1)
	if len(b.gpuRows) < 1<<20 {
		b.gpuRows[k] = row
	}
	return row
}

// AddMemory stores an allocation instant's detail.
func (b *Builder) AddMemory(d MemoryDetail) int32 {
	b.memory = append(b.memory, d)
	return int32(len(b.memory) - 1)
}

// AddCollective stores a collective's metadata.
func (b *Builder) AddCollective(c Collective) int32 {
	b.collectives = append(b.collectives, c)
	return int32(len(b.collectives) - 1)
}

// AddForwardFlow stores one end of a forward–backward flow event.
func (b *Builder) AddForwardFlow(id uint64, startNs int64, thread ThreadID, forward bool) {
	b.flows = append(b.flows, forwardFlow{id, startNs, thread, forward})
}

// launchFlow is one end of a flow from a host op to the device event it caused.
type launchFlow struct {
	id      uint64
	startNs int64
	thread  ThreadID
	host    bool
}

// AddLaunchFlow stores one end of a flow from the host to a device; it is used for device events without a correlation id.
func (b *Builder) AddLaunchFlow(id uint64, startNs int64, thread ThreadID, host bool) {
	b.launchFlows = append(b.launchFlows, launchFlow{id, startNs, thread, host})
}

// Reclassify gives the events of a thread that are CategoryOther the category their name has by of, and makes the thread a
// stream if gpu is set: for formats where the process an event is in tells what it is, and is named after the event.
func (b *Builder) Reclassify(thread ThreadID, gpu bool, of func(name string) Category) {
	b.threads[thread].GPU = gpu
	for row := range int32(b.n) {
		if b.cols.thread.at(row) == thread && b.cols.category.at(row) == CategoryOther {
			b.cols.category.set(row, of(b.names.texts[b.cols.name.at(row)]))
		}
	}
}

// NextCollective tells what the op that is added next says of the collective it starts (record_param_comms): its kernel says the
// same since torch 2.5, and nothing before.
func (b *Builder) NextCollective(c Collective) {
	if b.n < math.MaxInt32 {
		b.opComms = append(b.opComms, rowValue[int32]{EventID(b.n), b.AddCollective(c)})
	}
}

// NextCopySize tells the bytes that the runtime call that is added next copies: ROCm's GPU events do not say (roctracer's
// hipMemcpy… calls do).
func (b *Builder) NextCopySize(bytes int64) {
	if b.n < math.MaxInt32 && bytes >= 0 {
		b.copySizes = append(b.copySizes, rowValue[int64]{EventID(b.n), bytes})
	}
}

// NextExternal tells the "External id" of the GPU event that is added next.
func (b *Builder) NextExternal(id uint64) {
	if b.n < math.MaxInt32 {
		b.externals = append(b.externals, externalID{EventID(b.n), id})
	}
}

// Add appends an event. At most 2^31−1 events are kept; beyond, it reports false.
func (b *Builder) Add(e Event) bool {
	if b.n == math.MaxInt32 {
		return false
	}
	b.cols.add(b.n, &e)
	if e.EvIdx >= 0 || b.evIdx != nil {
		for len(b.evIdx) < b.n {
			b.evIdx = append(b.evIdx, -1)
		}
		b.evIdx = append(b.evIdx, e.EvIdx)
	}
	b.n++
	return true
}

// Warn adds a warning about the input.
func (b *Builder) Warn(w Warning) { b.Warnings = append(b.Warnings, w) }
