package traceindex

import (
	"cmp"
	"slices"
	"strings"
)

// Rendezvous is one collective operation as the ranks ran it: all of them end together, so a rank that starts early waits for
// the last one.
type Rendezvous struct {
	Name     string // "allreduce"
	Group    string // process group, or the communicator where it has none
	Sequence int64  // −1 if matched by order
	Parts    []RendezvousPart
}

// RendezvousPart is one rank's kernel of a collective.
type RendezvousPart struct {
	Rank  int // place in Run.Ranks
	Event EventID
	// LateNs is how much later than the first rank this one started, WaitNs how long it waited for the last one (never more
	// than it ran). Both are by the ranks' clocks, which the file aligns only as well as the hosts' clocks are.
	LateNs, WaitNs int64
}

// CollectiveKernel is what is needed of one rank's kernel of a collective to join it with the other ranks'.
type CollectiveKernel struct {
	Event EventID
	// Name is the collective ("allreduce"), Group the process group (else the communicator; "" if neither is known), Ranks the
	// group's ranks as stated. Sequence is −1 if absent.
	Name, Group, Ranks string
	Sequence           int64
	// StartUnixNs is by the rank's host's clock, DurNs how long the kernel ran.
	StartUnixNs, DurNs int64
}

// CollectiveKernelOf describes a GPU event of a communication library; false for other events.
func (ix *Index) CollectiveKernelOf(e EventID) (CollectiveKernel, bool) {
	if !IsCollective(ix.Name(e)) {
		return CollectiveKernel{}, false
	}
	k := CollectiveKernel{Event: e, Sequence: -1, StartUnixNs: ix.Meta.BaseUnixNs + ix.Events.StartNs[e], DurNs: ix.GPUDurNs(e)}
	if c, ok := ix.CollectiveOf(e); ok {
		k.Name, k.Group, k.Ranks, k.Sequence = c.Name, cmp.Or(c.GroupName, c.CommunicatorID), c.Ranks, c.Sequence
	}
	return k, true
}

// Rendezvouses joins the NCCL kernels of the ranks (JoinCollectives). unmatched lists by rank those that are joined to nothing.
func (r *Run) Rendezvouses() (joined []Rendezvous, unmatched [][]EventID) {
	kernels := make([][]CollectiveKernel, len(r.Ranks))
	for rank, ix := range r.Ranks {
		for _, g := range ix.GPUEvents {
			if k, ok := ix.CollectiveKernelOf(g); ok {
				kernels[rank] = append(kernels[rank], k)
			}
		}
	}
	return JoinCollectives(kernels)
}

// meeting is a kernel of a rank on its way to the others.
type meeting struct {
	rank int
	*CollectiveKernel
}

// JoinCollectives joins the kernels of the ranks, each rank's in order of start: by process group and sequence number where they
// have them (torch ≥ 2.7), else, within a group, by collective name and order, if all ranks ran the same number of them.
// Kernels that name no group are joined to nothing: unmatched lists them by rank.
func JoinCollectives(kernels [][]CollectiveKernel) (joined []Rendezvous, unmatched [][]EventID) {
	type key struct {
		group, name string
		sequence    int64
		order       int
		ranks       string
	}
	found := map[key][]meeting{}
	counts := map[key]map[int]int{} // group and name without sequence → per rank
	unmatched = make([][]EventID, len(kernels))
	for rank := range kernels {
		order := map[key]int{}
		for i := range kernels[rank] {
			c := &kernels[rank][i]
			if c.Group == "" {
				unmatched[rank] = append(unmatched[rank], c.Event)
				continue
			}
			k := key{group: c.Group, ranks: c.Ranks, sequence: c.Sequence}
			if c.Sequence < 0 {
				k.name = c.Name
				bare := k
				k.order = order[bare]
				order[bare]++
				if counts[bare] == nil {
					counts[bare] = map[int]int{}
				}
				counts[bare][rank]++
			}
			found[k] = append(found[k], meeting{rank, c})
		}
	}
	starts := map[*RendezvousPart]int64{} // of each rendezvous' first part
	for k, parts := range found {
		sound := len(parts) > 1
		if k.sequence < 0 { // the n-th with the n-th only where nothing is missing
			n := -1
			bare := k
			bare.order = 0
			for _, c := range counts[bare] {
				sound = sound && (n < 0 || c == n)
				n = c
			}
		}
		for i := 1; i < len(parts); i++ { // ranks came in order: one that is there twice stands beside itself
			sound = sound && parts[i].rank != parts[i-1].rank
		}
		if !sound {
			for _, p := range parts {
				unmatched[p.rank] = append(unmatched[p.rank], p.Event)
			}
			continue
		}
		v := meet(Rendezvous{Group: k.group, Sequence: k.sequence}, parts)
		starts[&v.Parts[0]] = parts[0].StartUnixNs
		joined = append(joined, v)
	}
	slices.SortFunc(joined, func(x, y Rendezvous) int {
		return cmp.Or(cmp.Compare(starts[&x.Parts[0]], starts[&y.Parts[0]]), strings.Compare(x.Group, y.Group), cmp.Compare(x.Sequence, y.Sequence),
			cmp.Compare(x.Parts[0].Rank, y.Parts[0].Rank), cmp.Compare(x.Parts[0].Event, y.Parts[0].Event))
	})
	for _, rows := range unmatched {
		slices.Sort(rows)
	}
	return joined, unmatched
}

// meet computes who was late.
func meet(v Rendezvous, parts []meeting) Rendezvous {
	first, last := parts[0].StartUnixNs, parts[0].StartUnixNs
	for _, p := range parts {
		first, last = min(first, p.StartUnixNs), max(last, p.StartUnixNs)
	}
	v.Parts = make([]RendezvousPart, len(parts))
	for i, p := range parts {
		v.Parts[i] = RendezvousPart{Rank: p.rank, Event: p.Event, LateNs: p.StartUnixNs - first, WaitNs: min(last-p.StartUnixNs, p.DurNs)}
		v.Name = cmp.Or(v.Name, p.Name)
	}
	return v
}
