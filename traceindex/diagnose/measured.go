package diagnose

import (
	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// measured is what the diagnosis asks of a run beyond its steps: of one in memory (runMeasures), or of one whose ranks were
// indexed on their own nodes and are known by sums (Parts).
type measured interface {
	ranks() int
	rankName(rank int) string
	stepCount(rank int) int
	// kernelsWhere sums the kernels within the steps whose names satisfy a test, over all ranks.
	kernelsWhere(test func(name string) bool) kernelSum
	// loaderPlace is the statement that asks a loader for batches, exposedPlace the line with the most collective time.
	loaderPlace() (attribute.Place, bool)
	exposedPlace() (attribute.Place, bool)
	rendezvouses() []traceindex.Rendezvous
	// collective is when a joined kernel started, on the rank's own clock, and whether that is within the rank's steps.
	collective(rank int, e traceindex.EventID) (startNs int64, inSteps bool)
	// busiestPlace is the statement the rank's training thread was in for most of some intervals.
	busiestPlace(rank int, spans []traceindex.Interval) (attribute.Place, bool)
}

// runMeasures answers from a run in memory.
type runMeasures struct{ a *attribute.Attribution }

func (m runMeasures) ranks() int               { return len(m.a.Run.Ranks) }
func (m runMeasures) rankName(rank int) string { return rankName(m.a.Run.Ranks[rank].Meta.Rank, rank) }
func (m runMeasures) stepCount(rank int) int   { return len(m.a.Run.Ranks[rank].Steps) }
func (m runMeasures) kernelsWhere(test func(string) bool) kernelSum {
	return kernelsWhere(m.a.Run, test)
}
func (m runMeasures) loaderPlace() (attribute.Place, bool)  { return loaderPlace(m.a) }
func (m runMeasures) exposedPlace() (attribute.Place, bool) { return exposedPlace(m.a) }

func (m runMeasures) rendezvouses() []traceindex.Rendezvous {
	joined, _ := m.a.Run.Rendezvouses()
	return joined
}

func (m runMeasures) collective(rank int, e traceindex.EventID) (int64, bool) {
	ix := m.a.Run.Ranks[rank]
	return ix.Events.StartNs[e], inSteps(ix, e)
}

func (m runMeasures) busiestPlace(rank int, spans []traceindex.Interval) (attribute.Place, bool) {
	return busiestPlace(spans, func(v traceindex.Interval) []attribute.Share { return m.a.Split(rank, v) })
}
