package wire

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// Limits on what waits for a client that does not read.
const (
	// softLimit: over it droppable notifications are dropped and answers shrink to an error.
	softLimit = 64 << 20
	// hardLimit: over it nothing more is kept.
	hardLimit = 96 << 20
)

// item is a message waiting to be written.
type item struct {
	body []byte
	// key, if not empty, lets a later item take this one's place.
	key       string
	droppable bool
	answer    bool
}

// writer owns the output: one goroutine writes, senders never wait.
type writer struct {
	out        io.Writer
	log        *zap.Logger
	soft, hard int // the limits, in bytes

	mu      sync.Mutex
	wake    sync.Cond
	queue   []item
	byKey   map[string]int // key → index in queue, offset by taken
	taken   int
	bytes   int
	dropped int
	closed  bool
	failed  bool
	ended   chan struct{}
	// spare is the body of a message that was written, to write the next Sized one into; nil where there is none.
	spare []byte
}

// Bodies between these sizes, in bytes, are used again.
const (
	minSpare = 16 << 10
	maxSpare = 1 << 20
)

// room is an empty slice for a body of about so many bytes.
func (w *writer) room(size int) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.spare; size >= minSpare && cap(b) >= size {
		w.spare = nil
		return b[:0]
	}
	return make([]byte, 0, size+size/8+64)
}

// keep has a body that nobody needs any more used again; w.mu is held.
func (w *writer) keep(body []byte) {
	if size := cap(body); size >= minSpare && size <= maxSpare && size > cap(w.spare) {
		w.spare = body
	}
}

func newWriter(out io.Writer, log *zap.Logger) *writer {
	w := &writer{out: out, log: log, soft: softLimit, hard: hardLimit, byKey: map[string]int{}, ended: make(chan struct{})}
	w.wake.L = &w.mu
	return w
}

// send queues an item and returns at once.
func (w *writer) send(it item) {
	if it.body == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.failed {
		return
	}
	if at, waiting := w.byKey[it.key]; waiting && it.key != "" {
		// The later message moves to the end: it must not overtake what was said before it.
		old := &w.queue[at-w.taken]
		w.bytes -= len(old.body)
		w.keep(old.body)
		*old = item{}
		delete(w.byKey, it.key) // the later one may be dropped
	}
	if w.bytes+len(it.body) > w.soft {
		if it.droppable || w.bytes > w.hard {
			w.drop()
			return
		}
		if it.answer {
			it.body = errorBody(answerID(it.body), jsonrpc2.NewError(CodeRequestFailed, "the client does not read its answers; this one was left out"))
		}
	}
	if it.key != "" {
		w.byKey[it.key] = w.taken + len(w.queue)
	}
	w.bytes += len(it.body)
	w.queue = append(w.queue, it)
	w.wake.Signal()
}

func (w *writer) drop() {
	if w.dropped == 0 {
		w.log.Warn("the client does not read; messages to it are dropped")
	}
	w.dropped++
}

// answerID cuts the raw id out of an answer.
func answerID(body []byte) string {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(body, &m) != nil || m.ID == nil {
		return "null"
	}
	return string(m.ID)
}

func (w *writer) run() {
	defer close(w.ended)
	var buf []byte
	var written []byte
	for {
		w.mu.Lock()
		w.keep(written)
		written = nil
		for len(w.queue) == 0 && !w.closed {
			w.wake.Wait()
		}
		if len(w.queue) == 0 {
			w.mu.Unlock()
			return
		}
		it := w.queue[0]
		w.queue[0] = item{}
		w.queue = w.queue[1:]
		if at, ok := w.byKey[it.key]; ok && at == w.taken {
			delete(w.byKey, it.key)
		}
		w.taken++
		w.bytes -= len(it.body)
		if len(w.queue) == 0 {
			w.queue, w.dropped = nil, 0
		}
		w.mu.Unlock()
		if it.body == nil {
			continue // its place was taken by a later one
		}
		buf = AppendFrame(buf[:0], it.body)
		if _, err := w.out.Write(buf); err != nil {
			w.fail(err)
			return
		}
		written = it.body
		if cap(buf) > 1<<20 {
			buf = nil
		}
	}
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed, w.queue = true, nil
	if !w.closed {
		w.log.Info("the client no longer takes messages", zap.Error(err))
	}
}

// flushTime is how long an ending session waits for a client to take what is queued for it.
const flushTime = time.Second

// close lets the queue be written and ends the writer; a client that does not read is left behind.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.wake.Signal()
	w.mu.Unlock()
	select {
	case <-w.ended:
	case <-time.After(flushTime):
		if c, ok := w.out.(io.Closer); ok {
			_ = c.Close()
		}
	}
}
