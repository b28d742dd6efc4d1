package rules

import "stepline/pyscan"

// Costs is what a loaded trace can tell about places in the source. Package analysis implements it over the index, the
// line costs and the diagnosis; a nil Costs means no trace. Implementations are safe for concurrent use.
type Costs interface {
	// StepNs is the mean step duration of the trace in nanoseconds, 0 if the trace has no steps.
	StepNs() int64
	// Measure prices a question. Observed is false in the answer when nothing of the place ran in the trace.
	Measure(Question) Cost
	// Loader tells which kind of DataLoader iterator ran, from the profiler's `enumerate(DataLoader)#_…Iter.__next__` ranges.
	Loader() LoaderEvidence
}

// Question asks a trace about one place.
type Question struct {
	Kind PriceKind
	File *pyscan.File
	// Span is the expression or statement concerned; costs are matched by its lines.
	Span pyscan.Span
	// Ops are name prefixes (ops, runtime calls, copies) the answer is limited to; empty for everything under the span.
	Ops []string
	// Anywhere, AbsenceProvesNothing, Keeps and HostStays are the rule's.
	Anywhere             bool
	AbsenceProvesNothing bool
	Keeps                float64
	HostStays            bool
}

// Cost is a trace's answer. Durations are nanoseconds per step.
type Cost struct {
	Observed bool
	// WaitNs is how long the host waits. LowNs and HighNs bound what mending is expected to save: for a sync the low end is
	// the part of the bubble (GPU idle after the sync's end) that the wait itself made, because waiting while the GPU works
	// loses nothing, and an idle GPU after a sync that hardly waited would have been idle without it.
	WaitNs, LowNs, HighNs int64
	// Share is LowNs over the step, 0 without steps.
	Share float64
	// Evidence is a sentence for people on what was measured, without a full stop ("24 copies of 33.6 MB from pageable memory at 6.1 GB/s").
	Evidence string
}

// LoaderEvidence is what a trace proves about the workers of the DataLoaders that ran in it.
type LoaderEvidence uint8

const (
	// LoaderUnknown: no loader range in the trace.
	LoaderUnknown LoaderEvidence = iota
	// LoaderSingleProcess: only `_SingleProcessDataLoaderIter` ran: every loader of the trace loads in the main process.
	LoaderSingleProcess
	// LoaderWorkers: only `_MultiProcessingDataLoaderIter` ran.
	LoaderWorkers
	// LoaderMixed: both ran.
	LoaderMixed
)

// DefaultRefutedBelow is the share of a step under which a measured cost counts as nothing that matters, unless the
// configuration sets `refuted-below`. It is a setting, not a fact about GPUs.
const DefaultRefutedBelow = 0.005

// price asks the trace about every finding and turns the refuted ones into hints.
func price(costs Costs, refutedBelow float64, findings []Finding) {
	for i := range findings {
		f := &findings[i]
		if f.Rule.Price == Unpriced {
			continue
		}
		q := Question{Kind: f.Rule.Price, File: f.File, Span: f.Span, Ops: f.Rule.Ops, Anywhere: f.Rule.Anywhere,
			AbsenceProvesNothing: f.Rule.AbsenceProvesNothing, Keeps: f.Rule.Keeps, HostStays: f.Rule.HostStays}
		if f.Measured != (pyscan.Span{}) {
			q.Span = f.Measured
			if f.MeasuredFile != nil {
				q.File = f.MeasuredFile
			}
		}
		f.Cost = costs.Measure(q)
		step := costs.StepNs()
		if step > 0 {
			f.Cost.Share = float64(f.Cost.LowNs) / float64(step)
		}
		switch {
		case !f.Cost.Observed:
			f.Verdict = NotObserved
		case refuted(f.Cost, step, refutedBelow):
			f.Verdict, f.Severity = Refuted, Hint
		default:
			f.Verdict = Confirmed
		}
	}
}

// refuted tells whether even the upper end of a cost is below what matters. Without steps only a cost of nothing refutes.
func refuted(c Cost, stepNs int64, below float64) bool {
	high := max(c.LowNs, c.HighNs)
	if stepNs <= 0 {
		return high <= 0
	}
	return float64(high) < below*float64(stepNs)
}
