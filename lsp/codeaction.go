package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"stepline/lsp/internal/text"
	"stepline/lsp/internal/wire"
	"stepline/pyscan"
	"stepline/rules"
)

// fixAllKind is the kind of the action that applies every safe fix of a document.
const fixAllKind protocol.CodeActionKind = "source.fixAll.stepline"

func (s *server) codeAction(_ context.Context, params []byte) (wire.Reply, error) {
	var p struct {
		documentParams
		Context struct {
			Only []string `json:"only"`
		} `json:"context"`
	}
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	if !p.Range.valid() {
		return wire.Reply{}, invalid("params.range is missing")
	}
	at, err := s.documentAt(p.TextDocument)
	if err != nil || at == nil {
		return wire.Reply{Value: []protocol.CommandOrCodeAction{}}, err
	}
	return wire.Reply{Work: func(ctx context.Context) (any, error) {
		return s.codeActions(ctx, at.module, at.span(p.Range), p.Context.Only)
	}}, nil
}

func (s *server) codeActions(ctx context.Context, d *document, at pyscan.Span, only []string) ([]protocol.CommandOrCodeAction, error) {
	d, result, err := s.checkedFor(ctx, d)
	if err != nil {
		return nil, err
	}
	actions := []protocol.CommandOrCodeAction{}
	if result.file == nil {
		return actions, nil
	}
	if wanted(only, protocol.CodeActionKindQuickFix) {
		for i := range result.findings {
			f := &result.findings[i]
			if f.File == result.file && overlaps(d.text, f.Span, at) && !hidden(d.folder, f) {
				actions = append(actions, s.quickFixes(d, result, f)...)
			}
		}
	}
	if wanted(only, fixAllKind) && len(safeFixes(result)) > 0 {
		actions = append(actions, s.action(d, result, nil, findingRef{URI: d.uri, Version: d.version, Kind: "fixAll"}))
	}
	return actions, nil
}

// wanted tells whether a kind is asked for; kinds are a tree by their dots.
func wanted(only []string, kind protocol.CodeActionKind) bool {
	if len(only) == 0 {
		return true
	}
	return slices.ContainsFunc(only, func(o string) bool {
		return o == "" || o == string(kind) || strings.HasPrefix(string(kind), o+".")
	})
}

// overlaps tells whether a request at a place is about a finding: their spans touch, or an empty one stands on its line.
func overlaps(t *text.Text, finding, at pyscan.Span) bool {
	if at.Start <= finding.End && finding.Start <= at.End {
		return true
	}
	return at.Len() == 0 && t.LineOf(finding.Start) == t.LineOf(at.Start)
}

// quickFixes are the actions for one finding: its fixes, and to ignore it here.
func (s *server) quickFixes(d *document, result *checked, f *rules.Finding) []protocol.CommandOrCodeAction {
	var actions []protocol.CommandOrCodeAction
	for i := range f.Fixes {
		ref := refOf(d, f)
		ref.Kind, ref.Fix = "fix", i
		actions = append(actions, s.action(d, result, f, ref))
	}
	if len(ignoreEdits(f)) == 0 {
		return actions // no comment can stand there
	}
	ref := refOf(d, f)
	ref.Kind = "ignore"
	return append(actions, s.action(d, result, f, ref))
}

// action makes one action; its edit is left to the resolve where the client can do that.
func (s *server) action(d *document, result *checked, f *rules.Finding, ref findingRef) *protocol.CodeAction {
	kind := protocol.CodeActionKindQuickFix
	a := &protocol.CodeAction{Kind: &kind, Data: encode(ref)}
	switch ref.Kind {
	case "fix":
		fix := f.Fixes[ref.Fix]
		a.Title = fix.Title
		preferred := ref.Fix == 0 && fix.Safety == rules.Safe
		a.IsPreferred = &preferred
		if fix.Safety != rules.Safe {
			a.Title += " (can change behaviour)"
		}
	case "ignore":
		a.Title = fmt.Sprintf("Ignore %s on this line", f.Rule.ID)
	case "fixAll":
		all := fixAllKind
		a.Kind, a.Title = &all, "Apply every safe fix of stepline"
	}
	if f != nil {
		a.Diagnostics = []protocol.Diagnostic{s.diagnostic(s.locatorFor(d), d, f)}
	}
	if !slices.Contains(s.client.can.TextDocument.CodeAction.ResolveSupport.Properties, "edit") {
		a.Edit = s.editOf(d, result, f, ref)
	}
	return a
}

// editOf is the edit behind an action.
func (s *server) editOf(d *document, result *checked, f *rules.Finding, ref findingRef) *protocol.WorkspaceEdit {
	switch ref.Kind {
	case "fix":
		return s.workspaceEdit(d, f.Fixes[ref.Fix].Edits)
	case "ignore":
		return s.workspaceEdit(d, ignoreEdits(f))
	}
	fixes := safeFixes(result)
	var edits []rules.TextEdit
	for i, taken := range rules.ApplyFixes(fixes).Taken {
		if !taken {
			continue
		}
		for _, e := range fixes[i].Edits {
			if !slices.Contains(edits, e) {
				edits = append(edits, e)
			}
		}
	}
	return s.workspaceEdit(d, edits)
}

func ignoreEdits(f *rules.Finding) []rules.TextEdit {
	fix, _ := rules.AddIgnores(f.File, []rules.Finding{*f})
	return fix.Edits
}

// safeFixes are the preferred fixes of a document's findings that are safe and stay in the document.
func safeFixes(result *checked) []rules.Fix {
	var fixes []rules.Fix
	for i := range result.findings {
		fix := result.findings[i].Fix()
		if fix == nil || fix.Safety != rules.Safe || len(fix.Edits) == 0 {
			continue
		}
		inside := !slices.ContainsFunc(fix.Edits, func(e rules.TextEdit) bool { return e.File != result.file })
		if inside {
			fixes = append(fixes, *fix)
		}
	}
	return fixes
}

// workspaceEdit writes edits for the client: with versions where it can take them, so that an edit for an older text is
// refused there instead of applied in the wrong place.
func (s *server) workspaceEdit(d *document, edits []rules.TextEdit) *protocol.WorkspaceEdit {
	l := s.locatorFor(d)
	var order []wireURI
	byURI := map[wireURI][]protocol.TextEdit{}
	for _, e := range edits {
		uri, edit := l.edit(e)
		if _, seen := byURI[uri]; !seen {
			order = append(order, uri)
		}
		byURI[uri] = append(byURI[uri], edit)
	}
	if !s.client.can.Workspace.WorkspaceEdit.DocumentChanges {
		return &protocol.WorkspaceEdit{Changes: byURI}
	}
	out := &protocol.WorkspaceEdit{}
	for _, u := range order {
		change := &protocol.TextDocumentEdit{TextDocument: protocol.OptionalVersionedTextDocumentIdentifier{
			TextDocumentIdentifier: protocol.TextDocumentIdentifier{URI: u}, Version: l.version(u),
		}}
		for i := range byURI[u] {
			change.Edits = append(change.Edits, &byURI[u][i])
		}
		out.DocumentChanges = append(out.DocumentChanges, change)
	}
	return out
}

func (s *server) resolveCodeAction(_ context.Context, params []byte) (wire.Reply, error) {
	// The client's action goes back as it came, member by member, with the edit added.
	var action map[string]json.RawMessage
	if err := decode(params, &action); err != nil {
		return wire.Reply{}, err
	}
	var ref findingRef
	if err := json.Unmarshal(action["data"], &ref); err != nil || ref.Kind == "" {
		return wire.Reply{}, invalid("params.data is not what stepline gave")
	}
	d := s.current.Load().documents[documentKey(ref.URI)]
	if d == nil || d.version != ref.Version {
		return wire.Reply{}, jsonrpc2.Errorf(wire.CodeContentModified, "%s has changed since the action was offered", ref.URI)
	}
	return wire.Reply{Work: func(ctx context.Context) (any, error) {
		d, result, err := s.checkedFor(ctx, d)
		if err != nil {
			return nil, err
		}
		f := findAgain(result, ref)
		if f == nil && ref.Kind != "fixAll" || f != nil && ref.Kind == "fix" && ref.Fix >= len(f.Fixes) {
			return nil, jsonrpc2.Errorf(wire.CodeContentModified, "the finding is gone")
		}
		edit, err := protocol.Marshal(s.editOf(d, result, f, ref))
		if err != nil {
			return nil, err
		}
		action["edit"] = edit
		return action, nil
	}}, nil
}

// findAgain finds the finding a ref names in a result.
func findAgain(result *checked, ref findingRef) *rules.Finding {
	for i := range result.findings {
		f := &result.findings[i]
		if f.Rule.ID == ref.Rule && f.Span.Start == ref.Start && f.Span.End == ref.End {
			return f
		}
	}
	return nil
}
