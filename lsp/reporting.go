package lsp

import (
	"bytes"
	"context"
	"encoding/json"

	"stepline/lsp/internal/wire"
	"stepline/report"
)

// class is the run's bottleneck class, nil where it is not known.
func (t *loadedTrace) class() *string { return nil }

// renderReport writes the report on a folder's trace.
func (s *server) renderReport(_ context.Context, f *folder, format string) (string, error) {
	var out bytes.Buffer
	costs := f.trace.loaded.Costs
	if err := report.WriteJSON(&out, report.NewLinesDocument(costs, costs.Lines)); err != nil {
		return "", failed("the report cannot be written: %v", err)
	}
	_ = format
	return out.String(), nil
}

func (s *server) commandCompare([]json.RawMessage, []byte) (wire.Reply, error) {
	return wire.Reply{}, failed("comparison is not available")
}
