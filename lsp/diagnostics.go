package lsp

import (
	"encoding/json"
	"strconv"

	"go.lsp.dev/protocol"

	"stepline/rules"
)

// maxDiagnostics is how many findings of one document are shown; more freeze editors and help nobody.
const maxDiagnostics = 1000

// published is called by the checker when a document's check is done and still current.
func (s *server) published(d *document, result *checked) {
	if s.pulls.Load() {
		return
	}
	if d.notebook != nil {
		s.publishCells(d, result)
		return
	}
	version := wireVersion(d.version)
	s.publish(pushed{d.uri, &version, len(result.findings) * diagnosticSize, func(b []byte) []byte {
		return s.diagnosticsOf(d, result, b).out
	}})
}

// diagnosticSize is about how many bytes a diagnostic takes.
const diagnosticSize = 640

// takeBack pushes that nothing is found in a document whose findings are pushed no more: the state has it no longer, or the client
// pulls. It comes behind what the checker is telling at this moment, and what is told later sees the state as it is now.
func (s *server) takeBack(uri string) {
	s.checker.telling.Lock()
	defer s.checker.telling.Unlock()
	s.publish(pushed{uri: uri, write: func(b []byte) []byte { return append(b, "[]"...) }})
}

// publish pushes a document's diagnostics; a later push to the same URI takes the place of one not yet written.
func (s *server) publish(p pushed) {
	s.notify("textDocument/publishDiagnostics", p, "diagnostics "+p.uri)
}

// diagnosticsOf writes a document's findings as diagnostics, behind what b holds.
func (s *server) diagnosticsOf(d *document, result *checked, b []byte) *items {
	w := s.itemsOf(s.locatorFor(d), d, b)
	s.addAll(w, result)
	return w
}

// addAll writes what a check of a document found.
func (s *server) addAll(w *items, result *checked) {
	w.patch = result.patch
	for i := range result.findings {
		if f := &result.findings[i]; !hidden(w.d.folder, f) {
			w.add(f, s.phraseIn(result, i))
		}
	}
	w.finish()
}

// phraseIn is the phrase of a finding of a check: the one that was made when the file was checked whole, if it says the same.
func (s *server) phraseIn(result *checked, i int) phrase {
	f, whole, at := &result.findings[i], result, i
	if result.base != nil {
		whole, at = result.base, f.Carried-1
	}
	if at < 0 || at >= len(whole.phrases) || whole.phrasesPulled != s.pulls.Load() {
		return s.phraseOf(f)
	}
	if before := &whole.findings[at]; before.Message != f.Message || len(before.Related) != len(f.Related) {
		return s.phraseOf(f)
	}
	return whole.phrases[at]
}

// phrased makes the phrases of what a whole check found in a document, before anybody else sees them.
func (s *server) phrased(d *document, result *checked) {
	result.phrasesPulled = s.pulls.Load()
	result.phrases = make([]phrase, min(len(result.findings), 2*maxDiagnostics))
	for i := range result.phrases {
		f := &result.findings[i]
		p := s.phraseOf(f)
		p.at = placeOf(d, f.File, f.Span, s.encoding)
		for k := range p.reasons {
			p.reasons[k].at = placeOf(d, f.Related[k].File, f.Related[k].Span, s.encoding)
		}
		result.phrases[i] = p
	}
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

// appendJSON writes the ref of a diagnostic, as encode does; uri is its URI as JSON.
func (r findingRef) appendJSON(b, uri []byte) []byte {
	b = append(append(b, `{"uri":`...), uri...)
	b = strconv.AppendInt(append(b, `,"version":`...), r.Version, 10)
	b = append(append(b, `,"rule":"`...), r.Rule...)
	b = strconv.AppendInt(append(b, `","start":`...), int64(r.Start), 10)
	b = strconv.AppendInt(append(b, `,"end":`...), int64(r.End), 10)
	return append(b, '}')
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
		Data:     encode(refOf(d, f)),
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
