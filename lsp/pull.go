package lsp

import (
	"context"

	"stepline/lsp/internal/wire"
)

// nowPulls notes that the client pulls: from now on it is pushed nothing, and what was pushed is taken back.
func (s *server) nowPulls() {
	if s.pulls.Swap(true) {
		return
	}
	for _, d := range s.current.Load().documents {
		if d.notebook == nil {
			s.takeBack(d.uri)
			continue
		}
		for _, c := range d.notebook.cells {
			if c.start >= 0 {
				s.takeBack(c.uri)
			}
		}
	}
}

func (s *server) pullDocument(_ context.Context, params []byte) (wire.Reply, error) {
	var p struct {
		documentParams
		PreviousResultID string `json:"previousResultId"`
	}
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	uri, err := p.TextDocument.uri()
	if err != nil {
		return wire.Reply{}, err
	}
	s.nowPulls()
	key := documentKey(uri)
	return wire.Reply{Work: func(ctx context.Context) (any, error) {
		list, err := s.itemsNow(ctx, key)
		if err != nil {
			return nil, err
		}
		return s.reportOf(list, p.PreviousResultID), nil
	}}, nil
}

// reportOf is what is told of a document's diagnostics, nil for none, to a client that holds those of an id.
func (s *server) reportOf(list *items, held string) pulled {
	if list == nil {
		list = s.itemsOf(nil, &document{}, nil).hashed()
		list.finish()
	}
	p := pulled{id: list.id()}
	if p.id != held {
		p.items = list.out
	}
	return p
}

// hashedItems are a document's diagnostics for a pull.
func (s *server) hashedItems(d *document, result *checked) *items {
	w := s.itemsOf(s.locatorFor(d), d, make([]byte, 0, 256+len(result.findings)*diagnosticSize)).hashed()
	s.addAll(w, result)
	return w
}

// itemsNow are a document's diagnostics as it is now; nil for one that is not open and not in a folder, and for a notebook, whose
// cells have them.
func (s *server) itemsNow(ctx context.Context, key string) (*items, error) {
	if notebook, ok := s.notebookOfCell(key); ok {
		return s.cellItems(ctx, key, notebook)
	}
	d, result, err := s.checkedShown(ctx, key)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return s.closedItems(ctx, key)
	}
	if d.notebook != nil {
		return nil, nil
	}
	return s.hashedItems(d, result), nil
}

// previousResult is what a client holds of one document.
type previousResult struct {
	URI   string `json:"uri"`
	Value string `json:"value"`
}

// pullWorkspace answers workspace/diagnostic once, with every file of every folder: open ones as they are in the editor,
// the others as on disk. A client that wants to be told of changes asks again (workspace/diagnostic/refresh). All of it is in the
// answer, none in partial results, whatever the client could take: what it holds of a folder is of one moment.
func (s *server) pullWorkspace(_ context.Context, params []byte) (wire.Reply, error) {
	var p struct {
		Previous []previousResult `json:"previousResultIds"`
	}
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	s.nowPulls()
	return wire.Reply{Long: true, Work: func(ctx context.Context) (any, error) { return s.workspaceReport(ctx, p.Previous) }}, nil
}

// workspaceReport reports on every document, once; on those that the client holds and that are no more, that nothing is found in them:
// a file that was deleted would keep its findings for ever.
func (s *server) workspaceReport(ctx context.Context, previous []previousResult) (pulledWorkspace, error) {
	held, told := map[string]string{}, map[string]bool{}
	for _, r := range previous {
		held[documentKey(r.URI)] = r.Value
	}
	report := pulledWorkspace{}
	tell := func(uri string, version *int32, list *items) {
		key := documentKey(uri)
		if told[key] {
			return // it was closed meanwhile, and is on disk as well
		}
		told[key] = true
		p := s.reportOf(list, held[key])
		p.uri, p.version = uri, version
		report = append(report, p)
	}
	if err := s.eachDocument(ctx, tell); err != nil {
		return nil, err
	}
	for _, r := range previous {
		key := documentKey(r.URI)
		if told[key] {
			continue
		}
		if notebook, isCell := s.notebookOfCell(key); isCell {
			key = notebook
		}
		if err := s.openDiagnostics(ctx, key, tell); err != nil { // it may have been opened meanwhile
			return nil, err
		}
		tell(r.URI, nil, nil)
	}
	return report, nil
}
