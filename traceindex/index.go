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

	// Parent is the enclosing host event on the same thread (NoEvent for roots and for everything that is no host event).
	// "Python parent id" decides where it is there, containment in time otherwise; ends are clamped (EndNs).
	Parent []EventID
	// clampedEndNs holds the ends that differ from the recorded ones: a child never outlives its parent.
	clampedEndNs map[EventID]int64

	// Launch is, per GPU event, the runtime call with its correlation id (NoEvent if the file has none).
	// It is indexed by EventID; only GPU rows are meaningful. Launched is the reverse.
	Launch []EventID
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
	Ranks    []*Index
	Files    []string
	Warnings []Warning // about the set (duplicate ranks, missing ranks); each rank has its own besides
}
