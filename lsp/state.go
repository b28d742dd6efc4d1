package lsp

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"stepline/analysis"
	"stepline/lsp/internal/text"
	"stepline/pyscan"
	"stepline/rules"
)

// state is one moment of the session. It is immutable: the session's goroutine makes a new one for every change, requests
// and the checker keep the one they took.
type state struct {
	documents map[string]*document
	notebooks map[string]*notebook
	// folders are the workspace's folders, deepest first, so that the first that holds a path is the right one.
	folders []*folder
	// hiddenFolders serve documents outside all folders, by their root ("" for documents with no path).
	hiddenFolders map[string]*folder
}

func (s *state) clone() *state {
	return &state{documents: maps.Clone(s.documents), notebooks: maps.Clone(s.notebooks), folders: slices.Clone(s.folders), hiddenFolders: maps.Clone(s.hiddenFolders)}
}

// folderOf returns the folder that holds a document's key.
func (s *state) folderOf(key string) *folder {
	p, isFile := keyPath(key)
	if isFile {
		for _, f := range s.folders {
			if _, inside := relativeTo(f.root, p); inside {
				return f
			}
		}
		return s.hiddenFolders[parentOf(p)]
	}
	if len(s.folders) > 0 {
		return s.folders[0]
	}
	return s.hiddenFolders[""]
}

func parentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// allFolders lists the workspace's folders and the hidden ones.
func (s *state) allFolders() []*folder {
	all := slices.Clone(s.folders)
	for _, k := range slices.Sorted(maps.Keys(s.hiddenFolders)) {
		all = append(all, s.hiddenFolders[k])
	}
	return all
}

// folder is a workspace folder at one moment; immutable, replaced on every change.
type folder struct {
	// root is the folder's slash path, "" for documents without a path.
	root string
	uri  string
	// hidden folders are not the client's: the server made them for loose documents.
	hidden    bool
	settings  analysis.Settings
	workspace *analysis.Workspace
	// trace is the loaded run, nil without one; loading tells that one is on its way.
	trace   *loadedTrace
	loading bool
}

// pathOf is the path a document has in its folder's analysis: relative with slashes for files inside, else the key itself.
func (f *folder) pathOf(key string) string {
	if p, ok := keyPath(key); ok {
		if rel, inside := relativeTo(f.root, p); inside && f.root != "" {
			return rel
		}
		return p
	}
	return key
}

// document is an open document at one version in one context (settings, trace, other files); immutable but for its cell.
type document struct {
	key, uri string
	// path is what analysis knows it by.
	path     string
	language string
	version  int64
	text     *text.Text
	// received is when the oldest change that no diagnostics were told for yet had been read, zero where none waits.
	received time.Time
	// folderRoot finds its folder in a state.
	folder *folder
	// notebook is set for the module a notebook's cells make together.
	notebook *notebook
	cell     *cell
	// interim is what the last check of the same text found, with the folder's trace as it is now; nil where this text was not
	// checked yet. It answers what cannot wait for the next check.
	interim func() *checked
}

// renewed is the document again, to be checked anew in a folder.
func (d *document) renewed(f *folder) *document {
	last := d.cell.soonest()
	if last == nil && d.interim != nil {
		last = d.interim()
	}
	d.cell.settle(nil)
	n := *d
	n.received = time.Time{}
	n.folder, n.path, n.cell, n.interim = f, f.pathOf(d.key), newCell(), nil
	switch {
	case last == nil || last.file == nil || n.path != d.path:
	case !last.file.Part:
		n.interim = sync.OnceValue(func() *checked {
			return &checked{file: last.file, findings: last.findings, lines: f.linesOf(&n, last.file)}
		})
	case d.folder.trace == f.trace:
		n.interim = func() *checked { return last }
	}
	return &n
}

// python tells whether the document is linted.
func (d *document) python() bool {
	return strings.EqualFold(d.language, "python") || d.language == "" && (strings.HasSuffix(d.key, ".py") || strings.HasSuffix(d.key, ".pyi"))
}

// checked is what the checker found about a document.
type checked struct {
	file     *pyscan.File
	findings []rules.Finding
	lines    *lineView
	// base is the whole check before an edit, and patch the edit, where this is the check of the edited definitions: file models
	// those alone then.
	base  *checked
	patch *pyscan.Patch
	// provisional: the edited definitions do not parse, and what is found elsewhere is what was found before the edit.
	provisional bool
	// phrases are those of the findings of a whole check, or of the first ones; phrasesPulled tells that they are of a client that
	// pulls.
	phrases       []phrase
	phrasesPulled bool

	lensOnce sync.Once
	lensList []lensAt
}

// cell holds a document's check: empty, then settled once, with nil if the document was overtaken before. Before that it may be
// settled quickly, with what shows the same and is no whole check.
type cell struct {
	mu      sync.Mutex
	settled bool
	result  *checked
	quick   *checked
	done    chan struct{}
	soon    chan struct{} // closed once it is settled either way
}

func newCell() *cell { return &cell{done: make(chan struct{}), soon: make(chan struct{})} }

func (c *cell) settleQuickly(result *checked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled || c.quick != nil {
		return false
	}
	c.quick = result
	close(c.soon)
	return true
}

// soonest returns the whole result, else the quick one, if there is one.
func (c *cell) soonest() *checked {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result != nil {
		return c.result
	}
	if c.settled {
		return nil
	}
	return c.quick
}

// waitSoonest returns the first result there is, nil if the document was overtaken.
func (c *cell) waitSoonest(ctx context.Context) (*checked, error) {
	select {
	case <-c.soon:
		return c.soonest(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *cell) settle(result *checked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled {
		return false
	}
	c.settled, c.result = true, result
	close(c.done)
	if c.quick == nil {
		close(c.soon)
	}
	return true
}

// peek returns the result if it is there.
func (c *cell) peek() *checked {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result
}

// overtaken tells whether the document was replaced before it was checked.
func (c *cell) overtaken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled && c.result == nil
}

// wait returns the result, nil if the document was overtaken.
func (c *cell) wait(ctx context.Context) (*checked, error) {
	select {
	case <-c.done:
		return c.result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
