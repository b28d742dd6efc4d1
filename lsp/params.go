package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"go.lsp.dev/jsonrpc2"

	"stepline/lsp/internal/text"
)

// Params are decoded by hand-made types instead of go.lsp.dev/protocol's: those rewrite URIs that do not parse, take a
// `"range": null` for the range 0:0–0:0, and refuse integers written as 1.0. Results use the protocol's types.

// uinteger is LSP's unsigned integer, taken leniently: 1.0 is 1, and what is beyond 2³² − 1 is that.
type uinteger uint32

func (u *uinteger) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("wanted a number, not %.20s", b)
	}
	if f < 0 || f != math.Trunc(f) {
		return fmt.Errorf("wanted a whole number from 0, not %.20s", b)
	}
	*u = uinteger(min(f, math.MaxUint32))
	return nil
}

// integer is LSP's integer, taken as leniently.
type integer int64

func (n *integer) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var f float64
	if err := json.Unmarshal(b, &f); err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("wanted a whole number, not %.20s", b)
	}
	*n = integer(f)
	return nil
}

type (
	position struct {
		Line      *uinteger `json:"line"`
		Character *uinteger `json:"character"`
	}
	rangeParam struct {
		Start *position `json:"start"`
		End   *position `json:"end"`
	}
	textDocumentParam struct {
		URI *string `json:"uri"`
	}
	// documentParams is what most requests have: a document, and where in it.
	documentParams struct {
		TextDocument *textDocumentParam `json:"textDocument"`
		Position     *position          `json:"position"`
		Range        *rangeParam        `json:"range"`
	}
)

// invalid makes the answer to params that cannot be used.
func invalid(format string, args ...any) error {
	return jsonrpc2.Errorf(jsonrpc2.InvalidParams, format, args...)
}

// decode reads params into p; the error names the member that is wrong.
func decode(params []byte, p any) error {
	if params == nil {
		return invalid("this needs params")
	}
	err := json.Unmarshal(params, p)
	if err == nil {
		return nil
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		if kind.Field == "" {
			return invalid("params must be an object, not %s", kind.Value)
		}
		return invalid("params.%s cannot be %s", kind.Field, kind.Value)
	}
	return invalid("params: %v", err)
}

func (p *position) valid() bool { return p != nil && p.Line != nil && p.Character != nil }

func (p *position) text() text.Position {
	return text.Position{Line: uint32(*p.Line), Character: uint32(*p.Character)}
}

func (r *rangeParam) valid() bool { return r != nil && r.Start.valid() && r.End.valid() }

// uri returns the document's URI, or the error to answer.
func (t *textDocumentParam) uri() (string, error) {
	if t == nil || t.URI == nil || *t.URI == "" {
		return "", invalid("params.textDocument.uri is missing")
	}
	return *t.URI, nil
}
