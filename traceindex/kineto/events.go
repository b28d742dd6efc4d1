package kineto

import "bytes"

// events reads the event list; it reports whether the list's end was seen.
func (d *document) events() bool {
	w, p := d.w, &d.p
	for {
		switch c := d.peek(); {
		case c == ',':
			w.pos++
		case c == '{' && w.n-w.pos >= d.forkBytes && d.fork():
		case c == '{':
			switch end := d.event(w.buf, w.pos); {
			case end-w.pos > swallowBytes && d.escape(end): // it has swallowed others
			case end > 0:
				if end-w.pos > swallowBytes {
					d.event(w.buf, w.pos) // escape has read others since
				}
				p.emit(w.buf, w.pos)
				w.pos = end
			case end == -1:
				if !d.grow() {
					return false
				}
			case d.repair():
			default:
				p.damaged.note(p, p.badAt)
				if !d.resync(w.pos+1, "") {
					return false
				}
			}
		case c == ']':
			w.pos++
			if d.array {
				d.whole = true
				return true
			}
			if c := d.peek(); c == ',' || c == '}' || c == 0 && w.pos >= w.n {
				return true
			}
			p.damaged.note(p, w.pos) // a bracket in the midst of damage, not the list's end
			if !d.resync(w.pos, "") {
				return false
			}
		case c == 0 && w.pos >= w.n:
			return false
		case d.passValue():
		default:
			p.damaged.note(p, w.pos)
			if !d.resync(w.pos, "") {
				return false
			}
		}
	}
}

// passValue passes over a value that is no object (null, a number, a list), if what follows it is what follows an event.
func (d *document) passValue() bool {
	w := d.w
	for end := valueEnd(w.buf, w.pos); ; end = valueEnd(w.buf, w.pos) {
		if end > 0 {
			end = skipSpace(w.buf[:w.n], end)
		}
		switch {
		case end > 0 && end < w.n && (w.buf[end] == ',' || w.buf[end] == ']'):
			d.p.damaged.note(&d.p, w.pos)
			w.pos = end
			return true
		case (end == -1 || end >= w.n) && w.n-w.pos < headroomBytes && w.more():
		default:
			return false
		}
	}
}

// swallowBytes is the size from which a sound event is looked at for others within it: after damage, brackets can fit by chance
// many events further on.
const swallowBytes = 4 << 10

// largeEventBytes is where an event that does not end makes one look for others within it: a lost bracket.
const largeEventBytes = 1 << 20

// grow brings in the rest of an event that is not all in memory; a large one is doubled before it is tried again. It reports
// false where the input ends within the event.
func (d *document) grow() bool {
	w := d.w
	had := w.n - w.pos
	if had > maxPieceBytes {
		d.p.tooLarge.note(&d.p, w.pos)
		return d.resync(w.pos+1, "")
	}
	if had > largeEventBytes && d.escape(w.n) {
		return true
	}
	if !w.more() {
		return d.repair() || d.escape(w.n)
	}
	for had > headroomBytes && w.n-w.pos < min(2*had, maxPieceBytes) {
		if !w.more() {
			break
		}
	}
	return true
}

// lookTimes is how often the bytes of a piece may be looked at, all tries together: objects in objects would take for ever.
const lookTimes = 16

// escape leaves an event for the first whole one that lies in it, before the given end.
func (d *document) escape(end int) bool {
	w, p := d.w, &d.p
	failures := 0
	enough := d.looked + lookTimes*int64(end-w.pos)
	for at := w.pos + 1; failures < 16 && d.looked < enough; at++ {
		i := bytes.IndexByte(w.buf[at:end], '{')
		if i < 0 {
			return false
		}
		at += i
		switch end := d.eventNear(at); {
		case end > 0 && p.isEvent() && p.raw.has&(hasTs|hasID) != 0:
			p.damaged.note(p, w.pos)
			w.pos = at
			return true
		case end == -1:
			failures++
		}
	}
	return false
}

// event is parser.event, counted.
func (d *document) event(b []byte, at int) int {
	end := d.p.event(b, at)
	switch {
	case end > 0:
		d.looked += int64(end - at)
	case end == -1:
		d.looked += int64(len(b) - at)
	default:
		d.looked += int64(max(0, d.p.badAt-at))
	}
	return end
}

// eventNear is parser.event for an event of at most largeEventBytes: where many places are tried, none may look at all that is
// in memory.
func (d *document) eventNear(at int) int {
	w := d.w
	if w.n-at <= largeEventBytes {
		return d.event(w.buf, at)
	}
	// Zeros end the lexers' loops; what they stand on is put back.
	limit := at + largeEventBytes
	var saved [padBytes]byte
	copy(saved[:], w.buf[limit:limit+padBytes])
	clear(w.buf[limit : limit+padBytes])
	end := d.event(w.buf[:limit+padBytes], at)
	copy(w.buf[limit:], saved[:])
	return end
}

// atEvent reports whether a whole event with a time begins at the place of reading. Only the beginning of the input is asked
// so, where a trace's own object may be of any size: no more is brought in than an event may need.
func (d *document) atEvent() bool {
	for {
		switch end := d.event(d.w.buf, d.w.pos); {
		case end > 0:
			return d.p.isEvent() && d.p.raw.has&hasTs != 0
		case end == -1 && d.w.n-d.w.pos < headroomBytes && d.w.more():
		default:
			return false
		}
	}
}

// isEvent tells an event from another object, such as args.
func (p *parser) isEvent() bool { return p.raw.has&hasPhase != 0 && !p.raw.name.empty() }

// resync looks for the next whole event behind damage: an object with a phase and a name. The list's end cannot be told from a
// bracket within the damage, so everything up to the next event is passed over; but not beyond the given text, if any.
func (d *document) resync(from int, until string) bool {
	w, p := d.w, &d.p
	w.pos = from
	open := 0
	inside := int64(0) // bytes of whole objects that were looked at and are gone through again
	for {
		i := -1
		if w.pos < w.n {
			i = bytes.IndexByte(w.buf[w.pos:w.n], '{')
		}
		if i < 0 {
			if w.pos = w.n; !w.more() {
				return false
			}
			continue
		}
		if until != "" && bytes.Contains(w.buf[w.pos:w.pos+i], []byte(until)) {
			return false
		}
		w.pos += i
		end := d.eventNear(w.pos)
		if end == -1 && w.n-w.pos < largeEventBytes && w.more() {
			continue
		}
		if end > 0 && p.isEvent() {
			return true
		}
		if end > 0 {
			if inside += int64(end - w.pos); inside > lookTimes*largeEventBytes {
				w.pos, inside = end, 0
				continue
			}
		}
		w.pos++
		if end == -1 {
			// Objects in objects without an end: look at a few, or this takes for ever.
			if open++; open%4 == 0 {
				w.pos = min(w.n, w.pos+largeEventBytes/2)
			}
		}
	}
}

// repairBytes bounds how far repair looks.
const repairBytes = 1 << 20

// repair reads an event whose strings end in a raw backslash, `"C:\work\"`: there the backslash seems to escape the quote, and the
// text only makes sense if it does not. A quote behind a backslash ends a string for sure only where a comma, colon or bracket
// follows, so this is tried only when reading by the rules has failed. It consumes the event and reports true if it succeeds.
func (d *document) repair() bool {
	w, p := d.w, &d.p
	bad := p.badAt
	for {
		text := w.buf[w.pos:min(w.n, w.pos+repairBytes)]
		fixed, inserted := closeStrings(text)
		if len(inserted) == 0 {
			return false
		}
		end := d.event(fixed, 0)
		if end == -1 && len(text) < repairBytes && w.more() {
			continue
		}
		if end <= 0 || !p.isEvent() {
			p.badAt = bad
			return false
		}
		consumed := end
		for _, at := range inserted {
			if at < end {
				consumed--
			}
		}
		p.badEscape.note(p, w.pos+inserted[0])
		p.rawPaths = true
		p.shift = w.pos
		p.emit(fixed, 0)
		p.shift = 0
		w.pos += consumed
		return true
	}
}

// closeStrings doubles the backslash before each quote that something follows as it follows a string's end. It returns the
// padded text and the places of the bytes put in.
func closeStrings(text []byte) (fixed []byte, inserted []int) {
	if !bytes.Contains(text, []byte(`\"`)) {
		return nil, nil
	}
	fixed = make([]byte, 0, len(text)+len(text)/8+padBytes)
	for i, c := range text {
		if c == '\\' && i+1 < len(text) && text[i+1] == '"' && (i == 0 || text[i-1] != '\\') {
			j := i + 2
			for j < len(text) && isSpace(text[j]) {
				j++
			}
			if j < len(text) && (text[j] == ',' || text[j] == '}' || text[j] == ']' || text[j] == ':') {
				inserted = append(inserted, len(fixed))
				fixed = append(fixed, '\\')
			}
		}
		fixed = append(fixed, c)
	}
	return append(fixed, make([]byte, padBytes)...), inserted
}
