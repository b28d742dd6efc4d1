package rankset

// Schema is the version of the tables below. A reader takes sets of its own version only; whatever changes the meaning of a
// column, or removes one, raises it. New columns do not: a reader takes a column that is not there for zero.
const Schema = 1

// NoStep is the step of what began outside all steps.
const NoStep = -1

// Rank is everything that one rank writes down. The tables' rows have no rank column: where they lie names the rank.
type Rank struct {
	Number      int
	Info        Info
	Steps       []Step
	Phases      []Phase
	Gaps        []Gap
	Idle        []Idle
	Lines       []Line
	GPU         []GPU
	Collectives []Collective
	Timeline    []Span
	Findings    []Finding
	Notes       []Note
}

// Info is the one row of table ranks: what is known of the rank as a whole.
type Info struct {
	RunID           string `col:"run_id" doc:"the run's name, the same on all its ranks; '' if none was given"`
	Host            string `col:"host" doc:"the machine that indexed the rank"`
	WorldSize       int64  `col:"world_size" doc:"ranks in the run as the trace states it, 0 if unknown"`
	Device          string `col:"device" doc:"name of the GPU"`
	Backend         string `col:"backend" doc:"communication backend as the trace states it"`
	Producer        string `col:"producer" doc:"what recorded the trace"`
	Trace           string `col:"trace" doc:"the trace file's name"`
	BaseUnixNs      int64  `col:"base_unix_ns" doc:"unix time of the rank's time 0, ns: what start_ns columns count from"`
	StepCount       int64  `col:"steps" doc:"number of steps found, 0 for a trace without any"`
	SpanStartNs     int64  `col:"span_start_ns" doc:"start of the first step, ns (without steps, of everything)"`
	SpanEndNs       int64  `col:"span_end_ns" doc:"end of the last step, ns"`
	GPUTotalNs      int64  `col:"gpu_total_ns" doc:"sum of the durations of all GPU events, ns"`
	GPUBusyNs       int64  `col:"gpu_busy_ns" doc:"time in which something ran on the GPU, ns"`
	GPUIdleNs       int64  `col:"gpu_idle_ns" doc:"time within the steps' span in which nothing ran, ns"`
	GPUIdleNoLineNs int64  `col:"gpu_idle_no_line_ns" doc:"the part of gpu_idle_ns with the training thread in no line, ns"`
	CallLines       bool   `col:"call_lines" doc:"lines were recorded, not inferred"`
	LoaderFile      string `col:"loader_file" doc:"the statement that asks the loader for batches, '' if none"`
	LoaderLine      int64  `col:"loader_line" doc:"its line"`
	LoaderFunction  string `col:"loader_function" doc:"its function"`
}

// Step is a row of table steps: one step taken apart. The idle columns and gpu_busy_ns sum to duration_ns.
type Step struct {
	Number                 int64  `col:"step" doc:"the step's number"`
	Source                 string `col:"source" doc:"how the step was found: ProfilerStep, Optimizer.step, pattern, or whole trace"`
	StartNs                int64  `col:"start_ns" doc:"start, ns since base_unix_ns"`
	DurationNs             int64  `col:"duration_ns" doc:"length, ns"`
	BusyNs                 int64  `col:"gpu_busy_ns" doc:"time in which something ran on the GPU, ns"`
	ComputeNs              int64  `col:"compute_ns" doc:"the part of gpu_busy_ns with a kernel that is no collective, ns"`
	CopyNs                 int64  `col:"copy_ns" doc:"the part with copies and no kernel beside them, ns"`
	ExposedCommunicationNs int64  `col:"exposed_communication_ns" doc:"the part with collectives and no compute beside them, ns"`
	IdleUnknownNs          int64  `col:"idle_unknown_ns" doc:"GPU idle, no cause seen, ns"`
	IdleLoaderNs           int64  `col:"idle_loader_ns" doc:"GPU idle, the training thread waiting for the loader, ns"`
	IdleSyncNs             int64  `col:"idle_sync_ns" doc:"GPU idle because the host waited for the GPU, ns"`
	IdleLaunchNs           int64  `col:"idle_launch_ns" doc:"GPU idle, the host dispatching or launching, ns"`
	IdleCopyNs             int64  `col:"idle_copy_ns" doc:"GPU idle, the host in or late by a blocking copy, ns"`
	IdleCollectiveNs       int64  `col:"idle_collective_ns" doc:"GPU idle, the host in a collective, ns"`
	IdleAllocatorNs        int64  `col:"idle_allocator_ns" doc:"GPU idle, cudaMalloc or cudaFree, ns"`
	IdlePythonNs           int64  `col:"idle_python_ns" doc:"GPU idle, Python or CPU work, ns"`
	IdleProfilerNs         int64  `col:"idle_profiler_ns" doc:"GPU idle, the profiler itself, ns"`
	GapCount               int64  `col:"gaps" doc:"number of rows of this step in table gaps"`
}

// Phase is a row of table phases: a part of a step as the training thread went through it.
type Phase struct {
	Step       int64  `col:"step" doc:"the step's number"`
	Op         string `col:"op" doc:"what ran: data loading, forward …, backward, optimizer …, other"`
	StartNs    int64  `col:"start_ns" doc:"start, ns since base_unix_ns"`
	DurationNs int64  `col:"duration_ns" doc:"length, ns"`
	BusyNs     int64  `col:"gpu_busy_ns" doc:"the part with work on the GPU, ns"`
	DependsOn  string `col:"depends_on" doc:"what it waits for"`
	Note       string `col:"note" doc:"what its largest gap is, '' without one"`
}

// Gap is a row of table gaps: a stretch of a step with nothing on the GPU.
type Gap struct {
	Step       int64  `col:"step" doc:"the step's number"`
	StartNs    int64  `col:"start_ns" doc:"start, ns since base_unix_ns"`
	DurationNs int64  `col:"duration_ns" doc:"length, ns"`
	Cause      string `col:"cause" doc:"unknown, loader, sync, launch, copy, collective, allocator, python or profiler"`
	Known      bool   `col:"known" doc:"the training thread was in a statement of the workspace"`
	File       string `col:"file" doc:"that statement's file, relative to the workspace, '' if not known"`
	LineNumber int64  `col:"line" doc:"its line, 0 if not known"`
	Function   string `col:"function" doc:"its function"`
	Doing      string `col:"doing" doc:"what the host did: an op, a frame, a call"`
}

// Idle is a row of table idle: the gaps of a step summed by cause, place and doing.
type Idle struct {
	Step       int64  `col:"step" doc:"the step's number"`
	Cause      string `col:"cause" doc:"as in table gaps"`
	Known      bool   `col:"known" doc:"as in table gaps"`
	File       string `col:"file" doc:"as in table gaps"`
	LineNumber int64  `col:"line" doc:"as in table gaps"`
	Function   string `col:"function" doc:"as in table gaps"`
	Doing      string `col:"doing" doc:"as in table gaps"`
	DurationNs int64  `col:"duration_ns" doc:"sum of the gaps, ns"`
	GapCount   int64  `col:"gaps" doc:"number of gaps"`
}

// Line is a row of table lines: one source line's cost over the whole trace.
type Line struct {
	File          string `col:"file" doc:"the file, relative to the workspace"`
	Number        int64  `col:"line" doc:"the statement's first line, from 1"`
	Function      string `col:"function" doc:"qualified name"`
	Source        string `col:"source" doc:"the line's text as it ran, without indentation"`
	Calls         int64  `col:"calls" doc:"how often the statement ran"`
	ForwardNs     int64  `col:"forward_ns" doc:"GPU time the line launched, ns"`
	BackwardNs    int64  `col:"backward_ns" doc:"GPU time of the backward of what it ran, ns"`
	Kernels       int64  `col:"kernels" doc:"GPU events, forward and backward"`
	CPUNs         int64  `col:"cpu_ns" doc:"training-thread time in the line, ns"`
	GPUIdleNs     int64  `col:"gpu_idle_ns" doc:"GPU idle within the steps' span while the thread was in the line, ns"`
	SyncNs        int64  `col:"sync_ns" doc:"time in synchronisations under it, ns"`
	BubbleNs      int64  `col:"bubble_ns" doc:"GPU idle from the end of each of them to the next GPU event, ns"`
	CopyNs        int64  `col:"copy_ns" doc:"GPU copies it launched, ns"`
	CopyBytes     int64  `col:"copy_bytes" doc:"their bytes"`
	PageableNs    int64  `col:"pageable_ns" doc:"the part of copy_ns from or to pageable memory, ns"`
	PageableBytes int64  `col:"pageable_bytes" doc:"their bytes"`
	CompiledNs    int64  `col:"compiled_ns" doc:"the part of its GPU time that compiled graphs ran, ns"`
	ExactNs       int64  `col:"exact_ns" doc:"the part of its GPU time whose line is exact, ns"`
	LikelyNs      int64  `col:"likely_ns" doc:"the part whose line is likely, ns"`
	FunctionNs    int64  `col:"function_ns" doc:"the part known by its function only, ns"`
	Confidence    string `col:"confidence" doc:"of the largest part: exact, likely or function"`
}

// GPU is a row of table gpu: GPU events of one step, kernel, op, direction and line, summed.
type GPU struct {
	Step       int64  `col:"step" doc:"number of the step they start in, -1 outside all steps"`
	InSpan     bool   `col:"in_span" doc:"they start within span_start_ns … span_end_ns"`
	Kernel     string `col:"kernel" doc:"the GPU event's name"`
	Kind       string `col:"kind" doc:"kernel, memcpy or memset"`
	Collective bool   `col:"collective" doc:"a kernel of a communication library"`
	Op         string `col:"op" doc:"outermost framework op around the launch, '' without one"`
	Backward   bool   `col:"backward" doc:"backward of what the line ran"`
	Reason     string `col:"reason" doc:"why the time is on no line, '' if it is on one"`
	File       string `col:"file" doc:"the line's file, or of the place it hangs at"`
	LineNumber int64  `col:"line" doc:"the line, 0 if not known"`
	Function   string `col:"function" doc:"the function (the range or op where reason says so)"`
	Candidates string `col:"candidates" doc:"for reason ambiguous: the lines that fit alike, as 75,76"`
	Events     int64  `col:"events" doc:"number of GPU events"`
	DurationNs int64  `col:"duration_ns" doc:"sum of their durations, ns"`
	LongestNs  int64  `col:"longest_ns" doc:"the longest one, ns"`
}

// Collective is a row of table collectives: one kernel of a communication library, to be joined with other ranks' by
// (process_group, group_ranks, sequence).
type Collective struct {
	Name        string `col:"name" doc:"allreduce, allgather, …; '' if the trace does not say"`
	Group       string `col:"process_group" doc:"process group, else the communicator; '' if unknown"`
	Ranks       string `col:"group_ranks" doc:"the group's ranks as the trace states them"`
	Sequence    int64  `col:"sequence" doc:"sequence number within the group, -1 if absent"`
	Order       int64  `col:"occurrence" doc:"n-th of its name in the group on this rank, from 0: joins those without a sequence number"`
	StartUnixNs int64  `col:"start_unix_ns" doc:"start by this rank's host's clock, unix ns"`
	DurationNs  int64  `col:"duration_ns" doc:"length, ns: waiting for the last rank included"`
	InSpan      bool   `col:"in_span" doc:"it starts within span_start_ns … span_end_ns"`
	Type        string `col:"element_type" doc:"element type as the trace states it"`
	InElements  int64  `col:"in_elements" doc:"elements sent"`
	OutElements int64  `col:"out_elements" doc:"elements received"`
	File        string `col:"file" doc:"the line its time is on, or hangs at"`
	LineNumber  int64  `col:"line" doc:"its number, 0 if not known"`
	Function    string `col:"function" doc:"its function"`
}

// Span is a row of table timeline: when the training thread was in which statement of the workspace.
type Span struct {
	StartNs    int64  `col:"start_ns" doc:"start, ns since base_unix_ns"`
	DurationNs int64  `col:"duration_ns" doc:"length, ns"`
	File       string `col:"file" doc:"the statement's file"`
	LineNumber int64  `col:"line" doc:"its line"`
	Function   string `col:"function" doc:"its function"`
}

// The kinds of Finding.
const (
	KindLint  = "lint"  // a rule on the source, priced with the rank's trace
	KindTrace = "trace" // seen in the trace alone (TRC…)
)

// Finding is a row of table findings.
type Finding struct {
	Kind       string  `col:"kind" doc:"lint, or trace for what the trace alone shows"`
	Rule       string  `col:"rule" doc:"the rule's id"`
	Name       string  `col:"name" doc:"the rule's name"`
	Severity   string  `col:"severity" doc:"error, warning, info or hint"`
	Verdict    string  `col:"verdict" doc:"confirmed, refuted or not-observed; '' for rules without a price"`
	Message    string  `col:"message" doc:"what was found, with this rank's numbers"`
	File       string  `col:"file" doc:"where, '' for a finding without a place"`
	LineNumber int64   `col:"line" doc:"line, from 1"`
	Column     int64   `col:"column" doc:"column in code points, from 1; 0 without a place"`
	EndLine    int64   `col:"end_line" doc:"line of the end"`
	EndColumn  int64   `col:"end_column" doc:"column of the end, exclusive"`
	Function   string  `col:"function" doc:"function of the place"`
	Price      string  `col:"price" doc:"what it is priced by (P-sync, P-comm, …); P-comm takes the least and the most of any rank, others the mean"`
	LowNs      int64   `col:"low_ns_per_step" doc:"what mending saves a step at least, ns"`
	HighNs     int64   `col:"high_ns_per_step" doc:"what it saves at most (trace: what it takes), ns"`
	WaitNs     int64   `col:"wait_ns_per_step" doc:"what the host waits, ns"`
	Share      float64 `col:"share" doc:"low_ns_per_step over the rank's mean step (trace: high_ns_per_step)"`
	Evidence   string  `col:"evidence" doc:"what was measured, '' where it is only a time"`
	Fix        string  `col:"fix" doc:"title of the fix, '' without one"`
	Safety     string  `col:"safety" doc:"none, unsafe or safe"`
}

// The kinds of Note.
const (
	NoteQuality = "quality" // what limits the trace
	NoteWarning = "warning" // damage and doubts met while reading it
)

// Note is a row of table notes.
type Note struct {
	Kind    string `col:"kind" doc:"quality (what limits the trace) or warning (damage met while reading it)"`
	Code    string `col:"code" doc:"stable word for it"`
	Message string `col:"message" doc:"the sentence"`
	File    string `col:"file" doc:"the file it is about"`
}
