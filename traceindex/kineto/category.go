package kineto

import (
	"bytes"
	"strings"

	"stepline/traceindex"
)

// kind is what a "cat" (and, where that is silent, the process) says an event is.
type kind struct {
	category traceindex.Category
	gpu      bool // it lies on a stream
}

// kindOf maps "cat" to stepline's categories. Names are those of kineto's ActivityType.cpp through its versions, torch's own
// exporters before it, and the backends built on both.
func kindOf(cat string) (kind, bool) {
	switch cat {
	case "cpu_op", "Operator", "operator", "cpu", "Cpu_op", "privateuse1_op", "hpu_op":
		return kind{traceindex.CategoryOp, false}, true
	case "python_function", "Python", "python":
		return kind{traceindex.CategoryPython, false}, true
	case "cuda_runtime", "cuda_driver", "Runtime", "runtime", "hip_runtime", "hip_api", "roctracer", "xpu_runtime", "xpu_driver",
		"sycl_runtime", "mtia_runtime", "glow_runtime", "privateuse1_runtime", "privateuse1_driver", "musa_runtime", "hpu_runtime":
		return kind{traceindex.CategoryRuntime, false}, true
	case "user_annotation", "User Annotation", "record_function":
		return kind{traceindex.CategoryAnnotation, false}, true
	case "kernel", "Kernel", "gpu", "concurrent_kernel", "xpu_kernel", "mtia_ccp_events", "musa_kernel", "hpu_kernel":
		return kind{traceindex.CategoryKernel, true}, true
	case "gpu_memcpy", "Memcpy", "memcpy":
		return kind{traceindex.CategoryMemcpy, true}, true
	case "gpu_memset", "Memset", "memset":
		return kind{traceindex.CategoryMemset, true}, true
	case "gpu_user_annotation", "gpu_op":
		return kind{traceindex.CategoryGPUAnnotation, true}, true
	case "cuda_sync", "cuda_event", "xpu_sync", "hip_sync":
		return kind{traceindex.CategorySync, true}, true
	case "overhead", "Overhead":
		return kind{traceindex.CategoryOverhead, false}, true
	case "cpu_instant_event":
		return kind{traceindex.CategoryMemory, false}, true
	}
	return kind{}, false
}

// refine corrects what "cat" says by the name: ROCm's tracer puts copies and markers among the kernels (pytorch#97167), and
// the legacy exporter knows only "cpu" and "gpu".
func refine(k kind, name []byte) kind {
	if k.category != traceindex.CategoryKernel || len(name) == 0 {
		return k
	}
	switch name[0] {
	case 'C':
		if bytes.HasPrefix(name, []byte("CopyHostToDevice")) || bytes.HasPrefix(name, []byte("CopyDeviceTo")) || bytes.HasPrefix(name, []byte("CopyHostToHost")) {
			k.category = traceindex.CategoryMemcpy
		}
	case 'M':
		switch {
		case bytes.HasPrefix(name, []byte("Memcpy ")), bytes.HasPrefix(name, []byte("MemcpyA")), bytes.Equal(name, []byte("Memcpy")):
			k.category = traceindex.CategoryMemcpy
		case bytes.HasPrefix(name, []byte("Memset ")), bytes.Equal(name, []byte("Memset")):
			k.category = traceindex.CategoryMemset
		case bytes.Equal(name, []byte("Marker")), bytes.HasPrefix(name, []byte("MarkerKernel")):
			k.category = traceindex.CategoryOther
		}
	case 'd':
		if bytes.Equal(name, []byte("dma_request")) { // MTIA
			k.category = traceindex.CategoryMemcpy
		}
	case 'e':
		if bytes.Equal(name, []byte("event_wait")) || bytes.Equal(name, []byte("event_record")) { // MTIA
			k.category = traceindex.CategorySync
		}
	case 'F':
		if bytes.HasPrefix(name, []byte("FillBuffer")) {
			k.category = traceindex.CategoryMemset
		}
	}
	return k
}

// kindOfProcess is the kind of an event without "cat", by the words of the process it is in (torch 1.8's own exporter).
func kindOfProcess(process string) (kind, bool) {
	switch {
	case strings.HasPrefix(process, "CPU functions"):
		return kind{traceindex.CategoryOp, false}, true
	case strings.HasPrefix(process, "CUDA functions"), strings.HasPrefix(process, "XPU functions"), strings.HasPrefix(process, "HIP functions"):
		return kind{traceindex.CategoryKernel, true}, true
	}
	return kind{}, false
}

// classifyByProcess names what events without "cat" are by the process they are in, which metadata anywhere in the file names:
// torch_npu's trace_view.json (Ascend) does it so.
func (p *parser) classifyByProcess() {
	for id := range p.b.Threads() {
		thread := traceindex.ThreadID(id)
		switch process := p.processes[p.b.ThreadInfo(thread).PID].text; process {
		case "Ascend Hardware":
			p.b.Reclassify(thread, true, func(name string) traceindex.Category {
				upper := strings.ToUpper(name)
				switch {
				case strings.HasPrefix(upper, "MEMCPY"), strings.HasPrefix(upper, "SDMA"):
					return traceindex.CategoryMemcpy
				case strings.HasPrefix(upper, "MEMSET"):
					return traceindex.CategoryMemset
				case strings.HasPrefix(upper, "EVENT_"), strings.HasPrefix(upper, "NOTIFY_"), strings.Contains(upper, "_WAIT"):
					return traceindex.CategorySync
				}
				return traceindex.CategoryKernel
			})
		case "Communication":
			p.b.Reclassify(thread, true, func(string) traceindex.Category { return traceindex.CategoryGPUAnnotation })
		case "CANN":
			p.b.Reclassify(thread, false, func(string) traceindex.Category { return traceindex.CategoryRuntime })
		case "Python":
			p.b.Reclassify(thread, false, func(name string) traceindex.Category {
				switch {
				case strings.HasPrefix(name, "ProfilerStep#"), strings.HasPrefix(name, "Optimizer."):
					return traceindex.CategoryAnnotation
				case strings.Contains(name, "::"):
					return traceindex.CategoryOp
				}
				return traceindex.CategoryOther
			})
		}
	}
}
