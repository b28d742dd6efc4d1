package lsp

import (
	"context"
	"encoding/json"
	"math"

	"stepline/lsp/internal/wire"
	"stepline/report"
)

// costRow is a row of stepline/lineCosts: that of `lines --format json`, with what an editor's heat needs.
type costRow struct {
	report.LineRow
	// Heat is the line's GPU time over the hottest line's, 0–1.
	Heat  float64 `json:"heat"`
	Stale bool    `json:"stale"`
}

func (s *server) lineCosts(_ context.Context, params []byte) (wire.Reply, error) {
	var p documentParams
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	none := rawJSON{map[string]any{"lines": []costRow{}}}
	at, err := s.documentAt(p.TextDocument)
	if err != nil || at == nil || !at.module.folder.settings.Heat {
		return wire.Reply{Value: none}, err
	}
	return wire.Reply{Work: func(ctx context.Context) (any, error) {
		d, result, err := s.checkedSoon(ctx, at.module)
		if err != nil {
			return nil, err
		}
		first, last := 1, math.MaxInt
		at := at.again(d)
		if p.Range.valid() {
			first, last = at.lines(p.Range)
		}
		rows := []costRow{}
		for _, r := range result.lines.between(first, last) {
			if !at.holds(d.text.LineStart(r.line - 1)) {
				continue
			}
			row := costRow{LineRow: report.NewLineRow(r.cost), Stale: r.stale}
			row.Line = at.line(r.line)
			if hottest := result.lines.trace.hottestNs; hottest > 0 {
				row.Heat = float64(r.cost.GPUNs()) / float64(hottest)
			}
			rows = append(rows, row)
		}
		return rawJSON{map[string]any{"lines": rows}}, nil
	}}, nil
}

func (s *server) report(_ context.Context, params []byte) (wire.Reply, error) {
	var p struct {
		Format string `json:"format"`
		Folder string `json:"folder"`
	}
	if params != nil {
		if err := decode(params, &p); err != nil {
			return wire.Reply{}, err
		}
	}
	switch p.Format {
	case "":
		p.Format = "markdown"
	case "html", "markdown", "text", "json":
	default:
		return wire.Reply{}, invalid("params.format must be html, markdown, text or json, not %q", p.Format)
	}
	f, err := s.folderWithTrace([]json.RawMessage{json.RawMessage(encode(p.Folder))})
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.Reply{Long: true, Work: func(ctx context.Context) (any, error) {
		content, err := s.renderReport(ctx, f, p.Format)
		if err != nil {
			return nil, err
		}
		return map[string]string{"content": content}, nil
	}}, nil
}
