package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// Straggler is a rank that the others wait for in collectives.
type Straggler struct {
	// Rank is its place in Run.Ranks; Name what to call it: "rank 1".
	Rank int
	Name string
	// WaitNs is how long the other ranks' collective kernels waited for this rank, over all steps: latest start less own start,
	// the worst waiting rank's sum. WaitingName is that rank.
	WaitNs      int64
	WaitingName string
	// Collectives counts those in which it came last; Steps is the number of steps recorded per rank.
	Collectives, Steps int
	// Place is the statement where the late rank has spent most of the time it was late; Known is false if it is not known.
	Place attribute.Place
	Known bool
}

func (s *Straggler) message(d *Diagnosis) string {
	per := s.WaitNs / int64(max(1, s.Steps))
	where := ""
	if s.Known {
		where = ", which then is in " + s.Place.Function + " at " + at(s.Place)
	}
	return fmt.Sprintf("%s waits for %s %s of each %s step in %d collectives%s", s.WaitingName, s.Name, Duration(per), Duration(d.StepMeanNs), s.Collectives, where)
}

// rankName is how to call a rank: its own number where the trace says it (not −1), else its place.
func rankName(number, place int) string {
	if number >= 0 {
		return fmt.Sprintf("rank %d", number)
	}
	return fmt.Sprintf("trace %d", place+1)
}

// placedStragglers is for how many stragglers the line they are late in is looked up: the worst ones.
const placedStragglers = 16

// stragglers finds, for each rank, how long others waited for it. Waits are by the ranks' clocks.
func stragglers(run measured) []Straggler {
	waits := make([]map[int]int64, run.ranks()) // late rank → waiting rank → ns
	counts := make([]int, run.ranks())
	lateness := make([][]traceindex.Interval, run.ranks()) // when the late rank kept others waiting, on its own clock
	for i := range waits {
		waits[i] = map[int]int64{}
	}
	for _, v := range run.rendezvouses() {
		last := slices.MaxFunc(v.Parts, func(x, y traceindex.RendezvousPart) int { return cmp.Compare(x.LateNs, y.LateNs) })
		start, within := run.collective(last.Rank, last.Event)
		if last.LateNs <= 0 || !within {
			continue
		}
		var longest int64
		for _, p := range v.Parts {
			if p.Rank != last.Rank {
				waits[last.Rank][p.Rank] += p.WaitNs
				longest = max(longest, p.WaitNs)
			}
		}
		lateness[last.Rank] = append(lateness[last.Rank], traceindex.Interval{StartNs: start - longest, EndNs: start})
		counts[last.Rank]++
	}
	var out []Straggler
	for rank, by := range waits {
		s := Straggler{Rank: rank, Name: run.rankName(rank), Collectives: counts[rank], Steps: run.stepCount(rank)}
		for waiting, ns := range by {
			if ns > s.WaitNs || ns == s.WaitNs && ns > 0 && run.rankName(waiting) < s.WaitingName {
				s.WaitNs, s.WaitingName = ns, run.rankName(waiting)
			}
		}
		if s.WaitNs > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y Straggler) int { return cmp.Or(cmp.Compare(y.WaitNs, x.WaitNs), cmp.Compare(x.Rank, y.Rank)) })
	for i := range out[:min(placedStragglers, len(out))] {
		out[i].Place, out[i].Known = run.busiestPlace(out[i].Rank, lateness[out[i].Rank])
	}
	return out
}

func inSteps(ix *traceindex.Index, e traceindex.EventID) bool {
	span := ix.StepsSpan()
	return ix.Events.StartNs[e] >= span.StartNs && ix.Events.StartNs[e] < span.EndNs
}

// busiestPlace is the statement a rank's training thread was in for most of some intervals; split cuts one by statement.
func busiestPlace(spans []traceindex.Interval, split func(traceindex.Interval) []attribute.Share) (attribute.Place, bool) {
	type key struct {
		file string
		line int
	}
	ns := map[key]int64{}
	places := map[key]attribute.Place{}
	var best key
	for _, v := range union(spans) {
		for _, s := range split(v) {
			if !s.Known || s.Place.Line <= 0 {
				continue
			}
			k := key{s.Place.File, s.Place.Line}
			ns[k] += s.DurNs()
			places[k] = s.Place
			if ns[k] > ns[best] {
				best = k
			}
		}
	}
	p, ok := places[best]
	return p, ok
}

// exposedPlace is the line with the most collective time on it, or that it hangs at.
func exposedPlace(a *attribute.Attribution) (attribute.Place, bool) {
	type key struct {
		file string
		line int
	}
	ns := map[key]int64{}
	places := map[key]attribute.Place{}
	var best key
	for rank, ix := range a.Run.Ranks {
		for _, g := range a.GPU(rank) {
			if !traceindex.IsCollective(ix.Name(g.Event)) || !inSteps(ix, g.Event) {
				continue
			}
			p, ok := a.PlaceOf(g)
			if !ok || p.Line <= 0 {
				continue
			}
			k := key{p.File, p.Line}
			ns[k] += ix.GPUDurNs(g.Event)
			places[k] = p
			if ns[k] > ns[best] {
				best = k
			}
		}
	}
	p, ok := places[best]
	return p, ok
}
