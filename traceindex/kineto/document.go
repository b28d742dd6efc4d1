package kineto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"

	"stepline/traceindex"
)

// ErrNotTrace is wrapped by errors about input that is no profiler trace; the message says what it is instead.
var ErrNotTrace = errors.New("not a profiler trace")

// Read reads one trace's JSON text (unpacked already) into a Builder, which the caller may add to and then builds. file is the
// name used in warnings. What is damaged is passed over and told in the Builder's Warnings; an error means there is nothing to
// use: no trace (ErrNotTrace), a failing reader before any event, or the end of ctx, which is noticed within a block of half a
// megabyte.
func Read(ctx context.Context, r io.Reader, file string) (*traceindex.Builder, error) {
	fork := forkBytes
	if runtime.GOMAXPROCS(0) < 2 {
		fork = math.MaxInt
	}
	return read(ctx, r, file, blockBytes, fork)
}

func read(ctx context.Context, r io.Reader, file string, block, fork int) (*traceindex.Builder, error) {
	w := newWindow(ctx, r, block)
	defer w.close()
	d := newDocument(w, file)
	d.forkBytes = fork
	defer d.stopHelper()
	if err := d.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.joinHelper()
	if d.array && !d.p.phased && d.p.damaged.n+d.p.tooLarge.n+d.p.noPhase.n > 0 {
		return nil, fmt.Errorf("%s: %w: a JSON array, but not of events (nothing in it has a phase, \"ph\"); wanted the Kineto trace of torch.profiler", file, ErrNotTrace)
	}
	d.p.finish(file)
	d.tellEnd(file)
	d.describe()
	return d.p.b, nil
}

func newDocument(w *window, file string) *document {
	d := &document{w: w, p: newParser(w, file), forkBytes: math.MaxInt}
	return d
}

// headBytes is how much of a text that is no JSON is looked at to name it.
const headBytes = 512

func newParser(w *window, file string) parser {
	p := parser{b: traceindex.NewBuilder(file), w: w, plain: -1,
		processes: map[string]placed{}, labels: map[string]placed{}, titles: map[[2]string]placed{}}
	for i := range p.threads {
		p.threads[i].id = -1
	}
	return p
}

// document is the text around the events.
type document struct {
	w *window
	p parser

	haveEvents bool // an event list was found
	array      bool // the text is the list itself
	whole      bool // the last bracket was seen
	forkBytes  int  // unread bytes from which two parsers share the work
	helper     *helper
	looked     int64   // bytes of events looked at, those tried again counted again
	behind     firstOf // the text after the document's end
	keys       []string
	values     map[string]json.RawMessage
}

// wanted are the top-level keys that are read; others are passed over whatever their size.
var wanted = map[string]bool{"deviceProperties": true, "distributedInfo": true, "baseTimeNanoseconds": true, "baseTimeNanosecond": true,
	"traceName": true, "schema": true, "hip_runtime_version": true, "cuda_runtime_version": true, "PT Profile ID": true}

const (
	maxKeyBytes   = 1 << 20  // no top-level key is that long
	maxValueBytes = 16 << 20 // nor a wanted value
)

// peek is the next byte that is no space, 0 at the end of the input.
func (d *document) peek() byte {
	w := d.w
	for {
		w.pos = skipSpace(w.buf[:w.n], w.pos)
		if w.pos < w.n {
			return w.buf[w.pos]
		}
		if !w.more() {
			return 0
		}
	}
}

func (d *document) read() error {
	first := d.peek()
	for first != '{' && first != '[' && d.w.n-d.w.pos < headBytes && d.w.more() { // enough to say what it is
	}
	if first == 0xef && d.w.n-d.w.pos >= 3 && string(d.w.buf[d.w.pos:d.w.pos+3]) == "\ufeff" {
		d.w.pos += 3
		first = d.peek()
	}
	if err := d.w.ctx.Err(); err != nil {
		return err
	}
	switch {
	case first == 0 && d.w.pos >= d.w.n:
		if !d.w.endedWell() {
			return fmt.Errorf("cannot be read: %w", d.w.err)
		}
		return fmt.Errorf("%w: empty file", ErrNotTrace)
	case first == '[':
		d.array, d.haveEvents = true, true
		d.w.pos++
		d.events()
		if d.whole && (d.peek() != 0 || d.w.pos < d.w.n) {
			d.behind.note(&d.p, d.w.pos)
		}
		return nil
	case first == '{' && d.atEvent():
		// One event after the other, as lines or not, without a list around them.
		d.array, d.haveEvents = true, true
		d.events()
		d.whole = d.betweenEvents()
		return nil
	case first == '{':
		d.w.pos++
		return d.object()
	}
	head := d.w.buf[d.w.pos:min(d.w.n, d.w.pos+headBytes)]
	return fmt.Errorf("%w: %s", ErrNotTrace, describeText(head))
}

// describeText names text that does not begin like JSON.
func describeText(head []byte) string {
	text := strings.ToLower(string(head))
	switch {
	case strings.HasPrefix(text, "<!doctype html"), strings.HasPrefix(text, "<html"):
		return "HTML, not JSON (a web page was saved in its place)"
	case strings.HasPrefix(text, "version https://git-lfs"):
		return "Git LFS pointer - fetch the real file (git lfs pull)"
	case strings.HasPrefix(text, "<"):
		return "XML or HTML, not JSON"
	}
	return "the text is not JSON"
}

// object reads the top-level object: keys in any order, before and after the events.
func (d *document) object() error {
	w := d.w
	d.values = map[string]json.RawMessage{}
	for {
		switch c := d.peek(); c {
		case '"':
		case ',':
			w.pos++
			continue
		case '}':
			w.pos++
			d.whole = true
			if c := d.peek(); c == 0 && w.pos >= w.n || !d.haveEvents {
				return d.judge()
			}
			behind := firstOf{}
			behind.note(&d.p, w.pos)
			if !d.resync(w.pos, `"traceEvents"`) {
				d.behind = behind // text behind the end, or another document: neither is ours
				return nil
			}
			d.p.damaged.add(behind)
			d.whole = false
			if !d.events() {
				return nil
			}
		case '{':
			// An event behind what looked like the list's end.
			d.haveEvents = d.haveEvents || slices.Contains(d.keys, "traceEvents")
			d.p.damaged.note(&d.p, w.pos)
			if !d.haveEvents {
				return fmt.Errorf("%w: damaged JSON at byte %d, before any event", ErrNotTrace, w.offset(w.pos))
			}
			if !d.events() {
				return nil
			}
		default:
			if c == 0 && w.pos >= w.n {
				return d.judge()
			}
			if !d.haveEvents {
				return fmt.Errorf("%w: damaged JSON at byte %d, before any event", ErrNotTrace, w.offset(w.pos))
			}
			d.p.damaged.note(&d.p, w.pos)
			d.passDamage()
			continue
		}
		key, ok := d.key()
		if !ok {
			return d.judge()
		}
		if len(d.keys) < 1000 {
			d.keys = append(d.keys, key)
		}
		switch c := d.peek(); {
		case key == "traceEvents" && c == '[':
			d.haveEvents = true
			w.pos++
			if !d.events() {
				return nil
			}
		case wanted[key]:
			raw, ok := d.piece()
			if !ok {
				return d.judge()
			}
			d.values[key] = raw
		default:
			if !d.pass() {
				return d.judge()
			}
		}
	}
}

// passDamage goes to the next byte that may go on with the top-level object.
func (d *document) passDamage() {
	w := d.w
	for {
		for w.pos < w.n {
			switch w.buf[w.pos] {
			case '"', '{', '}', ',':
				return
			}
			w.pos++
		}
		if !w.more() {
			return
		}
	}
}

// key reads `"key" :`.
func (d *document) key() (string, bool) {
	w := d.w
	for {
		if q := stringEnd(w.buf, w.pos+1); q >= 0 && q < w.n {
			key := string(w.buf[w.pos+1 : q])
			w.pos = q + 1
			if d.peek() == ':' {
				w.pos++
			}
			return key, true
		}
		if w.n-w.pos > maxKeyBytes || !w.more() {
			return "", false
		}
	}
}

// piece reads a value whole.
func (d *document) piece() (json.RawMessage, bool) {
	w := d.w
	for {
		if w.pos < w.n {
			end := valueEnd(w.buf, w.pos)
			if end == -2 {
				return nil, true
			}
			if end > 0 {
				raw := append(json.RawMessage(nil), w.buf[w.pos:end]...)
				w.pos = end
				return raw, true
			}
		}
		if w.n-w.pos > maxValueBytes {
			return nil, d.pass() // too large to be what it should be
		}
		if !w.more() {
			return nil, false
		}
	}
}

// pass skips a value of any size in constant memory.
func (d *document) pass() bool {
	w := d.w
	depth := 0
	inString := false
	for {
		for w.pos < w.n {
			c := w.buf[w.pos]
			switch {
			case inString:
				if c == '\\' {
					if w.pos+1 >= w.n {
						if !w.more() {
							return false
						}
						continue
					}
					w.pos++
				} else if c == '"' {
					inString = false
					if depth == 0 {
						w.pos++
						return true
					}
				}
			case c == '"':
				inString = true
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				if depth == 0 {
					return true
				}
				depth--
				if depth == 0 {
					w.pos++
					return true
				}
			case c == ',' && depth == 0:
				return true
			}
			w.pos++
		}
		if !w.more() {
			return false
		}
	}
}

// judge decides whether an object without (or with) events is a trace.
func (d *document) judge() error {
	if d.haveEvents {
		return nil
	}
	if err := d.w.ctx.Err(); err != nil {
		return err
	}
	if !d.w.endedWell() && d.w.err != nil {
		return fmt.Errorf("cannot be read: %w", d.w.err)
	}
	has := map[string]bool{}
	for _, k := range d.keys {
		has[k] = true
	}
	switch {
	case has["traceEvents"]:
		return fmt.Errorf("%w: \"traceEvents\" is not a list of events", ErrNotTrace)
	case has["nodes"] && (has["schema"] || has["finish_ts"]):
		return fmt.Errorf("%w: a PyTorch execution graph (ExecutionTraceObserver); wanted the Kineto trace of torch.profiler", ErrNotTrace)
	case has["entries"] && (has["pg_config"] || has["nccl_version"]):
		return fmt.Errorf("%w: a dump of PyTorch's NCCL flight recorder; wanted the Kineto trace of torch.profiler", ErrNotTrace)
	case has["segments"] && has["device_traces"]:
		return fmt.Errorf("%w: a memory snapshot of PyTorch as JSON; wanted the pickle of torch.cuda.memory._dump_snapshot beside a trace", ErrNotTrace)
	case has["profiles"] && has["shared"], has["samples"] && has["timeDeltas"]:
		return fmt.Errorf("%w: a sampling profile (speedscope, .cpuprofile); wanted the Kineto trace of torch.profiler", ErrNotTrace)
	case has["cells"] && has["nbformat"]:
		return fmt.Errorf("%w: a Jupyter notebook", ErrNotTrace)
	case !d.whole:
		return fmt.Errorf("%w: the JSON ends at byte %d, before any event", ErrNotTrace, d.w.offset(d.w.n))
	}
	return fmt.Errorf("%w: a JSON object without \"traceEvents\"", ErrNotTrace)
}

// tellEnd warns of an input that stops before its end. The array form may leave out its last bracket.
func (d *document) tellEnd(file string) {
	at := d.w.offset(d.w.n)
	if err := d.w.err; err != nil && !d.w.endedWell() {
		d.p.b.Warn(traceindex.Warning{Code: "cut-short", File: file, Byte: &at,
			Message: fmt.Sprintf("reading stopped at byte %d of the text: %v; the %s before it are used", at, err, count(int64(d.p.b.Len()), "event"))})
		return
	}
	if n := d.behind; n.n > 0 {
		d.p.b.Warn(traceindex.Warning{Code: "text-behind-end", File: file, Byte: &n.byte,
			Message: fmt.Sprintf("the trace ends, and more text follows at line %d (byte %d): it is left out (if it is another trace, keep each in a file of its own)", n.line, n.byte)})
		return
	}
	if d.whole || d.array && d.betweenEvents() {
		return
	}
	d.p.b.Warn(traceindex.Warning{Code: "cut-short", File: file, Byte: &at,
		Message: fmt.Sprintf("the file ends early, at byte %d; the %s before it are used", at, count(int64(d.p.b.Len()), "whole event"))})
}

// betweenEvents reports whether nothing of an event is left unread.
func (d *document) betweenEvents() bool { return d.w.pos >= d.w.n }

// describe fills Meta from the values around the events.
func (d *document) describe() {
	m := &d.p.b.Meta
	m.BaseUnixNs = wholeNumber(d.values["baseTimeNanoseconds"])
	if m.BaseUnixNs == 0 {
		m.BaseUnixNs = wholeNumber(d.values["baseTimeNanosecond"])
	}
	const recent = int64(1e18) // 2001, in unix nanoseconds
	if m.BaseUnixNs > recent && d.p.latestNs > recent {
		m.BaseUnixNs = 0 // the times are absolute already
	}
	_ = json.Unmarshal(d.values["traceName"], &m.TraceName)
	m.Producer = "torch.profiler"
	var info struct {
		Backend   any `json:"backend"`
		Rank      any `json:"rank"`
		WorldSize any `json:"world_size"`
	}
	if json.Unmarshal(d.values["distributedInfo"], &info) == nil {
		m.Backend, _ = info.Backend.(string)
		if rank, ok := anyNumber(info.Rank); ok {
			m.Rank = rank
		}
		if size, ok := anyNumber(info.WorldSize); ok {
			m.WorldSize = size
		}
	}
	var devices []struct {
		ID   any    `json:"id"`
		Name string `json:"name"`
	}
	if json.Unmarshal(d.values["deviceProperties"], &devices) == nil {
		for _, dev := range devices {
			if id, ok := anyNumber(dev.ID); ok {
				d.p.b.DeviceNames[int64(id)] = dev.Name
			}
		}
	}
}

// wholeNumber reads a number or a quoted one exactly.
func wholeNumber(raw json.RawMessage) int64 {
	padded := append(append([]byte(nil), raw...), ' ')
	padded = append(padded, make([]byte, padBytes)...)
	if len(raw) == 0 {
		return 0
	}
	v, _, _ := integer(padded, 0)
	return v
}

func anyNumber(v any) (int, bool) {
	switch v := v.(type) {
	case float64:
		return int(v), true
	case string:
		n, ok, _ := integerOf([]byte(v))
		return int(n), ok
	}
	return 0, false
}
