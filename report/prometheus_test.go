package report_test

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"stepline/report"
)

// TestPrometheusBeside: the figures of Nsight Compute, NCCL and memory snapshots.
func TestPrometheusBeside(t *testing.T) {
	run := sampleRun()
	run.Beside = &report.Beside{
		Kernels: &report.KernelsPart{Kernels: []report.KernelRow{{Limiter: "memory", CudaUs: 1500}, {Limiter: "memory", CudaUs: 500}, {Limiter: "compute", CudaUs: 250}}},
		NCCL: &report.NCCLPart{
			Findings:  []report.NCCLFindingRow{{Code: "slow-transport"}, {Code: "slow-transport"}, {Code: "collective-mismatch", Severe: true}},
			Bandwidth: []report.BandwidthRow{{Collective: "AllReduce", Bytes: 1 << 20, TraceGBps: 120.5, MeasuredGBps: 240}, {Collective: "Broadcast", Bytes: 8}},
		},
		Memory: &report.MemoryPart{
			Devices:       []report.MemoryDeviceRow{{Source: "a", Device: 1, PeakBytes: 100, HeldBytes: 10}, {Source: "b", Device: 1, PeakBytes: 90, HeldBytes: 20, OutOfMemory: 2}},
			Fragmentation: []report.FragmentationRow{{Source: "a", ReservedBytes: 400, SplitShare: 0.25}},
			Lines:         []report.MemoryLineRow{{File: "train.py", Line: 8, Function: "train", PeakBytes: 64}},
		},
	}
	var out bytes.Buffer
	if err := report.WriteRunPrometheus(&out, run, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`stepline_kernel_gpu_seconds{limiter="memory"} 0.002`, `stepline_kernel_gpu_seconds{limiter="compute"} 0.00025`,
		`stepline_nccl_findings{code="slow-transport",severe="false"} 2`, `stepline_nccl_findings{code="collective-mismatch",severe="true"} 1`,
		`stepline_collective_bus_bytes_per_second{bytes="1048576",collective="AllReduce"} 1.205e+11`,
		`stepline_collective_bus_measured_bytes_per_second{bytes="1048576",collective="AllReduce"} 2.4e+11`,
		`stepline_memory_peak_bytes{device="1"} 100`, `stepline_memory_held_bytes{device="1"} 20`, `stepline_memory_exhausted_events{device="1"} 2`,
		`stepline_memory_reserved_bytes{snapshot="a"} 400`, `stepline_memory_split_ratio{snapshot="a"} 0.25`,
		`stepline_line_memory_peak_bytes{file="train.py",function="train",line="8"} 64`,
	}
	lines := regexp.MustCompile(`(?m)^[^#].*$`).FindAllString(out.String(), -1)
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("%s is not there", line)
		}
	}
	if bytes.Contains(out.Bytes(), []byte("Broadcast")) {
		t.Error("a bandwidth that nobody measured")
	}
}
