package nsys

import (
	"math"
	"strconv"

	"stepline/traceindex"
)

// enums are the export's own names of numbers; the numbers are stable, the tables may be missing.
type enums struct {
	copyKinds map[int64]string
	memKinds  map[int64]string
	syncTypes map[int64]string
}

func (r *reader) readEnums() error {
	r.enums = enums{
		copyKinds: map[int64]string{1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"},
		memKinds:  map[int64]string{0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device Static", 6: "Managed Static"},
		syncTypes: map[int64]string{1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"},
	}
	// Label tables came with schema 2.x; where one names a memory kind, it counts.
	return r.db.each(r.ctx, "ENUM_CUDA_MEM_KIND", []string{"id", "label"}, func(w row) error {
		if id, ok := w.int(0); ok && w.text(1) != "" && len(r.enums.memKinds) < 100 {
			r.enums.memKinds[id] = w.text(1)
		}
		return nil
	})
}

func noDetail() traceindex.GPUDetail {
	nan := float32(math.NaN())
	return traceindex.GPUDetail{Bytes: -1, OccupancyPercent: nan, BlocksPerSM: nan, Collective: -1}
}

// gpuEvent adds one GPU event. Its columns begin with start, end, deviceId, contextId, streamId, correlationId, globalPid.
var gpuColumns = []string{"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"}

func (r *reader) gpuEvent(w row, category traceindex.Category, name string, detail traceindex.GPUDetail) {
	c := r.captureOf(w.int(6))
	if c == nil {
		r.dropped++
		return
	}
	start, dur, ok := r.span(w)
	if !ok {
		return
	}
	detail.Device, detail.Stream = w.number(2, 0), w.number(4, 0)
	c.b.Add(traceindex.Event{
		StartNs: start, DurNs: dur, Name: c.name(name), Category: category,
		Thread: c.stream(detail.Device, w.number(3, 0), detail.Stream),
		Link:   uint64(max(w.number(5, 0), 0)), Detail: c.b.AddGPU(detail), EvIdx: r.otherIdx,
	})
}

func (r *reader) readKernels() error {
	columns := append(append([]string{}, gpuColumns...), "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
		"registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "graphNodeId", "mangledName")
	return r.db.each(r.ctx, tableKernel, columns, func(w row) error {
		d := noDetail()
		for i := range 3 {
			d.Grid[i], d.Block[i] = small(w.number(9+i, 0)), small(w.number(12+i, 0))
		}
		d.Registers = small(w.number(15, 0))
		d.SharedBytes = small(w.number(16, 0) + w.number(17, 0))
		d.GraphNode = uint64(max(w.number(18, 0), 0))
		r.gpuEvent(w, traceindex.CategoryKernel, r.kernelName(w), d)
		return nil
	})
}

// kernelName is the demangled name, else the short one.
func (r *reader) kernelName(w row) string {
	for _, column := range []int{7, 19, 8} {
		if id, ok := w.int(column); ok {
			if name := r.strings[id]; name != "" {
				return name
			}
		} else if name := w.text(column); name != "" {
			return name // some tools write the text itself
		}
	}
	return "unnamed kernel"
}

func small(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

// readGraphs adds CUDA graphs traced as a whole (the default, --cuda-graph-trace=graph): the export knows nothing of what ran in
// them.
func (r *reader) readGraphs() error {
	columns := append(append([]string{}, gpuColumns...), "graphId")
	return r.db.each(r.ctx, tableGraph, columns, func(w row) error {
		name := "CUDA graph"
		if id, ok := w.int(7); ok {
			name += " " + strconv.FormatInt(id, 10)
		}
		r.gpuEvent(w, traceindex.CategoryKernel, name, noDetail())
		return nil
	})
}

func (r *reader) readCopies() error {
	columns := append(append([]string{}, gpuColumns...), "bytes", "copyKind", "srcKind", "dstKind", "graphNodeId")
	return r.db.each(r.ctx, tableMemcpy, columns, func(w row) error {
		d := noDetail()
		d.Bytes = w.number(7, -1)
		d.GraphNode = uint64(max(w.number(11, 0), 0))
		name := "Memcpy"
		kind := r.enums.copyKinds[w.number(8, 0)]
		from, hasFrom := w.int(9)
		to, hasTo := w.int(10)
		source, target := r.enums.memKinds[from], r.enums.memKinds[to]
		if kind != "" {
			name += " " + kind
		}
		if hasFrom && hasTo && source != "" && target != "" {
			name += " (" + source + " -> " + target + ")"
		}
		r.gpuEvent(w, traceindex.CategoryMemcpy, name, d)
		return nil
	})
}

func (r *reader) readMemsets() error {
	columns := append(append([]string{}, gpuColumns...), "bytes", "memKind", "graphNodeId")
	return r.db.each(r.ctx, tableMemset, columns, func(w row) error {
		d := noDetail()
		d.Bytes = w.number(7, -1)
		d.GraphNode = uint64(max(w.number(9, 0), 0))
		name := "Memset"
		if kind, ok := w.int(8); ok && r.enums.memKinds[kind] != "" {
			name += " (" + r.enums.memKinds[kind] + ")"
		}
		r.gpuEvent(w, traceindex.CategoryMemset, name, d)
		return nil
	})
}

// readSyncs adds synchronisations as the device sees them; the calls that wait are among the runtime calls.
func (r *reader) readSyncs() error {
	columns := append(append([]string{}, gpuColumns...), "syncType", "deprecatedSyncType")
	return r.db.each(r.ctx, tableSync, columns, func(w row) error {
		c := r.captureOf(w.int(6))
		if c == nil {
			return nil
		}
		start, dur, ok := r.span(w)
		if !ok {
			return nil
		}
		name := r.enums.syncTypes[w.number(7, w.number(8, 0))]
		if name == "" {
			name = "Sync"
		}
		device, stream := w.number(2, 0), w.number(4, 0)
		const wholeContext = 1<<32 - 1 // CUPTI_SYNCHRONIZATION_INVALID_VALUE: no single stream
		if stream == wholeContext || stream < 0 {
			stream = 0
		}
		c.b.Add(traceindex.Event{StartNs: start, DurNs: dur, Name: c.name(name), Category: traceindex.CategorySync,
			Thread: c.stream(device, w.number(3, 0), stream), Link: uint64(max(w.number(5, 0), 0)), Detail: -1, EvIdx: r.otherIdx})
		return nil
	})
}
