// Package ncu reads what Nsight Compute prints with `ncu --csv --page raw|details` and says, per kernel launch, what limits
// it. It knows kernels, not lines: analysis joins a launch to the trace's kernel of the same name, grid and block (Join) and so
// to the line that launched it.
//
// The input is as it really comes: standard output of the profiled program and ncu's own ==PROF== lines stand before, between
// and after the rows; the raw page holds its units in a row of its own; numbers carry the locale's separators; metrics are
// missing or "n/a". A metric that is not there is NaN, never 0.
//
// # How the metrics are read
//
// Some are easily misread. What each means, after the Nsight Compute Profiling Guide
// (docs.nvidia.com/nsight-compute/ProfilingGuide) and the sections NVIDIA ships with ncu:
//
//   - "Compute (SM) Throughput" (sm__throughput) and "Memory Throughput" in percent (gpu__compute_memory_throughput) are each
//     the maximum over many units, so that 77 % memory throughput can be the L1's data pipe while DRAM stands at 23 %. DRAM has
//     its own metric (gpu__dram_throughput), and "Memory Throughput" of the Memory Workload section is another one again:
//     bytes per second of DRAM.
//   - "Achieved Occupancy" (sm__warps_active) is the share of warp slots in use while an SM is active. It is not how busy the
//     SM is: tensor-core kernels of Hopper reach 75 % of peak with 14 % occupancy. Low occupancy is named as a reason only
//     where neither compute nor memory is near its limit.
//   - Tensor-core use is the pipe's active cycles (sm__pipe_tensor_cycles_active or the older …_op_hmma_…); the instruction
//     count (sm__inst_executed_pipe_tensor) under-reads on Hopper, where one wgmma instruction keeps the pipe busy for many
//     cycles, and is used only when nothing else is there.
//   - L1/TEX throughput is relative to active cycles, the others to elapsed ones: it can exceed "Memory Throughput".
//   - Durations are measured with clocks locked to base and caches flushed before each pass (--clock-control,
//     --cache-control): they are not the durations of the run and are never added to a trace's.
//   - Estimated speed-ups are "global" (of the kernel) or "local" (of the part the rule looks at); only global ones are
//     compared.
//
// Imported by traceindex/load and analysis.
package ncu
