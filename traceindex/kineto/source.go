package kineto

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	blockBytes = 512 << 10
	// headroomBytes stand before each block's data, so that the unread tail of the block before can be put in front of it and
	// an event that spans two blocks is still one piece of memory.
	headroomBytes = 64 << 10
	// maxPieceBytes bounds one event: profilers write a few hundred kilobytes at most. A larger one is dropped and told;
	// nothing grows by what a file claims.
	maxPieceBytes = 64 << 20
	// padBytes are zeros behind the data: a lexer may look a few bytes past the end, and a zero byte ends every loop.
	padBytes = 16
)

// block is a piece of the input, read ahead.
type block struct {
	buf   []byte // headroom, data, padding
	n     int    // bytes of data
	lines int64  // line ends in them
	err   error  // what ended the input after this block
}

// window is the part of the input that is in memory: bytes [pos, n) of buf are unread.
type window struct {
	ctx    context.Context
	buf    []byte // buf[n:] is padding
	pos, n int
	base   int64 // offset in the input of buf[0]
	err    error // why the input ended; io.EOF for a proper end
	full   chan *block
	free   chan *block
	cur    *block
	stop   chan struct{}
	lines  int64 // line ends in all that was brought in; a file's warnings name lines, its events do not need them
}

// newWindow starts the goroutine that reads r ahead by a few blocks: for compressed input, unpacking runs beside the scanning.
func newWindow(ctx context.Context, r io.Reader, size int) *window {
	w := &window{ctx: ctx, full: make(chan *block, 4), free: make(chan *block, 5), stop: make(chan struct{}), buf: make([]byte, padBytes)}
	for range cap(w.free) {
		w.free <- &block{buf: make([]byte, headroomBytes+size+padBytes)}
	}
	go func() {
		defer close(w.full)
		for {
			var b *block
			select {
			case b = <-w.free:
			case <-w.stop:
				return
			}
			b.n, b.err = readBlock(r, b.buf[headroomBytes:len(b.buf)-padBytes])
			b.lines = int64(bytes.Count(b.buf[headroomBytes:headroomBytes+b.n], []byte{'\n'}))
			select {
			case w.full <- b:
			case <-w.stop:
				return
			}
			if b.err != nil {
				return
			}
		}
	}()
	return w
}

// readBlock is io.ReadFull that keeps what was read before an error and gives up on a reader that returns nothing.
func readBlock(r io.Reader, p []byte) (n int, err error) {
	for empty := 0; n < len(p) && err == nil; {
		var m int
		m, err = r.Read(p[n:])
		n += m
		if m > 0 {
			empty = 0
		} else if empty++; empty > 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// close ends the reading goroutine.
func (w *window) close() { close(w.stop) }

// more brings in the next block behind the unread bytes; positions into buf change by the move (pos is adjusted). It reports
// false at the end of the input, with w.err set.
func (w *window) more() bool {
	if w.err != nil {
		return false
	}
	if w.err = w.ctx.Err(); w.err != nil {
		return false
	}
	var b *block
	var open bool
	select {
	case b, open = <-w.full:
	case <-w.ctx.Done():
		w.err = w.ctx.Err()
		return false
	}
	if !open {
		w.err = io.EOF
		return false
	}
	w.lines += b.lines
	tail := w.buf[w.pos:w.n]
	w.base += int64(w.pos)
	if len(tail) <= headroomBytes {
		from := headroomBytes - len(tail)
		copy(b.buf[from:], tail)
		w.buf = b.buf[from : headroomBytes+b.n+padBytes]
		w.n = len(tail) + b.n
		w.release()
		w.cur = b
	} else {
		// A large piece: collect it in memory of its own, which doubles as append does.
		data := b.buf[headroomBytes : headroomBytes+b.n]
		if w.cur == nil && w.pos == 0 {
			w.buf = append(w.buf[:w.n], data...)
		} else {
			w.buf = append(append(make([]byte, 0, 2*(len(tail)+len(data))), tail...), data...)
		}
		w.n = len(w.buf)
		w.buf = append(w.buf, make([]byte, padBytes)...)
		w.release()
		w.cur = nil
		if b.err == nil {
			w.free <- b
		}
	}
	w.pos = 0
	clear(w.buf[w.n : w.n+padBytes])
	w.buf = w.buf[:w.n+padBytes]
	if b.err != nil {
		w.err = b.err
		return b.n > 0
	}
	return true
}

func (w *window) release() {
	if w.cur != nil {
		w.free <- w.cur
		w.cur = nil
	}
}

// offset is the place in the input of buf[i].
func (w *window) offset(i int) int64 { return w.base + int64(i) }

// line is the line, from 1, of buf[i].
func (w *window) line(i int) int64 {
	return 1 + w.lines - int64(bytes.Count(w.buf[i:w.n], []byte{'\n'}))
}

// endedWell reports whether the input ended by itself, not by an error.
func (w *window) endedWell() bool { return errors.Is(w.err, io.EOF) }
