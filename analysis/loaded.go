package analysis

import (
	"time"

	"stepline/traceindex"
)

// Progress is how far the loading of traces is.
type Progress struct {
	// Stage is "reading", "attributing" or "diagnosing".
	Stage string
	// DoneBytes of TotalBytes of the files as stored were read; both 0 where that is unknown.
	DoneBytes, TotalBytes int64
}

// Loaded is a run with everything computed from it. It is immutable and may be shared by goroutines.
type Loaded struct {
	// Run holds one index per rank.
	Run *traceindex.Run
	// Costs are the run's costs by line; files are relative to the workspace's root.
	Costs *traceindex.Costs
	// Sources are the texts of the workspace files the costs were put on, as they were at load, by path relative to the
	// root: what lets lines follow later edits.
	Sources map[string]string
	// LoadedAt is when loading ended.
	LoadedAt time.Time
}

// StepNs is the mean step duration in nanoseconds, 0 if the trace has no steps.
func (l *Loaded) StepNs() int64 { return l.Costs.Summary.StepMeanNs }

// StepCount is the number of steps over all ranks, at least 1: what sums are divided by for "per step".
func (l *Loaded) StepCount() int64 {
	s := l.Costs.Summary
	return max(1, int64(s.Steps)*int64(max(1, s.Ranks)))
}
