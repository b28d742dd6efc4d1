package traceindex

import (
	"cmp"
	"slices"
	"strings"
)

// collectivesFromOps gives NCCL kernels without metadata that of the op they were launched in.
func (ix *Index) collectivesFromOps() {
	defer func() { ix.opComms = nil }()
	if len(ix.opComms) == 0 {
		return
	}
	setCollective := detailSetter(ix, func(d *GPUDetail, collective int32) { d.Collective = collective })
	for _, g := range ix.GPUEvents {
		d := ix.Events.Detail[g]
		if d < 0 || ix.GPU[d].Collective >= 0 || ix.Launch[g] == NoEvent || !IsCollective(ix.Name(g)) {
			continue
		}
		for p := ix.Launch[g]; p != NoEvent; p = ix.Parent[p] {
			if c, ok := ix.opComms[p]; ok {
				setCollective(g, c)
				break
			}
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
	const longest, within = len("oneccl"), 24 // names of templates run to thousands of characters
	kernel = kernel[:min(len(kernel), within+longest-1)]
	for _, word := range [...]string{"nccl", "rccl", "oneccl", "hccl", "hcom_"} {
		if i := strings.Index(kernel, word); i >= 0 && i < within {
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
