package lsp

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"
	"pgregory.net/rapid"
)

// TestPushedIsWhatTheProtocolSays: a push reads as the protocol's own encoder writes it, whatever is in it.
func TestPushedIsWhatTheProtocolSays(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\"b\\c", "\x00\x1f\x7f", "é🙂\u2028", "\xff\xfe", "<&>"}))
	number := rapid.Uint32()
	rapid.Check(t, func(t *rapid.T) {
		place := func() protocol.Range {
			return protocol.Range{Start: protocol.Position{Line: number.Draw(t, "line"), Character: number.Draw(t, "character")}, End: protocol.Position{Line: number.Draw(t, "line")}}
		}
		p := pushed{uri: text.Draw(t, "uri"), diagnostics: []protocol.Diagnostic{}}
		if rapid.Bool().Draw(t, "has a version") {
			version := rapid.Int32().Draw(t, "version")
			p.version = &version
		}
		for range rapid.IntRange(0, 3).Draw(t, "diagnostics") {
			d := protocol.Diagnostic{Range: place(), Message: protocol.String(text.Draw(t, "message")), Severity: protocol.DiagnosticSeverity(rapid.IntRange(0, 4).Draw(t, "severity"))}
			if rapid.Bool().Draw(t, "is a finding") {
				d.Code, d.Source = protocol.String("SYN001"), protocol.NewOptional("stepline")
				d.Data = findingRef{URI: p.uri, Version: 3, Rule: "SYN001", Start: 4, End: 7}.data()
			}
			if rapid.Bool().Draw(t, "has a page") {
				d.CodeDescription = protocol.CodeDescription{Href: "https://stepline.dev/rules/SYN001"}
			}
			if rapid.Bool().Draw(t, "is tagged") {
				d.Tags = protocol.NewDiagnosticTags(protocol.DiagnosticTag(1))
			}
			for range rapid.IntRange(0, 2).Draw(t, "related") {
				d.RelatedInformation = append(d.RelatedInformation, protocol.DiagnosticRelatedInformation{Location: protocol.Location{URI: wireURI(p.uri), Range: place()}, Message: text.Draw(t, "why")})
			}
			p.diagnostics = append(p.diagnostics, d)
		}
		fast, ok := p.appendJSON(nil)
		if !ok {
			t.Fatal("not written")
		}
		slow, err := protocol.Marshal(p.params())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read(t, slow), read(t, fast)); diff != "" {
			t.Fatalf("(-protocol +pushed)\n%s", diff)
		}
	})
}

func read(t *rapid.T, b []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

// TestRefsAreJSON: the ref of a diagnostic is what encoding/json makes of it.
func TestRefsAreJSON(t *testing.T) {
	for _, r := range []findingRef{{URI: "file:///a%20b.py", Version: -3, Rule: "SYN001", Start: 1, End: 2}, {URI: "a\"<b", Rule: "LNT001", Kind: "fix", Fix: 2}} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.data()); got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
