package analysis

import (
	"cmp"
	"slices"

	"stepline/report"
	"stepline/traceindex"
	"stepline/traceindex/ncu"
)

// kernelKey is a kernel at a line.
type kernelKey struct {
	file, function string
	line           int
	backward       bool
	kernel         ncu.Kernel
}

// kernelsPart joins the launches of Nsight Compute's report to the trace's kernels by name, grid, block and order, and so to the
// lines that launched them.
func kernelsPart(l *Loaded, profiled *ncu.Report) *report.KernelsPart {
	part := &report.KernelsPart{Files: profiled.Files, Device: profiled.Device, Launches: len(profiled.Launches), Kernels: []report.KernelRow{}}
	if len(l.Run.Ranks) == 0 {
		part.Kernels = loneKernels(profiled)
		return part
	}
	rows := map[kernelKey]*report.KernelRow{} // nil: the report has no such launch
	var order []kernelKey
	ns := map[kernelKey]int64{}
	for rank, ix := range l.Run.Ranks {
		nth := map[ncu.Kernel]int{}
		for _, g := range l.Attribution.GPU(rank) {
			if ix.Events.Category[g.Event] != traceindex.CategoryKernel {
				continue
			}
			key := kernelKey{backward: g.Backward, kernel: kernelOf(ix, g.Event)}
			if place, ok := l.Attribution.PlaceOf(g); ok && place.Line > 0 && !place.Missing {
				key.file, key.line, key.function = place.File, place.Line, place.Function
			}
			n := nth[key.kernel]
			nth[key.kernel]++
			row, known := rows[key]
			if !known {
				if row = kernelRow(profiled, key, n); row != nil {
					order = append(order, key)
				}
				rows[key] = row
			}
			if row != nil {
				row.Launches++
				ns[key] += ix.GPUDurNs(g.Event)
			}
		}
	}
	for _, key := range order {
		row := rows[key]
		row.CudaUs = report.Microseconds(ns[key])
		part.Kernels = append(part.Kernels, *row)
	}
	slices.SortStableFunc(part.Kernels, func(a, b report.KernelRow) int {
		return cmp.Or(cmp.Compare(b.CudaUs, a.CudaUs), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kernel, b.Kernel))
	})
	return part
}

func kernelOf(ix *traceindex.Index, event traceindex.EventID) ncu.Kernel {
	kernel := ncu.Kernel{Name: ix.Name(event)}
	if detail, ok := ix.GPUDetailOf(event); ok {
		kernel.Grid, kernel.Block = detail.Grid, detail.Block
	}
	return kernel
}

// kernelRow is the row of a trace's kernel, the n-th launch of its like; nil if the report does not have it.
func kernelRow(profiled *ncu.Report, key kernelKey, n int) *report.KernelRow {
	launch, how := profiled.ForKernel(key.kernel.Name, key.kernel.Grid, key.kernel.Block, n)
	if how == ncu.NotFound {
		return nil
	}
	row := launchRow(launch)
	row.File, row.Line, row.Function, row.Backward, row.Kernel = key.file, key.line, key.function, key.backward, key.kernel.Name
	row.JoinedBy = map[ncu.How]string{ncu.SameName: "name", ncu.SameShape: "shape", ncu.SameKernel: "kernel"}[how]
	return &row
}

func launchRow(launch *ncu.Launch) report.KernelRow {
	row := report.KernelRow{Kernel: launch.Kernel, Limiter: string(launch.Limiter(ncu.DefaultThresholds)), Sentence: launch.Sentence(ncu.DefaultThresholds)}
	if advice := launch.Advice(); advice != nil {
		row.Advice = advice.Short()
	}
	return row
}

// loneKernels are the report's own launches, equal ones once; there is no trace that knows their lines.
func loneKernels(profiled *ncu.Report) []report.KernelRow {
	rows := []report.KernelRow{}
	seen := map[string]int{}
	for i := range profiled.Launches {
		row := launchRow(&profiled.Launches[i])
		key := row.Kernel + "\x00" + row.Sentence + "\x00" + row.Advice
		if at, ok := seen[key]; ok {
			rows[at].Launches++
			continue
		}
		seen[key] = len(rows)
		row.Launches = 1
		rows = append(rows, row)
	}
	return rows
}
