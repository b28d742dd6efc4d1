package lsp

import (
	"strconv"

	"go.lsp.dev/protocol"

	"stepline/lsp/internal/wire"
)

// appender is what writes its own JSON.
type appender interface {
	wire.Sized
	// appendJSON appends it to b.
	appendJSON(b []byte) []byte
}

// appendJSON encodes what goes to the client.
func appendJSON(b []byte, v any) ([]byte, error) {
	if v, ok := v.(appender); ok {
		return v.appendJSON(b), nil
	}
	return protocol.AppendMarshal(b, v)
}

// pushed are the params of a push of a document's diagnostics.
type pushed struct {
	uri     string
	version *int32
	// size is about how many bytes the diagnostics take; write appends them, as a JSON array.
	size  int
	write func(b []byte) []byte
}

// JSONSize implements wire.Sized.
func (p pushed) JSONSize() int { return len(p.uri) + 64 + p.size }

func (p pushed) appendJSON(b []byte) []byte {
	b = appendString(append(b, `{"uri":`...), p.uri)
	if p.version != nil {
		b = strconv.AppendInt(append(b, `,"version":`...), int64(*p.version), 10)
	}
	return append(p.write(append(b, `,"diagnostics":`...)), '}')
}

// pulled is a document's part of an answer to a pull.
type pulled struct {
	id    string
	items []byte // nil where they are what the client holds
	// uri and version are told in reports of a workspace.
	uri     string
	version *int32
}

// JSONSize implements wire.Sized.
func (p pulled) JSONSize() int { return len(p.uri) + 128 + len(p.items) }

func (p pulled) appendJSON(b []byte) []byte {
	kind := `{"kind":"full","resultId":`
	if p.items == nil {
		kind = `{"kind":"unchanged","resultId":`
	}
	b = appendString(append(b, kind...), p.id)
	if p.items != nil {
		b = append(append(b, `,"items":`...), p.items...)
	}
	if p.uri != "" {
		b = appendString(append(b, `,"uri":`...), p.uri)
		b = append(b, `,"version":`...)
		if p.version == nil {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, int64(*p.version), 10)
		}
	}
	return append(b, '}')
}

// pulledWorkspace is the answer to a pull of a workspace.
type pulledWorkspace []pulled

// JSONSize implements wire.Sized.
func (w pulledWorkspace) JSONSize() int {
	size := 16
	for _, p := range w {
		size += p.JSONSize()
	}
	return size
}

func (w pulledWorkspace) appendJSON(b []byte) []byte {
	b = append(b, `{"items":[`...)
	for i, p := range w {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.appendJSON(b)
	}
	return append(b, "]}"...)
}
