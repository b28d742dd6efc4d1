package diagnose

import (
	"cmp"
	"slices"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// Parts is a run of which each rank was indexed on its own: what the ranks' own indexes say, put side by side. Places in Steps,
// Collectives and the like are positions in Ranks.
type Parts struct {
	Ranks []RankPart
	// Steps are all ranks' steps, in sums (Step.IdleNs) but for those whose Gaps are kept.
	Steps []Step
	// Idle sums all gaps of all ranks.
	Idle []IdleSum
	// Kernels are the kernels that ran within the steps, one entry a name.
	Kernels []KernelTime
	// Loader is the statement that asks a loader for batches, Exposed the one with the most collective time within the steps.
	Loader, Exposed           attribute.Place
	LoaderKnown, ExposedKnown bool
	// Split cuts an interval of a rank (on its own clock) by the statement its training thread was in.
	Split func(rank int, v traceindex.Interval) []attribute.Share
	// Findings are those of the trace alone that the ranks were found to have, with what they cost a step of the run.
	Findings []Finding
	Quality  []traceindex.Warning
}

// RankPart is one rank of Parts.
type RankPart struct {
	// Number is the rank's own, −1 if unknown. BaseUnixNs is the unix time of the rank's time 0.
	Number     int
	BaseUnixNs int64
	// StepCount is the number of its steps, Span from the first one's start to the last one's end (without steps, of everything).
	StepCount int
	Span      traceindex.Interval
	// Collectives are its kernels of communication libraries in order of start.
	Collectives []traceindex.CollectiveKernel
}

// KernelTime is what the kernels of one name took within the steps.
type KernelTime struct {
	Name          string
	Ns, LongestNs int64
	Count         int
}

// FromParts diagnoses a run by its parts as Run does one in memory: the same words for the same numbers.
func FromParts(p *Parts, settings Settings) *Diagnosis {
	settings = settings.withDefaults()
	d := &Diagnosis{Steps: p.Steps, IdleSums: p.Idle, Quality: p.Quality}
	if d.IdleSums == nil {
		d.IdleSums = []IdleSum{}
	}
	d.order()
	d.sum(len(p.Ranks))
	run := partMeasures{p}
	d.Stragglers = stragglers(run)
	d.classify(run, settings)
	o := observer{d: d, settings: settings}
	for _, f := range p.Findings {
		if f.NsPerStep == 0 { // it has no price that could be too small
			o.found = append(o.found, f)
			continue
		}
		o.add(f)
	}
	o.straggler()
	d.Findings = o.found
	slices.SortStableFunc(d.Findings, func(x, y Finding) int { return cmp.Compare(y.NsPerStep, x.NsPerStep) })
	return d
}

// partMeasures answers from parts.
type partMeasures struct{ *Parts }

func (m partMeasures) ranks() int               { return len(m.Ranks) }
func (m partMeasures) rankName(rank int) string { return rankName(m.Ranks[rank].Number, rank) }
func (m partMeasures) stepCount(rank int) int   { return m.Ranks[rank].StepCount }

func (m partMeasures) kernelsWhere(test func(string) bool) kernelSum {
	var sum kernelSum
	for _, k := range m.Kernels {
		if !test(k.Name) {
			continue
		}
		sum.ns += k.Ns
		sum.count += k.Count
		if k.LongestNs > sum.top {
			sum.top, sum.name = k.LongestNs, k.Name
		}
	}
	return sum
}

func (m partMeasures) loaderPlace() (attribute.Place, bool)  { return m.Loader, m.LoaderKnown }
func (m partMeasures) exposedPlace() (attribute.Place, bool) { return m.Exposed, m.ExposedKnown }

func (m partMeasures) rendezvouses() []traceindex.Rendezvous {
	kernels := make([][]traceindex.CollectiveKernel, len(m.Ranks))
	for i := range m.Ranks {
		kernels[i] = m.Ranks[i].Collectives
	}
	joined, _ := traceindex.JoinCollectives(kernels)
	return joined
}

// collective finds a kernel by its Event, which FromParts' callers number by position.
func (m partMeasures) collective(rank int, e traceindex.EventID) (int64, bool) {
	r := &m.Ranks[rank]
	start := r.Collectives[e].StartUnixNs - r.BaseUnixNs
	return start, start >= r.Span.StartNs && start < r.Span.EndNs
}

func (m partMeasures) busiestPlace(rank int, spans []traceindex.Interval) (attribute.Place, bool) {
	return busiestPlace(spans, func(v traceindex.Interval) []attribute.Share { return m.Split(rank, v) })
}

// Everything are the settings under which a rank's findings are kept however small: the run decides what is notable.
var Everything = Settings{NotableShare: 1e-9}
