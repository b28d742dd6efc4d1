package diagnose

import (
	"cmp"
	"slices"

	"stepline/traceindex"
)

// order sorts the steps by number, then rank.
func (d *Diagnosis) order() {
	slices.SortStableFunc(d.Steps, func(x, y Step) int {
		return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(x.Rank, y.Rank))
	})
}

// sum fills the mean step, the shares and the share of idle time without a cause.
func (d *Diagnosis) sum(ranks int) {
	var all, idle, unknown int64
	for i := range d.Steps {
		all += d.Steps[i].DurNs()
		for cause, ns := range d.Steps[i].Idle() {
			idle += ns
			if Cause(cause) == CauseUnknown {
				unknown += ns
			}
		}
	}
	if all == 0 {
		return
	}
	d.StepMeanNs = all / int64(len(d.Steps))
	if idle > 0 {
		d.UnknownShare = float64(unknown) / float64(idle)
	}
	d.JudgedRank = -1
	steps := make([]*Step, len(d.Steps))
	for i := range d.Steps {
		steps[i] = &d.Steps[i]
	}
	d.Shares = sharesOf(steps)
	// Ranks meet in collectives, so the step is as long on each of them: what a rank does while others wait for it looks like
	// work there and like waiting elsewhere, and a mean would hide both. The rank that waits most shows what the run loses.
	byRank := make([][]*Step, ranks)
	for i := range d.Steps {
		byRank[d.Steps[i].Rank] = append(byRank[d.Steps[i].Rank], &d.Steps[i])
	}
	for rank := 0; ranks > 1 && rank < ranks; rank++ {
		own := sharesOf(byRank[rank])
		if own.Communication > d.Shares.Communication && own.Communication == own.largest() {
			d.Shares, d.JudgedRank = own, rank
		}
	}
}

// sharesOf sums steps.
func sharesOf(steps []*Step) Shares {
	var byCause IdleByCause
	var all, compute, copies, exposed int64
	for _, s := range steps {
		all += s.DurNs()
		compute, copies, exposed = compute+s.ComputeNs, copies+s.CopyNs, exposed+s.ExposedCommunicationNs
		for cause, ns := range s.Idle() {
			byCause[cause] += ns
		}
	}
	if all == 0 {
		return Shares{}
	}
	share := func(ns int64) float64 { return float64(ns) / float64(all) }
	return Shares{
		Data: share(byCause[CauseLoader]), Communication: share(exposed + byCause[CauseCollective]), Sync: share(byCause[CauseSync]),
		Launch: share(byCause[CauseLaunch] + byCause[CausePython]), Copy: share(copies + byCause[CauseCopy]), Compute: share(compute),
		Other: share(byCause[CauseAllocator] + byCause[CauseProfiler] + byCause[CauseUnknown]),
	}
}

// largest is the largest share that a class is named after.
func (s Shares) largest() float64 {
	return max(s.Data, s.Communication, s.Sync, s.Launch, s.Copy, s.Compute)
}

// candidate is a class with the share of the step that speaks for it.
type candidate struct {
	class  Class
	share  float64
	causes []Cause
}

func (d *Diagnosis) candidates() []candidate {
	sh := d.Shares
	all := []candidate{
		{DataStall, sh.Data, []Cause{CauseLoader}},
		{CommunicationStall, sh.Communication, []Cause{CauseCollective}},
		{SyncBound, sh.Sync, []Cause{CauseSync}},
		{LaunchBound, sh.Launch, []Cause{CauseLaunch, CausePython}},
		{MemoryBound, sh.Copy, []Cause{CauseCopy, CauseAllocator}},
		{ComputeBound, sh.Compute, nil},
	}
	slices.SortStableFunc(all, func(x, y candidate) int { return cmp.Compare(y.share, x.share) })
	return all
}

// classify names what bounds the steps and lists why.
func (d *Diagnosis) classify(run measured, settings Settings) {
	d.Class = Balanced
	if !slices.ContainsFunc(d.Steps, func(s Step) bool { return s.BusyNs > 0 }) {
		d.Class = Unknown
		return
	}
	all := d.candidates()
	if all[0].share >= settings.DominantShare && all[0].share-all[1].share >= settings.Lead {
		d.Class = all[0].class
	}
	if d.Class == ComputeBound {
		d.Class = d.computeOrMemory(run, settings)
	}
	e := evidenceList{d: d, run: run, settings: settings, listed: map[placeKey]bool{}}
	for i, c := range all {
		if c.share >= settings.NotableShare {
			e.add(c, i == 0)
		}
	}
}

// computeOrMemory tells by the kernels' names whether the compute time is memory traffic.
func (d *Diagnosis) computeOrMemory(run measured, settings Settings) Class {
	all := run.kernelsWhere(func(name string) bool { return !traceindex.IsCollective(name) })
	low := run.kernelsWhere(isLowIntensity)
	if all.ns > 0 && float64(low.ns) >= settings.MemoryKernelShare*float64(all.ns) {
		return MemoryBound
	}
	return ComputeBound
}
