package traceindex

// Index is one rank's trace, linked: frames, launches, forward–backward pairs, steps. It is immutable once built and may be
// shared by goroutines. All times are int64 nanoseconds since Meta.BaseUnixNs.
type Index struct {
	Meta     Meta
	Events   Events
	Names    []string // NameID → text; Names[0] is ""
	Threads  []Thread
	Warnings []Warning

	Ops         []OpDetail
	Python      []PythonDetail
	GPU         []GPUDetail
	Memory      []MemoryDetail
	Locations   []Location
	Collectives []Collective
	// CallLines are the distinct recorded call lines (CallLineOf); none without a sidecar. callLineOf is by event.
	CallLines  []CallLine
	callLineOf []int32

	// Parent is the enclosing host event on the same thread (NoEvent for roots and for everything that is no host event).
	// "Python parent id" decides where it is there, containment in time otherwise; ends are clamped (EndNs).
	Parent  []EventID
	rows    int               // number of events, known before the columns are
	opComms map[EventID]int32 // ops that start collectives → row of Collectives; only while linking
	// copySizes are the bytes that runtime calls say they copy; only while linking.
	copySizes map[EventID]int64

	// subtreeEnd is, per event, the row after its last descendant.
	subtreeEnd []EventID
	// threadRows holds each thread's first row, and one past the last.
	threadRows []EventID
	// clamps holds the ends that differ from the recorded ones, by row: a child never outlives its parent. clamped has their bits.
	clamps  []clamp
	clamped []uint64

	// Launch is, per GPU event, the runtime call with its correlation id; where the file has no such call, the op that the
	// event's "External id" names; NoEvent if there is neither.
	// It is indexed by EventID; only GPU rows are meaningful. GPUOf is the reverse.
	Launch []EventID
	// launched holds the GPU events of each call together, launchRows the calls; see linkLaunches.
	launched, launchRows []EventID
	// cutDurNs holds the durations of GPU events that overrun their stream; see findOverruns.
	cutDurNs map[EventID]int64
	// callKinds is what the runtime calls do, by name; longestGPUNs the longest GPU event.
	callKinds    map[NameID]CallKind
	longestGPUNs int64
	// ForwardOf is, per "autograd::engine::evaluate_function" op, the forward op whose backward it runs:
	// the last, innermost forward op with its sequence number on its forward thread. NoEvent elsewhere.
	ForwardOf map[EventID]EventID

	// GPUEvents are the kernels, copies and memsets in start order, over all streams.
	GPUEvents []EventID
	// HostThreads are the threads with host events; TrainingThread is the one that runs the steps.
	HostThreads    []ThreadID
	TrainingThread ThreadID
	Steps          []Step
}

// Step is one training step.
type Step struct {
	Number         int // from ProfilerStep#N, else counted from 0
	StartNs, EndNs int64
	// Source tells how it was found: "ProfilerStep", "Optimizer.step", "pattern".
	Source string
}

// Run is one training run: one Index per rank, in rank order.
type Run struct {
	Ranks []*Index
	Files []string
	// Beside are inputs that are no traces but say more about one: analysis reads them.
	Beside   []BesideFile
	Warnings []Warning // about the set (duplicate ranks, missing ranks); each rank has its own besides
}

// FileKind is a kind of input that is no trace.
type FileKind string

const (
	FileNsightCompute  FileKind = "nsight-compute-csv" // ncu --csv
	FileNCCLLog        FileKind = "nccl-log"           // NCCL_DEBUG output
	FileMemorySnapshot FileKind = "memory-snapshot"    // torch.cuda.memory._dump_snapshot
)

// BesideFile is one of them.
type BesideFile struct {
	Kind FileKind
	Path string
}
