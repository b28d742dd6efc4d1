package traceindex

// EventID is a row of Events; NoEvent means none.
type EventID int32

// NoEvent is the absent EventID.
const NoEvent EventID = -1

// NameID is an interned string of Index.Names.
type NameID uint32

// ThreadID is a row of Index.Threads (a host thread or a GPU stream).
type ThreadID int32

// Category is what kind of work an event is, in stepline's own words; readers map every format's and version's names to it.
type Category uint8

const (
	CategoryOther         Category = iota
	CategoryOp                     // a framework operator on a host thread (aten::mm, autograd::engine::…)
	CategoryPython                 // a Python function's frame
	CategoryRuntime                // a runtime or driver API call (cudaLaunchKernel, hipMemcpyAsync)
	CategoryAnnotation             // a user range on a host thread (ProfilerStep#3, Optimizer.step#AdamW.step)
	CategoryKernel                 // GPU: a kernel
	CategoryMemcpy                 // GPU: a copy
	CategoryMemset                 // GPU: a memset
	CategoryGPUAnnotation          // a user range projected on a stream: never GPU work
	CategorySync                   // a synchronisation as the device sees it (cuda_sync): never GPU work
	CategoryOverhead               // profiler overhead (Command Buffer Full, lazy loading)
	CategoryMemory                 // an instant allocation event ([memory])
	categoryCount
)

// IsGPUWork reports whether an event of the category occupies the GPU (kernel, copy or memset).
func (c Category) IsGPUWork() bool {
	return c == CategoryKernel || c == CategoryMemcpy || c == CategoryMemset
}

// IsHost reports whether an event of the category is a span on a host thread that nests with others.
func (c Category) IsHost() bool {
	return c == CategoryOp || c == CategoryPython || c == CategoryRuntime || c == CategoryAnnotation
}

// Events are the columns of one rank. Row i of every column belongs to EventID(i). After Build, rows are sorted by
// (thread, start, longer first, order in the file), so that a host thread's rows are its frame tree in preorder.
type Events struct {
	StartNs  []int64 // since Meta.BaseUnixNs
	DurNs    []int64
	Name     []NameID
	Category []Category
	Thread   []ThreadID
	// Link is the correlation id of runtime and GPU events, "Python id" of Python frames, "External id" of ops; 0 if absent.
	Link []uint64
	// Detail is the row in the side table of the category (Index.Ops, .Python, .GPU, .Memory), −1 if there is none.
	Detail []int32
}

// Len is the number of events.
func (e *Events) Len() int { return len(e.StartNs) }

// EndNs is the end of an event as recorded (Index.EndNs gives it clamped to its parent).
func (e *Events) EndNs(i EventID) int64 { return e.StartNs[i] + e.DurNs[i] }

// OpDetail holds the args of a framework operator that analysis uses.
type OpDetail struct {
	// Sequence is autograd's "Sequence number", −1 if absent. It is per forward thread and not unique.
	Sequence int64
	// ForwardThread is "Fwd thread id": > 0 on backward ops, autograd's logical thread number.
	ForwardThread int32
	// Dims and Types are the interned raw text of "Input Dims" and "Input type" (0 if absent).
	Dims, Types NameID
	// CallStack is the interned text of "Call stack" (torch 1.8–1.12 with with_stack): frames innermost first, separated by ";",
	// each `file.py(LINE): function` with LINE the line that was running. 0 if absent.
	CallStack NameID
}

// PythonDetail holds the args of a Python frame.
type PythonDetail struct {
	// ParentID is "Python parent id", 0 if absent or null (Link holds "Python id"). It is what a reader tells Build; in an Index
	// it is 0, Index.Parent holds what follows from it, and frames alike share a row.
	ParentID uint64
	// ModuleID is "Python module id", −1 if absent.
	ModuleID int32
	// Location is what the name says, parsed once per distinct name: a row of Index.Locations, −1 for C functions.
	Location int32
}

// Location is a parsed Python frame name `file.py(LINE): func`. Line is the function's first line, or the line running
// when recording started (frames already on the stack), or the yield's (resumed generators). Line 0 is "no line".
type Location struct {
	File     string // with / as separator
	Line     int
	Function string
}

// GPUDetail holds the args of a kernel, copy or memset.
type GPUDetail struct {
	Device, Stream int64
	Bytes          int64 // copies and memsets, −1 if unknown
	Grid, Block    [3]int32
	Registers      int32
	SharedBytes    int32
	// OccupancyPercent and BlocksPerSM are NaN if absent.
	OccupancyPercent, BlocksPerSM float32
	// GraphNode is the CUDA graph node id, 0 outside graphs.
	GraphNode uint64
	// External is the torch op's "External id" as the GPU event states it. It can lie, so it is kept only where there is no
	// correlation id to go by; 0 otherwise.
	External uint64
	// Collective is a row of Index.Collectives for NCCL kernels with metadata, −1 otherwise.
	Collective int32
}

// Collective is the metadata of an NCCL kernel (record_param_comms args).
type Collective struct {
	Name, GroupName, GroupDescription, Type string
	// Sequence is "Seq"; −1 if absent. GroupSize and Ranks are as stated.
	Sequence       int64
	GroupSize      int32
	Ranks          string
	InElements     int64
	OutElements    int64
	CommunicatorID string // digit for digit: ids exceed 64 bits
}

// MemoryDetail is one `[memory]` instant.
type MemoryDetail struct {
	Bytes, TotalAllocated, TotalReserved int64
	Device                               int32
}

// Thread is a host thread or a GPU stream.
type Thread struct {
	PID, TID string // as written: some are words
	Name     string // from thread_name metadata
	Process  string // from process_name/labels metadata
	GPU      bool   // a stream
}

// Meta is what the file says about the run.
type Meta struct {
	File       string // the path as given
	BaseUnixNs int64  // unix time of StartNs 0
	Device     string // name of the GPU that worked, e.g. "NVIDIA H200"
	// Rank is −1 if unknown; WorldSize 0 if unknown.
	Rank, WorldSize int
	Backend         string
	TraceName       string
	Producer        string // "torch 2.11", "nsys 2026.1", … as far as it is known
}

// Warning is trouble with the input that did not stop the reading.
type Warning struct {
	Code    string `json:"code"` // stable, kebab-case: "cut-short", "bad-escape"
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Byte    *int64 `json:"byte,omitempty"` // of the decompressed text
}
