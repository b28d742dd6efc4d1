package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"stepline/lsp/internal/text"
	"stepline/lsp/internal/wire"
)

// initializeParams is what of initialize's params matters here. Members of a wrong kind are passed over: a client with one
// odd capability is still a client.
type initializeParams struct {
	ProcessID        *int64             `json:"processId"`
	RootPath         *string            `json:"rootPath"`
	RootURI          *string            `json:"rootUri"`
	WorkspaceFolders []folderParam      `json:"workspaceFolders"`
	Capabilities     clientCapabilities `json:"capabilities"`
	Options          json.RawMessage    `json:"initializationOptions"`
}

type folderParam struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// clientCapabilities are the capabilities this server looks at.
type clientCapabilities struct {
	General struct {
		PositionEncodings []string `json:"positionEncodings"`
	} `json:"general"`
	Window struct {
		WorkDoneProgress bool `json:"workDoneProgress"`
		ShowDocument     struct {
			Support bool `json:"support"`
		} `json:"showDocument"`
		ShowMessage struct {
			MessageActionItem json.RawMessage `json:"messageActionItem"`
		} `json:"showMessage"`
	} `json:"window"`
	Workspace struct {
		Configuration          bool `json:"configuration"`
		DidChangeConfiguration struct {
			DynamicRegistration bool `json:"dynamicRegistration"`
		} `json:"didChangeConfiguration"`
		DidChangeWatchedFiles struct {
			DynamicRegistration    bool `json:"dynamicRegistration"`
			RelativePatternSupport bool `json:"relativePatternSupport"`
		} `json:"didChangeWatchedFiles"`
		WorkspaceEdit struct {
			DocumentChanges bool `json:"documentChanges"`
		} `json:"workspaceEdit"`
		InlayHint   refreshCapability `json:"inlayHint"`
		CodeLens    refreshCapability `json:"codeLens"`
		Diagnostics refreshCapability `json:"diagnostics"`
	} `json:"workspace"`
	TextDocument struct {
		Diagnostic         json.RawMessage `json:"diagnostic"`
		PublishDiagnostics diagnosticShape `json:"publishDiagnostics"`
		Hover              struct {
			ContentFormat []string `json:"contentFormat"`
		} `json:"hover"`
		CodeAction struct {
			ResolveSupport resolveSupport `json:"resolveSupport"`
			DataSupport    bool           `json:"dataSupport"`
		} `json:"codeAction"`
		InlayHint struct {
			ResolveSupport resolveSupport `json:"resolveSupport"`
		} `json:"inlayHint"`
	} `json:"textDocument"`
}

type refreshCapability struct {
	RefreshSupport bool `json:"refreshSupport"`
}

type resolveSupport struct {
	Properties []string `json:"properties"`
}

// diagnosticShape is what of a diagnostic the client understands.
type diagnosticShape struct {
	RelatedInformation bool `json:"relatedInformation"`
	TagSupport         *struct {
		ValueSet []int `json:"valueSet"`
	} `json:"tagSupport"`
	CodeDescriptionSupport bool `json:"codeDescriptionSupport"`
}

// client is what the session knows of its client; read-only after initialize.
type client struct {
	can       clientCapabilities
	markdown  bool
	untrusted bool
}

func (s *server) initialize(params []byte) (wire.Reply, error) {
	var p initializeParams
	if err := decode(params, &p); err != nil {
		var kind *json.UnmarshalTypeError
		if params == nil || !errors.As(json.Unmarshal(params, &p), &kind) || kind.Field == "" {
			return wire.Reply{}, err
		}
		s.log.Warn("a part of initialize was passed over", zap.Error(err))
	}
	s.phase = initialized
	s.client.can = p.Capabilities
	formats := p.Capabilities.TextDocument.Hover.ContentFormat
	s.client.markdown = len(formats) == 0 || slices.Contains(formats, "markdown")
	s.pulls.Store(isObject(p.Capabilities.TextDocument.Diagnostic))
	s.encoding = chooseEncoding(p.Capabilities.General.PositionEncodings)
	s.settingsFromClient.setInitial(s, p.Options)
	s.watchParent(p.ProcessID)
	s.update(func(next *state) {
		for _, f := range initialFolders(p, s.options.Directory) {
			addFolder(next, f)
		}
	})
	return wire.Reply{Value: s.abilities()}, nil
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// chooseEncoding takes UTF-8 where the client offers it (it costs nothing here), then UTF-32, else the protocol's UTF-16.
func chooseEncoding(offered []string) text.Encoding {
	switch {
	case slices.Contains(offered, "utf-8"):
		return text.UTF8
	case len(offered) > 0 && !slices.Contains(offered, "utf-16") && slices.Contains(offered, "utf-32"):
		return text.UTF32
	}
	return text.UTF16
}

func encodingName(e text.Encoding) protocol.PositionEncodingKind {
	return [...]protocol.PositionEncodingKind{text.UTF16: "utf-16", text.UTF8: "utf-8", text.UTF32: "utf-32"}[e]
}

func initialFolders(p initializeParams, directory string) []folderParam {
	switch {
	case len(p.WorkspaceFolders) > 0:
		return p.WorkspaceFolders
	case p.RootURI != nil && *p.RootURI != "":
		return []folderParam{{URI: *p.RootURI}}
	case p.RootPath != nil && *p.RootPath != "":
		return []folderParam{{URI: pathURI(*p.RootPath)}}
	case directory != "":
		if abs, err := filepath.Abs(directory); err == nil {
			return []folderParam{{URI: pathURI(abs)}}
		}
	}
	return nil
}

// addFolder adds a folder to a state under construction; one that is no file URI, or is there already, is passed over.
func addFolder(next *state, p folderParam) {
	root, ok := uriPath(p.URI)
	if !ok || slices.ContainsFunc(next.folders, func(f *folder) bool { return f.root == root }) {
		return
	}
	next.folders = append(next.folders, &folder{root: root, uri: p.URI})
	slices.SortStableFunc(next.folders, func(a, b *folder) int { return strings.Count(b.root, "/") - strings.Count(a.root, "/") })
}

func (s *server) abilities() *protocol.InitializeResult {
	yes := true
	change := protocol.TextDocumentSyncKindIncremental
	identifier := "stepline"
	return &protocol.InitializeResult{
		ServerInfo: protocol.ServerInfo{Name: "stepline", Version: protocol.NewOptional(s.options.Version)},
		Capabilities: protocol.ServerCapabilities{
			PositionEncoding: encodingName(s.encoding),
			TextDocumentSync: &protocol.TextDocumentSyncOptions{OpenClose: &yes, Change: &change, Save: protocol.Boolean(true)},
			NotebookDocumentSync: &protocol.NotebookDocumentSyncOptions{NotebookSelector: []protocol.NotebookSelector{
				&protocol.NotebookDocumentFilterWithNotebook{Notebook: protocol.String("*"), Cells: []protocol.NotebookCellLanguage{{Language: "python"}}},
			}},
			HoverProvider: protocol.Boolean(true),
			CodeActionProvider: &protocol.CodeActionOptions{
				CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix, fixAllKind},
				ResolveProvider: &yes,
			},
			InlayHintProvider: &protocol.InlayHintOptions{ResolveProvider: &yes},
			CodeLensProvider:  &protocol.CodeLensOptions{ResolveProvider: &yes},
			DiagnosticProvider: &protocol.DiagnosticOptions{
				Identifier: &identifier, InterFileDependencies: true, WorkspaceDiagnostics: true,
			},
			ExecuteCommandProvider: protocol.ExecuteCommandOptions{Commands: commandNames()},
			Workspace: &protocol.WorkspaceOptions{
				WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{Supported: &yes, ChangeNotifications: protocol.Boolean(true)},
			},
		},
	}
}

func (s *server) onInitialized([]byte) error {
	s.start()
	return nil
}

// start begins what needs an initialized client: settings, watchers, the checker. It does so once.
func (s *server) start() {
	s.checker.start()
	if s.settingsFromClient.started {
		return
	}
	s.settingsFromClient.started = true
	for _, f := range s.current.Load().folders {
		s.configure(f.root)
	}
	s.registerWatchers()
}

func (s *server) shutdown(context.Context, []byte) (wire.Reply, error) {
	s.phase = shuttingDown
	s.traces.cancelAll()
	return wire.Reply{Value: nil}, nil
}
