package pyscan

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Notebook is a Jupyter notebook (.ipynb, nbformat 4) read as one Python module: its code cells one after the
// other, each ended by a line break, magics blanked by BlankMagics. It is immutable.
type Notebook struct {
	// File is the module's model. Offsets of the module are those of File.Text.
	File *File
	// Cells are the cells that have a part in the module, in order.
	Cells []*Cell

	raw string // the notebook's JSON as given
}

// Cell is one code cell of a Notebook.
type Cell struct {
	// Span is the cell's source in the module, without the line break that ends it.
	Span
	// Number counts all cells of the notebook from 1, Markdown included.
	Number int
	// Source is the cell's source as written, magics included.
	Source string

	pieces []piece
}

// piece is one JSON string of a cell's source. Notebooks hold a list of them, a line each, or a single one.
type piece struct {
	start int   // in the module
	size  int   // of the decoded text
	raw   Span  // in the JSON, between the quotes
	jumps []int // decoded and raw offset in turn, where they stop moving in step
	array bool
}

// Replacement is a piece of new text for a span of the module.
type Replacement struct {
	Span
	Text string
}

// ParseNotebook reads a notebook. It fails on what is no notebook: not JSON, not an nbformat 4 document, or
// one in another language than Python; the error says which.
func ParseNotebook(path string, data []byte) (*Notebook, error) {
	notebook := &Notebook{raw: string(data)}
	reader := &notebookReader{notebook: notebook, decoder: jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)), data: data}
	if err := reader.document(); err != nil {
		return nil, fmt.Errorf("%s: not a notebook: %w", path, err)
	}
	if language := reader.language; language != "" && !strings.EqualFold(language, "python") && !strings.EqualFold(language, "ipython") {
		return nil, fmt.Errorf("%s: the notebook's language is %s, not Python", path, language)
	}
	notebook.File = Parse(path, reader.module.String())
	return notebook, nil
}

type notebookReader struct {
	notebook *Notebook
	decoder  *jsontext.Decoder
	data     []byte
	module   strings.Builder
	number   int
	language string
}

// document reads the top-level object.
func (r *notebookReader) document() error {
	found := false
	err := r.object(func(key string) error {
		switch key {
		case "cells":
			found = true
			return r.cells()
		case "metadata":
			return r.metadata()
		}
		return r.decoder.SkipValue()
	})
	if err == nil && !found {
		return fmt.Errorf("it has no list of cells (nbformat 4)")
	}
	return err
}

// object reads an object and calls read for each of its keys, at the value.
func (r *notebookReader) object(read func(key string) error) error {
	if r.decoder.PeekKind() != '{' {
		if _, err := r.decoder.ReadToken(); err != nil {
			return err
		}
		return fmt.Errorf("byte %d: an object is expected", r.decoder.InputOffset())
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return err
	}
	for r.decoder.PeekKind() != '}' {
		key, err := r.decoder.ReadToken()
		if err != nil {
			return err
		}
		if err := read(key.String()); err != nil {
			return err
		}
	}
	_, err := r.decoder.ReadToken()
	return err
}

// metadata reads the language out of language_info or kernelspec.
func (r *notebookReader) metadata() error {
	value, err := r.decoder.ReadValue()
	if err != nil {
		return err
	}
	var metadata struct {
		LanguageInfo struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	}
	if json.Unmarshal(value, &metadata) == nil { // odd metadata is no reason to refuse the notebook
		r.language = metadata.LanguageInfo.Name
		if r.language == "" {
			r.language = metadata.Kernel.Language
		}
	}
	return nil
}

func (r *notebookReader) cells() error {
	if r.decoder.PeekKind() != '[' {
		return fmt.Errorf("byte %d: its cells are no list", r.decoder.InputOffset())
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return err
	}
	for r.decoder.PeekKind() != ']' {
		if err := r.cell(); err != nil {
			return err
		}
	}
	_, err := r.decoder.ReadToken()
	return err
}

// cell reads one cell. Its type may come after its source.
func (r *notebookReader) cell() error {
	r.number++
	cell := &Cell{Number: r.number}
	kind := ""
	var texts []string
	err := r.object(func(key string) error {
		switch key {
		case "cell_type":
			value, err := r.decoder.ReadToken()
			if err == nil {
				kind = value.String()
			}
			return err
		case "source":
			var err error
			texts, err = r.source(cell)
			return err
		}
		return r.decoder.SkipValue()
	})
	if err != nil || kind != "code" || len(texts) == 0 {
		return err
	}
	cell.Source = strings.Join(texts, "")
	start := r.module.Len()
	cell.Span = Span{start, start + len(cell.Source)}
	for i := range cell.pieces {
		cell.pieces[i].start += start
	}
	r.module.WriteString(BlankMagics(cell.Source))
	if !strings.HasSuffix(cell.Source, "\n") {
		r.module.WriteByte('\n')
	}
	r.notebook.Cells = append(r.notebook.Cells, cell)
	return nil
}

// source reads a cell's source: a string or a list of strings.
func (r *notebookReader) source(cell *Cell) ([]string, error) {
	var texts []string
	offset := 0
	text := func(array bool) error {
		value, err := r.decoder.ReadValue()
		if err != nil {
			return err
		}
		if value.Kind() != '"' {
			return fmt.Errorf("byte %d: the source of cell %d is no text", r.decoder.InputOffset(), r.number)
		}
		end := int(r.decoder.InputOffset())
		raw := Span{end - len(value) + 1, end - 1}
		decoded, jumps := decodeJSON(r.data[raw.Start:raw.End])
		cell.pieces = append(cell.pieces, piece{start: offset, size: len(decoded), raw: raw, jumps: jumps, array: array})
		texts = append(texts, decoded)
		offset += len(decoded)
		return nil
	}
	if r.decoder.PeekKind() != '[' {
		return texts, text(false)
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return nil, err
	}
	for r.decoder.PeekKind() != ']' {
		if err := text(true); err != nil {
			return nil, err
		}
	}
	_, err := r.decoder.ReadToken()
	return texts, err
}

// decodeJSON decodes a JSON string's inside and notes, as pairs, the decoded and raw offsets after each escape.
func decodeJSON(raw []byte) (string, []int) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), nil
	}
	var out []byte
	var jumps []int
	for at := 0; at < len(raw); {
		if raw[at] != '\\' {
			out = append(out, raw[at])
			at++
			continue
		}
		size := 2
		if at+1 < len(raw) && raw[at+1] == 'u' {
			size = 6
			// A surrogate pair is one character.
			if at+11 < len(raw) && (raw[at+2] == 'd' || raw[at+2] == 'D') && raw[at+6] == '\\' && raw[at+7] == 'u' && (raw[at+8] == 'd' || raw[at+8] == 'D') {
				size = 12
			}
		}
		size = min(size, len(raw)-at)
		quoted := append(append([]byte{'"'}, raw[at:at+size]...), '"')
		decoded, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil && len(decoded) == 0 {
			decoded = []byte("\ufffd")
		}
		out = append(out, decoded...)
		at += size
		jumps = append(jumps, len(out), at)
	}
	return string(out), jumps
}

// rawOffset is the offset in the JSON of the decoded offset (from the piece's start).
func (p *piece) rawOffset(decoded int) int {
	pairs := len(p.jumps) / 2
	at := sort.Search(pairs, func(i int) bool { return p.jumps[2*i] > decoded }) - 1
	if at < 0 {
		return p.raw.Start + decoded
	}
	return p.raw.Start + p.jumps[2*at+1] + decoded - p.jumps[2*at]
}

// CellAt is the cell that holds the module's offset, its end included; nil where there is none.
func (n *Notebook) CellAt(offset int) *Cell {
	at := sort.Search(len(n.Cells), func(i int) bool { return n.Cells[i].End >= offset })
	if at < len(n.Cells) && n.Cells[at].Start <= offset {
		return n.Cells[at]
	}
	return nil
}

// Position is the cell's number and the line in it (both from 1) of a module's offset; cell is 0 outside all cells.
func (n *Notebook) Position(offset int) (cell, line int) {
	at := n.CellAt(offset)
	if at == nil {
		return 0, 0
	}
	return at.Number, n.File.Line(offset) - n.File.Line(at.Start) + 1
}

// Offset is the module's offset of the start of a cell's line (cell number and line from 1); ok is false if
// the notebook has no such code cell or the cell no such line.
func (n *Notebook) Offset(cell, line int) (offset int, ok bool) {
	for _, at := range n.Cells {
		if at.Number != cell {
			continue
		}
		offset = n.File.lines.Start(n.File.Line(at.Start) + line - 1)
		return offset, line >= 1 && offset >= at.Start && offset <= at.End
	}
	return 0, false
}

// Replace writes edits of the module into the notebook's JSON and returns it. All bytes outside the edited
// places stay as they are. The edits must be sorted and must not overlap. An edit that reaches over a cell's
// end or touches a magic is refused, and nothing is changed.
func (n *Notebook) Replace(edits []Replacement) ([]byte, error) {
	var out bytes.Buffer
	written := 0
	last := 0
	for _, edit := range edits {
		cell := n.CellAt(edit.Start)
		if cell == nil || edit.End > cell.End || edit.Start < last {
			return nil, fmt.Errorf("notebook: the edit of bytes %d to %d lies in no single cell, or overlaps another", edit.Start, edit.End)
		}
		last = edit.End
		var err error
		if written, err = n.replaceIn(&out, cell, edit, written); err != nil {
			return nil, err
		}
	}
	out.WriteString(n.raw[written:])
	return out.Bytes(), nil
}

// replaceIn writes the JSON up to an edit and the edit's text; it returns the JSON offset where to go on.
func (n *Notebook) replaceIn(out *bytes.Buffer, cell *Cell, edit Replacement, written int) (int, error) {
	if old := cell.Source[edit.Start-cell.Start : edit.End-cell.Start]; old != n.File.Text[edit.Start:edit.End] {
		return 0, fmt.Errorf("notebook: cell %d: an edit would change a magic", cell.Number)
	}
	from, to := cell.locate(edit.Start), cell.locate(edit.End)
	out.WriteString(n.raw[written:from.offset])
	text := edit.Text
	for text != "" {
		line := text
		if from.piece.array {
			if at := strings.IndexByte(text, '\n'); at >= 0 && at+1 < len(text) || at >= 0 && !n.endsPiece(cell, to) {
				line = text[:at+1]
			}
		}
		text = text[len(line):]
		out.WriteString(quoteInside(line))
		if from.piece.array && strings.HasSuffix(line, "\n") && !(text == "" && n.endsPiece(cell, to)) {
			out.WriteString(`"` + n.separator(cell) + `"`)
		}
	}
	return to.offset, nil
}

// rawPlace is a place in the JSON of a cell's source.
type rawPlace struct {
	offset int
	piece  *piece
}

// locate finds the place of a module's offset. Between two pieces it is the start of the second; ends do not
// differ: what was deleted up to a line's end takes the seam with it, so that no empty piece is left.
func (c *Cell) locate(offset int) rawPlace {
	at := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].start > offset }) - 1
	p := &c.pieces[max(at, 0)]
	return rawPlace{p.rawOffset(offset - p.start), p}
}

// endsPiece says whether the place is the end of the cell's source, where no piece needs to follow.
func (n *Notebook) endsPiece(cell *Cell, at rawPlace) bool {
	last := &cell.pieces[len(cell.pieces)-1]
	return at.piece == last && at.offset == last.raw.End
}

// separator is what stands between two strings of the cell's source: a comma and usually a line break.
func (n *Notebook) separator(cell *Cell) string {
	if len(cell.pieces) > 1 {
		return n.raw[cell.pieces[0].raw.End+1 : cell.pieces[1].raw.Start-1]
	}
	start := cell.pieces[0].raw.Start - 1
	blank := start
	for blank > 0 && strings.IndexByte(" \t\r\n", n.raw[blank-1]) >= 0 {
		blank--
	}
	return "," + n.raw[blank:start]
}

// quoteInside is text as it stands between the quotes of a JSON string.
func quoteInside(text string) string {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil { // invalid UTF-8 is replaced; the quoted text is complete all the same
		quoted, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd"))
	}
	return string(quoted[1 : len(quoted)-1])
}
