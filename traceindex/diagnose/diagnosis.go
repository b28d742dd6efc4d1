package diagnose

import (
	"context"
	"fmt"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// Cause is why the GPU was idle.
type Cause uint8

const (
	CauseUnknown    Cause = iota
	CauseLoader           // the training thread waited in a DataLoader's __next__
	CauseSync             // the host waited for the GPU, or was late because it had
	CauseLaunch           // the host was dispatching or launching, or the launch was under way
	CauseCopy             // the host was in a copy that blocks it, or was late because of one
	CauseCollective       // the host was in a collective operation
	CauseAllocator        // cudaMalloc, cudaFree
	CausePython           // Python or CPU work between GPU work
	CauseProfiler         // the profiler itself
	causeCount
)

// String is the cause as the JSON contract names it.
func (c Cause) String() string {
	return causeNames[c]
}

// Gap is a stretch of a step in which nothing ran on the GPU.
type Gap struct {
	traceindex.Interval
	Cause Cause
	// Place is the statement the training thread was in, for a late host the statement that made it late; Known is false if none.
	Place attribute.Place
	Known bool
	// Call is the runtime call that explains the gap (the sync, the copy, the launch), NoEvent if there is none. Doing names
	// what the host did: an op, a frame, a call; "" if nothing is known.
	Call  traceindex.EventID
	Doing string
}

// Shares are parts of the steps' time; they sum to 1.
type Shares struct {
	Data, Communication, Sync, Launch, Copy, Compute, Other float64
}

// Class is what bounds the steps.
type Class string

const (
	DataStall          Class = "data-stall"
	CommunicationStall Class = "communication-stall"
	SyncBound          Class = "sync-bound"
	LaunchBound        Class = "launch-bound"
	ComputeBound       Class = "compute-bound"
	MemoryBound        Class = "memory-bound"
	Balanced           Class = "balanced"
	// Unknown: the trace says nothing of the GPU.
	Unknown Class = "unknown"
)

// Evidence is one measured reason for the class.
type Evidence struct {
	Message string
	// Place is where it is; Known is false for evidence without a line.
	Place     attribute.Place
	Known     bool
	NsPerStep int64
	// Share is NsPerStep over the mean step.
	Share float64
}

// Step is one step of one rank, taken apart.
type Step struct {
	Rank int // place in Run.Ranks
	traceindex.Step
	// BusyNs is the time in which something ran on the GPU; BusyNs and the gaps' durations sum to the step.
	BusyNs int64
	Gaps   []Gap
	Phases []Phase
	// The busy time by what ran: ExposedCommunicationNs collectives with nothing else beside them, CopyNs copies with no kernel
	// beside them, ComputeNs the rest.
	ComputeNs, CopyNs, ExposedCommunicationNs int64
	// IdleNs is the idle time by cause where Gaps is not kept (a rank of a set that is told in sums); nil where Gaps tells it.
	IdleNs *IdleByCause
}

// IdleByCause is idle time in nanoseconds, indexed by Cause.
type IdleByCause [causeCount]int64

// Idle is the step's idle time by cause.
func (s *Step) Idle() IdleByCause {
	if s.IdleNs != nil {
		return *s.IdleNs
	}
	var sums IdleByCause
	for i := range s.Gaps {
		sums[s.Gaps[i].Cause] += s.Gaps[i].DurNs()
	}
	return sums
}

// DurNs is the step's length.
func (s *Step) DurNs() int64 { return s.EndNs - s.StartNs }

// Diagnosis is a run's steps explained. It is immutable.
type Diagnosis struct {
	Class    Class
	Shares   Shares
	Evidence []Evidence
	Steps    []Step // by step number, then rank
	// StepMeanNs is the mean duration of Steps, 0 without steps.
	StepMeanNs int64
	// JudgedRank is the rank (place in Run.Ranks) that Shares and Class are of: the one that waits most for the others where
	// waiting is its largest share; −1 for the mean over all.
	JudgedRank int
	// Stragglers has one entry per rank that others wait for, worst first.
	Stragglers []Straggler
	Findings   []Finding
	Quality    []traceindex.Warning
	// UnknownShare is the idle time without a cause over all idle time.
	UnknownShare float64
	// IdleSums are the gaps of all steps summed by cause and place where not every step's Gaps are kept; nil where they are.
	IdleSums []IdleSum

	late []map[traceindex.EventID]int64 // per rank: idle time owed to each waiting call, over all steps
}

// OwedNs is the GPU's idle time over all steps that a waiting call (a synchronisation or a blocking copy) caused: never more
// than the host waited in it beyond the work it waited for, and no moment counts for two calls.
func (d *Diagnosis) OwedNs(rank int, call traceindex.EventID) int64 { return d.late[rank][call] }

// Run diagnoses an attributed run. A run without steps is diagnosed as one step over everything recorded. The only error is ctx's.
func Run(ctx context.Context, a *attribute.Attribution, settings Settings) (*Diagnosis, error) {
	settings = settings.withDefaults()
	d := &Diagnosis{}
	for rank, ix := range a.Run.Ranks {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("diagnosing rank %d: %w", rank, err)
		}
		g := newGapFinder(a, rank, ix)
		d.late = append(d.late, g.owed)
		for _, s := range stepsOf(ix) {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("diagnosing rank %d: %w", rank, err)
			}
			d.Steps = append(d.Steps, g.step(s))
		}
		d.Quality = append(d.Quality, ix.Quality()...)
	}
	d.order()
	d.sum(len(a.Run.Ranks))
	d.Stragglers = stragglers(runMeasures{a})
	d.classify(runMeasures{a}, settings)
	if d.Class != Unknown {
		d.Findings = traceOnly(a, d, settings)
	}
	return d, ctx.Err()
}

// stepsOf are the rank's steps; without any, everything recorded is one.
func stepsOf(ix *traceindex.Index) []traceindex.Step {
	if len(ix.Steps) > 0 {
		return ix.Steps
	}
	span := ix.Span()
	if span.DurNs() <= 0 {
		return nil
	}
	return []traceindex.Step{{StartNs: span.StartNs, EndNs: span.EndNs, Source: "whole trace"}}
}
