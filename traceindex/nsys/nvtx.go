package nsys

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stepline/traceindex"
)

// Event types of NVTX_EVENTS (ENUM_NSYS_EVENT_TYPE).
const (
	nvtxMark     = 34
	nvtxPush     = 35
	nvtxPop      = 36
	nvtxStart    = 37
	nvtxEnd      = 38
	nvtxPushPop  = 59
	nvtxStartEnd = 60
	nvtxDomain   = 75 // names a domain
)

// half is one end of a range that the export did not pair.
type half struct {
	capture *capture
	thread  traceindex.ThreadID
	atNs    int64
	kind    int64
	rangeID int64
	domain  int64
	text    string
	row     int
}

// domainKey is a domain of a process.
type domainKey struct{ process, domain int64 }

// waiting is a range whose domain's name is not known yet.
type waiting struct {
	capture              *capture
	thread               traceindex.ThreadID
	startNs, durNs, kind int64
	domain               domainKey
	text                 string
}

// maxInDomains bounds the ranges that wait; further ones go without their domain's name.
const maxInDomains = 1 << 22

// readNVTX adds the ranges. Steps are found among them at the end.
func (r *reader) readNVTX() error {
	columns := []string{"start", "end", "eventType", "rangeId", "text", "textId", "globalTid", "domainId"}
	domains := map[domainKey]string{}
	var inDomains []waiting // ranges outside the default domain: its name may come later
	parsed := rangeNames{}
	var halves []half
	var unended []row
	rows := 0
	err := r.db.each(r.ctx, tableNVTX, columns, func(w row) error {
		rows++
		kind := w.number(2, nvtxPushPop)
		if kind == nvtxDomain {
			domains[domainKey{w.number(6, 0) >> 24, w.number(7, 0)}] = r.rangeText(w)
			return nil
		}
		if kind != nvtxPushPop && kind != nvtxStartEnd && (kind < nvtxMark || kind > nvtxEnd) {
			return nil
		}
		global, ok := w.int(6)
		c := r.captureOf(global, ok)
		if c == nil {
			return nil
		}
		text := r.rangeText(w)
		domain := w.number(7, 0)
		if kind >= nvtxPush && kind <= nvtxEnd {
			if at, ok := w.int(0); ok && len(halves) < 1<<24 {
				halves = append(halves, half{c, c.thread(global), at, kind, w.number(3, 0), domain, text, rows})
			}
			return nil
		}
		if _, ended := w.int(1); !ended && kind != nvtxMark {
			unended = append(unended, append(row(nil), w...)) // still open when the recording stopped
			return nil
		}
		start, dur, ok := r.span(w)
		if !ok {
			return nil
		}
		if domain != 0 && len(inDomains) < maxInDomains {
			inDomains = append(inDomains, waiting{c, c.thread(global), start, dur, kind, domainKey{global >> 24, domain}, text})
			return nil
		}
		r.addRange(c, c.thread(global), start, dur, kind, text, parsed)
		return nil
	})
	if err != nil {
		return err
	}
	for _, w := range inDomains {
		if name := domains[w.domain]; name != "" && w.text != "" {
			w.text = name + ": " + w.text
		}
		r.addRange(w.capture, w.thread, w.startNs, w.durNs, w.kind, w.text, parsed)
	}
	r.pair(halves, parsed)
	for _, w := range unended {
		global, _ := w.int(6)
		if start, ok := w.int(0); ok && start <= r.lastNs {
			c := r.captureOf(global, true)
			r.addRange(c, c.thread(global), start, r.lastNs-start, w.number(2, nvtxPushPop), r.rangeText(w), parsed)
		}
	}
	for _, c := range r.captures {
		for thread, spans := range c.outermost {
			c.outermost[thread] = merged(spans)
		}
		c.addSteps(r.otherIdx)
	}
	return nil
}

// rangeText is a range's text: registered (textId) or given.
func (r *reader) rangeText(w row) string {
	if text := w.text(4); text != "" {
		return text
	}
	if id, ok := w.int(5); ok {
		return r.strings[id]
	}
	return ""
}

// addRange adds one range.
func (r *reader) addRange(c *capture, thread traceindex.ThreadID, start, dur, kind int64, text string, parsed rangeNames) {
	if text == "" {
		text = "unnamed range"
	}
	e := traceindex.Event{StartNs: start, DurNs: dur, Category: traceindex.CategoryAnnotation, Thread: thread, Detail: -1, EvIdx: r.otherIdx}
	switch {
	case kind == nvtxMark:
		e.Category = traceindex.CategoryOther
		e.Name = c.name("mark: " + text)
	case kind == nvtxPushPop && parsed.isOp(text):
		op := parseOp(text)
		e.Category = traceindex.CategoryOp
		e.Name = c.name(op.name)
		d := traceindex.OpDetail{Sequence: op.sequence}
		if op.backward {
			d.ForwardThread = 1
		}
		if op.sizes != "" {
			d.Dims = c.name(op.sizes)
		}
		e.Detail = c.b.AddOp(d)
		if r.chains == nil {
			break
		}
		if c.outermost == nil {
			c.outermost = map[traceindex.ThreadID][]span{}
		}
		spans := c.outermost[thread]
		if n := len(spans); n > 0 && spans[n-1].startNs <= start && start+dur <= spans[n-1].endNs {
			break // within the last one
		}
		c.outermost[thread] = append(spans, span{start, start + dur})
	default:
		e.Name = c.name(text)
		if number, ok := stepNumber(text); ok && kind == nvtxPushPop {
			c.steps = append(c.steps, stepRange{thread, start, start + dur, number, strings.TrimRight(text, "0123456789")})
		}
	}
	c.b.Add(e)
}

// pair joins pushes to pops and starts to ends.
func (r *reader) pair(halves []half, parsed rangeNames) {
	slices.SortFunc(halves, func(a, b half) int { return cmp.Or(cmp.Compare(a.atNs, b.atNs), cmp.Compare(a.row, b.row)) })
	type stackKey struct {
		thread  traceindex.ThreadID
		capture *capture
		domain  int64
	}
	stacks := map[stackKey][]half{}
	started := map[int64]half{}
	finish := func(begin half, endNs, kind int64) {
		if endNs >= begin.atNs {
			r.addRange(begin.capture, begin.thread, begin.atNs, endNs-begin.atNs, kind, begin.text, parsed)
		}
	}
	for _, h := range halves {
		r.lastNs = max(r.lastNs, h.atNs)
		key := stackKey{h.thread, h.capture, h.domain}
		switch h.kind {
		case nvtxPush:
			stacks[key] = append(stacks[key], h)
		case nvtxPop:
			if n := len(stacks[key]); n > 0 {
				finish(stacks[key][n-1], h.atNs, nvtxPushPop)
				stacks[key] = stacks[key][:n-1]
			}
		case nvtxStart:
			started[h.rangeID] = h
		case nvtxEnd:
			if begin, ok := started[h.rangeID]; ok {
				finish(begin, h.atNs, nvtxStartEnd)
				delete(started, h.rangeID)
			}
		}
	}
	for _, stack := range stacks {
		for _, begin := range stack {
			finish(begin, r.lastNs, nvtxPushPop)
		}
	}
	for _, begin := range started {
		finish(begin, r.lastNs, nvtxStartEnd)
	}
}

// rangeNames remembers of the texts without numbers whether they are ops.
type rangeNames map[string]bool

var opName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_]`)

// isOp tells PyTorch's ranges: "aten::mm, seq = 4", "autograd::engine::evaluate_function: MmBackward0, seq = 4, op_id = 5",
// "MmBackward0, seq = 4". Library ranges like "cub::DeviceReduce::Sum" have no op_id; a namespace alone does not make an op.
func (n rangeNames) isOp(text string) bool {
	if hasKey(text) {
		return true
	}
	if known, ok := n[text]; ok {
		return known
	}
	is := false
	if opName.MatchString(text) {
		switch namespace, _, _ := strings.Cut(text, "::"); namespace {
		case "aten", "autograd", "torch", "prim", "prims", "c10d", "c10", "quantized", "_c10d_functional", "torchvision", "torchaudio", "xformers", "flash_attn", "inductor":
			is = true
		}
	}
	if len(n) < 100_000 {
		n[text] = is
	}
	return is
}

var opKeys = []string{", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = ", ", stashed seq=", ", stashed seq = ", ", seq=", ", TID="}

func hasKey(text string) bool {
	for _, key := range opKeys {
		if strings.Contains(text, key) {
			return true
		}
	}
	return false
}

// op is what PyTorch writes into a range's text (torch/csrc/profiler/util.cpp, getNvtxStr; before 1.9, profiler_legacy.cpp).
type op struct {
	name     string
	sequence int64 // −1 if absent
	sizes    string
	backward bool
}

func parseOp(text string) op {
	o := op{name: text, sequence: -1}
	end := len(text)
	for _, key := range opKeys {
		at := strings.Index(text, key)
		if at < 0 {
			continue
		}
		end = min(end, at)
		value := text[at+len(key):]
		switch key {
		case ", seq = ", ", seq=":
			if n, ok := leadingNumber(value); ok && o.sequence < 0 {
				o.sequence = n
			}
		case ", stashed seq=", ", stashed seq = ":
			// The number the backward node was made with: that of its forward op.
			if n, ok := leadingNumber(value); ok {
				o.sequence, o.backward = n, true
			}
		case ", sizes = ":
			o.sizes = bracketed(value)
		}
	}
	o.name = strings.TrimSpace(text[:end])
	return o
}

func leadingNumber(text string) (int64, bool) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	return n, err == nil
}

// bracketed is the list a text begins with.
func bracketed(text string) string {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
		if depth == 0 {
			return ""
		}
	}
	return ""
}

// stepRange is a range that says it is a step.
type stepRange struct {
	thread         traceindex.ThreadID
	startNs, endNs int64
	number         int
	family         string // the text without its number
}

var stepText = regexp.MustCompile(`(?i)^(?:[\w .-]*\b)?(?:train(?:ing)?[ _-]?)?(?:step|iter|iteration|batch)[ _:#=-]*(\d{1,9})$`)

func stepNumber(text string) (int, bool) {
	if strings.HasPrefix(text, "ProfilerStep#") {
		return 0, false // the index knows these
	}
	match := stepText.FindStringSubmatch(text)
	if match == nil {
		return 0, false
	}
	n, err := strconv.Atoi(match[1])
	return n, err == nil
}

// addSteps marks the steps: the ranges of one family on one thread, two or more, that follow one another. Of several families
// the one that fills most time counts.
func (c *capture) addSteps(otherIdx int32) {
	type key struct {
		thread traceindex.ThreadID
		family string
	}
	families := map[key][]stepRange{}
	for _, s := range c.steps {
		k := key{s.thread, s.family}
		families[k] = append(families[k], s)
	}
	var best []stepRange
	var bestNs int64
	for _, list := range families {
		slices.SortFunc(list, func(a, b stepRange) int { return cmp.Compare(a.startNs, b.startNs) })
		var sum int64
		follow := len(list) >= 2
		for i, s := range list {
			sum += s.endNs - s.startNs
			if i > 0 && s.startNs < list[i-1].endNs {
				follow = false
			}
		}
		if follow && (sum > bestNs || sum == bestNs && len(best) > 0 && list[0].family < best[0].family) {
			best, bestNs = list, sum
		}
	}
	for _, s := range best {
		c.b.Add(traceindex.Event{StartNs: s.startNs, DurNs: s.endNs - s.startNs, Name: c.name("ProfilerStep#" + strconv.Itoa(s.number)),
			Category: traceindex.CategoryAnnotation, Thread: s.thread, Detail: -1, EvIdx: otherIdx})
	}
	c.steps = nil
}
