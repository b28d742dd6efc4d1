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

// Rendezvouses joins the NCCL kernels of the ranks: by process group and sequence number where the file has them (torch ≥ 2.7),
// else, within a group, by collective name and order, if all ranks ran the same number of them. Kernels that name no group are
// joined to nothing: unmatched lists them by rank.
func (r *Run) Rendezvouses() (joined []Rendezvous, unmatched [][]EventID) {
	type key struct {
		group, name string
		sequence    int64
		order       int
		ranks       string
	}
	found := map[key][]RendezvousPart{}
	counts := map[key]map[int]int{} // group and name without sequence → per rank
	unmatched = make([][]EventID, len(r.Ranks))
	for rank, ix := range r.Ranks {
		order := map[key]int{}
		for _, g := range ix.GPUEvents {
			if !IsCollective(ix.Name(g)) {
				continue
			}
			c, ok := ix.CollectiveOf(g)
			group := cmp.Or(c.GroupName, c.CommunicatorID)
			if !ok || group == "" {
				unmatched[rank] = append(unmatched[rank], g)
				continue
			}
			k := key{group: group, ranks: c.Ranks, sequence: c.Sequence}
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
			found[k] = append(found[k], RendezvousPart{Rank: rank, Event: g})
		}
	}
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
		ranks := map[int]bool{}
		for _, p := range parts {
			sound = sound && !ranks[p.Rank]
			ranks[p.Rank] = true
		}
		if !sound {
			for _, p := range parts {
				unmatched[p.Rank] = append(unmatched[p.Rank], p.Event)
			}
			continue
		}
		joined = append(joined, r.meet(Rendezvous{Group: k.group, Sequence: k.sequence, Parts: parts}))
	}
	start := func(v Rendezvous) int64 { return r.unixStart(v.Parts[0]) }
	slices.SortFunc(joined, func(x, y Rendezvous) int {
		return cmp.Or(cmp.Compare(start(x), start(y)), strings.Compare(x.Group, y.Group), cmp.Compare(x.Sequence, y.Sequence))
	})
	for _, rows := range unmatched {
		slices.Sort(rows)
	}
	return joined, unmatched
}

func (r *Run) unixStart(p RendezvousPart) int64 {
	ix := r.Ranks[p.Rank]
	return ix.Meta.BaseUnixNs + ix.Events.StartNs[p.Event]
}

// meet computes who was late.
func (r *Run) meet(v Rendezvous) Rendezvous {
	first, last := r.unixStart(v.Parts[0]), r.unixStart(v.Parts[0])
	for _, p := range v.Parts {
		first, last = min(first, r.unixStart(p)), max(last, r.unixStart(p))
	}
	for i := range v.Parts {
		p := &v.Parts[i]
		ix := r.Ranks[p.Rank]
		p.LateNs = r.unixStart(*p) - first
		p.WaitNs = min(last-r.unixStart(*p), ix.GPUDurNs(p.Event))
		if c, ok := ix.CollectiveOf(p.Event); ok && v.Name == "" {
			v.Name = c.Name
		}
	}
	return v
}

// collectivesFromOps gives NCCL kernels without metadata that of the op they were launched in.
func (ix *Index) collectivesFromOps() {
	defer func() { ix.opComms = nil }()
	if len(ix.opComms) == 0 {
		return
	}
	type detailFor struct{ detail, collective int32 }
	made := map[detailFor]int32{}
	for _, g := range ix.GPUEvents {
		d := ix.Events.Detail[g]
		if d < 0 || ix.GPU[d].Collective >= 0 || ix.Launch[g] == NoEvent || !IsCollective(ix.Name(g)) {
			continue
		}
		for p := ix.Launch[g]; p != NoEvent; p = ix.Parent[p] {
			c, ok := ix.opComms[p]
			if !ok {
				continue
			}
			key := detailFor{d, c}
			row, ok := made[key]
			if !ok {
				row = int32(len(ix.GPU))
				detail := ix.GPU[d]
				detail.Collective = c
				ix.GPU = append(ix.GPU, detail)
				made[key] = row
			}
			ix.Events.Detail[g] = row
			break
		}
	}
}

// CollectiveOf is the metadata of an NCCL kernel; false if the file has none for it.
func (ix *Index) CollectiveOf(e EventID) (Collective, bool) {
	d, ok := ix.GPUDetailOf(e)
	if !ok || d.Collective < 0 {
		return Collective{}, false
	}
	return ix.Collectives[d.Collective], true
}

// IsCollective reports whether a kernel's name is one of a communication library's (NCCL, RCCL, oneCCL, HCCL).
func IsCollective(kernel string) bool {
	for _, word := range []string{"nccl", "rccl", "oneccl", "hccl", "hcom_"} {
		if i := strings.Index(kernel, word); i >= 0 && i < 24 {
			return true
		}
	}
	return false
}

// JoinedSteps lists, for each step number that every rank with steps has, the ranks' steps in rank order (ranks without steps
// are left out).
func (r *Run) JoinedSteps() [][]Step {
	var out [][]Step
	byNumber := map[int][]Step{}
	ranks := 0
	for _, ix := range r.Ranks {
		if len(ix.Steps) == 0 {
			continue
		}
		ranks++
		seen := map[int]bool{}
		for _, s := range ix.Steps {
			if !seen[s.Number] {
				seen[s.Number] = true
				byNumber[s.Number] = append(byNumber[s.Number], s)
			}
		}
	}
	for _, steps := range byNumber {
		if len(steps) == ranks {
			out = append(out, steps)
		}
	}
	slices.SortFunc(out, func(x, y []Step) int { return cmp.Compare(x[0].Number, y[0].Number) })
	return out
}
