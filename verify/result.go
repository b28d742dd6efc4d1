package verify

import (
	"fmt"
	"math"

	"stepline/traceindex/compare"
)

// Verdict is what became of the step time.
type Verdict string

const (
	Faster       Verdict = "faster"
	Slower       Verdict = "slower"
	NoDifference Verdict = "no-difference" // none beyond noise
	Untested     Verdict = "untested"      // nothing to compare
)

// Result is a verification's outcome; immutable.
type Result struct {
	// Base is nil where only the loader was measured.
	Base, New *SideResult
	Verdict   Verdict
	// Step compares the runs' mean steps, in nanoseconds; its N count runs.
	Step compare.Difference
	// Losses is nil where nothing was compared or losses were to be left out.
	Losses *LossResult
	// Loader is nil without a budget or batches.
	Loader *LoaderResult
	// FailAbove is the gate's share, negative without one; Slowed tells that it failed.
	FailAbove float64
	Slowed    bool
	Warnings  []string
}

// Failed reports whether a gate failed or results differ: exit code 1.
func (r *Result) Failed() bool {
	return r.Slowed || r.lossesDiffer() || r.Loader != nil && r.Loader.Verdict == LoaderOver
}

func (r *Result) lossesDiffer() bool { return r.Losses != nil && r.Losses.Differ }

// Change is the step's relative change and its 95 % interval; ±Inf where the scatter is unknown.
func (r *Result) Change() (share, low, high float64) {
	half := r.Step.NoiseNs / r.Step.Base.Mean
	share = r.Step.Relative()
	return share, share - half, share + half
}

// wallClock is the Clock of runs that were timed as a whole (--wall).
const wallClock = "wall"

// SideResult is what one side was seen to do.
type SideResult struct {
	Name, Told string
	Clock      string // cuda events, host, output, wall
	Runs       []RunResult
	// GPUPeakBytes and HostPeakBytes are the largest of the runs; nil where they are not known.
	GPUPeakBytes, HostPeakBytes *float64
}

// RunResult is one run.
type RunResult struct {
	Steps         int
	MeanNs, StdNs float64
	WallNs        float64
	Losses        int
	Waits         int // batches waited for
	MeanWaitNs    float64
	LastLoss      float64 // NaN where there is none
}

// LoaderVerdict is how a loader keeps to its budget.
type LoaderVerdict string

const (
	LoaderWithin    LoaderVerdict = "within"
	LoaderOver      LoaderVerdict = "over"
	LoaderUndecided LoaderVerdict = "undecided" // the budget lies in the interval
)

// LoaderResult is New's loader against its budget: the mean wait for a batch over the runs, and its 95 % interval.
type LoaderResult struct {
	BudgetNs, MeanNs, HalfNs float64
	Runs, Batches            int
	Verdict                  LoaderVerdict
}

// judge turns the runs into a result.
func (m *measurement) judge() *Result {
	r := &Result{FailAbove: m.FailAbove, Verdict: Untested}
	last := len(m.sides) - 1
	r.New = m.sides[last].result(m.runs[last])
	if m.LoaderBudget > 0 {
		r.Loader = m.loader()
	}
	if m.Base == nil {
		return r
	}
	r.Base = m.sides[0].result(m.runs[0])
	r.Step = compare.Values(means(m.runs[0]), means(m.runs[1]))
	switch {
	case !r.Step.Significant():
		r.Verdict = NoDifference
	case r.Step.DeltaNs < 0:
		r.Verdict = Faster
	default:
		r.Verdict = Slower
	}
	r.Slowed = m.FailAbove >= 0 && r.Verdict == Slower && r.Step.Relative() > m.FailAbove
	if r.Base.Clock != r.New.Clock {
		r.Warnings = append(r.Warnings, fmt.Sprintf("base was timed by %s and new by %s: compare with care", r.Base.Clock, r.New.Clock))
	}
	if m.LossTolerance >= 0 {
		r.Losses = compareLosses(m.runs[0], m.runs[1], m.LossTolerance)
	}
	return r
}

func means(runs []*run) []float64 {
	var values []float64
	for _, r := range runs {
		values = append(values, mean(r.stepNs))
	}
	return values
}

func (s *side) result(runs []*run) *SideResult {
	out := &SideResult{Name: s.name, Told: s.told, Clock: runs[0].clock}
	larger := func(into **float64, value *float64) {
		if value != nil && (*into == nil || **into < *value) {
			*into = value
		}
	}
	for _, r := range runs {
		steps := compare.Values(r.stepNs, nil).Base
		one := RunResult{
			Steps: steps.N, MeanNs: steps.Mean, StdNs: steps.StdDev, WallNs: r.wallNs, Losses: len(r.losses), Waits: len(r.waitNs),
			LastLoss: math.NaN(),
		}
		if len(r.losses) > 0 {
			one.LastLoss = r.losses[len(r.losses)-1]
		}
		if len(r.waitNs) > 0 {
			one.MeanWaitNs = mean(r.waitNs)
		}
		out.Runs = append(out.Runs, one)
		larger(&out.GPUPeakBytes, r.gpuPeak)
		larger(&out.HostPeakBytes, r.host)
	}
	return out
}

// loader holds New's loader against the budget; a loader that gave no batch is undecided.
func (m *measurement) loader() *LoaderResult {
	l := &LoaderResult{BudgetNs: float64(m.LoaderBudget.Nanoseconds()), Verdict: LoaderUndecided}
	var values []float64
	for _, r := range m.runs[len(m.runs)-1] {
		if len(r.waitNs) > 0 {
			values = append(values, mean(r.waitNs))
			l.Batches += len(r.waitNs)
		}
	}
	l.Runs = len(values)
	l.MeanNs, l.HalfNs = compare.Interval(values)
	switch {
	case l.Runs < 2:
	case l.MeanNs+l.HalfNs <= l.BudgetNs:
		l.Verdict = LoaderWithin
	case l.MeanNs-l.HalfNs > l.BudgetNs:
		l.Verdict = LoaderOver
	}
	return l
}
