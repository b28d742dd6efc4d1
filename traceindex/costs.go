package traceindex

// Confidence is how sure an attribution is, as attribution.md measures it.
type Confidence uint8

const (
	// ConfidenceFunction: only the function is known; the line is that of its def.
	ConfidenceFunction Confidence = iota
	// ConfidenceAmbiguous: two or more lines fit alike. Ambiguous time is claimed for none of them; it is in Unattributed.
	ConfidenceAmbiguous
	// ConfidenceLikely: right in 92–95 % of such cases.
	ConfidenceLikely
	// ConfidenceExact: right in ≥ 99.5 % of such cases, or recorded.
	ConfidenceExact
)

// String is the word used in JSON and for people.
func (c Confidence) String() string {
	return [...]string{"function", "ambiguous", "likely", "exact"}[c]
}

// Costs is what a run's time is spent on, by source line. Every GPU nanosecond is in exactly one row of Lines or Unattributed.
type Costs struct {
	Summary      Summary
	Lines        []LineCost // sorted by (File, Line)
	Unattributed []Unattributed
	Warnings     []Warning
}

// Summary is the "trace" object of the JSON contract. Sums run over all ranks.
type Summary struct {
	Files  []string
	Ranks  int
	Device string
	Steps  int // per rank
	// StepMeanNs is the mean step duration over ranks and steps, 0 without steps.
	StepMeanNs int64
	// GPUTotalNs is the plain sum of GPU event durations; GPUBusyNs their union over the streams of each device.
	GPUTotalNs, GPUBusyNs int64
	// GPUIdleNs is time within the steps' span with nothing on the GPU; GPUIdleNoLineNs the part of it with the training thread in no line.
	GPUIdleNs, GPUIdleNoLineNs int64
	// CallLines tells that recorded call lines were used.
	CallLines bool
}

// LineCost is one statement's cost over the whole trace. Durations are nanoseconds.
type LineCost struct {
	File     string // relative to the workspace root, with /
	Line     int    // first line of the innermost statement, from 1
	Function string // qualified: "MLP.forward"
	Calls    int64
	// SelfNs is GPU time the line launched, BackwardNs that of the backward of what it ran; Kernels counts GPU events of both.
	SelfNs, BackwardNs int64
	Kernels            int64
	CPUNs              int64 // training-thread time whose innermost workspace statement is this line
	GPUIdleNs          int64
	SyncNs, BubbleNs   int64
	CopyNs, CopyBytes  int64
	// PageableNs and PageableBytes are the part of the copies from or to pageable host memory.
	PageableNs, PageableBytes int64
	// CompiledNs is the part of SelfNs+BackwardNs that compiled graphs ran, whose line is the one that called the compiled code.
	CompiledNs int64
	// ByConfidence splits SelfNs+BackwardNs; Confidence is that of the largest part.
	ByConfidence map[Confidence]int64
	Confidence   Confidence
	// TopKernels are the most expensive kernels, by time, at most eight.
	TopKernels []KernelCost
	// PerRankNs is SelfNs+BackwardNs of each rank, nil for one rank.
	PerRankNs []int64
}

// GPUNs is the line's whole GPU time, forward and backward.
func (l *LineCost) GPUNs() int64 { return l.SelfNs + l.BackwardNs }

// KernelCost is one kernel name's share of a line.
type KernelCost struct {
	Name     string
	Count    int64
	Ns       int64
	Backward bool
}

// Unattributed is GPU time that fits no line, with the place it hangs at where there is one (File == "" if not).
type Unattributed struct {
	Reason     string // "gradient accumulation", "gradient reduction", "ambiguous", "no Python frame", …
	Ns         int64
	File       string
	Line       int // 0 if unknown
	Function   string
	Candidates []int // lines, for "ambiguous"
	Kernels    int64
}
