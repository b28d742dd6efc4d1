package traceindex

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// nameTable interns byte strings. It is an open-addressing table of our own because interning is done once or more per event:
// a map[string]NameID costs twice the time, and its strings keep one allocation each alive. Texts live in large arenas.
type nameTable struct {
	texts []string
	// slots holds hash<<32 | id+1; 0 is free. The length is a power of two, at most half full.
	slots []uint64
	arena []byte
}

const nameArenaBytes = 256 << 10

func newNameTable() *nameTable {
	t := &nameTable{slots: make([]uint64, 1<<12)}
	t.intern(nil) // NameID 0 is ""
	return t
}

func (t *nameTable) intern(b []byte) (id NameID, isNew bool) {
	h := hashBytes(b)
	mask := uint64(len(t.slots) - 1)
	tag := h >> 32 << 32
	for i := h & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			id = NameID(len(t.texts))
			t.texts = append(t.texts, t.keep(b))
			t.slots[i] = tag | uint64(id+1)
			if len(t.texts)*2 > len(t.slots) {
				t.grow()
			}
			return id, true
		}
		if s&^0xffffffff == tag {
			id = NameID(uint32(s) - 1)
			if t.texts[id] == string(b) {
				return id, false
			}
		}
	}
}

// find is intern without adding.
func (t *nameTable) find(b []byte) (NameID, bool) {
	h := hashBytes(b)
	mask := uint64(len(t.slots) - 1)
	tag := h >> 32 << 32
	for i := h & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			return 0, false
		}
		if s&^0xffffffff == tag {
			if id := NameID(uint32(s) - 1); t.texts[id] == string(b) {
				return id, true
			}
		}
	}
}

func (t *nameTable) grow() {
	t.slots = make([]uint64, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for id, text := range t.texts {
		h := hashBytes(unsafe.Slice(unsafe.StringData(text), len(text)))
		i := h & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = h>>32<<32 | uint64(id+1)
	}
}

// keep copies b into the arena. The bytes are never written again, so the string made over them is safe.
func (t *nameTable) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > nameArenaBytes/4 {
		return string(b)
	}
	if len(t.arena)+len(b) > cap(t.arena) {
		t.arena = make([]byte, 0, nameArenaBytes)
	}
	n := len(t.arena)
	t.arena = append(t.arena, b...)
	return unsafe.String(&t.arena[n], len(b))
}

// hashBytes is a multiply-fold hash in the manner of wyhash; only this process ever sees its values.
func hashBytes(b []byte) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	h := uint64(len(b)) * k0
	n := len(b)
	for n >= 16 {
		hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b)^k1^h, binary.LittleEndian.Uint64(b[8:])^k0)
		h = hi ^ lo
		b = b[16:]
		n -= 16
	}
	var x, y uint64
	switch {
	case n >= 8:
		x = binary.LittleEndian.Uint64(b)
		y = binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x = uint64(binary.LittleEndian.Uint32(b))
		y = uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	hi, lo := bits.Mul64(x^k0^h, y^k1)
	h = hi ^ lo
	hi, lo = bits.Mul64(h^k1, k0)
	return hi ^ lo
}
