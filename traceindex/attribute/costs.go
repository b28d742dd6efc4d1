package attribute

import (
	"cmp"
	"slices"

	"stepline/traceindex"
)

// topKernels is how many kernels a line lists.
const topKernels = 8

// lineKey is what costs are summed by.
type lineKey struct {
	file string
	line int
}

// summing makes Costs of an Attribution.
type summing struct {
	a       *Attribution
	costs   *traceindex.Costs
	rows    map[lineKey]*traceindex.LineCost
	byPlace []*traceindex.LineCost
	kernels map[*traceindex.LineCost]map[kernelKey]*traceindex.KernelCost
	// ofRank finds a rank's entries of kernels by the numbers of their names: most events are alike.
	ofRank map[rankKernel]*traceindex.KernelCost
	none   unattributed
}

type rankKernel struct {
	row      *traceindex.LineCost
	name     traceindex.NameID
	backward bool
}

type kernelKey struct {
	name     string
	backward bool
}

// Costs sums the attribution by line over all ranks.
func (a *Attribution) Costs() *traceindex.Costs { return a.costsOf(a.ranks) }

// RankCosts sums one rank alone.
func (a *Attribution) RankCosts(rank int) *traceindex.Costs { return a.costsOf(a.ranks[rank : rank+1]) }

func (a *Attribution) costsOf(ranks []*rankPlaces) *traceindex.Costs {
	s := &summing{a: a, costs: &traceindex.Costs{Warnings: a.Warnings}, rows: map[lineKey]*traceindex.LineCost{}, byPlace: make([]*traceindex.LineCost, len(a.places.places)),
		kernels: map[*traceindex.LineCost]map[kernelKey]*traceindex.KernelCost{}, none: unattributed{places: a.places, rows: map[unattributedKey]*traceindex.Unattributed{}}}
	s.costs.Summary.Files = a.Run.Files
	s.costs.Summary.Ranks = len(ranks)
	var stepNs, steps int64
	for i, p := range ranks {
		s.ofRank = map[rankKernel]*traceindex.KernelCost{}
		s.addGPU(p, i, len(ranks))
		s.addCalls(p)
		s.addCPU(p)
		s.addIdle(p)
		s.addSyncs(p)
		summary := &s.costs.Summary
		summary.GPUTotalNs += p.ix.GPUTotalNs()
		summary.GPUBusyNs += p.ix.BusyNs()
		summary.CallLines = summary.CallLines || p.ix.HasCallLines()
		summary.Steps = max(summary.Steps, len(p.ix.Steps))
		summary.Device = cmp.Or(summary.Device, p.ix.Meta.Device)
		for _, step := range p.ix.Steps {
			stepNs += step.EndNs - step.StartNs
			steps++
		}
	}
	if steps > 0 {
		s.costs.Summary.StepMeanNs = stepNs / steps
	}
	s.finish()
	return s.costs
}

// row is the line's row, nil for a place that names no certain line.
func (s *summing) row(id placeID) *traceindex.LineCost {
	if id == noPlace {
		return nil
	}
	if row := s.byPlace[id]; row != nil {
		return row
	}
	p := &s.a.places.places[id]
	if !p.Certain() {
		return nil
	}
	key := lineKey{p.File, p.Line}
	row := s.rows[key]
	if row == nil {
		row = &traceindex.LineCost{File: p.File, Line: p.Line, Function: p.Function, ByConfidence: map[traceindex.Confidence]int64{}, Confidence: p.Confidence}
		s.rows[key] = row
	}
	s.byPlace[id] = row
	return row
}

// addGPU adds a rank's GPU events to their lines, or to what is unattributed.
func (s *summing) addGPU(p *rankPlaces, rank, ranks int) {
	for i, e := range p.ix.GPUEvents {
		g := p.gpu[i]
		ns := p.ix.GPUDurNs(e)
		if g.reason != onLine {
			s.none.add(g, ns)
			continue
		}
		row := s.row(g.place)
		if g.backward {
			row.BackwardNs += ns
		} else {
			row.SelfNs += ns
			if p.ix.Events.Category[e] == traceindex.CategoryMemcpy {
				addCopy(row, p.ix, e, ns)
			}
		}
		row.Kernels++
		if s.a.places.places[g.place].Compiled {
			row.CompiledNs += ns
		}
		row.ByConfidence[s.a.places.places[g.place].Confidence] += ns
		k := s.kernel(p.ix, rankKernel{row, p.ix.Events.Name[e], g.backward})
		k.Count++
		k.Ns += ns
		if ranks > 1 {
			if row.PerRankNs == nil {
				row.PerRankNs = make([]int64, ranks)
			}
			row.PerRankNs[rank] += ns
		}
	}
}

// kernel is the line's entry for a kernel's name.
func (s *summing) kernel(ix *traceindex.Index, of rankKernel) *traceindex.KernelCost {
	if k := s.ofRank[of]; k != nil {
		return k
	}
	byName := s.kernels[of.row]
	if byName == nil {
		byName = map[kernelKey]*traceindex.KernelCost{}
		s.kernels[of.row] = byName
	}
	key := kernelKey{ix.Names[of.name], of.backward}
	k := byName[key]
	if k == nil {
		k = &traceindex.KernelCost{Name: key.name, Backward: key.backward}
		byName[key] = k
	}
	s.ofRank[of] = k
	return k
}

func (s *summing) addCalls(p *rankPlaces) {
	for id, n := range p.calls {
		if row := s.row(id); row != nil {
			row.Calls += n
		}
	}
}

// finish sorts, labels and lists.
func (s *summing) finish() {
	for _, row := range s.rows {
		most := int64(0)
		for c := traceindex.ConfidenceFunction; c <= traceindex.ConfidenceExact; c++ {
			if ns := row.ByConfidence[c]; ns > most {
				most, row.Confidence = ns, c
			}
		}
		for _, k := range s.kernels[row] {
			row.TopKernels = append(row.TopKernels, *k)
		}
		slices.SortFunc(row.TopKernels, func(a, b traceindex.KernelCost) int {
			return cmp.Or(-cmp.Compare(a.Ns, b.Ns), cmp.Compare(a.Name, b.Name), boolOrder(a.Backward, b.Backward))
		})
		row.TopKernels = row.TopKernels[:min(topKernels, len(row.TopKernels))]
		s.costs.Lines = append(s.costs.Lines, *row)
	}
	slices.SortFunc(s.costs.Lines, func(a, b traceindex.LineCost) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	s.costs.Unattributed = s.none.list()
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
