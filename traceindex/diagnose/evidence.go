package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

type placeKey struct {
	file, function string
	line           int
}

func keyOf(p attribute.Place) placeKey { return placeKey{p.File, p.Function, p.Line} }

// evidenceList collects the evidence, one line of source at most once.
type evidenceList struct {
	d        *Diagnosis
	run      measured
	settings Settings
	listed   map[placeKey]bool
}

// hostCauses are those in which the host is what the GPU waits for.
var hostCauses = []Cause{CauseSync, CauseLaunch, CausePython, CauseCopy, CauseAllocator}

// add lists what speaks for a class; the first class gets more room, and its lines all that the host does on them.
func (e *evidenceList) add(c candidate, first bool) {
	room := 2
	if first {
		room = 5
	}
	switch c.class {
	case ComputeBound:
		e.compute()
		return
	case CommunicationStall:
		e.communication()
	case DataStall:
		e.loading(c)
	}
	causes := c.causes
	if first && slices.Contains(hostCauses, c.causes[0]) {
		causes = hostCauses
	}
	e.gaps(causes, room)
}

func (d *Diagnosis) perStep(ns int64) int64 { return ns / int64(max(1, len(d.Steps))) }

func (e *evidenceList) append(message string, p attribute.Place, known bool, nsPerStep int64) {
	v := Evidence{Message: message, Place: p, Known: known, NsPerStep: nsPerStep}
	if e.d.StepMeanNs > 0 {
		v.Share = float64(nsPerStep) / float64(e.d.StepMeanNs)
	}
	e.d.Evidence = append(e.d.Evidence, v)
}

// gapGroup is the idle time at one place.
type gapGroup struct {
	place   attribute.Place
	known   bool
	ns      int64
	byCause [causeCount]int64
	// doing sums by what the host did.
	doing map[string]int64
}

// gaps names the lines with the most idle time of some causes.
func (e *evidenceList) gaps(causes []Cause, room int) {
	for _, g := range e.d.gapGroups(causes) {
		ns := e.d.perStep(g.ns)
		if room == 0 || float64(ns) < e.settings.NotableShare*float64(e.d.StepMeanNs) {
			return
		}
		if g.known && e.listed[keyOf(g.place)] {
			continue
		}
		e.listed[keyOf(g.place)] = g.known
		e.append(e.d.gapMessage(g, ns), g.place, g.known, ns)
		room--
	}
}

// gapGroups sums gaps of some causes by place, largest first.
func (d *Diagnosis) gapGroups(causes []Cause) []*gapGroup {
	byKey := map[placeKey]*gapGroup{}
	var groups []*gapGroup
	for sum := range d.EachIdle() {
		if !slices.Contains(causes, sum.Cause) {
			continue
		}
		k := keyOf(sum.Place)
		g := byKey[k]
		if g == nil {
			g = &gapGroup{place: sum.Place, known: sum.Known, doing: map[string]int64{}}
			byKey[k] = g
			groups = append(groups, g)
		}
		g.ns += sum.Ns
		g.byCause[sum.Cause] += sum.Ns
		if strings.HasPrefix(sum.Doing, "aten::") {
			g.doing[sum.Doing] += sum.Ns
		}
	}
	slices.SortStableFunc(groups, func(x, y *gapGroup) int {
		return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(x.place.File, y.place.File), cmp.Compare(x.place.Line, y.place.Line))
	})
	return groups
}

// gapReason completes "holds the GPU idle 231 ms of each 282 ms step …".
var gapReason = [...]string{
	CauseUnknown: "for no recorded cause", CauseLoader: "while the loader makes the batch", CauseSync: "because the host waited for the GPU there",
	CauseLaunch: "while the host dispatches and launches work", CauseCopy: "for copies that block the host",
	CauseCollective: "in a collective on the host", CauseAllocator: "allocating or freeing GPU memory", CausePython: "with Python and CPU work",
	CauseProfiler: "in the profiler",
}

// gapMessage names the place, the time, and the causes with at least a quarter of it.
func (d *Diagnosis) gapMessage(g *gapGroup, nsPerStep int64) string {
	subject := "time outside the workspace's code"
	if g.known {
		subject = g.place.Function + " at " + at(g.place)
	}
	var causes []Cause
	for c, ns := range g.byCause {
		if ns*4 >= g.ns {
			causes = append(causes, Cause(c))
		}
	}
	slices.SortStableFunc(causes, func(x, y Cause) int { return cmp.Compare(g.byCause[y], g.byCause[x]) })
	reasons := make([]string, len(causes))
	for i, c := range causes {
		reasons[i] = gapReason[c]
	}
	message := fmt.Sprintf("%s holds the GPU idle %s of each %s step %s", subject, Duration(nsPerStep), Duration(d.StepMeanNs), strings.Join(reasons, " and "))
	if op := largest(g.doing); op != "" && g.doing[op]*3 >= g.ns {
		message += fmt.Sprintf(", %s of it in %s", Duration(d.perStep(g.doing[op])), op)
	}
	return message
}

func largest(sums map[string]int64) string {
	best := ""
	for name, ns := range sums {
		if best == "" || ns > sums[best] || ns == sums[best] && name < best {
			best = name
		}
	}
	return best
}

// loading sums up the loader's gaps on the line that asks for batches.
func (e *evidenceList) loading(c candidate) {
	var ns int64
	for i := range e.d.Steps {
		ns += e.d.Steps[i].Idle()[CauseLoader]
	}
	place, known := e.run.loaderPlace()
	subject := "waiting for the loader"
	if known {
		subject = "the loader at " + at(place)
	}
	per := e.d.perStep(ns)
	e.append(fmt.Sprintf("%s holds the GPU idle %s of each %s step", subject, Duration(per), Duration(e.d.StepMeanNs)), place, known, per)
	if known && e.d.gapsAt(place, CauseLoader)*10 >= ns*9 {
		e.listed[keyOf(place)] = true // the line itself has nearly all of it: no need to say it twice
	}
}

func (d *Diagnosis) gapsAt(p attribute.Place, cause Cause) int64 {
	var ns int64
	for sum := range d.EachIdle() {
		if sum.Cause == cause && sum.Known && keyOf(sum.Place) == keyOf(p) {
			ns += sum.Ns
		}
	}
	return ns
}

// loaderPlace is the statement that asks a loader for batches.
func loaderPlace(a *attribute.Attribution) (attribute.Place, bool) {
	for rank := range a.Run.Ranks {
		if p, ok := LoaderOf(a, rank); ok {
			return p, true
		}
	}
	return attribute.Place{}, false
}

// LoaderOf is the statement of one rank of an attributed run that asks a loader for batches, false if none does.
func LoaderOf(a *attribute.Attribution, rank int) (attribute.Place, bool) {
	ix := a.Run.Ranks[rank]
	first, end := ix.RowsOf(ix.TrainingThread)
	for row := first; row < end; row++ {
		if l, ok := ix.LocationOf(row); ok && isLoaderFrame(l) {
			if p, ok := a.Host(rank, row); ok && p.Line > 0 {
				return p, true
			}
		}
	}
	return attribute.Place{}, false
}

// compute says how busy the GPU is and with what.
func (e *evidenceList) compute() {
	d := e.d
	all := e.run.kernelsWhere(func(name string) bool { return !traceindex.IsCollective(name) })
	if all.ns == 0 {
		return
	}
	low := e.run.kernelsWhere(isLowIntensity)
	simt := e.run.kernelsWhere(func(name string) bool { return TensorCoresOf(name) == TensorCoresUnused })
	message := fmt.Sprintf("kernels run %s of each %s step; %s of their time is in kernels that move memory more than they compute", Duration(d.perStep(d.computeNs())), Duration(d.StepMeanNs), percent(float64(low.ns)/float64(all.ns)))
	if simt.ns*100 >= all.ns {
		message += fmt.Sprintf(", %s in matrix kernels without tensor cores", percent(float64(simt.ns)/float64(all.ns)))
	}
	e.append(message, attribute.Place{}, false, d.perStep(d.computeNs()))
}

func (d *Diagnosis) computeNs() int64 {
	var sum int64
	for i := range d.Steps {
		sum += d.Steps[i].ComputeNs
	}
	return sum
}

// communication names the line whose collectives nothing hides, and who is waited for.
func (e *evidenceList) communication() {
	d := e.d
	if len(d.Stragglers) > 0 {
		s := d.Stragglers[0]
		e.append(s.message(d), s.Place, s.Known, s.WaitNs/int64(max(1, s.Steps)))
	}
	var exposed, steps int64
	for i := range d.Steps {
		if d.JudgedRank < 0 || d.Steps[i].Rank == d.JudgedRank {
			exposed += d.Steps[i].ExposedCommunicationNs
			steps++
		}
	}
	if exposed > 0 {
		where := ""
		if d.JudgedRank >= 0 {
			where = " of " + e.run.rankName(d.JudgedRank)
		}
		place, known := e.run.exposedPlace()
		e.append(fmt.Sprintf("collectives run %s of each %s step%s with no compute beside them, waiting included", Duration(exposed/steps), Duration(d.StepMeanNs), where), place, known, exposed/steps)
	}
}
