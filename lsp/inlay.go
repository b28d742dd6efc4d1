package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.lsp.dev/protocol"

	"stepline/analysis"
	"stepline/lsp/internal/wire"
	"stepline/report"
	"stepline/traceindex"
)

func (s *server) inlayHint(_ context.Context, params []byte) (wire.Reply, error) {
	var p documentParams
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	if !p.Range.valid() {
		return wire.Reply{}, invalid("params.range is missing")
	}
	none := []protocol.InlayHint{}
	at, err := s.documentAt(p.TextDocument)
	if err != nil || at == nil {
		return wire.Reply{Value: none}, err
	}
	set := at.module.folder.settings.InlayHints
	if !set.Enable {
		return wire.Reply{Value: none}, nil
	}
	first, last := at.lines(p.Range)
	return wire.Reply{Work: func(ctx context.Context) (any, error) {
		d, result, err := s.checkedSoon(ctx, at.module)
		if err != nil {
			return nil, err
		}
		hints := none
		for _, row := range result.lines.between(first, last) {
			if !at.holds(d.text.LineStart(row.line - 1)) {
				continue
			}
			if label := hintLabel(result.lines.trace, row, set); label != "" {
				hints = append(hints, s.hint(at.again(d), result, row, label))
			}
		}
		return hints, nil
	}}, nil
}

// hintLabel is what stands at a line's end, "" for nothing.
func hintLabel(t *loadedTrace, row lineRow, set analysis.InlayHintSettings) string {
	perStep := t.perStep(row.cost.GPUNs())
	share := t.gpuShare(perStep)
	if row.stale || perStep <= 0 || share < set.Threshold {
		return ""
	}
	var parts []string
	if set.Show != "share" {
		parts = append(parts, report.Duration(perStep))
	}
	if set.Show != "time" {
		parts = append(parts, percent(share))
	}
	label := strings.Join(parts, " · ")
	switch row.cost.Confidence {
	case traceindex.ConfidenceAmbiguous:
		return ""
	case traceindex.ConfidenceLikely:
		return "~" + label
	case traceindex.ConfidenceFunction:
		return label + " (lines unknown)"
	}
	return label
}

// percent writes a share with two digits: "22 %", "3 %", "0.35 %".
func percent(share float64) string {
	p := share * 100
	switch {
	case p >= 9.95:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p >= 0.995:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
	case p > 0:
		return strconv.FormatFloat(p, 'g', 2, 64) + " %"
	}
	return "0 %"
}

// hintRef names a hint's line in `data`.
type hintRef struct {
	URI     string `json:"uri"`
	Version int64  `json:"version"`
	Line    int    `json:"line"`
}

func (s *server) hint(at *placed, result *checked, row lineRow, label string) protocol.InlayHint {
	d := at.module
	padding := true
	h := protocol.InlayHint{
		Position: at.position(d.text.LineEnd(row.line - 1)), Label: protocol.String(label), PaddingLeft: &padding,
		Data: encode(hintRef{URI: d.uri, Version: d.version, Line: row.line}),
	}
	if !slices.Contains(s.client.can.TextDocument.InlayHint.ResolveSupport.Properties, "tooltip") {
		h.Tooltip = s.tooltip(result, row.line)
	}
	return h
}

func (s *server) tooltip(result *checked, line int) protocol.InlayHintTooltip {
	c := s.costCard(result, line)
	return &protocol.MarkupContent{Kind: s.markupKind(), Value: c.render(s.client.markdown)}
}

func (s *server) markupKind() protocol.MarkupKind {
	if s.client.markdown {
		return protocol.MarkupKindMarkdown
	}
	return protocol.MarkupKindPlainText
}

func (s *server) resolveInlayHint(_ context.Context, params []byte) (wire.Reply, error) {
	var hint map[string]json.RawMessage
	if err := decode(params, &hint); err != nil {
		return wire.Reply{}, err
	}
	var ref hintRef
	if err := json.Unmarshal(hint["data"], &ref); err != nil || ref.URI == "" {
		return wire.Reply{}, invalid("params.data is not what stepline gave")
	}
	d := s.current.Load().documents[documentKey(ref.URI)]
	if d == nil || d.version != ref.Version {
		return wire.Reply{Value: hint}, nil // it is of an older text and will be replaced; it stays as it is
	}
	return wire.Reply{Work: func(ctx context.Context) (any, error) {
		_, result, err := s.checkedSoon(ctx, d)
		if err != nil {
			return nil, err
		}
		tip, err := protocol.Marshal(&protocol.MarkupContent{Kind: s.markupKind(), Value: s.costCard(result, ref.Line).render(s.client.markdown)})
		if err != nil {
			return nil, fmt.Errorf("encoding a tooltip: %w", err)
		}
		hint["tooltip"] = tip
		return hint, nil
	}}, nil
}
