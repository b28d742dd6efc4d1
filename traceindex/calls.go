package traceindex

import (
	"sort"
	"strings"
)

// CallKind is what a runtime or driver call does, by its name. Names differ by vendor and version only in prefix and suffix.
type CallKind uint8

const (
	CallOther       CallKind = iota
	CallLaunch               // starts a kernel
	CallGraphLaunch          // starts a captured graph: one call, many GPU events
	CallCopy                 // starts a copy (asynchronous or not)
	CallMemset               // starts a memset
	CallSync                 // waits until GPU work is done: cudaStreamSynchronize, cudaDeviceSynchronize, cudaEventSynchronize
	CallAlloc                // takes or gives back device memory (cudaMalloc, cudaFree)
)

// callKindOf classifies by the name without its vendor prefix.
func callKindOf(name string) CallKind {
	rest := name
	for _, prefix := range []string{"cuda", "hip", "cu", "musa", "mu", "xpu", "ze", "aclrt", "acl", "runtimeLaunch"} {
		if strings.HasPrefix(rest, prefix) {
			rest = rest[len(prefix):]
			break
		}
	}
	switch {
	case strings.HasPrefix(rest, "GraphLaunch"):
		return CallGraphLaunch
	case strings.Contains(rest, "Synchronize"), strings.HasPrefix(rest, "EventHostSynchronize"), strings.HasSuffix(rest, "queue.wait"):
		return CallSync
	case strings.Contains(rest, "Launch"), strings.HasPrefix(rest, "CommandListAppendLaunch"), rest == "EnqueueKernelLaunch", rest == "urEnqueueKernelLaunch":
		return CallLaunch
	case strings.HasPrefix(rest, "Memcpy"), strings.Contains(rest, "EnqueueUSMMemcpy"), strings.HasPrefix(rest, "EnqueueMem"):
		return CallCopy
	case strings.HasPrefix(rest, "Memset"):
		return CallMemset
	case strings.HasPrefix(rest, "Malloc"), strings.HasPrefix(rest, "Free"), strings.HasPrefix(rest, "HostAlloc"), strings.HasPrefix(rest, "MemAlloc"),
		strings.HasPrefix(rest, "MemFree"), strings.HasPrefix(rest, "MemCreate"), strings.HasPrefix(rest, "MemMap"), strings.HasPrefix(rest, "MemUnmap"),
		strings.HasPrefix(rest, "ExtMalloc"), strings.HasPrefix(rest, "HostMalloc"):
		return CallAlloc
	}
	return CallOther
}

// CallKind is what a runtime call does; CallOther for everything that is none.
func (ix *Index) CallKind(call EventID) CallKind {
	if ix.Events.Category[call] != CategoryRuntime {
		return CallOther
	}
	return ix.callKinds[ix.Events.Name[call]]
}

// classifyCalls looks at each runtime call's name once.
func (ix *Index) classifyCalls() {
	ix.callKinds = map[NameID]CallKind{}
	for row, c := range ix.Events.Category {
		if c != CategoryRuntime {
			continue
		}
		if n := ix.Events.Name[row]; true {
			if _, ok := ix.callKinds[n]; !ok {
				ix.callKinds[n] = callKindOf(ix.Names[n])
			}
		}
	}
}

// CallsOf are the runtime calls of one kind, in row order.
func (ix *Index) CallsOf(kind CallKind) []EventID {
	wanted := map[NameID]bool{}
	for n, k := range ix.callKinds {
		if k == kind {
			wanted[n] = true
		}
	}
	var calls []EventID
	if len(wanted) == 0 {
		return nil
	}
	for row, c := range ix.Events.Category {
		if c == CategoryRuntime && wanted[ix.Events.Name[row]] {
			calls = append(calls, EventID(row))
		}
	}
	return calls
}

// LaunchesWithoutWork are launches and copies of which the file has no GPU event: recording ended before they ran, or the file
// was cut.
func (ix *Index) LaunchesWithoutWork() []EventID {
	var calls []EventID
	for row, c := range ix.Events.Category {
		if c != CategoryRuntime || ix.Events.Link[row] == 0 || ix.Launch[row] != NoEvent {
			continue
		}
		switch ix.callKinds[ix.Events.Name[row]] {
		case CallLaunch, CallGraphLaunch, CallCopy:
			calls = append(calls, EventID(row))
		}
	}
	return calls
}

// UnlinkedGPUEvents are kernels, copies and memsets whose launch is not in the file.
func (ix *Index) UnlinkedGPUEvents() []EventID {
	var rows []EventID
	for _, g := range ix.GPUEvents {
		if ix.Launch[g] == NoEvent {
			rows = append(rows, g)
		}
	}
	return rows
}

// WaitedFor is the GPU event a synchronising call (or a blocking copy) waited for: of those that ended while the call ran, the
// last to end. NoEvent if nothing ended in it: it waited for nothing on the GPU.
func (ix *Index) WaitedFor(call EventID) EventID {
	start, end := ix.Events.StartNs[call], ix.Events.EndNs(call)
	// Ends are not sorted, but nothing runs longer than the longest event: walk back from the last start within the call.
	i := sort.Search(len(ix.GPUEvents), func(i int) bool { return ix.Events.StartNs[ix.GPUEvents[i]] >= end })
	best, bestEnd := NoEvent, int64(0)
	for i--; i >= 0; i-- {
		g := ix.GPUEvents[i]
		gStart := ix.Events.StartNs[g]
		if gStart+ix.longestGPUNs <= start {
			break
		}
		if gEnd := gStart + ix.GPUDurNs(g); gEnd > start && gEnd <= end && (best == NoEvent || gEnd > bestEnd) {
			best, bestEnd = g, gEnd
		}
	}
	return best
}

// Copy is what a GPU copy's name and args say.
type Copy struct {
	// Direction is "HtoD", "DtoH", "DtoD", "HtoH", "PtoP" or "" if unknown.
	Direction string
	// Pageable tells that one end is pageable host memory: the driver stages it, and an asynchronous copy blocks the host.
	// Pinned tells that the host end is page-locked. Neither: the name does not say.
	Pageable, Pinned bool
	Bytes            int64 // −1 if unknown
}

// CopyOf describes a copy; false for other events. Names are CUPTI's by way of kineto: "Memcpy HtoD (Pageable -> Device)";
// ROCm's are CopyHostToDevice and the like.
func (ix *Index) CopyOf(e EventID) (Copy, bool) {
	if ix.Events.Category[e] != CategoryMemcpy {
		return Copy{}, false
	}
	c := Copy{Bytes: -1}
	if d, ok := ix.GPUDetailOf(e); ok {
		c.Bytes = d.Bytes
	}
	name := ix.Name(e)
	for _, direction := range []string{"HtoD", "DtoH", "DtoD", "HtoH", "PtoP", "HtoA", "AtoH"} {
		if strings.Contains(name, direction) {
			c.Direction = direction
			break
		}
	}
	if c.Direction == "" {
		for word, direction := range map[string]string{"HostToDevice": "HtoD", "DeviceToHost": "DtoH", "DeviceToDevice": "DtoD", "HostToHost": "HtoH"} {
			if strings.Contains(name, word) {
				c.Direction = direction
			}
		}
	}
	c.Pageable = strings.Contains(name, "Pageable")
	c.Pinned = !c.Pageable && strings.Contains(name, "Pinned")
	return c, true
}

// WorkWithin are the kernels, copies and memsets on the stream of a GPU annotation that start within it.
func (ix *Index) WorkWithin(annotation EventID) []EventID {
	first, end := ix.RowsOf(ix.Events.Thread[annotation])
	from, to := ix.Events.StartNs[annotation], ix.Events.EndNs(annotation)
	i := sort.Search(int(end-first), func(i int) bool { return ix.Events.StartNs[first+EventID(i)] >= from })
	var rows []EventID
	for row := first + EventID(i); row < end && ix.Events.StartNs[row] < to; row++ {
		if ix.Events.Category[row].IsGPUWork() {
			rows = append(rows, row)
		}
	}
	return rows
}

// OverheadNs is the time the profiler itself took, by kind ("Command Buffer Full", "Lazy Function Loading", …): what it
// slows down is not the program's own.
func (ix *Index) OverheadNs() map[string]int64 {
	sums := map[string]int64{}
	for row, c := range ix.Events.Category {
		if c == CategoryOverhead {
			sums[ix.Name(EventID(row))] += ix.Events.DurNs[row]
		}
	}
	return sums
}

// QueueSample is how many launches were under way from a moment on: calls begun whose first GPU event had not started.
type QueueSample struct {
	Ns     int64
	Length int
}

// Queue is the number of launches under way over time, a sample at each change. Under clock skew a launch counts as started at
// its call: the length is never negative.
func (ix *Index) Queue() []QueueSample {
	type change struct {
		ns    int64
		delta int
	}
	changes := make([]change, 0, 2*len(ix.launchRows))
	for _, call := range ix.launchRows {
		at := ix.Events.StartNs[call]
		changes = append(changes, change{at, 1}, change{max(at, ix.Events.StartNs[ix.GPUOf(call)[0]]), -1})
	}
	sort.SliceStable(changes, func(i, j int) bool { return changes[i].ns < changes[j].ns })
	var out []QueueSample
	length := 0
	for _, c := range changes {
		length += c.delta
		if n := len(out); n > 0 && out[n-1].Ns == c.ns {
			out[n-1].Length = length
			continue
		}
		out = append(out, QueueSample{c.ns, length})
	}
	return out
}
