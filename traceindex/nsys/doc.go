// Package nsys reads Nsight Systems reports exported with `nsys export --type sqlite` into the same index as profiler traces.
//
// The schema changed with every version (3.4 to 3.25 and one without a version were seen) and tables exist only when something
// was recorded for them, so nothing is taken for granted: a table that is missing has no events, a column that is missing has
// no values. An export holds every process of the machine; each process that worked on a GPU becomes one rank.
//
// What becomes what:
//   - kernels, copies and memsets: GPU events. Copies are named as the PyTorch profiler names them, "Memcpy HtoD (Pageable ->
//     Device)", from their memory kinds. A CUDA graph traced as a whole is one kernel.
//   - CUDA runtime and driver calls: runtime calls, without the version suffix (cudaLaunchKernel_v7000). Process and
//     correlation id join them to GPU events; ids alone are not unique between processes.
//   - NVTX ranges: PyTorch's (`--pytorch=autograd-nvtx`, torch.autograd.profiler.emit_nvtx) are ops, with their sequence numbers
//     and shapes taken out of the text ("aten::mm, seq = 4, op_id = 9, sizes = [[2, 3], [3, 4]]"), so that backward work joins
//     its forward op; all others are annotations, named "domain: text" outside the default domain. Ranges called "step 7",
//     "iteration 7" and the like mark steps.
//   - Python backtraces of CUDA calls (`--python-backtrace=cuda`): Python frames, made of the stacks of consecutive calls, with
//     the exact line of each call. Their frames are symbols of CUDA_CALLCHAINS whose text names a .py file.
//   - OS runtime calls and the profiler's overhead: events beside the frames.
//
// The database is opened read-only and immutable (a report is never changed, a journal beside it never read), views and virtual
// tables are not read, and no more rows than fit in the file: a hostile or damaged file ends in one error.
//
// # The driver
//
// Measured on a generated export of 394 MB (5.2 million rows of 6–18 columns, November 2026, two busy cores): reading all of it
// takes mattn/go-sqlite3 7.8 s of CPU through driver.Rows and 12.7 s through sql.Rows.Scan; modernc.org/sqlite 11.0 s and
// 15.7 s. Both need 19 MB. Hence mattn (cgo is there for tree-sitter anyway), through driver.Rows. Read makes two linked ranks
// of 2.7 million events each of that export in 15.3 s of CPU, with at most 346 MB.
//
// Imported by traceindex/load.
package nsys
