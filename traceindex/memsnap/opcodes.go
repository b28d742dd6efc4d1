package memsnap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// number executes the opcodes that push a number.
func (d *decoder) number(op byte) (bool, error) {
	switch op {
	case 'K':
		return true, d.fixed(1, func(b []byte) int64 { return int64(b[0]) })
	case 'M':
		return true, d.fixed(2, func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) })
	case 'J':
		return true, d.fixed(4, func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) })
	case 0x8a:
		return true, d.long(1)
	case 0x8b:
		return true, d.long(4)
	case 'I', 'L':
		line, err := d.line()
		if err != nil {
			return true, err
		}
		if op == 'I' && (line == "00" || line == "01") {
			d.push(value{kind: kindBool, num: int64(line[1] - '0')})
			return true, nil
		}
		line = strings.TrimSuffix(line, "L")
		if n, err := strconv.ParseInt(line, 10, 64); err == nil {
			d.push(value{kind: kindInt, num: n})
			return true, nil
		}
		n, ok := new(big.Int).SetString(line, 10)
		if !ok || len(line) > maxIntegerBytes {
			return true, fmt.Errorf("%.40q is no integer", line)
		}
		d.pushBig(n)
		return true, nil
	case 'F':
		line, err := d.line()
		if err != nil {
			return true, err
		}
		f, err := strconv.ParseFloat(line, 64)
		if err != nil && !math.IsInf(f, 0) {
			return true, fmt.Errorf("%.40q is no number", line)
		}
		d.push(value{kind: kindFloat, num: int64(math.Float64bits(f))})
		return true, nil
	case 'G':
		b, err := d.bytes(8)
		if err != nil {
			return true, err
		}
		d.push(value{kind: kindFloat, num: int64(binary.BigEndian.Uint64(b))})
		return true, nil
	}
	return false, nil
}

func floatOf(v value) float64 { return math.Float64frombits(uint64(v.num)) }

func (d *decoder) fixed(size int, read func([]byte) int64) error {
	b, err := d.bytes(size)
	if err != nil {
		return err
	}
	d.push(value{kind: kindInt, num: read(b)})
	return nil
}

// long reads LONG1 and LONG4: a length and that many bytes of a two's complement, little-endian.
func (d *decoder) long(lengthBytes int) error {
	size, err := d.length(lengthBytes, maxIntegerBytes)
	if err != nil {
		return err
	}
	b, err := d.bytes(size)
	if err != nil {
		return err
	}
	if size <= 8 {
		var n uint64
		for i, part := range b {
			n |= uint64(part) << (8 * i)
		}
		if size > 0 && size < 8 && b[size-1]&0x80 != 0 {
			n |= ^uint64(0) << (8 * size)
		}
		d.push(value{kind: kindInt, num: int64(n)})
		return nil
	}
	swapped := make([]byte, size)
	for i, part := range b {
		swapped[size-1-i] = part
	}
	n := new(big.Int).SetBytes(swapped)
	if swapped[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	if n.IsInt64() {
		d.push(value{kind: kindInt, num: n.Int64()})
		return nil
	}
	d.pushBig(n)
	return nil
}

func (d *decoder) pushBig(n *big.Int) {
	key := n.Text(62)
	row, ok := d.heap.bigRows[key]
	if !ok {
		row = uint32(len(d.heap.bigs))
		d.heap.bigs = append(d.heap.bigs, n)
		d.heap.bigRows[key] = row
		d.heap.bytes += int64(2*len(key)) + rowBytes
	}
	d.push(value{kind: kindBig, ref: row})
}

// string executes the opcodes that push text or bytes.
func (d *decoder) string(op byte) (bool, error) {
	switch op {
	case 0x8c, 'U', 'C':
		return true, d.text(1)
	case 'X', 'T', 'B':
		return true, d.text(4)
	case 0x8d, 0x8e, 0x96:
		return true, d.text(8)
	case 'S':
		line, err := d.line()
		if err != nil {
			return true, err
		}
		if len(line) >= 2 && (line[0] == '\'' || line[0] == '"') && line[len(line)-1] == line[0] {
			line = line[1 : len(line)-1]
		}
		d.pushText([]byte(line))
		return true, nil
	case 'V':
		line, err := d.line()
		if err != nil {
			return true, err
		}
		d.pushText([]byte(line))
		return true, nil
	}
	return false, nil
}

func (d *decoder) text(lengthBytes int) error {
	size, err := d.length(lengthBytes, maxTextBytes)
	if err != nil {
		return err
	}
	b, err := d.bytes(size)
	if err != nil {
		return err
	}
	d.pushText(b)
	return nil
}

func (d *decoder) pushText(b []byte) {
	d.push(value{kind: kindString, ref: d.heap.intern(b)})
}

// container executes the opcodes that build lists, tuples, sets and dictionaries.
func (d *decoder) container(op byte) (bool, error) {
	switch op {
	case ']', ')', 0x8f: // EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET
		d.pushList(nil)
		return true, nil
	case 'l', 't', 0x91: // LIST, TUPLE, FROZENSET
		items, err := d.toMark()
		if err != nil {
			return true, err
		}
		d.pushList(append([]value(nil), items...))
		return true, nil
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		n := int(op-0x85) + 1
		if len(d.stack)-d.floor() < n {
			return true, errBroken
		}
		items := append([]value(nil), d.stack[len(d.stack)-n:]...)
		d.stack = d.stack[:len(d.stack)-n]
		d.pushList(items)
		return true, nil
	case 'a': // APPEND
		item, err := d.pop()
		if err != nil {
			return true, err
		}
		return true, d.extend([]value{item})
	case 'e', 0x90: // APPENDS, ADDITEMS
		items, err := d.toMark()
		if err != nil {
			return true, err
		}
		return true, d.extend(items)
	case '}': // EMPTY_DICT
		d.push(d.heap.newDict(nil))
		return true, nil
	case 'd': // DICT
		items, err := d.toMark()
		if err != nil {
			return true, err
		}
		if len(items)%2 != 0 {
			return true, errBroken
		}
		d.push(d.heap.newDict(items))
		return true, nil
	case 's': // SETITEM
		if len(d.stack)-d.floor() < 3 {
			return true, errBroken
		}
		pair := d.stack[len(d.stack)-2:]
		d.stack = d.stack[:len(d.stack)-2]
		return true, d.set(pair)
	case 'u': // SETITEMS
		items, err := d.toMark()
		if err != nil {
			return true, err
		}
		return true, d.set(items)
	}
	return false, nil
}

var errBroken = errors.New("the pickle is broken: an opcode finds nothing to work on")

func (d *decoder) pushList(items []value) {
	for i := range items {
		items[i] = d.heap.compact(items[i])
	}
	d.heap.bytes += valueBytes * int64(cap(items))
	d.heap.lists.add(d.heap, items)
	d.push(value{kind: kindList, ref: uint32(d.heap.lists.n - 1)})
}

// extend appends items to the list on top of the stack.
func (d *decoder) extend(items []value) error {
	top, err := d.top()
	if err != nil {
		return err
	}
	if top.kind != kindList {
		return errBroken
	}
	list := d.heap.lists.at(int64(top.ref))
	for _, item := range items {
		*list = appended(d.heap, *list, d.heap.compact(item))
	}
	return d.countItems(len(*list))
}

// set puts pairs into the dictionary on top of the stack.
func (d *decoder) set(pairs []value) error {
	top, err := d.top()
	if err != nil {
		return err
	}
	if top.kind != kindDict || len(pairs)%2 != 0 {
		return errBroken
	}
	if d.heap.resolved(top).kind != kindDict {
		return nil // already a row; real pickles do not come back to it
	}
	slot := d.heap.slots.at(top.num)
	*slot = appended(d.heap, *slot, pairs...)
	return d.countItems(len(*slot))
}

// remember executes the memo's opcodes.
func (d *decoder) remember(op byte) (bool, error) {
	var row uint64
	switch op {
	case 0x94: // MEMOIZE
		row = uint64(d.memo.n)
		op = 'p'
	case 'q', 'h':
		b, err := d.bytes(1)
		if err != nil {
			return true, err
		}
		row = uint64(b[0])
	case 'r', 'j':
		b, err := d.bytes(4)
		if err != nil {
			return true, err
		}
		row = uint64(binary.LittleEndian.Uint32(b))
	case 'p', 'g':
		line, err := d.line()
		if err != nil {
			return true, err
		}
		if row, err = strconv.ParseUint(line, 10, 32); err != nil {
			return true, fmt.Errorf("%.40q is no memo number", line)
		}
	default:
		return false, nil
	}
	if op == 'h' || op == 'j' || op == 'g' {
		return true, d.recall(uint32(row))
	}
	top, err := d.top()
	if err != nil {
		return true, err
	}
	switch {
	case row < uint64(d.memo.n):
		*d.memo.at(int64(row)) = top
	case row == uint64(d.memo.n):
		d.memo.add(d.heap, top)
	default: // numbers left out: the C++ pickler does not start at 0
		if d.sparse == nil {
			d.sparse = map[uint32]value{}
		}
		d.sparse[uint32(row)] = top
		d.heap.bytes += rowBytes
	}
	return true, nil
}

func (d *decoder) recall(row uint32) error {
	if int(row) < d.memo.n {
		d.push(*d.memo.at(int64(row)))
		return nil
	}
	if v, ok := d.sparse[row]; ok {
		d.push(v)
		return nil
	}
	return fmt.Errorf("the pickle is broken: memo %d is not there", row)
}
