package lsp

import (
	"context"
	"strconv"
	"sync"

	"github.com/cespare/xxhash/v2"
	"go.lsp.dev/protocol"

	"stepline/lsp/internal/wire"
)

// resultIDs names answers to pulls by their content: equal diagnostics have equal ids, so an id a client still holds from
// earlier is honoured whenever it is true.
type resultIDs struct{}

func (resultIDs) of(items []protocol.Diagnostic) string {
	// `data` names the version, which changes with every keystroke; what is shown does not depend on it.
	h := xxhash.New()
	for _, d := range items {
		d.Data = nil
		b, err := protocol.Marshal(d)
		if err != nil {
			panic(err)
		}
		_, _ = h.Write(b)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// nowPulls notes that the client pulls: from now on it is pushed nothing, and what was pushed is taken back.
func (s *server) nowPulls() {
	if s.pulls.Swap(true) {
		return
	}
	for _, d := range s.current.Load().documents {
		if d.notebook == nil {
			s.takeBack(d.uri, d.key)
			continue
		}
		for _, c := range d.notebook.cells {
			if c.start >= 0 {
				s.takeBack(c.uri, c.key)
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
		items, err := s.itemsNow(ctx, key)
		if err != nil {
			return nil, err
		}
		id := s.results.of(items)
		if id == p.PreviousResultID {
			return &protocol.RelatedUnchangedDocumentDiagnosticReport{
				UnchangedDocumentDiagnosticReport: protocol.UnchangedDocumentDiagnosticReport{Kind: "unchanged", ResultID: id},
			}, nil
		}
		return &protocol.RelatedFullDocumentDiagnosticReport{FullDocumentDiagnosticReport: fullReport(id, items)}, nil
	}}, nil
}

func fullReport(id string, items []protocol.Diagnostic) protocol.FullDocumentDiagnosticReport {
	return protocol.FullDocumentDiagnosticReport{Kind: "full", ResultID: &id, Items: items}
}

// itemsNow are a document's diagnostics as it is now; empty for one that is not open and not in a folder, and for a notebook, whose
// cells have them.
func (s *server) itemsNow(ctx context.Context, key string) ([]protocol.Diagnostic, error) {
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
		return []protocol.Diagnostic{}, nil
	}
	return s.diagnosticsOf(d, result), nil
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

// workspaceReport reports on every document; on those that the client holds and that are no more, that nothing is found in them:
// a file that was deleted would keep its findings for ever.
func (s *server) workspaceReport(ctx context.Context, previous []previousResult) (*protocol.WorkspaceDiagnosticReport, error) {
	held := map[string]previousResult{}
	for _, r := range previous {
		held[documentKey(r.URI)] = r
	}
	report := &protocol.WorkspaceDiagnosticReport{Items: []protocol.WorkspaceDocumentDiagnosticReport{}}
	var mu sync.Mutex
	tell := func(uri string, version *int32, items []protocol.Diagnostic) {
		id, key := s.results.of(items), documentKey(uri)
		mu.Lock()
		defer mu.Unlock()
		before := held[key].Value
		delete(held, key)
		if before == id {
			report.Items = append(report.Items, &protocol.WorkspaceUnchangedDocumentDiagnosticReport{
				UnchangedDocumentDiagnosticReport: protocol.UnchangedDocumentDiagnosticReport{Kind: "unchanged", ResultID: id},
				URI:                               wireURI(uri), Version: version,
			})
			return
		}
		report.Items = append(report.Items, &protocol.WorkspaceFullDocumentDiagnosticReport{
			FullDocumentDiagnosticReport: fullReport(id, items), URI: wireURI(uri), Version: version,
		})
	}
	if err := s.eachDocument(ctx, tell); err != nil {
		return nil, err
	}
	for _, r := range previous {
		if _, gone := held[documentKey(r.URI)]; gone {
			tell(r.URI, nil, []protocol.Diagnostic{})
		}
	}
	return report, nil
}
