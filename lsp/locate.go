package lsp

import (
	"math"

	"go.lsp.dev/protocol"
	lspuri "go.lsp.dev/uri"

	"stepline/lsp/internal/text"
	"stepline/pyscan"
	"stepline/rules"
)

// wireURI is a URI as the protocol's types have it: the client's own words, never parsed and written anew.
type wireURI = lspuri.URI

// placed is a text document of the client and where it is in what is analysed: itself, or a cell in its notebook's module.
type placed struct {
	module *document
	uri    string
	text   *text.Text
	// start is the offset of the document's text in the module's.
	start int
	enc   text.Encoding
}

// documentAt finds the open document a request is about: nil, without an error, for one that is not open, or is a cell without
// Python code.
func (s *server) documentAt(t *textDocumentParam) (*placed, error) {
	uri, err := t.uri()
	if err != nil {
		return nil, err
	}
	return s.placedAt(documentKey(uri)), nil
}

func (s *server) placedAt(key string) *placed {
	state := s.current.Load()
	if d := state.documents[key]; d != nil {
		return &placed{module: d, uri: d.uri, text: d.text, enc: s.encoding}
	}
	for _, n := range state.notebooks {
		if c := n.cell(key); c != nil {
			if d := state.documents[n.key]; d != nil && c.start >= 0 {
				return &placed{module: d, uri: c.uri, text: c.text, start: c.start, enc: s.encoding}
			}
		}
	}
	return nil
}

// offset is the module's offset of a position in the document.
func (p *placed) offset(at *position) int { return p.start + p.text.Offset(at.text(), p.enc) }

// span is the module's span of a range in the document.
func (p *placed) span(r *rangeParam) pyscan.Span {
	start, end := p.offset(r.Start), p.offset(r.End)
	return pyscan.Span{Start: start, End: max(start, end)}
}

// holds tells whether a module's offset lies in the document.
func (p *placed) holds(offset int) bool { return p.start <= offset && offset <= p.start+p.text.Len() }

func (p *placed) position(offset int) protocol.Position {
	return wirePosition(p.text.Position(offset-p.start, p.enc))
}

func (p *placed) rangeOf(span pyscan.Span) protocol.Range {
	return protocol.Range{Start: p.position(span.Start), End: p.position(span.End)}
}

// lines are the module's lines (from 1) that the document's range touches.
func (p *placed) lines(r *rangeParam) (first, last int) {
	span := p.span(r)
	return p.module.text.LineOf(span.Start) + 1, p.module.text.LineOf(span.End) + 1
}

// line is the document's own line (from 1) for a module's.
func (p *placed) line(moduleLine int) int {
	if p.start == 0 {
		return moduleLine
	}
	return moduleLine - p.module.text.LineOf(p.start)
}

// again is the same place in a newer check of the same text.
func (p *placed) again(d *document) *placed {
	n := *p
	n.module = d
	return &n
}

// locator turns byte spans of files into the protocol's places, for one document's view of its folder.
type locator struct {
	state  *state
	folder *folder
	enc    text.Encoding
	own    *document
	// texts are those of files that are not open, made once per answer.
	texts map[*pyscan.File]*text.Text
}

func (s *server) locatorFor(d *document) *locator {
	return &locator{state: s.current.Load(), folder: d.folder, enc: s.encoding, own: d, texts: map[*pyscan.File]*text.Text{}}
}

// keyOf is the document key of a path of the folder's analysis; the opposite of pathOf.
func (f *folder) keyOf(path string) string {
	switch {
	case f.root != "" && path != "" && path[0] != '/' && documentKey(path) == path:
		return "file:" + f.root + "/" + path
	case path != "" && path[0] == '/':
		return "file:" + path
	}
	return path
}

// place is where a span of a file stands for the client. In a notebook it is in the cell that holds the span's start.
func (l *locator) place(file *pyscan.File, span pyscan.Span) protocol.Location {
	if n := l.notebook(file.Path); n != nil {
		if c := n.cellAt(span.Start); c != nil {
			start, end := span.Start-c.start, min(span.End-c.start, c.text.Len())
			return protocol.Location{URI: wireURI(c.uri), Range: wireRange(c.text.Range(start, end, l.enc))}
		}
	}
	return protocol.Location{URI: l.uri(file.Path), Range: wireRange(l.text(file).Range(span.Start, span.End, l.enc))}
}

// notebook is the open notebook whose module has a path, nil where that is a file's.
func (l *locator) notebook(path string) *notebook {
	d := l.own
	if d == nil || path != d.path {
		d = l.state.documents[l.folder.keyOf(path)]
	}
	if d == nil {
		return nil
	}
	return d.notebook
}

func (l *locator) uri(path string) wireURI {
	if l.own != nil && path == l.own.path {
		return wireURI(l.own.uri)
	}
	key := l.folder.keyOf(path)
	if d := l.state.documents[key]; d != nil {
		return wireURI(d.uri)
	}
	if p, ok := keyPath(key); ok {
		return wireURI(pathURI(osPath(p)))
	}
	return wireURI(key)
}

func (l *locator) text(file *pyscan.File) *text.Text {
	if l.own != nil && file.Path == l.own.path {
		return l.own.text
	}
	t := l.texts[file]
	if t == nil {
		t = text.New(file.Text)
		l.texts[file] = t
	}
	return t
}

// edit is a rule's edit as the client applies it, with the document it is for.
func (l *locator) edit(e rules.TextEdit) (wireURI, protocol.TextEdit) {
	at := l.place(e.File, e.Span)
	return at.URI, protocol.TextEdit{Range: at.Range, NewText: e.New}
}

// version is an open document's version, nil for one on disk.
func (l *locator) version(uri wireURI) *int32 {
	key := documentKey(string(uri))
	if l.own != nil && l.own.notebook != nil {
		if c := l.own.notebook.cell(key); c != nil {
			v := wireVersion(c.version)
			return &v
		}
	}
	if d := l.state.documents[key]; d != nil && d.notebook == nil {
		v := wireVersion(d.version)
		return &v
	}
	return nil
}

func wireRange(r text.Range) protocol.Range {
	return protocol.Range{Start: wirePosition(r.Start), End: wirePosition(r.End)}
}

func wirePosition(p text.Position) protocol.Position {
	return protocol.Position{Line: p.Line, Character: p.Character}
}

// wireVersion is a document's version for the client, who gave it as an int32 or was not heeding the protocol.
func wireVersion(v int64) int32 {
	return int32(min(max(v, math.MinInt32), math.MaxInt32))
}
