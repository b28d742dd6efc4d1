package lsp

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"stepline/lsp/internal/text"
)

func (s *server) didOpen(params []byte) error {
	var p struct {
		TextDocument *struct {
			URI        *string `json:"uri"`
			LanguageID string  `json:"languageId"`
			Version    integer `json:"version"`
			Text       *string `json:"text"`
		} `json:"textDocument"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	d := p.TextDocument
	if d == nil || d.URI == nil || *d.URI == "" || d.Text == nil {
		return invalid("didOpen needs a uri and a text")
	}
	s.start()
	key := documentKey(*d.URI)
	old := s.current.Load().documents[key]
	s.openDocument(&document{key: key, uri: *d.URI, language: d.LanguageID, version: int64(d.Version), text: text.New(*d.Text)})
	if old != nil {
		// A second open (some clients do, after a reload) replaces the text: the client's word is the last. So is its way to write
		// the URI, by which it is told the findings.
		s.log.Info("a document was opened twice", zap.String("uri", *d.URI))
		if old.uri != *d.URI && !s.pulls.Load() {
			s.takeBack(old.uri)
		}
	}
	return nil
}

// openDocument puts a document with its folder into the state and has it checked.
func (s *server) openDocument(d *document) {
	var made *folder
	var others []string
	d.received = time.Time{}
	s.update(func(next *state) {
		if old := next.documents[d.key]; old != nil {
			old.cell.settle(nil)
		}
		f := next.folderOf(d.key)
		if f == nil {
			f = hiddenFolderFor(d.key)
			next.hiddenFolders[f.root] = f
			made = f
		}
		d.folder, d.path, d.cell, d.interim = f, f.pathOf(d.key), newCell(), nil
		next.documents[d.key] = d
		others = next.renewOthers(d)
	})
	if made != nil {
		s.configure(made.root)
	}
	if d.text.Len() > maxLiveSize && s.options.HugeText != nil {
		s.options.HugeText()
	}
	s.edited(d.key, others)
}

// edited has a document checked after its text changed, and later those whose findings may have changed with it.
func (s *server) edited(key string, others []string) {
	s.lastEdit.Store(time.Now().UnixNano())
	s.checker.pokeLater(others...)
	s.checker.edited(key)
}

// renewOthers gives the other open documents of a document's folder a new check: what is called from where may have changed.
func (s *state) renewOthers(changed *document) (keys []string) {
	if !changed.python() {
		return nil
	}
	for key, d := range s.documents {
		if key != changed.key && d.folder.root == changed.folder.root && d.folder.hidden == changed.folder.hidden && d.python() {
			s.documents[key] = d.renewed(d.folder)
			keys = append(keys, key)
		}
	}
	return keys
}

// hiddenFolderFor makes the folder of a document outside all folders: the one its file is in.
func hiddenFolderFor(key string) *folder {
	p, isFile := keyPath(key)
	if !isFile {
		return &folder{hidden: true}
	}
	root := parentOf(p)
	return &folder{root: root, uri: pathURI(osPath(root)), hidden: true}
}

// contentChange is one change: ranged where Range is there and not null, else the whole text.
type contentChange struct {
	Range *rangeParam `json:"range"`
	Text  *string     `json:"text"`
}

func (s *server) didChange(params []byte) error {
	var p struct {
		TextDocument *struct {
			URI     *string  `json:"uri"`
			Version *integer `json:"version"`
		} `json:"textDocument"`
		Changes []contentChange `json:"contentChanges"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	if p.TextDocument == nil || p.TextDocument.URI == nil {
		return invalid("didChange needs a uri")
	}
	key := documentKey(*p.TextDocument.URI)
	old := s.current.Load().documents[key]
	if old == nil {
		return fmt.Errorf("a change of %s, which is not open, was ignored", *p.TextDocument.URI)
	}
	version := old.version + 1
	if v := p.TextDocument.Version; v != nil {
		version = int64(*v)
	}
	if version <= old.version && old.version != 0 {
		// Versions only grow. A repeated or older one is a change that was applied already or is out of order: applying it
		// would leave another text than the client's for good.
		return fmt.Errorf("a change of %s to version %d was ignored: version %d is here already", old.uri, version, old.version)
	}
	changed, err := applyChanges(old.text, p.Changes, s.encoding)
	if err != nil {
		return fmt.Errorf("a change of %s to version %d was ignored: %w", old.uri, version, err)
	}
	s.replaceText(old, version, changed)
	return nil
}

// applyChanges applies changes in their order, all or none.
func applyChanges(t *text.Text, changes []contentChange, enc text.Encoding) (*text.Text, error) {
	for i, c := range changes {
		switch {
		case c.Text == nil:
			return nil, fmt.Errorf("change %d has no text", i)
		case c.Range == nil:
			t = text.New(*c.Text)
		case !c.Range.valid():
			return nil, fmt.Errorf("change %d has a range without start or end", i)
		default:
			t = t.Replace(t.EditOf(text.Range{Start: c.Range.Start.text(), End: c.Range.End.text()}, *c.Text, enc))
		}
	}
	return t, nil
}

// replaceText puts a document's new text into the state and has it checked.
func (s *server) replaceText(old *document, version int64, t *text.Text) {
	d := *old
	d.version, d.text, d.cell, d.interim = version, t, newCell(), nil
	if old.received.IsZero() || old.cell.soonest() != nil {
		d.received = s.conn.Received()
	}
	old.cell.settle(nil)
	var others []string
	s.update(func(next *state) {
		next.documents[d.key] = &d
		others = next.renewOthers(&d)
	})
	s.edited(d.key, others)
}

func (s *server) didClose(params []byte) error {
	var p documentParams
	if err := decode(params, &p); err != nil {
		return err
	}
	uri, err := p.TextDocument.uri()
	if err != nil {
		return err
	}
	key := documentKey(uri)
	old := s.current.Load().documents[key]
	if old == nil {
		return fmt.Errorf("%s was closed without being open", uri)
	}
	s.closeDocument(old)
	return nil
}

func (s *server) closeDocument(old *document) {
	old.cell.settle(nil)
	var others []string
	s.update(func(next *state) {
		delete(next.documents, old.key)
		others = next.renewOthers(old)
		f := old.folder
		if !f.hidden {
			return
		}
		for _, d := range next.documents {
			if d.folder.hidden && d.folder.root == f.root {
				return
			}
		}
		if f.trace == nil && !f.loading {
			delete(next.hiddenFolders, f.root)
		}
	})
	s.edited(old.key, others)
	if !s.pulls.Load() {
		s.takeBack(old.uri)
	}
}

func (s *server) didSave(params []byte) error {
	var p struct {
		documentParams
		Text *string `json:"text"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	uri, err := p.TextDocument.uri()
	if err != nil {
		return err
	}
	s.fileChanged(documentKey(uri))
	return nil
}

func (s *server) didChangeWorkspaceFolders(params []byte) error {
	var p struct {
		Event struct {
			Added   []folderParam `json:"added"`
			Removed []folderParam `json:"removed"`
		} `json:"event"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	before := s.current.Load()
	added, gone := rootsOf(p.Event.Added), rootsOf(p.Event.Removed)
	// A folder that goes and comes in one event got another name: it stays as it is, with its trace.
	maps.DeleteFunc(gone, func(root string, _ bool) bool { return added[root] })
	for root := range gone {
		s.traces.cancel(root)
	}
	s.update(func(next *state) {
		kept := next.folders[:0:0]
		for _, f := range next.folders {
			if !gone[f.root] {
				kept = append(kept, f)
			}
		}
		next.folders = kept
		for _, a := range p.Event.Added {
			addFolder(next, a)
		}
	})
	for root := range gone {
		s.folderIsReady(root) // what waits for it finds it gone
	}
	for _, f := range s.current.Load().folders {
		if f != before.folderByRoot(f.root) {
			s.configure(f.root)
			s.watch.folder(f.root)
		}
	}
	// Documents find their folders anew.
	for _, d := range s.current.Load().documents {
		if f := s.current.Load().folderOf(d.key); f != d.folder {
			again := *d
			s.openDocument(&again)
		}
	}
	return nil
}

// rootsOf are the roots of folders; those that are no file URIs are passed over.
func rootsOf(folders []folderParam) map[string]bool {
	roots := map[string]bool{}
	for _, f := range folders {
		if root, ok := uriPath(f.URI); ok {
			roots[root] = true
		}
	}
	return roots
}
