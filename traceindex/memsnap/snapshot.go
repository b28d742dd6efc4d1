package memsnap

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"stepline/traceindex"
)

// Snapshot is one process' memory snapshot. It is immutable once read.
type Snapshot struct {
	File     string
	Segments []Segment
	// Traces are the recorded events, one list per device, in order. Empty if history was not recorded.
	Traces [][]Event
	// Settings are the allocator's, as written ("expandable_segments": "false").
	Settings map[string]string
	// Annotations are the profiler's ranges recorded beside the events (ProfilerStep#3).
	Annotations []Annotation
	Warnings    []traceindex.Warning

	frames []Frame
	stacks [][]uint32
}

// Address is a device address; Big tells addresses beyond 64 bits apart.
type Address struct {
	Low uint64
	Big uint32
}

// Frame is one frame of a stack. C++ frames have Line 0. Line is the running line.
type Frame struct {
	File     string
	Line     int
	Function string
}

// Action is what an event did.
type Action uint8

// The actions.
const (
	ActionOther Action = iota
	ActionAlloc
	ActionFreeRequested
	ActionFreeCompleted // and "free" of old versions
	ActionSegmentAlloc  // cudaMalloc
	ActionSegmentFree   // cudaFree
	ActionSegmentMap    // expandable segments grow
	ActionSegmentUnmap
	ActionOutOfMemory
	ActionSnapshot
)

func actionOf(name string) Action {
	switch name {
	case "alloc":
		return ActionAlloc
	case "free_requested":
		return ActionFreeRequested
	case "free_completed", "free":
		return ActionFreeCompleted
	case "segment_alloc":
		return ActionSegmentAlloc
	case "segment_free":
		return ActionSegmentFree
	case "segment_map":
		return ActionSegmentMap
	case "segment_unmap":
		return ActionSegmentUnmap
	case "oom":
		return ActionOutOfMemory
	case "snapshot":
		return ActionSnapshot
	}
	return ActionOther
}

// Event is one recorded event.
type Event struct {
	Address Address
	Bytes   int64 // as asked for
	TimeUs  int64 // unix time, 0 if the version does not record it
	Stream  int64
	// DeviceFreeBytes is the device's free memory, with ActionOutOfMemory.
	DeviceFreeBytes int64
	stack           uint32
	Action          Action
}

// State is what a block is used for.
type State uint8

// The states.
const (
	StateInactive  State = iota // free, kept by the allocator
	StateAllocated              // "active_allocated"
	StatePending                // "active_pending_free", "active_awaiting_free": freed, another stream may still use it
)

func stateOf(name string) State {
	switch name {
	case "active_allocated":
		return StateAllocated
	case "active_pending_free", "active_awaiting_free":
		return StatePending
	}
	return StateInactive
}

// Block is a piece of a segment.
type Block struct {
	Address        Address
	Bytes          int64 // rounded up
	RequestedBytes int64 // as asked for; Bytes if the version does not tell
	State          State
	stack          uint32
}

// Segment is one cudaMalloc of the allocator.
type Segment struct {
	Device      int
	Address     Address
	Bytes       int64
	Stream      int64
	Type        string // "small", "large"
	Expandable  bool
	ActiveBytes int64
	// AllocatedBytes are held by tensors.
	AllocatedBytes int64
	Blocks         []Block
}

// Annotation is the start or end of a profiler range.
type Annotation struct {
	Name   string
	Start  bool
	Device int
	TimeUs int64
}

// IsPickle reports whether a file's first bytes are a pickle's of protocol 2–5, gzipped or not.
func IsPickle(head []byte) bool {
	head = unzippedHead(head)
	return len(head) >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
}

// Sniff reports whether a file's first bytes (64 KiB are plenty) look like a memory snapshot: a pickle that soon speaks of
// segments. A pickle of something else is not one; if the user names it anyway, Read says what is wrong (see IsPickle).
func Sniff(head []byte) bool {
	if !IsPickle(head) {
		return false
	}
	head = unzippedHead(head)
	for _, word := range []string{"segments", "device_traces", "segment_type", "segment_pool_id"} {
		if bytes.Contains(head, []byte(word)) {
			return true
		}
	}
	return false
}

func unzippedHead(head []byte) []byte {
	if len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		return head
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(unzipped, 1<<16))
	return text
}

// Read reads a snapshot, gzipped or not. The error names the file and the byte; it is a *RefusedError for a pickle that names a
// function or class.
func Read(ctx context.Context, path string) (*Snapshot, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("memsnap: %w", err)
	}
	defer file.Close()
	return Decode(ctx, file, path)
}

// Decode reads a snapshot from r; name is the file's, for messages.
func Decode(ctx context.Context, r io.Reader, name string) (*Snapshot, error) {
	in := bufio.NewReaderSize(r, 1<<18)
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("memsnap: %s: %w", name, err)
		}
		in = bufio.NewReaderSize(unzipped, 1<<18)
	}
	d := &decoder{in: in, limits: usualLimits, heap: newHeap()}
	root, err := d.decode(ctx)
	if err != nil {
		return nil, fmt.Errorf("memsnap: %s: at byte %d: %w", name, d.offset, err)
	}
	s := &Snapshot{File: name, Settings: map[string]string{}}
	if !s.fill(d.heap, root) {
		return nil, fmt.Errorf("memsnap: %s: a pickle, but no memory snapshot: it has neither segments nor device_traces (write one with torch.cuda.memory._dump_snapshot)", name)
	}
	s.frames, s.stacks = d.heap.frames, d.heap.stacks
	return s, nil
}

// fill takes the snapshot from the root object: a dictionary, or the list of segments of torch.cuda.memory_snapshot().
func (s *Snapshot) fill(h *heap, root value) bool {
	if root.kind == kindList {
		s.fillSegments(h, root)
		return len(s.Segments) > 0
	}
	if root.kind != kindDict {
		return false
	}
	pairs := h.pairs(root)
	segments, hasSegments := h.get(pairs, "segments")
	traces, hasTraces := h.get(pairs, "device_traces")
	s.fillSegments(h, segments)
	s.fillTraces(h, traces)
	if settings, ok := h.get(pairs, "allocator_settings"); ok && settings.kind == kindDict {
		list := h.pairs(settings)
		for i := 0; i+1 < len(list); i += 2 {
			if text := h.plain(list[i+1]); text != "" {
				s.Settings[h.text(list[i])] = text
			}
		}
	}
	if annotations, ok := h.get(pairs, "external_annotations"); ok {
		s.fillAnnotations(h, annotations)
	}
	return hasSegments || hasTraces
}

// maxDevice is the largest device number taken for one.
const maxDevice = 4095

func (s *Snapshot) fillSegments(h *heap, list value) {
	if list.kind != kindList {
		return
	}
	for _, item := range h.list(list) {
		if item = h.resolved(item); item.kind != kindSegment {
			continue
		}
		segment := h.segments[item.ref]
		if segment.Device < 0 || segment.Device > maxDevice {
			s.Warnings = append(s.Warnings, traceindex.Warning{Code: "bad-device",
				Message: fmt.Sprintf("a segment names device %d; it is left out", segment.Device), File: s.File})
			continue
		}
		s.Segments = append(s.Segments, segment)
	}
}

// fillTraces takes the lists of events. Rows of events are in the order they were read, so a device's list is usually one piece
// of them and is not copied.
func (s *Snapshot) fillTraces(h *heap, list value) {
	if list.kind != kindList {
		return
	}
	for _, device := range h.list(list) {
		if device.kind != kindList {
			continue
		}
		rows := h.list(device)
		if events, ok := piece(h, rows); ok {
			s.Traces = append(s.Traces, events)
			continue
		}
		events := make([]Event, 0, len(rows))
		for _, item := range rows {
			if item = h.resolved(item); item.kind == kindEvent {
				events = append(events, h.events[item.ref])
			}
		}
		s.Traces = append(s.Traces, events)
	}
}

func piece(h *heap, rows []value) ([]Event, bool) {
	if len(rows) == 0 {
		return nil, true
	}
	first := rows[0].ref
	for i, row := range rows {
		if row.kind != kindEvent || row.ref != first+uint32(i) {
			return nil, false
		}
	}
	return h.events[first : int(first)+len(rows) : int(first)+len(rows)], true
}

func (s *Snapshot) fillAnnotations(h *heap, list value) {
	if list.kind != kindList {
		return
	}
	for _, item := range h.list(list) {
		pairs := h.pairs(item)
		if pairs == nil {
			continue
		}
		stage, _ := h.get(pairs, "stage")
		name, _ := h.get(pairs, "name")
		device, _ := h.get(pairs, "device")
		at, _ := h.get(pairs, "time_us")
		s.Annotations = append(s.Annotations, Annotation{
			Name: h.text(name), Start: h.text(stage) == "START", Device: int(h.integer(device)), TimeUs: h.integer(at)})
	}
}

// Stack is an event's stack, innermost frame first.
func (s *Snapshot) Stack(e Event) []Frame { return s.framesOf(e.stack) }

// BlockStack is the stack that allocated a block, innermost frame first.
func (s *Snapshot) BlockStack(b Block) []Frame { return s.framesOf(b.stack) }

func (s *Snapshot) framesOf(stack uint32) []Frame {
	if int(stack) >= len(s.stacks) {
		return nil
	}
	var frames []Frame
	for _, row := range s.stacks[stack] {
		frames = append(frames, s.frames[row])
	}
	return frames
}
