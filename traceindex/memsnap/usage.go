package memsnap

import (
	"cmp"
	"slices"
	"strings"
)

// Usage is what one device's events say as a whole. Bytes are those tensors asked for.
type Usage struct {
	Device int
	// HeldBytes is held at the moment of the snapshot; BeforeBytes the part of it that was allocated before the recording.
	HeldBytes, BeforeBytes int64
	// PeakBytes is the most held at once since the recording began, at PeakTimeUs (unix time; 0 if not recorded).
	PeakBytes, PeakTimeUs int64
	Allocs, Frees         int64
	AllocBytes            int64
	SegmentAllocs         int64 // cudaMalloc
	SegmentFrees          int64 // cudaFree
	OutOfMemory           []OutOfMemory
}

// OutOfMemory is one failed allocation.
type OutOfMemory struct {
	TimeUs, Bytes, DeviceFreeBytes int64
	Frames                         []Frame
}

// LineMemory is the memory of one source line: what the allocations hold whose innermost accepted frame is this line. Rows with
// File "" collect the allocations without such a frame (the autograd engine's threads run no Python).
type LineMemory struct {
	File     string // as the snapshot writes it
	Line     int
	Function string
	// HeldBytes and HeldCount are held at the moment of the snapshot.
	HeldBytes, HeldCount int64
	// PeakBytes is the line's part of the device's peak; OwnPeakBytes the most the line ever held.
	PeakBytes, OwnPeakBytes int64
	// AllocBytes and Allocs are all allocations recorded, freed or not.
	AllocBytes, Allocs, Frees int64
}

// Fragmentation is the allocator's state at the moment of the snapshot, over all devices. Bytes are rounded, as reserved.
type Fragmentation struct {
	ReservedBytes  int64 // of the device, cudaMalloc
	AllocatedBytes int64 // held by tensors
	PendingBytes   int64 // freed, but another stream may still use them
	// InactiveSplitBytes are free pieces of segments that are partly in use: neither empty_cache nor another segment size can
	// have them. CachedBytes are free whole segments: empty_cache gives them back.
	InactiveSplitBytes, CachedBytes int64
	LargestFreeBytes                int64
}

// SplitShare is the part of reserved memory lost to inactive splits, 0–1.
func (f Fragmentation) SplitShare() float64 {
	if f.ReservedBytes == 0 {
		return 0
	}
	return float64(f.InactiveSplitBytes) / float64(f.ReservedBytes)
}

// Fragmentation sums over the segments.
func (s *Snapshot) Fragmentation() Fragmentation {
	var f Fragmentation
	for _, segment := range s.Segments {
		f.ReservedBytes += segment.Bytes
		var free int64
		used := false
		for _, block := range segment.Blocks {
			switch block.State {
			case StateAllocated:
				f.AllocatedBytes += block.Bytes
				used = true
			case StatePending:
				f.PendingBytes += block.Bytes
				used = true
			default:
				free += block.Bytes
				f.LargestFreeBytes = max(f.LargestFreeBytes, block.Bytes)
			}
		}
		if used {
			f.InactiveSplitBytes += free
		} else {
			f.CachedBytes += free
		}
	}
	return f
}

// Devices is the number of devices with events or segments: their numbers are 0 to Devices()−1.
func (s *Snapshot) Devices() int {
	n := len(s.Traces)
	for _, segment := range s.Segments {
		n = max(n, segment.Device+1)
	}
	return n
}

// Usage sums up a device.
func (s *Snapshot) Usage(device int) Usage {
	u := Usage{Device: device}
	w := s.newWalk(device)
	u.PeakBytes = w.held
	for w.next() {
		e := w.event
		switch e.Action {
		case ActionAlloc:
			u.Allocs++
			u.AllocBytes += e.Bytes
		case ActionFreeCompleted:
			u.Frees++
		case ActionSegmentAlloc, ActionSegmentMap:
			u.SegmentAllocs++
		case ActionSegmentFree, ActionSegmentUnmap:
			u.SegmentFrees++
		case ActionOutOfMemory:
			u.OutOfMemory = append(u.OutOfMemory, OutOfMemory{e.TimeUs, e.Bytes, e.DeviceFreeBytes, s.Stack(*e)})
		}
		if w.held > u.PeakBytes {
			u.PeakBytes, u.PeakTimeUs = w.held, e.TimeUs
		}
	}
	u.HeldBytes = w.held
	for _, before := range w.before {
		u.BeforeBytes += before.bytes
	}
	return u
}

// allocation is a live allocation.
type allocation struct {
	bytes int64
	stack uint32
}

// walk goes through a device's events and keeps what is held.
type walk struct {
	events []Event
	at     int
	live   map[Address]allocation
	// before are blocks in use at the end that no event allocated.
	before []allocation
	held   int64

	event *Event // of the last next
	// delta and stack are the change of the last event: bytes of the allocation made (> 0) or freed (< 0), and who made it.
	delta int64
	stack uint32
	known bool // the freed allocation was seen being made
}

// newWalk starts before the first event. What is held then is found from the end: blocks in use that no event explains, and
// frees of memory no event allocated.
func (s *Snapshot) newWalk(device int) *walk {
	w := &walk{live: map[Address]allocation{}}
	if device < len(s.Traces) {
		w.events = s.Traces[device]
	}
	seen := map[Address]bool{}
	var unseen int64
	for i := range w.events {
		switch e := &w.events[i]; e.Action {
		case ActionAlloc:
			seen[e.Address] = true
		case ActionFreeCompleted:
			if !seen[e.Address] {
				unseen += e.Bytes
			}
			delete(seen, e.Address)
		}
	}
	w.held = unseen
	for _, segment := range s.Segments {
		if segment.Device != device {
			continue
		}
		for _, block := range segment.Blocks {
			if block.State == StateInactive || block.RequestedBytes == 0 || seen[block.Address] {
				continue
			}
			w.before = append(w.before, allocation{block.RequestedBytes, block.stack})
			w.held += block.RequestedBytes
		}
	}
	return w
}

// next takes the next event; false after the last.
func (w *walk) next() bool {
	if w.at >= len(w.events) {
		return false
	}
	w.event = &w.events[w.at]
	w.at++
	w.delta, w.stack, w.known = 0, 0, false
	switch e := w.event; e.Action {
	case ActionAlloc:
		w.live[e.Address] = allocation{e.Bytes, e.stack}
		w.delta, w.stack, w.known = e.Bytes, e.stack, true
	case ActionFreeCompleted:
		made, ok := w.live[e.Address]
		if !ok {
			made = allocation{bytes: e.Bytes}
		}
		delete(w.live, e.Address)
		w.delta, w.stack, w.known = -made.bytes, made.stack, ok
	}
	w.held += w.delta
	return true
}

// lineOf caches, per stack, the row of the line it belongs to.
type lineOf struct {
	snapshot *Snapshot
	accept   func(file string) bool
	stacks   map[uint32]int
	rows     map[Frame]int
	lines    []LineMemory
	live     []int64 // bytes each line holds now
}

func (s *Snapshot) newLineOf(accept func(file string) bool) *lineOf {
	return &lineOf{snapshot: s, accept: accept, stacks: map[uint32]int{}, rows: map[Frame]int{}}
}

// row is the line a stack belongs to.
func (l *lineOf) row(stack uint32) int {
	if row, ok := l.stacks[stack]; ok {
		return row
	}
	frame := l.snapshot.lineFrame(stack, l.accept)
	row, ok := l.rows[frame]
	if !ok {
		row = len(l.lines)
		l.rows[frame] = row
		l.lines = append(l.lines, LineMemory{File: frame.File, Line: frame.Line, Function: frame.Function})
		l.live = append(l.live, 0)
	}
	l.stacks[stack] = row
	return row
}

func (l *lineOf) add(row int, bytes int64) {
	l.live[row] += bytes
	l.lines[row].OwnPeakBytes = max(l.lines[row].OwnPeakBytes, l.live[row])
}

// lineFrame is the innermost frame that accept takes. With a nil accept it is the innermost Python frame outside installed
// libraries, or the innermost Python frame if all are inside. The zero Frame if there is none.
func (s *Snapshot) lineFrame(stack uint32, accept func(file string) bool) Frame {
	var fallback Frame
	for _, frame := range s.framesOf(stack) {
		if !isPython(frame) {
			continue
		}
		if accept != nil {
			if accept(frame.File) {
				return frame
			}
			continue
		}
		if !IsLibrary(frame.File) {
			return frame
		}
		if fallback == (Frame{}) {
			fallback = frame
		}
	}
	return fallback
}

// isPython tells Python's frames from C++'s.
func isPython(frame Frame) bool {
	if frame.Line <= 0 || frame.File == "" || frame.File == "??" {
		return false
	}
	for _, end := range []string{".cpp", ".cc", ".h", ".hpp", ".cu", ".cuh", ".c", ".so"} {
		if strings.HasSuffix(frame.File, end) {
			return false
		}
	}
	return true
}

// IsLibrary tells a file of an installed library or of Python's own from a user's.
func IsLibrary(file string) bool {
	file = strings.ReplaceAll(file, `\`, "/")
	return strings.Contains(file, "/site-packages/") || strings.Contains(file, "/dist-packages/") ||
		strings.Contains(file, "/lib/python3") || strings.HasPrefix(file, "<frozen ")
}

// Lines sums the snapshot up by source line, over all devices. accept tells which files count (the workspace's); nil takes
// everything outside installed libraries. Largest held first, then largest peak.
func (s *Snapshot) Lines(accept func(file string) bool) []LineMemory {
	lines := s.newLineOf(accept)
	for device := range s.Devices() {
		s.addLines(lines, device)
	}
	slices.SortStableFunc(lines.lines, func(a, b LineMemory) int {
		return cmp.Or(cmp.Compare(b.HeldBytes, a.HeldBytes), cmp.Compare(b.PeakBytes, a.PeakBytes),
			cmp.Compare(b.AllocBytes, a.AllocBytes), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return lines.lines
}

func (s *Snapshot) addLines(lines *lineOf, device int) {
	w := s.newWalk(device)
	for i := range lines.live {
		lines.live[i] = 0
	}
	for _, before := range w.before {
		lines.add(lines.row(before.stack), before.bytes)
	}
	peak := w.held
	atPeak := slices.Clone(lines.live)
	dirty := false // memory grew past the peak: atPeak is to be taken again before it shrinks
	for w.next() {
		if w.delta == 0 {
			continue
		}
		if w.delta < 0 && dirty {
			atPeak = append(atPeak[:0], lines.live...)
			dirty = false
		}
		if !w.known {
			continue
		}
		row := lines.row(w.stack)
		lines.add(row, w.delta)
		if w.delta > 0 {
			lines.lines[row].Allocs++
			lines.lines[row].AllocBytes += w.delta
			if w.held > peak {
				peak, dirty = w.held, true
			}
		} else {
			lines.lines[row].Frees++
		}
	}
	if dirty {
		atPeak = append(atPeak[:0], lines.live...)
	}
	for row, bytes := range atPeak {
		lines.lines[row].PeakBytes += bytes
	}
	for _, made := range w.live {
		row := lines.row(made.stack)
		lines.lines[row].HeldBytes += made.bytes
		lines.lines[row].HeldCount++
	}
	for _, made := range w.before {
		row := lines.row(made.stack)
		lines.lines[row].HeldBytes += made.bytes
		lines.lines[row].HeldCount++
	}
}
