package nsys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stepline/traceindex"
)

// Read reads an export: one Index per process that worked on a GPU, by their first device and process id; with more than one,
// Meta.Rank counts them. The error names the file, and wraps ErrNotExport if it is none.
func Read(ctx context.Context, path string) ([]*traceindex.Index, error) {
	d, err := open(ctx, path)
	if err != nil {
		return nil, describe(path, err)
	}
	defer d.close()
	r := &reader{ctx: ctx, db: d, path: path, byProcess: map[int64]*capture{}, strings: map[int64]string{}, otherIdx: -1}
	if err := r.read(); err != nil {
		return nil, describe(path, err)
	}
	var ranks []*traceindex.Index
	for _, c := range r.captures {
		ix, err := c.build(ctx)
		if err != nil {
			return nil, describe(path, err)
		}
		ranks = append(ranks, ix)
	}
	return ranks, nil
}

func describe(path string, err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotExport) {
		return fmt.Errorf("nsys: %s: %w", path, err)
	}
	return fmt.Errorf("nsys: %s: cannot be read to its end: %w; export it again with `nsys export --type sqlite --force-overwrite true`", path, err)
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return filepath.ToSlash(path)
}

// The tables of an export that are read.
const (
	tableKernel     = "CUPTI_ACTIVITY_KIND_KERNEL"
	tableMemcpy     = "CUPTI_ACTIVITY_KIND_MEMCPY"
	tableMemset     = "CUPTI_ACTIVITY_KIND_MEMSET"
	tableGraph      = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	tableRuntime    = "CUPTI_ACTIVITY_KIND_RUNTIME"
	tableSync       = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	tableOverhead   = "CUPTI_ACTIVITY_KIND_OVERHEAD"
	tableProfiler   = "PROFILER_OVERHEAD"
	tableNVTX       = "NVTX_EVENTS"
	tableOSRuntime  = "OSRT_API"
	tableCallchains = "CUDA_CALLCHAINS"
	tableStrings    = "StringIds"
	tableMeta       = "META_DATA_EXPORT"
	tableSession    = "TARGET_INFO_SESSION_START_TIME"
)

var gpuTables = []string{tableKernel, tableMemcpy, tableMemset, tableGraph}

// reader reads one export.
type reader struct {
	ctx  context.Context
	db   *database
	path string

	strings   map[int64]string
	captures  []*capture
	byProcess map[int64]*capture // process (globalPid >> 24) → its capture
	// all takes the events of every process: no GPU event tells its process, or there is none.
	all *capture
	// lastNs is the end of the recording, for ranges without an end.
	lastNs int64
	// otherIdx is the order of everything but Python frames among ties in time, −1 if there are no frames.
	otherIdx int32
	dropped  int64 // rows without the numbers they need
	chains   map[int64][]frame
	enums    enums
}

// capture is one process: it becomes a rank.
type capture struct {
	b       *traceindex.Builder
	process int64
	device  int64 // the first one it worked on
	streams map[streamKey]traceindex.ThreadID
	context map[[2]int64]int64 // device and stream → the first context that used it
	calls   []recordedCall
	launch  []chainCall
	// outermost are, per host thread, the spans of the ops that lie in no other op; steps the ranges that may be steps.
	outermost map[traceindex.ThreadID][]span
	steps     []stepRange
}

type streamKey struct{ device, context, stream int64 }

func (r *reader) read() error {
	if !r.isExport() {
		return fmt.Errorf("%w: none of its tables is one of an export", ErrNotExport)
	}
	if err := r.readStrings(); err != nil {
		return err
	}
	if err := r.readEnums(); err != nil {
		return err
	}
	if err := r.findProcesses(); err != nil {
		return err
	}
	steps := []func() error{r.readChains, r.readMeta, r.readDevices, r.readKernels, r.readGraphs, r.readCopies, r.readMemsets, r.readSyncs,
		r.readNVTX, r.readCalls, r.readOSRuntime, r.readOverhead, r.nameThreads}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	r.warn()
	return nil
}

func (r *reader) isExport() bool {
	for _, table := range append([]string{tableRuntime, tableNVTX, tableOSRuntime, tableSync, tableMeta, tableStrings, "TARGET_INFO_SYSTEM_ENV"}, gpuTables...) {
		if r.db.has(table) {
			return true
		}
	}
	return false
}

// maxStringBytes bounds one name; kernels of templates reach some ten thousand bytes.
const maxStringBytes = 1 << 20

func (r *reader) readStrings() error {
	return r.db.each(r.ctx, tableStrings, []string{"id", "value"}, func(w row) error {
		if id, ok := w.int(0); ok {
			if text := w.text(1); len(text) <= maxStringBytes {
				r.strings[id] = text
			}
		}
		return nil
	})
}

// findProcesses makes a capture of each process with GPU events; one of everything if the events tell no process or there are
// none.
func (r *reader) findProcesses() error {
	devices := map[int64]int64{} // process → first device
	untold := false
	for _, table := range gpuTables {
		if !r.db.has(table) {
			continue
		}
		if !r.db.hasColumn(table, "globalPid") {
			untold = true
			continue
		}
		// Every row is looked at, not grouped in SQL: what leads in circles must come back to be counted.
		err := r.db.each(r.ctx, table, []string{"globalPid", "deviceId"}, func(w row) error {
			global, ok := w.int(0)
			if !ok {
				untold = true
				return nil
			}
			device, process := w.number(1, 0), global>>24
			if first, seen := devices[process]; !seen || device < first {
				devices[process] = device
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if untold || len(devices) == 0 {
		r.all = r.newCapture(0, 0)
		r.captures = []*capture{r.all}
		return nil
	}
	for process, device := range devices {
		c := r.newCapture(process, device)
		r.byProcess[process] = c
		r.captures = append(r.captures, c)
	}
	slices.SortFunc(r.captures, func(a, b *capture) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.process, b.process))
	})
	if len(r.captures) > 1 {
		for i, c := range r.captures {
			c.b.Meta.Rank = i
			c.b.Meta.TraceName = "process " + strconv.FormatInt(c.process&0xffffff, 10)
		}
	}
	return nil
}

func (r *reader) newCapture(process, device int64) *capture {
	return &capture{b: traceindex.NewBuilder(r.path), process: process, device: device,
		streams: map[streamKey]traceindex.ThreadID{}, context: map[[2]int64]int64{}}
}

// captureOf is the capture of a serialized process or thread id (globalPid, globalTid: the process in bits 24 to 47, the
// machine above); nil for processes that did not work on a GPU.
func (r *reader) captureOf(global int64, ok bool) *capture {
	if r.all != nil {
		return r.all
	}
	if !ok {
		return nil
	}
	return r.byProcess[global>>24]
}

// thread is the host thread of a globalTid.
func (c *capture) thread(globalTid int64) traceindex.ThreadID {
	return c.b.Thread(strconv.FormatInt(globalTid>>24&0xffffff, 10), strconv.FormatInt(globalTid&0xffffff, 10), false)
}

// stream is the thread of a GPU stream. Stream numbers count per context.
func (c *capture) stream(device, context, stream int64) traceindex.ThreadID {
	key := streamKey{device, context, stream}
	if id, ok := c.streams[key]; ok {
		return id
	}
	name := strconv.FormatInt(stream, 10)
	if first, ok := c.context[[2]int64{device, stream}]; !ok {
		c.context[[2]int64{device, stream}] = context
	} else if first != context {
		name += " of context " + strconv.FormatInt(context, 10)
	}
	id := c.b.Thread(strconv.FormatInt(device, 10), name, true)
	c.streams[key] = id
	return id
}

// span reads start and end. Rows without a start, or that end before they start, are no events.
func (r *reader) span(w row) (startNs, durNs int64, ok bool) {
	start, has := w.int(0)
	if !has {
		r.dropped++
		return 0, 0, false
	}
	end, has := w.int(1)
	if !has {
		end = start
	}
	// Sums of damaged times must not overflow later.
	if end < start || start < math.MinInt64/4 || end > math.MaxInt64/4 {
		r.dropped++
		return 0, 0, false
	}
	r.lastNs = max(r.lastNs, end)
	return start, end - start, true
}

func (r *reader) readMeta() error {
	values := map[string]string{}
	if err := r.db.each(r.ctx, tableMeta, []string{"name", "value"}, func(w row) error {
		if len(values) < 10_000 {
			values[w.text(0)] = w.text(1)
		}
		return nil
	}); err != nil {
		return err
	}
	base := int64(0)
	if err := r.db.each(r.ctx, tableSession, []string{"utcEpochNs"}, func(w row) error {
		base = w.number(0, base)
		return nil
	}); err != nil {
		return err
	}
	producer := "Nsight Systems"
	if version := values["EXPORT_PRODUCT_VERSION"]; version != "" {
		producer += " " + version
	}
	if schema := values["EXPORT_SCHEMA_VERSION"]; schema != "" {
		producer += ", schema " + schema
	}
	for _, c := range r.captures {
		c.b.Meta.Producer = producer
		c.b.Meta.BaseUnixNs = base
	}
	return nil
}

// readDevices names the GPUs. Kernels carry the CUDA number of a device, which counts per process; TARGET_INFO_CUDA_DEVICE maps
// it to the machine's.
func (r *reader) readDevices() error {
	names := map[int64]string{}
	for _, table := range []string{"TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"} {
		if err := r.db.each(r.ctx, table, []string{"id", "name"}, func(w row) error {
			if id, ok := w.int(0); ok && names[id] == "" {
				names[id] = w.text(1)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, c := range r.captures {
		for id, name := range names {
			c.b.DeviceNames[id] = name
		}
	}
	return r.db.each(r.ctx, "TARGET_INFO_CUDA_DEVICE", []string{"gpuId", "cudaId", "pid"}, func(w row) error {
		name := names[w.number(0, -1)]
		cuda, ok := w.int(1)
		pid, hasPid := w.int(2)
		if name == "" || !ok {
			return nil
		}
		for _, c := range r.captures {
			if !hasPid || r.all != nil || c.process&0xffffff == pid {
				c.b.DeviceNames[cuda] = name
			}
		}
		return nil
	})
}

// nameThreads takes the names of threads and processes.
func (r *reader) nameThreads() error {
	processes := map[int64]string{}
	if err := r.db.each(r.ctx, "PROCESSES", []string{"globalPid", "name"}, func(w row) error {
		if id, ok := w.int(0); ok {
			processes[id>>24] = w.text(1)
		}
		return nil
	}); err != nil {
		return err
	}
	type key struct{ pid, tid string }
	for _, c := range r.captures {
		known := map[key]traceindex.ThreadID{}
		for id, thread := range c.b.Threads() {
			if !thread.GPU {
				known[key{thread.PID, thread.TID}] = traceindex.ThreadID(id)
			}
		}
		if err := r.db.each(r.ctx, "ThreadNames", []string{"globalTid", "nameId"}, func(w row) error {
			global, ok := w.int(0)
			if !ok || r.captureOf(global, true) != c {
				return nil
			}
			pid, tid := strconv.FormatInt(global>>24&0xffffff, 10), strconv.FormatInt(global&0xffffff, 10)
			if id, ok := known[key{pid, tid}]; ok {
				info := c.b.ThreadInfo(id)
				info.Name = r.strings[w.number(1, 0)]
				info.Process = processes[global>>24]
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// warn tells what the export lacks and what was left out.
func (r *reader) warn() {
	say := func(code, message string) {
		for _, c := range r.captures {
			c.b.Warn(traceindex.Warning{Code: code, Message: message, File: r.path})
		}
	}
	if !r.db.has(tableNVTX) {
		say("no-ranges", "the export has no NVTX ranges: record with `nsys profile --trace=cuda,nvtx --pytorch=autograd-shapes-nvtx` to see ops, and with `--python-backtrace=cuda --cudabacktrace=all` to see lines")
	}
	if !slices.ContainsFunc(gpuTables, r.db.has) {
		say("no-gpu-events", "the export has no GPU events: record with `nsys profile --trace=cuda`")
	}
	if r.dropped > 0 {
		say("bad-row", fmt.Sprintf("%d rows have no usable times and are left out", r.dropped))
	}
	if info, err := os.Stat(r.path + "-wal"); err == nil && info.Size() > 0 {
		say("journal", "a journal lies beside the export ("+filepath.Base(r.path)+"-wal): what is only in it is not read; close the program that has it open")
	}
}

// name is a string of the export, interned in a capture.
func (c *capture) name(text string) traceindex.NameID { return c.b.Name(text) }

// cutVersion takes the version off a runtime call's name: cudaMemcpyAsync_ptsz_v7000 → cudaMemcpyAsync.
func cutVersion(name string) string {
	at := strings.LastIndex(name, "_v")
	if at > 0 && at+2 < len(name) && strings.Trim(name[at+2:], "0123456789") == "" {
		name = name[:at]
	}
	name = strings.TrimSuffix(name, "_ptsz")
	return strings.TrimSuffix(name, "_ptds")
}
