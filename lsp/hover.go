package lsp

import (
	"context"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"stepline/lsp/internal/wire"
	"stepline/pyscan"
	"stepline/report"
	"stepline/rules"
)

func (s *server) hover(_ context.Context, params []byte) (wire.Reply, error) {
	var p documentParams
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	if !p.Position.valid() {
		return wire.Reply{}, invalid("params.position is missing")
	}
	at, err := s.documentAt(p.TextDocument)
	if err != nil || at == nil {
		return wire.Reply{}, err
	}
	return wire.Reply{Work: func(ctx context.Context) (any, error) { return s.hoverAt(ctx, at, at.offset(p.Position)) }}, nil
}

func (s *server) hoverAt(ctx context.Context, at *placed, offset int) (any, error) {
	d, result, err := s.checkedSoon(ctx, at.module)
	if err != nil || result.file == nil {
		return nil, err
	}
	line := d.text.LineOf(offset)
	var parts []string
	if c := s.costCard(result, line+1); !c.empty() {
		parts = append(parts, c.render(s.client.markdown))
	}
	span := pyscan.Span{Start: d.text.LineStart(line), End: d.text.LineEnd(line)}
	for i := range result.findings {
		f := &result.findings[i]
		if f.File == result.file && f.Span.Start <= offset && offset <= f.Span.End && !hidden(d.folder, f) {
			parts = append(parts, shortPage(f, s.client.markdown))
			span = f.Span
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	separator := "\n\n---\n\n"
	if !s.client.markdown {
		separator = "\n\n"
	}
	r := at.again(d).rangeOf(span)
	return &protocol.Hover{
		Contents: &protocol.MarkupContent{Kind: s.markupKind(), Value: strings.Join(parts, separator)},
		Range:    &r,
	}, nil
}

// shortPage is a finding's message with what its rule's page says first.
func shortPage(f *rules.Finding, markdown bool) string {
	var b strings.Builder
	title := f.Rule.ID + " " + f.Rule.Name
	if markdown {
		title = fmt.Sprintf("**[%s](%s)** %s", f.Rule.ID, f.Rule.PageURL(), f.Rule.Name)
	}
	b.WriteString(title + "\n\n" + pricedMessage(f) + "\n")
	sections := pageSections(f.Rule.Page)
	for _, name := range []string{"Why it costs", "Instead"} {
		body := sections[name]
		if body == "" {
			continue
		}
		if markdown {
			fmt.Fprintf(&b, "\n**%s**\n\n%s\n", name, body)
		} else {
			fmt.Fprintf(&b, "\n%s:\n%s\n", name, strings.ReplaceAll(strings.ReplaceAll(body, "```python\n", ""), "```", ""))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// pageSections cuts a rule's page at its second-level headings.
func pageSections(page string) map[string]string {
	sections := map[string]string{}
	for _, part := range strings.Split("\n"+page, "\n## ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		sections[strings.TrimSpace(name)] = strings.TrimSpace(body)
	}
	return sections
}

// pricedMessage is a finding's message with what the loaded trace says about it.
func pricedMessage(f *rules.Finding) string {
	switch f.Verdict {
	case rules.Confirmed:
		return strings.TrimSuffix(f.Message, ".") + ": " + priceText(f)
	case rules.Refuted:
		return strings.TrimSuffix(f.Message, ".") + ": in the loaded trace it cost nothing that matters" + waits(f, "; ")
	case rules.NotObserved:
		return strings.TrimSuffix(f.Message, ".") + ": it did not run in the loaded trace"
	}
	return f.Message
}

func priceText(f *rules.Finding) string {
	low, high := report.Duration(float64(f.Cost.LowNs)), report.Duration(float64(max(f.Cost.LowNs, f.Cost.HighNs)))
	share := ""
	if f.Cost.Share > 0 {
		share = " (" + percent(f.Cost.Share) + ")"
	}
	switch {
	case f.Rule.Price == rules.PriceSync:
		return "it leaves the GPU idle " + low + " a step" + share + waits(f, "; ")
	case f.Cost.HighNs > f.Cost.LowNs:
		return "it costs " + low + " to " + high + " a step" + share + waits(f, "; ")
	}
	return "it costs " + low + " a step" + share + waits(f, "; ")
}

func waits(f *rules.Finding, before string) string {
	if f.Cost.WaitNs <= 0 {
		return ""
	}
	return before + "the host waits " + report.Duration(float64(f.Cost.WaitNs))
}
