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
// modernc.org/sqlite, SQLite translated to Go: the binary is built for every platform without a C compiler. Rows are taken
// through driver.Rows, which spares the conversions of sql.Rows.Scan (15.7 s of CPU for the rows of a 394 MB export, 11.0 s
// without). Against mattn/go-sqlite3, which compiles the C code, on BenchmarkRead's export of 300,000 launches (54 MB, 900,000
// rows; November 2026): reading and building both ranks takes 3.0 s of CPU, with mattn 2.2 s; memory is the same.
//
// Imported by traceindex/load.
package nsys
