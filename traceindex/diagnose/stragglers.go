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

// rankName is how to call a rank: its own number where the trace says it, else its place.
func rankName(run *traceindex.Run, rank int) string {
	if n := run.Ranks[rank].Meta.Rank; n >= 0 {
		return fmt.Sprintf("rank %d", n)
	}
	return fmt.Sprintf("trace %d", rank+1)
}

// stragglers finds, for each rank, how long others waited for it. Waits are by the ranks' clocks.
func stragglers(a *attribute.Attribution) []Straggler {
	joined, _ := a.Run.Rendezvouses()
	waits := make([]map[int]int64, len(a.Run.Ranks)) // late rank → waiting rank → ns
	counts := make([]int, len(a.Run.Ranks))
	lateness := make([][]traceindex.Interval, len(a.Run.Ranks)) // when the late rank kept others waiting, on its own clock
	for i := range waits {
		waits[i] = map[int]int64{}
	}
	for _, v := range joined {
		last := slices.MaxFunc(v.Parts, func(x, y traceindex.RendezvousPart) int { return cmp.Compare(x.LateNs, y.LateNs) })
		if last.LateNs <= 0 || !inSteps(a.Run.Ranks[last.Rank], last.Event) {
			continue
		}
		var longest int64
		for _, p := range v.Parts {
			if p.Rank != last.Rank {
				waits[last.Rank][p.Rank] += p.WaitNs
				longest = max(longest, p.WaitNs)
			}
		}
		start := a.Run.Ranks[last.Rank].Events.StartNs[last.Event]
		lateness[last.Rank] = append(lateness[last.Rank], traceindex.Interval{StartNs: start - longest, EndNs: start})
		counts[last.Rank]++
	}
	var out []Straggler
	for rank, by := range waits {
		s := Straggler{Rank: rank, Name: rankName(a.Run, rank), Collectives: counts[rank], Steps: len(a.Run.Ranks[rank].Steps)}
		for waiting, ns := range by {
			if ns > s.WaitNs || ns == s.WaitNs && ns > 0 && rankName(a.Run, waiting) < s.WaitingName {
				s.WaitNs, s.WaitingName = ns, rankName(a.Run, waiting)
			}
		}
		if s.WaitNs > 0 {
			s.Place, s.Known = busiestPlace(a, rank, lateness[rank])
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y Straggler) int { return cmp.Or(cmp.Compare(y.WaitNs, x.WaitNs), cmp.Compare(x.Rank, y.Rank)) })
	return out
}

func inSteps(ix *traceindex.Index, e traceindex.EventID) bool {
	span := ix.StepsSpan()
	return ix.Events.StartNs[e] >= span.StartNs && ix.Events.StartNs[e] < span.EndNs
}

// busiestPlace is the statement a rank's training thread was in for most of some intervals.
func busiestPlace(a *attribute.Attribution, rank int, spans []traceindex.Interval) (attribute.Place, bool) {
	type key struct {
		file string
		line int
	}
	ns := map[key]int64{}
	places := map[key]attribute.Place{}
	var best key
	for _, v := range union(spans) {
		for _, s := range a.Split(rank, v) {
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
