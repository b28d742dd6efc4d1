package memsnap

import (
	"math/big"
	"strconv"
)

// kind tells what a value on the unpickler's stack is.
type kind uint8

const (
	kindNone kind = iota
	kindBool
	kindInt    // num
	kindBig    // ref: row of bigs, integers beyond 64 bits
	kindFloat  // num: bits
	kindString // ref: row of strings; bytes are strings here
	kindList   // ref: row of lists; tuples and sets are lists here
	kindDict   // ref: row of dicts; num: its slot
	kindEvent  // ref: row of events
	kindFrame  // ref: row of frames
	kindBlock  // ref: row of blocks
	kindSegment
)

// value is one Python object: 16 bytes.
type value struct {
	num  int64
	ref  uint32
	kind kind
}

const (
	valueBytes = 16
	// rowBytes are what a map's entry takes beside a string of its own, about.
	rowBytes = 64
)

// heap holds everything values refer to. What comes once per event (dicts) holds no pointers, so that the collector passes over
// it.
type heap struct {
	// bytes is what all of it takes in memory, to about a tenth; nothing is ever given back before the end.
	bytes int64

	strings []string
	names   map[string]uint32
	bigs    []*big.Int
	bigRows map[string]uint32
	lists   rows[[]value]
	// dicts are what each dictionary is now: itself, or the row it was turned into. slots are the contents (key, value, key,
	// value …) of those that still are dictionaries, numbered by their num; free are slots to use again.
	dicts rows[value]
	slots rows[[]value]
	free  []int64

	frames    []Frame
	frameRows map[Frame]uint32
	stacks    [][]uint32
	stackRows map[string]uint32
	listStack map[uint32]uint32 // row of lists → row of stacks
	events    []Event
	blocks    []Block
	segments  []Segment
}

// The keys of the dictionaries that come in large numbers have fixed rows of strings: comparing them is comparing numbers.
const (
	keyAction uint32 = iota
	keyAddr
	keySize
	keyStream
	keyTimeUs
	keyDeviceFree
	keyFrames
	keyFilename
	keyLine
	keyName
	keyState
	keyAddress
	keyRequestedSize
	keyHistory
	keyBlocks
	keyDevice
	keyTotalSize
	keyAllocatedSize
	keyActiveSize
	keySegmentType
	keyIsExpandable
	keyRealSize
)

var words = []string{
	"action", "addr", "size", "stream", "time_us", "device_free", "frames", "filename", "line", "name", "state", "address",
	"requested_size", "history", "blocks", "device", "total_size", "allocated_size", "active_size", "segment_type",
	"is_expandable", "real_size",
}

func newHeap() *heap {
	h := &heap{
		names: map[string]uint32{}, bigRows: map[string]uint32{}, frameRows: map[Frame]uint32{},
		stackRows: map[string]uint32{"": 0}, stacks: [][]uint32{nil}, listStack: map[uint32]uint32{},
	}
	for _, word := range words {
		h.intern([]byte(word))
	}
	return h
}

// intern gives a string's row.
func (h *heap) intern(b []byte) uint32 {
	row, ok := h.names[string(b)]
	if !ok {
		text := string(b)
		row = uint32(len(h.strings))
		h.strings = appended(h, h.strings, text)
		h.names[text] = row
		h.bytes += int64(len(text)) + rowBytes
	}
	return row
}

func (h *heap) text(v value) string {
	if v.kind == kindString {
		return h.strings[v.ref]
	}
	return ""
}

// integer is a number as int64; big ones and other things give 0.
func (h *heap) integer(v value) int64 {
	if v.kind == kindInt || v.kind == kindBool {
		return v.num
	}
	return 0
}

// address makes a key of an address of any size.
func (h *heap) address(v value) Address {
	switch v.kind {
	case kindInt:
		return Address{Low: uint64(v.num)}
	case kindBig:
		if n := h.bigs[v.ref]; n.IsUint64() {
			return Address{Low: n.Uint64()}
		}
		return Address{Big: v.ref + 1}
	}
	return Address{}
}

// get looks a key up in a dictionary. Later pairs win, as in Python.
func (h *heap) get(pairs []value, key string) (value, bool) {
	row, ok := h.names[key]
	if !ok {
		return value{}, false
	}
	return find(pairs, row)
}

func find(pairs []value, key uint32) (value, bool) {
	for i := len(pairs) - 2; i >= 0; i -= 2 {
		if pairs[i].kind == kindString && pairs[i].ref == key {
			return pairs[i+1], true
		}
	}
	return value{}, false
}

// newDict adds a dictionary.
func (h *heap) newDict(items []value) value {
	slot := int64(h.slots.n)
	if n := len(h.free); n > 0 {
		slot, h.free = h.free[n-1], h.free[:n-1]
	} else {
		h.slots.add(h, nil)
	}
	pairs := h.slots.at(slot)
	*pairs = appended(h, *pairs, items...)
	v := value{kind: kindDict, ref: uint32(h.dicts.n), num: slot}
	h.dicts.add(h, v)
	return v
}

// pairs are a dictionary's contents, nil for other values and for what was turned into a row.
func (h *heap) pairs(v value) []value {
	if v.kind != kindDict || h.resolved(v).kind != kindDict {
		return nil
	}
	return *h.slots.at(v.num)
}

// resolved follows a dictionary that was turned into a row.
func (h *heap) resolved(v value) value {
	if v.kind == kindDict {
		return *h.dicts.at(int64(v.ref))
	}
	return v
}

// list is what a list holds.
func (h *heap) list(v value) []value { return *h.lists.at(int64(v.ref)) }

// compact turns a complete dictionary into the row it stands for, if it is one that comes in large numbers. It is called when
// the dictionary is put into a list: from then on pickles do not change it.
func (h *heap) compact(v value) value {
	if v.kind != kindDict {
		return v
	}
	if now := h.resolved(v); now.kind != kindDict {
		return now
	}
	pairs := *h.slots.at(v.num)
	var now value
	switch shape(pairs) {
	case kindFrame:
		now = h.frame(pairs)
	case kindEvent:
		now = h.event(pairs)
	case kindSegment:
		now = h.segment(pairs)
	case kindBlock:
		now = h.block(pairs)
	default:
		return v
	}
	*h.dicts.at(int64(v.ref)) = now
	*h.slots.at(v.num) = pairs[:0]
	h.free = appended(h, h.free, v.num)
	return now
}

// shape tells by its keys what a dictionary is; kindDict if it is none of those that come in large numbers.
func shape(pairs []value) kind {
	found := kindDict
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].kind != kindString {
			continue
		}
		switch pairs[i].ref {
		case keyAction:
			return kindEvent
		case keyFilename:
			return kindFrame
		case keyBlocks:
			return kindSegment
		case keyState:
			found = kindBlock
		}
	}
	return found
}

func (h *heap) frame(pairs []value) value {
	file, _ := find(pairs, keyFilename)
	line, _ := find(pairs, keyLine)
	name, _ := find(pairs, keyName)
	f := Frame{File: h.text(file), Line: int(h.integer(line)), Function: h.text(name)}
	row, ok := h.frameRows[f]
	if !ok {
		row = uint32(len(h.frames))
		h.frames = appended(h, h.frames, f)
		h.frameRows[f] = row
		h.bytes += rowBytes
	}
	return value{kind: kindFrame, ref: row}
}

// stack turns a list of frames into a row of stacks; equal lists give the same row, 0 is no frames.
func (h *heap) stack(v value) uint32 {
	if v.kind != kindList {
		return 0
	}
	if row, ok := h.listStack[v.ref]; ok {
		return row
	}
	var key []byte
	var frames []uint32
	for _, item := range h.list(v) {
		if item = h.resolved(item); item.kind == kindFrame {
			frames = append(frames, item.ref)
			key = append(key, byte(item.ref), byte(item.ref>>8), byte(item.ref>>16), byte(item.ref>>24))
		}
	}
	row, ok := h.stackRows[string(key)]
	if !ok {
		row = uint32(len(h.stacks))
		h.stacks = appended(h, h.stacks, frames)
		h.stackRows[string(key)] = row
		h.bytes += int64(4*cap(frames)+len(key)) + rowBytes
	}
	h.listStack[v.ref] = row
	h.bytes += rowBytes / 2
	return row
}

func (h *heap) event(pairs []value) value {
	e := Event{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v := pairs[i+1]
		if pairs[i].kind != kindString {
			continue
		}
		switch pairs[i].ref {
		case keyAction:
			e.Action = actionOf(h.text(v))
		case keyAddr:
			e.Address = h.address(v)
		case keySize:
			e.Bytes = h.integer(v)
		case keyStream:
			e.Stream = h.integer(v)
		case keyTimeUs:
			e.TimeUs = h.integer(v)
		case keyDeviceFree:
			e.DeviceFreeBytes = h.integer(v)
		case keyFrames:
			e.stack = h.stack(v)
		}
	}
	h.events = appended(h, h.events, e)
	return value{kind: kindEvent, ref: uint32(len(h.events) - 1)}
}

func (h *heap) block(pairs []value) value {
	b := Block{RequestedBytes: -1}
	for i := 0; i+1 < len(pairs); i += 2 {
		v := pairs[i+1]
		if pairs[i].kind != kindString {
			continue
		}
		switch pairs[i].ref {
		case keyAddress:
			b.Address = h.address(v)
		case keySize:
			b.Bytes = h.integer(v)
		case keyRequestedSize:
			b.RequestedBytes = h.integer(v)
		case keyState:
			b.State = stateOf(h.text(v))
		case keyFrames:
			b.stack = h.stack(v)
		case keyHistory: // PyTorch 2.0: the newest first, with its own frames and size
			if v.kind != kindList || len(h.list(v)) == 0 {
				continue
			}
			first := h.pairs(h.list(v)[0])
			if frames, ok := find(first, keyFrames); ok {
				b.stack = h.stack(frames)
			}
			if size, ok := find(first, keyRealSize); ok {
				b.RequestedBytes = h.integer(size)
			}
		}
	}
	if b.RequestedBytes < 0 {
		b.RequestedBytes = b.Bytes
	}
	h.blocks = appended(h, h.blocks, b)
	return value{kind: kindBlock, ref: uint32(len(h.blocks) - 1)}
}

func (h *heap) segment(pairs []value) value {
	s := Segment{}
	var at Address
	for i := 0; i+1 < len(pairs); i += 2 {
		v := pairs[i+1]
		if pairs[i].kind != kindString {
			continue
		}
		switch pairs[i].ref {
		case keyDevice:
			s.Device = int(h.integer(v))
		case keyAddress:
			at = h.address(v)
		case keyTotalSize:
			s.Bytes = h.integer(v)
		case keyAllocatedSize:
			s.AllocatedBytes = h.integer(v)
		case keyActiveSize:
			s.ActiveBytes = h.integer(v)
		case keyStream:
			s.Stream = h.integer(v)
		case keySegmentType:
			s.Type = h.text(v)
		case keyIsExpandable:
			s.Expandable = v.num != 0
		case keyBlocks:
			if v.kind != kindList {
				continue
			}
			for _, item := range h.list(v) {
				if item = h.resolved(item); item.kind == kindBlock {
					s.Blocks = appended(h, s.Blocks, h.blocks[item.ref])
				}
			}
		}
	}
	s.Address = at
	// Blocks lie behind one another; before 2.1 they carry no address of their own.
	next := at
	for i := range s.Blocks {
		if s.Blocks[i].Address == (Address{}) {
			s.Blocks[i].Address = next
		}
		next = s.Blocks[i].Address
		if next.Big == 0 {
			next.Low += uint64(s.Blocks[i].Bytes)
		}
	}
	h.segments = appended(h, h.segments, s)
	return value{kind: kindSegment, ref: uint32(len(h.segments) - 1)}
}

// plain writes a value for people (settings).
func (h *heap) plain(v value) string {
	switch v.kind {
	case kindString:
		return h.strings[v.ref]
	case kindInt:
		return strconv.FormatInt(v.num, 10)
	case kindBool:
		return strconv.FormatBool(v.num != 0)
	case kindBig:
		return h.bigs[v.ref].String()
	case kindFloat:
		return strconv.FormatFloat(floatOf(v), 'g', -1, 64)
	}
	return ""
}
