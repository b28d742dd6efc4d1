package report

import "strconv"

// bytesPerGB is NCCL's: bandwidths in its tools are 10⁹ bytes a second.
const bytesPerGB = 1e9

// beside are the figures of inputs other than traces.
func (m metrics) beside(b *Beside) {
	if b == nil {
		return
	}
	if b.Kernels != nil {
		m.kernels(b.Kernels)
	}
	if b.NCCL != nil {
		m.nccl(b.NCCL)
	}
	if b.Memory != nil {
		m.memory(b.Memory)
	}
}

func (m metrics) kernels(k *KernelsPart) {
	limited := m.gauge("kernel_gpu_seconds", "GPU time over the trace of kernels that Nsight Compute profiled, by what limits them.", "limiter")
	for _, row := range k.Kernels {
		limited.WithLabelValues(row.Limiter).Add(row.CudaUs / 1e6)
	}
}

func (m metrics) nccl(n *NCCLPart) {
	findings := m.gauge("nccl_findings", "What NCCL's logs show that costs time or hangs the job, by code; severe: it hangs or fails.", "code", "severe")
	for _, row := range n.Findings {
		findings.WithLabelValues(row.Code, strconv.FormatBool(row.Severe)).Inc()
	}
	trace := m.gauge("collective_bus_bytes_per_second", "Median bus bandwidth of the trace's collectives, by size in bytes.", "collective", "bytes")
	measured := m.gauge("collective_bus_measured_bytes_per_second", "Bus bandwidth that nccl-tests measured at the nearest size that is not larger.", "collective", "bytes")
	for _, row := range n.Bandwidth {
		size := strconv.FormatInt(row.Bytes, 10)
		if row.TraceGBps > 0 {
			trace.WithLabelValues(row.Collective, size).Set(row.TraceGBps * bytesPerGB)
		}
		if row.MeasuredGBps > 0 {
			measured.WithLabelValues(row.Collective, size).Set(row.MeasuredGBps * bytesPerGB)
		}
	}
}

// memory takes the largest of several snapshots of one device: they are moments of one run.
func (m metrics) memory(p *MemoryPart) {
	peak := map[int]int64{}
	held := map[int]int64{}
	for _, row := range p.Devices {
		peak[row.Device] = max(peak[row.Device], row.PeakBytes)
		held[row.Device] = max(held[row.Device], row.HeldBytes)
	}
	peaks := m.gauge("memory_peak_bytes", "Most GPU memory held by tensors at once while the snapshot was recorded, by device.", "device")
	holds := m.gauge("memory_held_bytes", "GPU memory held by tensors at the moment of the snapshot, by device.", "device")
	for device := range peak {
		peaks.WithLabelValues(strconv.Itoa(device)).Set(float64(peak[device]))
		holds.WithLabelValues(strconv.Itoa(device)).Set(float64(held[device]))
	}
	exhausted := m.gauge("memory_exhausted_events", "Allocations in the snapshot that found no memory, by device.", "device")
	for _, row := range p.Devices {
		exhausted.WithLabelValues(strconv.Itoa(row.Device)).Add(float64(row.OutOfMemory))
	}
	reserved := m.gauge("memory_reserved_bytes", "GPU memory that the allocator holds, by snapshot.", "snapshot")
	split := m.gauge("memory_split_ratio", "Share of the reserved memory in free pieces of segments partly in use, by snapshot.", "snapshot")
	for _, row := range p.Fragmentation {
		reserved.WithLabelValues(Printable(row.Source)).Set(float64(row.ReservedBytes))
		split.WithLabelValues(Printable(row.Source)).Set(row.SplitShare)
	}
	lines := m.gauge("line_memory_peak_bytes", "GPU memory that a line's allocations held at the device's peak.", "file", "line", "function")
	for i, row := range p.Lines {
		if i == prometheusLines {
			break
		}
		lines.WithLabelValues(Printable(row.File), strconv.Itoa(row.Line), Printable(row.Function)).Set(float64(row.PeakBytes))
	}
}
