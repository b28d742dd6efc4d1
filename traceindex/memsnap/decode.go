package memsnap

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of the decoder.
const (
	// maxTextBytes bounds one string: C++ symbols reach kilobytes.
	maxTextBytes = 64 << 20
	// maxIntegerBytes bounds one integer.
	maxIntegerBytes = 1 << 16
	// maxNested bounds open containers.
	maxNested = 10_000
)

// limits are those that decide how much history can be read.
type limits struct {
	// bytes bounds what the file unfolds to in memory.
	bytes int64
	// items bounds one list or dictionary, and the values that are in none yet: the C++ pickler collects a list's items there.
	items int
}

// usualLimits are enough for sixteen million events whose stacks repeat, or three million of a stack of their own each.
var usualLimits = limits{bytes: 2 << 30, items: 1 << 24}

// recordLess is what to do about a snapshot over the limits.
const recordLess = "record less history (max_entries of torch.cuda.memory._record_memory_history)"

// decoder is an unpickler for data. It keeps a stack of values and marks, as Python's does.
type decoder struct {
	in      *bufio.Reader
	offset  int64
	limits  limits
	heap    *heap
	stack   []value
	marks   []int
	memo    rows[value]
	sparse  map[uint32]value // memo entries far beyond the others
	stopped bool
}

var errCutShort = errors.New("the file is cut short")

// decode runs the pickle to its STOP and returns the root.
func (d *decoder) decode(ctx context.Context) (value, error) {
	for n := 0; ; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return value{}, ctx.Err()
		}
		if d.heap.bytes > d.limits.bytes {
			return value{}, fmt.Errorf("it unfolds to objects of more than %d MiB; %s", d.limits.bytes>>20, recordLess)
		}
		if err := d.countItems(len(d.stack)); err != nil {
			return value{}, err
		}
		op, err := d.in.ReadByte()
		if err != nil {
			return value{}, cutShort(err)
		}
		d.offset++
		if err := d.step(op); err != nil {
			return value{}, err
		}
		if d.stopped {
			return d.pop()
		}
	}
}

// countItems holds a list's items against the limit.
func (d *decoder) countItems(n int) error {
	if n > d.limits.items {
		return fmt.Errorf("more than %d items in one list; %s", d.limits.items, recordLess)
	}
	return nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutShort
	}
	return err
}

// step executes one opcode.
func (d *decoder) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		version, err := d.bytes(1)
		if err == nil && version[0] > 5 {
			return fmt.Errorf("pickle protocol %d is not known (0 to 5 are)", version[0])
		}
		return err
	case 0x95: // FRAME
		_, err := d.bytes(8)
		return err
	case '.':
		d.stopped = true
		return nil
	case '(':
		if len(d.marks) >= maxNested {
			return fmt.Errorf("more than %d nested containers", maxNested)
		}
		d.marks = append(d.marks, len(d.stack))
		return nil
	case '0':
		if n := len(d.marks); n > 0 && d.marks[n-1] == len(d.stack) {
			d.marks = d.marks[:n-1]
			return nil
		}
		_, err := d.pop()
		return err
	case '1':
		_, err := d.toMark()
		return err
	case '2':
		top, err := d.top()
		if err != nil {
			return err
		}
		d.push(top)
		return nil
	case 'N':
		d.push(value{kind: kindNone})
		return nil
	case 0x88, 0x89:
		d.push(value{kind: kindBool, num: int64(0x89 - int(op))})
		return nil
	}
	if handled, err := d.number(op); handled {
		return err
	}
	if handled, err := d.string(op); handled {
		return err
	}
	if handled, err := d.container(op); handled {
		return err
	}
	if handled, err := d.remember(op); handled {
		return err
	}
	return d.refuse(op)
}

// refuse names what an opcode that is not data wanted.
func (d *decoder) refuse(op byte) error {
	switch op {
	case 'c', 'i': // GLOBAL, INST
		module, err := d.line()
		if err != nil {
			return err
		}
		name, err := d.line()
		if err != nil {
			return err
		}
		return refused(module + "." + name)
	case 0x93: // STACK_GLOBAL
		if n := len(d.stack); n >= 2 {
			return refused(d.heap.text(d.stack[n-2]) + "." + d.heap.text(d.stack[n-1]))
		}
		return refused("?")
	case 'R', 'o', 0x81, 0x92, 'b':
		return errors.New("refused: the pickle calls a function or builds an object; a memory snapshot holds data only")
	case 0x82, 0x83, 0x84:
		return errors.New("refused: the pickle names a registered extension; a memory snapshot holds data only")
	case 'P', 'Q', 0x97, 0x98:
		return errors.New("refused: the pickle refers to objects outside the file; a memory snapshot holds data only")
	}
	return fmt.Errorf("opcode 0x%02x is not one of a pickle", op)
}

// RefusedError is what Read returns for a pickle that names a function or class.
type RefusedError struct{ Name string }

func (e *RefusedError) Error() string {
	return "refused: it names a function: " + e.Name + "; a memory snapshot holds data only, and nothing of it was run"
}

func refused(name string) error {
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return &RefusedError{Name: name}
}

func (d *decoder) push(v value) { d.stack = appended(d.heap, d.stack, v) }

// floor is where the innermost open container begins: nothing below it may be popped.
func (d *decoder) floor() int {
	if n := len(d.marks); n > 0 {
		return d.marks[n-1]
	}
	return 0
}

func (d *decoder) pop() (value, error) {
	v, err := d.top()
	if err != nil {
		return value{}, err
	}
	d.stack = d.stack[:len(d.stack)-1]
	return v, nil
}

func (d *decoder) top() (value, error) {
	if len(d.stack) <= d.floor() {
		return value{}, errBroken
	}
	return d.stack[len(d.stack)-1], nil
}

// toMark takes everything above the last mark, and the mark. The items are valid until the next push.
func (d *decoder) toMark() ([]value, error) {
	n := len(d.marks)
	if n == 0 {
		return nil, errBroken
	}
	at := d.marks[n-1]
	d.marks = d.marks[:n-1]
	items := d.stack[at:]
	d.stack = d.stack[:at]
	return items, nil
}

func (d *decoder) length(lengthBytes int, most uint64) (int, error) {
	b, err := d.bytes(lengthBytes)
	if err != nil {
		return 0, err
	}
	var n uint64
	for i, part := range b {
		n |= uint64(part) << (8 * i)
	}
	if n > most {
		return 0, fmt.Errorf("a length of %d bytes is too large", n)
	}
	return int(n), nil
}

// bytes reads n bytes; the slice is valid until the next call.
func (d *decoder) bytes(n int) ([]byte, error) {
	if n <= d.in.Size() {
		b, err := d.in.Peek(n)
		if err != nil {
			return nil, cutShort(err)
		}
		d.in.Discard(n) // the bytes stay in the buffer until the next read
		d.offset += int64(n)
		return b, nil
	}
	// Grow with what is there: a length is only a claim.
	var buffer bytes.Buffer
	read, err := io.CopyN(&buffer, d.in, int64(n))
	d.offset += read
	if err != nil {
		return nil, cutShort(err)
	}
	return buffer.Bytes(), nil
}

// line reads to the end of a line, for the opcodes of protocol 0.
func (d *decoder) line() (string, error) {
	var text []byte
	for {
		part, err := d.in.ReadSlice('\n')
		d.offset += int64(len(part))
		text = append(text, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(text) > maxTextBytes {
				return "", errors.New("a line is too long")
			}
			continue
		}
		if err != nil {
			return "", cutShort(err)
		}
		return strings.TrimRight(string(text), "\r\n"), nil
	}
}
