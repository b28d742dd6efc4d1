package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stepline/lsp/internal/text"
)

// A notebook's Python cells are linted as one module: their texts one after the other, magics blanked so that no offset
// moves. The module is a document of the session like any other, with the notebook set; findings are told in their cells.

// notebook is an open notebook at one version; immutable.
type notebook struct {
	key, uri string
	version  int64
	cells    []*notebookCell
}

// notebookCell is one cell; those that are no Python code have no part in the module.
type notebookCell struct {
	key, uri string
	code     bool // kind 2
	language string
	version  int64
	text     *text.Text
	// start is the offset of the cell's text in the module, −1 if it has no part in it.
	start int
}

func (c *notebookCell) python() bool {
	return c.code && (strings.EqualFold(c.language, "python") || c.language == "")
}

// cell is the cell of a key; nil where it, or the notebook, is not there.
func (n *notebook) cell(key string) *notebookCell {
	if n == nil {
		return nil
	}
	for _, c := range n.cells {
		if c.key == key {
			return c
		}
	}
	return nil
}

// cellAt is the cell that holds a module's offset.
func (n *notebook) cellAt(offset int) *notebookCell {
	for _, c := range n.cells {
		if c.start >= 0 && c.start <= offset && offset <= c.start+c.text.Len() {
			return c
		}
	}
	return nil
}

// module lays the cells out and returns their text as one module. A cell that is there twice, as while a client moves it by inserting
// it before it removes it, has its part once.
func (n *notebook) module() *text.Text {
	var b strings.Builder
	laid := map[string]bool{}
	for i, c := range n.cells {
		placed := *c
		placed.start = -1
		if c.python() && !laid[c.key] {
			laid[c.key] = true
			placed.start = b.Len()
			b.WriteString(blankMagics(c.text.String()))
			b.WriteByte('\n')
		}
		n.cells[i] = &placed
	}
	return text.New(b.String())
}

// blankMagics replaces what IPython understands and Python does not (`%magic`, `!shell`, `%%cell`, `help?`, `x = !cmd`) by
// Python of the same length.
func blankMagics(cell string) string {
	if !strings.ContainsAny(cell, "%!?") {
		return cell
	}
	lines := strings.SplitAfter(cell, "\n")
	whole := strings.HasPrefix(strings.TrimLeft(cell, " \t\r\n"), "%%")
	for i, line := range lines {
		lines[i] = blankLine(line, whole)
	}
	return strings.Join(lines, "")
}

func blankLine(line string, whole bool) string {
	body := strings.TrimRight(line, "\r\n")
	at := len(body) - len(strings.TrimLeft(body, " \t"))
	code := body[at:]
	switch {
	case code == "":
		return line
	case whole, strings.HasPrefix(code, "%"), strings.HasPrefix(code, "!"), strings.HasPrefix(code, "?"),
		strings.HasSuffix(strings.TrimRight(code, " \t"), "?") && !strings.Contains(code, "#"):
		return body[:at] + nothing(len(code)) + line[len(body):]
	}
	for _, assign := range []string{"= !", "= %"} {
		if i := strings.Index(code, assign); i > 0 && !strings.ContainsAny(code[:i], "\"'#(") {
			value := at + i + len("= ")
			return body[:value] + "0" + strings.Repeat(" ", len(body)-value-1) + line[len(body):]
		}
	}
	return line
}

// nothing is a Python statement of n bytes that does nothing; it stands where a block may need one.
func nothing(n int) string {
	if n < len("pass") {
		return "0" + strings.Repeat(" ", n-1)
	}
	return "pass" + strings.Repeat(" ", n-len("pass"))
}

type (
	cellParam struct {
		Kind     int    `json:"kind"`
		Document string `json:"document"`
	}
	cellTextParam struct {
		URI        string  `json:"uri"`
		LanguageID string  `json:"languageId"`
		Version    integer `json:"version"`
		Text       string  `json:"text"`
	}
)

func newCells(params []cellParam, texts []cellTextParam, known func(key string) *notebookCell) []*notebookCell {
	var cells []*notebookCell
	for _, p := range params {
		c := &notebookCell{key: documentKey(p.Document), uri: p.Document, code: p.Kind == 2, text: text.New("")}
		if old := known(c.key); old != nil {
			c.language, c.version, c.text = old.language, old.version, old.text
		}
		for _, t := range texts {
			if documentKey(t.URI) == c.key {
				c.language, c.version, c.text = t.LanguageID, int64(t.Version), text.New(t.Text)
			}
		}
		cells = append(cells, c)
	}
	return cells
}

func (s *server) didOpenNotebook(params []byte) error {
	var p struct {
		Notebook struct {
			URI     string      `json:"uri"`
			Version integer     `json:"version"`
			Cells   []cellParam `json:"cells"`
		} `json:"notebookDocument"`
		Texts []cellTextParam `json:"cellTextDocuments"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	if p.Notebook.URI == "" {
		return invalid("notebookDocument/didOpen needs a uri")
	}
	s.start()
	n := &notebook{key: documentKey(p.Notebook.URI), uri: p.Notebook.URI, version: int64(p.Notebook.Version)}
	n.cells = newCells(p.Notebook.Cells, p.Texts, func(string) *notebookCell { return nil })
	old := s.current.Load().notebooks[n.key]
	s.setNotebook(n)
	if old != nil { // it was opened twice
		s.clearGoneCells(old, n)
	}
	return nil
}

// setNotebook puts a notebook and its module into the state and has it checked.
func (s *server) setNotebook(n *notebook) {
	module := n.module()
	s.update(func(next *state) { next.notebooks[n.key] = n })
	s.openDocument(&document{key: n.key, uri: n.uri, language: "python", version: n.version, text: module, notebook: n})
}

func (s *server) didChangeNotebook(params []byte) error {
	var p struct {
		Notebook struct {
			URI     string  `json:"uri"`
			Version integer `json:"version"`
		} `json:"notebookDocument"`
		Change struct {
			Cells *struct {
				Structure *struct {
					Array struct {
						Start       int         `json:"start"`
						DeleteCount int         `json:"deleteCount"`
						Cells       []cellParam `json:"cells"`
					} `json:"array"`
					DidOpen  []cellTextParam     `json:"didOpen"`
					DidClose []textDocumentParam `json:"didClose"`
				} `json:"structure"`
				Data        []cellParam `json:"data"`
				TextContent []struct {
					Document struct {
						URI     string  `json:"uri"`
						Version integer `json:"version"`
					} `json:"document"`
					Changes []contentChange `json:"changes"`
				} `json:"textContent"`
			} `json:"cells"`
		} `json:"change"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	old := s.current.Load().notebooks[documentKey(p.Notebook.URI)]
	if old == nil {
		return fmt.Errorf("a change of the notebook %s, which is not open, was ignored", p.Notebook.URI)
	}
	n := &notebook{key: old.key, uri: old.uri, version: int64(p.Notebook.Version), cells: slices.Clone(old.cells)}
	if change := p.Change.Cells; change != nil {
		if st := change.Structure; st != nil {
			from := min(max(st.Array.Start, 0), len(n.cells))
			to := min(from+max(st.Array.DeleteCount, 0), len(n.cells))
			// A moved cell is deleted and inserted without being opened again: it keeps its text.
			added := newCells(st.Array.Cells, st.DidOpen, old.cell)
			n.cells = slices.Concat(n.cells[:from], added, n.cells[to:])
		}
		for _, data := range change.Data {
			n.changeCell(documentKey(data.Document), func(c *notebookCell) { c.code = data.Kind == 2 })
		}
		for _, edit := range change.TextContent {
			key := documentKey(edit.Document.URI)
			c := n.cell(key)
			if c == nil {
				return fmt.Errorf("a change of the cell %s, which is not open, was ignored", edit.Document.URI)
			}
			changed, err := applyChanges(c.text, edit.Changes, s.encoding)
			if err != nil {
				return fmt.Errorf("a change of the cell %s was ignored: %w", edit.Document.URI, err)
			}
			n.changeCell(key, func(c *notebookCell) { c.text, c.version = changed, int64(edit.Document.Version) })
		}
	}
	s.setNotebook(n)
	s.clearGoneCells(old, n)
	return nil
}

func (n *notebook) changeCell(key string, change func(*notebookCell)) {
	for i, c := range n.cells {
		if c.key == key {
			changed := *c
			change(&changed)
			n.cells[i] = &changed
		}
	}
}

// clearGoneCells takes back the diagnostics of cells that a change removed, or made something else than Python code; to be called
// once the state holds the change.
func (s *server) clearGoneCells(old, n *notebook) {
	if s.pulls.Load() {
		return
	}
	for _, c := range old.cells {
		if still := n.cell(c.key); c.start >= 0 && (still == nil || !still.python()) {
			s.takeBack(c.uri)
		}
	}
}

func (s *server) didCloseNotebook(params []byte) error {
	var p struct {
		Notebook textDocumentParam `json:"notebookDocument"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	uri, err := p.Notebook.uri()
	if err != nil {
		return err
	}
	old := s.current.Load().notebooks[documentKey(uri)]
	if old == nil {
		return fmt.Errorf("the notebook %s was closed without being open", uri)
	}
	s.update(func(next *state) { delete(next.notebooks, old.key) })
	if d := s.current.Load().documents[old.key]; d != nil {
		s.closeDocument(d)
	}
	s.clearGoneCells(old, nil)
	return nil
}

// publishCells pushes a notebook's findings, each cell its own.
func (s *server) publishCells(d *document, result *checked) {
	byCell := s.byCell(d, result)
	for _, c := range d.notebook.cells {
		if c.start < 0 {
			continue
		}
		version := wireVersion(c.version)
		list := byCell[c.key].out
		s.publish(pushed{c.uri, &version, len(list), func(b []byte) []byte { return append(b, list...) }})
	}
}

// byCell sorts a notebook's diagnostics by cell.
func (s *server) byCell(d *document, result *checked) map[string]*items {
	l := s.locatorFor(d)
	out := map[string]*items{}
	for _, c := range d.notebook.cells {
		if c.start >= 0 {
			out[c.key] = s.itemsOf(l, d, nil).hashed()
		}
	}
	for i := range result.findings {
		f := &result.findings[i]
		if c := d.notebook.cellAt(f.Span.Start); c != nil && !hidden(d.folder, f) {
			out[c.key].add(f, s.phraseIn(result, i))
		}
	}
	for _, w := range out {
		w.finish()
	}
	return out
}

// cellItems are a cell's diagnostics for a pull, nil for none.
func (s *server) cellItems(ctx context.Context, key string, notebookKey string) (*items, error) {
	d, result, err := s.checkedNow(ctx, notebookKey)
	if err != nil || d == nil || d.notebook == nil {
		return nil, err
	}
	return s.byCell(d, result)[key], nil
}

// notebookOfCell is the key of the notebook a cell belongs to.
func (s *server) notebookOfCell(key string) (string, bool) {
	for _, n := range s.current.Load().notebooks {
		if n.cell(key) != nil {
			return n.key, true
		}
	}
	return "", false
}
