package diagnose

import (
	"fmt"
	"strings"

	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

// reservedMemory compares what the caching allocator reserves with what is allocated, at the peak of the reservation.
func (o *observer) reservedMemory() {
	const gapBytes, gapFactor = 1 << 30, 2 // less is normal slack of a caching allocator
	for _, ix := range o.a.Run.Ranks {
		var reserved, allocated int64
		for _, m := range ix.Memory {
			reserved = max(reserved, m.TotalReserved)
			allocated = max(allocated, m.TotalAllocated)
		}
		if allocated > 0 && reserved-allocated >= gapBytes && reserved >= gapFactor*allocated {
			o.found = append(o.found, Finding{Rule: "TRC06", Name: "reserved-memory", Info: true,
				Message: fmt.Sprintf("the allocator reserves up to %.1f GB while at most %.1f GB are allocated: fragmentation, or a peak before the recording", float64(reserved)/1e9, float64(allocated)/1e9)})
			return
		}
	}
}

// allocatorChurn prices cudaMalloc and cudaFree within the steps: in steady state the caching allocator needs neither.
func (o *observer) allocatorChurn() {
	ns := map[placeKey]int64{}
	places := map[placeKey]attribute.Place{}
	var all int64
	var count int
	var best placeKey
	for rank, ix := range o.a.Run.Ranks {
		span := ix.StepsSpan()
		for _, call := range ix.CallsOf(traceindex.CallAlloc) {
			if start := ix.Events.StartNs[call]; start < span.StartNs || start >= span.EndNs {
				continue
			}
			count++
			all += ix.DurNs(call)
			if p, ok := o.a.Host(rank, call); ok && p.Line > 0 {
				k := keyOf(p)
				ns[k] += ix.DurNs(call)
				places[k] = p
				if ns[k] > ns[best] {
					best = k
				}
			}
		}
	}
	p, known := places[best]
	per := o.d.perStep(all)
	o.add(Finding{Rule: "TRC09", Name: "allocator-churn", Place: p, Known: known, NsPerStep: per,
		Message: fmt.Sprintf("%d calls of cudaMalloc and cudaFree take %s of each %s step: memory is given back and taken again (empty_cache, growing shapes, memory near its limit)", count/max(1, len(o.d.Steps)), Duration(per), o.step())})
}

// recompilation looks for compiled regions of one frame that keep getting new numbers after the first recorded step
// ("Torch-Compiled Region: FRAME/RECOMPILE", torch/_dynamo).
func (o *observer) recompilation() {
	for rank, ix := range o.a.Run.Ranks {
		if len(ix.Steps) < 2 {
			continue
		}
		seen := map[string]bool{}
		var fresh int
		var where traceindex.EventID = traceindex.NoEvent
		first, end := ix.RowsOf(ix.TrainingThread)
		for row := first; row < end; row++ {
			name, ok := strings.CutPrefix(ix.Name(row), "Torch-Compiled Region: ")
			if !ok || seen[name] {
				continue
			}
			seen[name] = true
			if frame, n, ok := strings.Cut(name, "/"); ok && n != "0" && ix.Events.StartNs[row] >= ix.Steps[0].EndNs && seen[frame+"/0"] {
				fresh++
				where = row
			}
		}
		if fresh == 0 {
			continue
		}
		f := Finding{Rule: "TRC08", Name: "recompilation", Message: fmt.Sprintf("%d compiled variants of functions compiled before first run after step %d: changing shapes or Python numbers make torch.compile specialise again", fresh, ix.Steps[0].Number)}
		f.Place, f.Known = o.a.Host(rank, where)
		o.found = append(o.found, f)
		return
	}
}

// quality turns what the trace lacks into findings without a price.
func (o *observer) quality() {
	for _, w := range o.d.Quality {
		o.found = append(o.found, Finding{Rule: "TRC16", Name: "trace-quality", Message: w.Message, Info: true})
	}
	for _, ix := range o.a.Run.Ranks {
		if len(ix.Steps) == 0 && ix.Events.Len() > 0 {
			o.found = append(o.found, Finding{Rule: "TRC16", Name: "trace-quality", Info: true,
				Message: "the trace has no steps: call prof.step() at the end of each training step, or record with `stepline record`"})
			return
		}
	}
}
