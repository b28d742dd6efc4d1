package lsp

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"go.lsp.dev/protocol"

	"stepline/lsp/internal/text"
	"stepline/pyscan"
	"stepline/rules"
)

// items are a document's diagnostics as the JSON of an array, as the protocol's own encoder would write []protocol.Diagnostic. With
// every keystroke there are hundreds of them, in which little is new: they are written from the findings themselves, without the
// protocol's types between, and what an edit elsewhere does not change of them is kept (phrases).
type items struct {
	l   *locator
	d   *document
	out []byte
	// n findings are written; left are those over maxDiagnostics, which finish counts for the reader.
	n, left int
	// shown hashes what the client shows of them, where the answer needs a result id.
	shown *xxhash.Digest

	// uri is the document's, uris those of other documents, as JSON.
	uri  []byte
	uris map[wireURI][]byte
	// near is the line that was last looked for in the document's text; down is by how many lines an edit moved the last place.
	near, down int
	patch      *pyscan.Patch // the edit that moved the findings with phrases, nil for none
}

// phrase is what of a finding's diagnostic no edit elsewhere changes, as JSON: all but its places and its data.
type phrase struct {
	said    []byte // from the severity to the tags
	at      linePlace
	reasons []reason
}

// reason is a related place of a finding.
type reason struct {
	said []byte // what is said of it
	at   linePlace
}

// linePlace is a span within a line of the document that was checked whole, as it was there: edits elsewhere move lines.
type linePlace struct {
	known                 bool // it is such a place
	line, start, end      uint32
	lineStart, begin, len int // offsets in the text, and the span's length
}

// itemsOf begins the diagnostics of a document behind what out holds.
func (s *server) itemsOf(l *locator, d *document, out []byte) *items {
	return &items{l: l, d: d, out: append(out, '['), uri: appendString(nil, d.uri)}
}

// hashed has the items hashed for a result id.
func (w *items) hashed() *items {
	w.shown = xxhash.New()
	return w
}

// phraseOf makes a finding's phrase, without its places.
func (s *server) phraseOf(f *rules.Finding) phrase {
	shape := s.client.can.TextDocument.PublishDiagnostics
	var b []byte
	b = strconv.AppendUint(append(b, `,"severity":`...), uint64(severity(f.Severity)), 10)
	b = appendString(append(b, `,"code":`...), f.Rule.ID)
	if shape.CodeDescriptionSupport || s.pulls.Load() {
		b = append(appendString(append(b, `,"codeDescription":{"href":`...), f.Rule.PageURL()), '}')
	}
	b = appendString(append(b, `,"source":"stepline","message":`...), pricedMessage(f))
	for i, tag := range f.Tags { // the numbers are the protocol's
		before := byte(',')
		if i == 0 {
			b, before = append(b, `,"tags":`...), '['
		}
		b = strconv.AppendUint(append(b, before), uint64(tag), 10)
	}
	if len(f.Tags) > 0 {
		b = append(b, ']')
	}
	p := phrase{said: b}
	if !shape.RelatedInformation && !s.pulls.Load() {
		return p
	}
	for i := range f.Related {
		p.reasons = append(p.reasons, reason{said: append(appendString([]byte(`},"message":`), f.Related[i].Message), '}')})
	}
	return p
}

// add writes a finding, as long as there are not too many.
func (w *items) add(f *rules.Finding, p phrase) {
	if w.n == maxDiagnostics {
		w.left++
		return
	}
	b, start := w.begin()
	_, at := w.where(f.File, f.Span, &p.at)
	b = append(appendRange(append(b, `"range":`...), at), p.said...)
	for i := range p.reasons {
		between := `,{"location":{"uri":`
		if i == 0 {
			between = `,"relatedInformation":[{"location":{"uri":`
		}
		uri, at := w.where(f.Related[i].File, f.Related[i].Span, &p.reasons[i].at)
		b = append(append(b, between...), uri...)
		b = append(appendRange(append(b, `,"range":`...), at), p.reasons[i].said...)
	}
	if len(p.reasons) > 0 {
		b = append(b, ']')
	}
	if w.shown != nil { // `data` names the version, which changes with every keystroke; what is shown does not depend on it
		_, _ = w.shown.Write(b[start:])
	}
	b = refOf(w.d, f).appendJSON(append(b, `,"data":`...), w.uri)
	w.out, w.n = append(b, '}'), w.n+1
}

// begin begins an item; start is where.
func (w *items) begin() (b []byte, start int) {
	b = w.out
	if w.n > 0 {
		b = append(b, ',')
	}
	return append(b, '{'), len(b)
}

// finish ends the array; nothing may be added behind it.
func (w *items) finish() {
	if w.left > 0 {
		w.tellOfTheRest()
	}
	w.out = append(w.out, ']')
}

func (w *items) tellOfTheRest() {
	b, start := w.begin()
	b = append(b, `"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"severity":`...)
	b = strconv.AppendUint(b, uint64(protocol.DiagnosticSeverityInformation), 10)
	said := fmt.Sprintf("%d more findings in this file are not shown; `stepline check` lists them all", w.left)
	w.out = append(appendString(append(b, `,"source":"stepline","message":`...), said), '}')
	if w.shown != nil {
		_, _ = w.shown.Write(w.out[start:])
	}
}

// id names the items by what the client shows of them: equal ones have equal ids, so that an id a client still holds from earlier
// is honoured whenever it is true. The items must be hashed and finished.
func (w *items) id() string { return strconv.FormatUint(w.shown.Sum64(), 36) }

// where is the place of a span of a file, the URI as JSON; before is what is known of where it was before an edit.
func (w *items) where(file *pyscan.File, span pyscan.Span, before *linePlace) (uri []byte, at protocol.Range) {
	own := w.l.own
	if own == nil || own.notebook != nil || file.Path != own.path {
		place := w.l.place(file, span)
		return w.uriOf(place.URI), place.Range
	}
	if at, ok := w.moved(span, before); ok {
		return w.uri, at
	}
	var start, end text.Position
	start, w.near = own.text.PositionNear(w.near, span.Start, w.l.enc)
	end, w.near = own.text.PositionNear(w.near, span.End, w.l.enc)
	return w.uri, wireRange(text.Range{Start: start, End: end})
}

// moved is where a place that was known before an edit is now, if the edit left its line alone up to the place's end.
func (w *items) moved(span pyscan.Span, before *linePlace) (at protocol.Range, ok bool) {
	if !before.known || span.End-span.Start != before.len {
		return at, false
	}
	now := before.lineStart
	if w.patch != nil {
		if now, ok = w.patch.Moved(pyscan.Span{Start: before.lineStart, End: before.begin + before.len}); !ok {
			return at, false
		}
	}
	if span.Start-now != before.begin-before.lineStart {
		return at, false
	}
	t := w.l.own.text
	line := int(before.line) + w.down
	if line < 0 || line >= t.LineCount() || t.LineStart(line) != now {
		if line = t.LineOf(now); t.LineStart(line) != now {
			return at, false
		}
		w.down = line - int(before.line)
	}
	at.Start = protocol.Position{Line: uint32(line), Character: before.start}
	at.End = protocol.Position{Line: uint32(line), Character: before.end}
	return at, true
}

// placeOf is a span of a document as later edits move it.
func placeOf(d *document, file *pyscan.File, span pyscan.Span, enc text.Encoding) linePlace {
	if file.Path != d.path || d.notebook != nil {
		return linePlace{}
	}
	r := d.text.Range(span.Start, span.End, enc)
	return linePlace{
		known: r.Start.Line == r.End.Line, line: r.Start.Line, start: r.Start.Character, end: r.End.Character,
		lineStart: d.text.LineStart(int(r.Start.Line)), begin: span.Start, len: span.End - span.Start,
	}
}

// uriOf is another document's URI as JSON.
func (w *items) uriOf(uri wireURI) []byte {
	known := w.uris[uri]
	if known == nil {
		if w.uris == nil {
			w.uris = map[wireURI][]byte{}
		}
		known = appendString(nil, string(uri))
		w.uris[uri] = known
	}
	return known
}

func appendRange(b []byte, r protocol.Range) []byte {
	b = appendPosition(append(b, `{"start":`...), r.Start)
	b = appendPosition(append(b, `,"end":`...), r.End)
	return append(b, '}')
}

func appendPosition(b []byte, p protocol.Position) []byte {
	b = strconv.AppendUint(append(b, `{"line":`...), uint64(p.Line), 10)
	b = strconv.AppendUint(append(b, `,"character":`...), uint64(p.Character), 10)
	return append(b, '}')
}

// appendString writes a JSON string; what is no UTF-8 becomes U+FFFD, as encoding/json has it.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
