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
	kindDict   // ref: row of dicts
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

// dict is a dictionary being built (pairs: key, value, key, value …), or what it was turned into.
type dict struct {
	pairs []value
	now   value // kindDict while it is one
}

const (
	valueBytes = 16
	dictBytes  = 48
)

// heap holds everything values refer to.
type heap struct {
	strings []string
	names   map[string]uint32
	bigs    []*big.Int
	bigRows map[string]uint32
	lists   [][]value
	dicts   []dict

	frames    []Frame
	frameRows map[Frame]uint32
	stacks    [][]uint32
	stackRows map[string]uint32
	listStack map[uint32]uint32 // row of lists → row of stacks
	events    []Event
	blocks    []Block
	segments  []Segment
}

func newHeap() *heap {
	return &heap{
		names: map[string]uint32{}, bigRows: map[string]uint32{}, frameRows: map[Frame]uint32{},
		stackRows: map[string]uint32{"": 0}, stacks: [][]uint32{nil}, listStack: map[uint32]uint32{},
	}
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
	for i := len(pairs) - 2; i >= 0; i -= 2 {
		if pairs[i].kind == kindString && h.strings[pairs[i].ref] == key {
			return pairs[i+1], true
		}
	}
	return value{}, false
}

// resolved follows a dictionary that was turned into a row.
func (h *heap) resolved(v value) value {
	if v.kind == kindDict {
		return h.dicts[v.ref].now
	}
	return v
}

// compact turns a complete dictionary into the row it stands for, if it is one that comes in large numbers. It is called when
// the dictionary is put into a list: from then on pickles do not change it.
func (h *heap) compact(v value) value {
	if v.kind != kindDict {
		return v
	}
	d := &h.dicts[v.ref]
	if d.now.kind != kindDict {
		return d.now
	}
	pairs := d.pairs
	if _, ok := h.get(pairs, "filename"); ok {
		if _, ok := h.get(pairs, "line"); ok {
			return h.turn(d, h.frame(pairs))
		}
	}
	if _, ok := h.get(pairs, "action"); ok {
		return h.turn(d, h.event(pairs))
	}
	if _, ok := h.get(pairs, "blocks"); ok {
		return h.turn(d, h.segment(pairs))
	}
	if _, ok := h.get(pairs, "state"); ok {
		return h.turn(d, h.block(pairs))
	}
	return v
}

func (h *heap) turn(d *dict, now value) value {
	d.pairs, d.now = nil, now
	return now
}

func (h *heap) frame(pairs []value) value {
	file, _ := h.get(pairs, "filename")
	line, _ := h.get(pairs, "line")
	name, _ := h.get(pairs, "name")
	f := Frame{File: h.text(file), Line: int(h.integer(line)), Function: h.text(name)}
	row, ok := h.frameRows[f]
	if !ok {
		row = uint32(len(h.frames))
		h.frames = append(h.frames, f)
		h.frameRows[f] = row
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
	for _, item := range h.lists[v.ref] {
		if item = h.resolved(item); item.kind == kindFrame {
			frames = append(frames, item.ref)
			key = append(key, byte(item.ref), byte(item.ref>>8), byte(item.ref>>16), byte(item.ref>>24))
		}
	}
	row, ok := h.stackRows[string(key)]
	if !ok {
		row = uint32(len(h.stacks))
		h.stacks = append(h.stacks, frames)
		h.stackRows[string(key)] = row
	}
	h.listStack[v.ref] = row
	return row
}

func (h *heap) event(pairs []value) value {
	e := Event{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v := pairs[i+1]
		switch h.text(pairs[i]) {
		case "action":
			e.Action = actionOf(h.text(v))
		case "addr":
			e.Address = h.address(v)
		case "size":
			e.Bytes = h.integer(v)
		case "stream":
			e.Stream = h.integer(v)
		case "time_us":
			e.TimeUs = h.integer(v)
		case "device_free":
			e.DeviceFreeBytes = h.integer(v)
		case "frames":
			e.stack = h.stack(v)
		}
	}
	h.events = append(h.events, e)
	return value{kind: kindEvent, ref: uint32(len(h.events) - 1)}
}

func (h *heap) block(pairs []value) value {
	b := Block{RequestedBytes: -1}
	for i := 0; i+1 < len(pairs); i += 2 {
		v := pairs[i+1]
		switch h.text(pairs[i]) {
		case "address":
			b.Address = h.address(v)
		case "size":
			b.Bytes = h.integer(v)
		case "requested_size":
			b.RequestedBytes = h.integer(v)
		case "state":
			b.State = stateOf(h.text(v))
		case "frames":
			b.stack = h.stack(v)
		case "history": // PyTorch 2.0: the newest first, with its own frames and size
			if v.kind != kindList || len(h.lists[v.ref]) == 0 {
				continue
			}
			first := h.lists[v.ref][0]
			if first.kind != kindDict {
				continue
			}
			if frames, ok := h.get(h.dicts[first.ref].pairs, "frames"); ok {
				b.stack = h.stack(frames)
			}
			if size, ok := h.get(h.dicts[first.ref].pairs, "real_size"); ok {
				b.RequestedBytes = h.integer(size)
			}
		}
	}
	if b.RequestedBytes < 0 {
		b.RequestedBytes = b.Bytes
	}
	h.blocks = append(h.blocks, b)
	return value{kind: kindBlock, ref: uint32(len(h.blocks) - 1)}
}

func (h *heap) segment(pairs []value) value {
	s := Segment{}
	var at Address
	for i := 0; i+1 < len(pairs); i += 2 {
		v := pairs[i+1]
		switch h.text(pairs[i]) {
		case "device":
			s.Device = int(h.integer(v))
		case "address":
			at = h.address(v)
		case "total_size":
			s.Bytes = h.integer(v)
		case "allocated_size":
			s.AllocatedBytes = h.integer(v)
		case "active_size":
			s.ActiveBytes = h.integer(v)
		case "stream":
			s.Stream = h.integer(v)
		case "segment_type":
			s.Type = h.text(v)
		case "is_expandable":
			s.Expandable = v.num != 0
		case "blocks":
			if v.kind != kindList {
				continue
			}
			for _, item := range h.lists[v.ref] {
				if item = h.resolved(item); item.kind == kindBlock {
					s.Blocks = append(s.Blocks, h.blocks[item.ref])
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
	h.segments = append(h.segments, s)
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
