package lsp

import (
	"strconv"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// pushed are a document's diagnostics on their way to the client, with every keystroke: hundreds of them, in which little is new.
// They are written as protocol.Marshal writes PublishDiagnosticsParams, in a third of its time.
type pushed struct {
	uri         string
	version     *int32
	diagnostics []protocol.Diagnostic
}

// params is the push as the protocol's type.
func (p pushed) params() *protocol.PublishDiagnosticsParams {
	out := &protocol.PublishDiagnosticsParams{URI: wireURI(p.uri), Diagnostics: p.diagnostics}
	if p.version != nil {
		out.Version = protocol.NewOptional(*p.version)
	}
	return out
}

// appendJSON writes the push; ok is false where a diagnostic has what is not known here.
func (p pushed) appendJSON(b []byte) (out []byte, ok bool) {
	b = append(b, `{"uri":`...)
	b = appendString(b, p.uri)
	if p.version != nil {
		b = strconv.AppendInt(append(b, `,"version":`...), int64(*p.version), 10)
	}
	b = append(b, `,"diagnostics":[`...)
	for i := range p.diagnostics {
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = appendDiagnostic(b, &p.diagnostics[i]); !ok {
			return nil, false
		}
	}
	return append(b, "]}"...), true
}

// marshal encodes what goes to the client.
func marshal(v any) ([]byte, error) {
	if p, ok := v.(pushed); ok {
		if b, ok := p.appendJSON(make([]byte, 0, 128+len(p.diagnostics)*1024)); ok {
			return b, nil
		}
		v = p.params()
	}
	return protocol.Marshal(v)
}

func appendDiagnostic(b []byte, d *protocol.Diagnostic) (out []byte, ok bool) {
	message, isText := d.Message.(protocol.String)
	code, isName := d.Code.(protocol.String)
	if !isText || !isName && d.Code != nil {
		return nil, false
	}
	b = appendRange(append(b, `{"range":`...), d.Range)
	if d.Severity != 0 {
		b = strconv.AppendUint(append(b, `,"severity":`...), uint64(d.Severity), 10)
	}
	if isName {
		b = appendString(append(b, `,"code":`...), string(code))
	}
	if d.CodeDescription.Href != "" {
		b = append(appendString(append(b, `,"codeDescription":{"href":`...), string(d.CodeDescription.Href)), '}')
	}
	if source, given := d.Source.Get(); given {
		b = appendString(append(b, `,"source":`...), source)
	}
	b = appendString(append(b, `,"message":`...), string(message))
	if tags := d.Tags.Slice(); len(tags) > 0 {
		b = append(b, `,"tags":[`...)
		for i, tag := range tags {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendUint(b, uint64(tag), 10)
		}
		b = append(b, ']')
	}
	if len(d.RelatedInformation) > 0 {
		b = append(b, `,"relatedInformation":[`...)
		for i, r := range d.RelatedInformation {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(append(b, `{"location":{"uri":`...), string(r.Location.URI))
			b = appendRange(append(b, `,"range":`...), r.Location.Range)
			b = append(appendString(append(b, `},"message":`...), r.Message), '}')
		}
		b = append(b, ']')
	}
	if d.Data != nil {
		b = append(append(b, `,"data":`...), d.Data...)
	}
	return append(b, '}'), true
}

func appendRange(b []byte, r protocol.Range) []byte {
	b = appendPosition(append(b, `{"start":`...), r.Start)
	b = appendPosition(append(b, `,"end":`...), r.End)
	return append(b, '}')
}

func appendPosition(b []byte, p protocol.Position) []byte {
	b = strconv.AppendUint(append(b, `{"line":`...), uint64(p.Line), 10)
	b = strconv.AppendUint(append(b, `,"character":`...), uint64(p.Character), 10)
	return append(b, '}')
}

// appendString writes a JSON string; what is no UTF-8 becomes U+FFFD, as encoding/json has it.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
