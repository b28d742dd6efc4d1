package diagnose

import "stepline/traceindex"

// workIntervals are a rank's GPU work by kind, each the union over streams.
type workIntervals struct {
	all, kernels, compute []traceindex.Interval
}

// newWorkIntervals sorts GPU work into kernels that compute (kernels and memsets that are no collective), kernels with collectives, and all.
func newWorkIntervals(ix *traceindex.Index) workIntervals {
	var compute, noCopies []traceindex.Interval
	collective := map[traceindex.NameID]bool{}
	for _, e := range ix.GPUEvents {
		v := traceindex.Interval{StartNs: ix.Events.StartNs[e], EndNs: ix.Events.StartNs[e] + ix.GPUDurNs(e)}
		if ix.Events.Category[e] == traceindex.CategoryMemcpy {
			continue
		}
		noCopies = append(noCopies, v)
		id := ix.Events.Name[e]
		is, known := collective[id]
		if !known {
			is = traceindex.IsCollective(ix.Names[id])
			collective[id] = is
		}
		if !is {
			compute = append(compute, v)
		}
	}
	return workIntervals{all: ix.BusyIntervals(), kernels: union(noCopies), compute: union(compute)}
}

// within splits a span's busy time: compute first, then collectives beside no compute, then copies beside no kernel.
func (w workIntervals) within(span traceindex.Interval) (computeNs, copyNs, exposedNs int64) {
	computeNs = total(clip(w.compute, span))
	kernels := total(clip(w.kernels, span))
	return computeNs, total(clip(w.all, span)) - kernels, kernels - computeNs
}

func total(all []traceindex.Interval) int64 {
	var sum int64
	for _, v := range all {
		sum += v.DurNs()
	}
	return sum
}
