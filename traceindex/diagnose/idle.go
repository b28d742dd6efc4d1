package diagnose

import (
	"iter"

	"stepline/traceindex/attribute"
)

// IdleSum is idle time of one cause at one place with the host doing one thing, over several gaps.
type IdleSum struct {
	Cause Cause
	Place attribute.Place
	Known bool
	Doing string
	Ns    int64
	Gaps  int
}

// EachIdle is the idle time of all steps: gap by gap, or in sums where the gaps are not kept.
func (d *Diagnosis) EachIdle() iter.Seq[IdleSum] {
	return func(yield func(IdleSum) bool) {
		if d.IdleSums != nil {
			for _, sum := range d.IdleSums {
				if !yield(sum) {
					return
				}
			}
			return
		}
		for i := range d.Steps {
			for j := range d.Steps[i].Gaps {
				g := &d.Steps[i].Gaps[j]
				if !yield(IdleSum{Cause: g.Cause, Place: g.Place, Known: g.Known, Doing: g.Doing, Ns: g.DurNs(), Gaps: 1}) {
					return
				}
			}
		}
	}
}

// causeNames are the causes as the JSON contract names them.
var causeNames = [causeCount]string{"unknown", "loader", "sync", "launch", "copy", "collective", "allocator", "python", "profiler"}

// Causes are all of them, in the order of IdleByCause.
func Causes() []Cause {
	all := make([]Cause, causeCount)
	for i := range all {
		all[i] = Cause(i)
	}
	return all
}

// ParseCause reads a cause as String writes it; false for a word that names none.
func ParseCause(name string) (Cause, bool) {
	for i, known := range causeNames {
		if known == name {
			return Cause(i), true
		}
	}
	return CauseUnknown, false
}
