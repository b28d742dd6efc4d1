package lsp

import (
	"context"
	"encoding/json"
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
		s.publish(d.uri, d.key, nil, nil)
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

// itemsNow are a document's diagnostics as it is now; empty for one that is not open and not in a folder.
func (s *server) itemsNow(ctx context.Context, key string) ([]protocol.Diagnostic, error) {
	if notebook, ok := s.notebookOfCell(key); ok {
		return s.cellItems(ctx, key, notebook)
	}
	d, result, err := s.checkedNow(ctx, key)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return s.closedItems(ctx, key)
	}
	return s.diagnosticsOf(d, result), nil
}

// pullWorkspace answers workspace/diagnostic once, with every file of every folder: open ones as they are in the editor,
// the others as on disk. A client that wants to be told of changes asks again (workspace/diagnostic/refresh).
func (s *server) pullWorkspace(_ context.Context, params []byte) (wire.Reply, error) {
	var p struct {
		Previous []struct {
			URI   string `json:"uri"`
			Value string `json:"value"`
		} `json:"previousResultIds"`
		PartialResultToken json.RawMessage `json:"partialResultToken"`
	}
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	s.nowPulls()
	previous := map[string]string{}
	for _, r := range p.Previous {
		previous[documentKey(r.URI)] = r.Value
	}
	return wire.Reply{Long: true, Work: func(ctx context.Context) (any, error) {
		report := &protocol.WorkspaceDiagnosticReport{Items: []protocol.WorkspaceDocumentDiagnosticReport{}}
		var mu sync.Mutex
		err := s.eachDocument(ctx, func(uri string, version *int32, items []protocol.Diagnostic) {
			id := s.results.of(items)
			mu.Lock()
			defer mu.Unlock()
			if previous[documentKey(uri)] == id {
				report.Items = append(report.Items, &protocol.WorkspaceUnchangedDocumentDiagnosticReport{
					UnchangedDocumentDiagnosticReport: protocol.UnchangedDocumentDiagnosticReport{Kind: "unchanged", ResultID: id},
					URI:                               wireURI(uri), Version: version,
				})
				return
			}
			report.Items = append(report.Items, &protocol.WorkspaceFullDocumentDiagnosticReport{
				FullDocumentDiagnosticReport: fullReport(id, items), URI: wireURI(uri), Version: version,
			})
		})
		return report, err
	}}, nil
}
