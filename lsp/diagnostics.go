package lsp

import (
	"encoding/json"
	"fmt"
	"strconv"

	"go.lsp.dev/protocol"

	"stepline/rules"
)

// maxDiagnostics is how many findings of one document are shown; more freeze editors and help nobody.
const maxDiagnostics = 1000

// published is called by the checker when a document's check is done and still current.
func (s *server) published(d *document, result *checked) {
	if !s.pulls.Load() && d.notebook == nil {
		version := wireVersion(d.version)
		s.publish(d.uri, d.key, &version, s.diagnosticsOf(d, result))
	}
	if !s.pulls.Load() && d.notebook != nil {
		s.publishCells(d, result)
	}
}

// takeBack pushes that nothing is found in a document whose findings are pushed no more: the state has it no longer, or the client
// pulls. It comes behind what the checker is telling at this moment, and what is told later sees the state as it is now.
func (s *server) takeBack(uri, key string) {
	s.checker.telling.Lock()
	defer s.checker.telling.Unlock()
	s.publish(uri, key, nil, nil)
}

// publish pushes a document's diagnostics; a later push to the same document takes the place of one not yet written.
func (s *server) publish(uri, key string, version *int32, diagnostics []protocol.Diagnostic) {
	if diagnostics == nil {
		diagnostics = []protocol.Diagnostic{}
	}
	s.notify("textDocument/publishDiagnostics", pushed{uri, version, diagnostics}, "diagnostics "+key)
}

// diagnosticsOf writes a document's findings as diagnostics.
func (s *server) diagnosticsOf(d *document, result *checked) []protocol.Diagnostic {
	l := s.locatorFor(d)
	out := make([]protocol.Diagnostic, 0, len(result.findings))
	for i := range result.findings {
		f := &result.findings[i]
		if hidden(d.folder, f) {
			continue
		}
		if len(out) == maxDiagnostics {
			out = append(out, protocol.Diagnostic{
				Severity: protocol.DiagnosticSeverityInformation, Source: protocol.NewOptional("stepline"),
				Message: protocol.String(fmt.Sprintf("%d more findings in this file are not shown; `stepline check` lists them all", len(result.findings)-i)),
			})
			break
		}
		out = append(out, s.diagnostic(l, d, f))
	}
	return out
}

// hidden tells whether a finding is not shown: with `diagnostics.mode` "costly" those a trace has refuted.
func hidden(f *folder, finding *rules.Finding) bool {
	return f.settings.DiagnosticsMode == "costly" && finding.Verdict == rules.Refuted
}

// findingRef names a finding in `data`, so that a resolve can find it again in the same version.
type findingRef struct {
	URI     string `json:"uri"`
	Version int64  `json:"version"`
	Rule    string `json:"rule"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	// Fix is the index of the finding's fix in a code action's data.
	Fix int `json:"fix,omitempty"`
	// Kind is "fix", "ignore" or "fixAll" in a code action's data.
	Kind string `json:"kind,omitempty"`
}

// data is the ref as JSON, as json.Marshal writes it: every diagnostic of every keystroke has one.
func (r findingRef) data() protocol.LSPAny {
	if r.Fix != 0 || r.Kind != "" {
		return encode(r)
	}
	uri := encode(r.URI)
	out := make([]byte, 0, len(uri)+80)
	out = append(append(out, `{"uri":`...), uri...)
	out = strconv.AppendInt(append(out, `,"version":`...), r.Version, 10)
	out = append(append(out, `,"rule":"`...), r.Rule...)
	out = strconv.AppendInt(append(out, `","start":`...), int64(r.Start), 10)
	out = strconv.AppendInt(append(out, `,"end":`...), int64(r.End), 10)
	return append(out, '}')
}

func refOf(d *document, f *rules.Finding) findingRef {
	return findingRef{URI: d.uri, Version: d.version, Rule: f.Rule.ID, Start: f.Span.Start, End: f.Span.End}
}

func (s *server) diagnostic(l *locator, d *document, f *rules.Finding) protocol.Diagnostic {
	shape := s.client.can.TextDocument.PublishDiagnostics
	out := protocol.Diagnostic{
		Range:    l.place(f.File, f.Span).Range,
		Severity: severity(f.Severity),
		Code:     protocol.String(f.Rule.ID),
		Source:   protocol.NewOptional("stepline"),
		Message:  protocol.String(pricedMessage(f)),
		Data:     refOf(d, f).data(),
	}
	if shape.CodeDescriptionSupport || s.pulls.Load() {
		out.CodeDescription = protocol.CodeDescription{Href: wireURI(f.Rule.PageURL())}
	}
	var tags []protocol.DiagnosticTag
	for _, tag := range f.Tags {
		tags = append(tags, protocol.DiagnosticTag(tag)) // the numbers are the protocol's
	}
	out.Tags = protocol.NewDiagnosticTags(tags...)
	if !shape.RelatedInformation && !s.pulls.Load() {
		return out
	}
	for _, r := range f.Related {
		out.RelatedInformation = append(out.RelatedInformation, protocol.DiagnosticRelatedInformation{
			Location: l.place(r.File, r.Span), Message: r.Message,
		})
	}
	return out
}

func severity(s rules.Severity) protocol.DiagnosticSeverity {
	switch s {
	case rules.Error:
		return protocol.DiagnosticSeverityError
	case rules.Warning:
		return protocol.DiagnosticSeverityWarning
	case rules.Info:
		return protocol.DiagnosticSeverityInformation
	}
	return protocol.DiagnosticSeverityHint
}

// encode writes a value of our own as JSON; it cannot fail for the plain structs it is given.
func encode(v any) protocol.LSPAny {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
