package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"go.lsp.dev/protocol"

	"stepline/lsp/internal/wire"
	"stepline/report"
	"stepline/rules"
	"stepline/rules/catalog"
	"stepline/traceindex"
)

// commandHandlers are the commands a client may execute. The context ends with the request, the bytes are its progress token.
var commandHandlers = map[string]func(*server, context.Context, []json.RawMessage, []byte) (wire.Reply, error){
	"stepline.loadTrace":   (*server).commandLoadTrace,
	"stepline.unloadTrace": (*server).commandUnloadTrace,
	"stepline.openReport":  (*server).commandOpenReport,
	"stepline.compare":     (*server).commandCompare,
	"stepline.explainRule": (*server).commandExplainRule,
	"stepline.ignoreLine":  (*server).commandIgnoreLine,
}

func commandNames() []string {
	return []string{"stepline.loadTrace", "stepline.unloadTrace", "stepline.openReport", "stepline.compare", "stepline.explainRule", "stepline.ignoreLine"}
}

func (s *server) executeCommand(ctx context.Context, params []byte) (wire.Reply, error) {
	var p struct {
		Command   string            `json:"command"`
		Arguments []json.RawMessage `json:"arguments"`
		Token     json.RawMessage   `json:"workDoneToken"`
	}
	if err := decode(params, &p); err != nil {
		return wire.Reply{}, err
	}
	handle, known := commandHandlers[p.Command]
	if !known {
		return wire.Reply{}, invalid("stepline has no command %q; it has %s", p.Command, strings.Join(commandNames(), ", "))
	}
	return handle(s, ctx, p.Arguments, p.Token)
}

// commandLoadTrace takes [uri-or-path, …] or [{"traces": [uri-or-path, …], "folder": uri}] and answers {"trace": {…}, "warnings": […]}.
func (s *server) commandLoadTrace(ctx context.Context, arguments []json.RawMessage, token []byte) (wire.Reply, error) {
	names, folderURI, err := traceArguments(arguments)
	if err != nil {
		return wire.Reply{}, err
	}
	s.start()
	root, paths, err := s.resolveTraces(names, folderURI)
	if err != nil {
		return wire.Reply{}, err
	}
	s.traces.commanded(root)
	var loaded atomic.Bool
	context.AfterFunc(ctx, func() { // whether the work ran or the request was cancelled before
		s.conn.Post(func() {
			if s.traces.finished(root, !loaded.Load()) {
				s.giveTurn(root)
			}
		})
	})
	return wire.Reply{Long: true, Work: func(ctx context.Context) (any, error) {
		d := s.loadByCommand(ctx, loadRequest{root: root, paths: paths, origin: originCommand, token: token})
		loaded.Store(d.err == nil)
		switch {
		case errors.Is(d.err, context.Canceled):
			return nil, context.Canceled
		case d.err != nil:
			return nil, failed("%v", d.err)
		}
		warnings := d.trace.loaded.Warnings()
		if warnings == nil {
			warnings = []traceindex.Warning{}
		}
		return rawJSON{map[string]any{"trace": report.NewTraceSummary(d.trace.loaded.Costs.Summary), "warnings": warnings}}, nil
	}}, nil
}

// loadByCommand waits until the folder is ready and its trace is loaded.
func (s *server) loadByCommand(ctx context.Context, r loadRequest) loadDone {
	if err := s.folderReady(ctx, r.root); err != nil {
		return loadDone{err: err}
	}
	done := make(chan loadDone, 1)
	if !s.conn.Post(func() { s.startLoad(ctx, r, func(d loadDone) { done <- d }) }) {
		return loadDone{err: context.Canceled}
	}
	return <-done
}

func traceArguments(arguments []json.RawMessage) (names []string, folder string, err error) {
	for i, a := range arguments {
		var one string
		var object struct {
			Traces []string `json:"traces"`
			Folder string   `json:"folder"`
		}
		switch {
		case json.Unmarshal(a, &one) == nil && one != "":
			names = append(names, one)
		case isObject(a) && json.Unmarshal(a, &object) == nil:
			names, folder = append(names, object.Traces...), object.Folder
		default:
			return nil, "", invalid("argument %d must be a URI, a path or {\"traces\": […]}", i)
		}
	}
	if len(names) == 0 {
		return nil, "", invalid("stepline.loadTrace needs the URI or path of a trace")
	}
	return names, folder, nil
}

// resolveTraces finds the folder that traces belong to and makes their paths absolute.
func (s *server) resolveTraces(names []string, folderURI string) (root string, paths []string, err error) {
	slash := make([]string, len(names))
	for i, name := range names {
		p, isURI := uriPath(name)
		if !isURI {
			p = filepath.ToSlash(name)
		}
		slash[i] = p
	}
	f, err := s.folderForTraces(slash, folderURI)
	if err != nil {
		return "", nil, err
	}
	for _, p := range slash {
		if !filepath.IsAbs(osPath(p)) {
			p = strings.TrimSuffix(f.root, "/") + "/" + p
		}
		paths = append(paths, osPath(p))
	}
	return f.root, paths, nil
}

// folderForTraces is the folder named, or else the one the traces (slash paths) lie in, or the first there is.
func (s *server) folderForTraces(names []string, folderURI string) (*folder, error) {
	if folderURI != "" {
		return s.folderNamed(folderURI)
	}
	now := s.current.Load()
	all := slices.DeleteFunc(now.allFolders(), func(f *folder) bool { return f.root == "" })
	for _, name := range names {
		if filepath.IsAbs(osPath(name)) {
			if holder := now.folderOf("file:" + name); holder != nil {
				return holder, nil
			}
			continue
		}
		for _, f := range all {
			if _, err := os.Stat(filepath.Join(osPath(f.root), osPath(name))); err == nil {
				return f, nil
			}
		}
	}
	if len(all) > 0 {
		return all[0], nil
	}
	abs, err := filepath.Abs(cmp.Or(s.options.Directory, "."))
	if err != nil {
		return nil, failed("%v", err)
	}
	f := &folder{root: filepath.ToSlash(abs), uri: pathURI(abs), hidden: true}
	s.update(func(next *state) { next.hiddenFolders[f.root] = f })
	s.configure(f.root)
	return f, nil
}

// folderReady waits until a folder's settings are there.
func (s *server) folderReady(ctx context.Context, root string) error {
	for {
		ready := make(chan bool, 1)
		if !s.conn.Post(func() {
			f := s.current.Load().folderByRoot(root)
			if f == nil || f.workspace != nil {
				ready <- f != nil
				return
			}
			s.waitingForFolder[root] = append(s.waitingForFolder[root], func() { ready <- true })
		}) {
			return context.Canceled
		}
		select {
		case there := <-ready:
			if !there {
				return failed("the folder is no longer open")
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// commandUnloadTrace takes nothing (every folder) or the URI of a folder.
func (s *server) commandUnloadTrace(_ context.Context, arguments []json.RawMessage, _ []byte) (wire.Reply, error) {
	var folderURI string
	if len(arguments) > 0 {
		var object struct {
			Folder string `json:"folder"`
		}
		if json.Unmarshal(arguments[0], &folderURI) != nil && json.Unmarshal(arguments[0], &object) == nil {
			folderURI = object.Folder
		}
	}
	want, one := uriPath(folderURI)
	unloaded := false
	for _, f := range s.current.Load().allFolders() {
		if !one || f.root == want {
			s.traces.commands[f.root]++
			unloaded = s.unload(f.root) || unloaded
		}
	}
	return wire.Reply{Value: map[string]bool{"unloaded": unloaded}}, nil
}

// commandExplainRule takes a rule's id or name and answers its page.
func (s *server) commandExplainRule(_ context.Context, arguments []json.RawMessage, _ []byte) (wire.Reply, error) {
	id, err := stringArgument(arguments, "rule")
	if err != nil {
		return wire.Reply{}, err
	}
	r := catalog.Find(id)
	if r == nil {
		return wire.Reply{}, failed("no rule is called %q; `stepline rules` lists them", id)
	}
	return wire.Reply{Value: map[string]string{"rule": r.ID, "name": r.Name, "content": r.Page, "url": r.PageURL()}}, nil
}

// stringArgument is the first argument: a string, or an object's member.
func stringArgument(arguments []json.RawMessage, member string) (string, error) {
	if len(arguments) > 0 {
		var text string
		if json.Unmarshal(arguments[0], &text) == nil && text != "" {
			return text, nil
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(arguments[0], &object) == nil && json.Unmarshal(object[member], &text) == nil && text != "" {
			return text, nil
		}
	}
	return "", invalid("the first argument must be a string, or an object with %q", member)
}

// commandIgnoreLine takes [uri, line from 0, rule?] or [{uri, line, rule?}] and has the client silence the findings there.
func (s *server) commandIgnoreLine(_ context.Context, arguments []json.RawMessage, _ []byte) (wire.Reply, error) {
	var p struct {
		URI  string    `json:"uri"`
		Line *uinteger `json:"line"`
		Rule string    `json:"rule"`
	}
	if len(arguments) == 1 && isObject(arguments[0]) {
		if err := decode(arguments[0], &p); err != nil {
			return wire.Reply{}, err
		}
	}
	targets := []any{&p.URI, &p.Line, &p.Rule}
	for i := 0; i < len(arguments) && i < len(targets) && !isObject(arguments[0]); i++ {
		if err := json.Unmarshal(arguments[i], targets[i]); err != nil {
			return wire.Reply{}, invalid("argument %d: %v", i, err)
		}
	}
	if p.URI == "" || p.Line == nil {
		return wire.Reply{}, invalid("stepline.ignoreLine needs a uri and a line (from 0)")
	}
	at := s.placedAt(documentKey(p.URI))
	if at == nil {
		return wire.Reply{}, failed("%s is not open", p.URI)
	}
	line := at.module.text.LineOf(at.start) + int(*p.Line)
	return wire.Reply{Long: true, Work: func(ctx context.Context) (any, error) { return s.ignoreLine(ctx, at.module, line, p.Rule) }}, nil
}

func (s *server) ignoreLine(ctx context.Context, d *document, line int, rule string) (any, error) {
	d, result, err := s.checkedFor(ctx, d)
	if err != nil {
		return nil, err
	}
	var there []rules.Finding
	for _, f := range result.findings {
		if f.File == result.file && d.text.LineOf(f.Span.Start) <= line && line <= d.text.LineOf(max(f.Span.Start, f.Span.End-1)) &&
			(rule == "" || strings.EqualFold(rule, f.Rule.ID)) {
			there = append(there, f)
		}
	}
	if len(there) == 0 {
		return nil, failed("there is no finding to ignore on line %d", line+1)
	}
	fix, left := rules.AddIgnores(result.file, there)
	if len(fix.Edits) == 0 {
		return nil, failed("line %d ends with a backslash: no comment can stand there (%d findings stay)", line+1, left)
	}
	label := "Ignore on this line"
	answer, err := s.conn.Call(ctx, "workspace/applyEdit", &protocol.ApplyWorkspaceEditParams{Label: &label, Edit: *s.workspaceEdit(d, fix.Edits)})
	if err != nil {
		return nil, failed("the editor did not apply the edit: %v", err)
	}
	return json.RawMessage(answer), nil
}

// commandOpenReport writes the report beside the cache and has the client show it; a client that cannot gets the place.
func (s *server) commandOpenReport(_ context.Context, arguments []json.RawMessage, _ []byte) (wire.Reply, error) {
	f, err := s.folderWithTrace(arguments)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.Reply{Long: true, Work: func(ctx context.Context) (any, error) {
		content, err := s.renderReport(ctx, f, "html")
		if err != nil {
			return nil, err
		}
		file, err := s.reportFile()
		if err != nil {
			return nil, failed("the report cannot be written: %v", err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, failed("the report cannot be written: %v", err)
		}
		uri := pathURI(file)
		if s.client.can.Window.ShowDocument.Support {
			external := true
			if _, err := s.conn.Call(ctx, "window/showDocument", &protocol.ShowDocumentParams{URI: wireURI(uri), External: &external}); err != nil {
				return nil, failed("the editor cannot show %s: %v", file, err)
			}
		}
		return map[string]string{"uri": uri}, nil
	}}, nil
}

// reportFile is where the report is written: the one file, in the user's cache folder.
func (s *server) reportFile() (string, error) {
	dir := s.options.Cache
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, "stepline")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), nil
}

// folderWithTrace is the folder a command is about: the one named, or the first with a trace where none is.
func (s *server) folderWithTrace(arguments []json.RawMessage) (*folder, error) {
	uri, err := stringArgument(arguments, "folder")
	if err == nil {
		f, err := s.folderNamed(uri)
		if err == nil && f.trace == nil {
			err = failed("no trace is loaded in %s; load one with stepline.loadTrace", uri)
		}
		return f, err
	}
	for _, f := range s.current.Load().allFolders() {
		if f.trace != nil {
			return f, nil
		}
	}
	return nil, failed("no trace is loaded; load one with stepline.loadTrace")
}

// folderNamed is the folder that a URI names: a folder's own, or that of something in it.
func (s *server) folderNamed(uri string) (*folder, error) {
	p, isFile := uriPath(uri)
	if !isFile {
		return nil, invalid("the folder must be a file URI, not %q", uri)
	}
	now := s.current.Load()
	if f := now.folderByRoot(p); f != nil {
		return f, nil
	}
	if f := now.folderOf("file:" + p); f != nil {
		return f, nil
	}
	return nil, failed("the folder %s is not open", uri)
}

// rawJSON is a value with encoding/json's tags, for results that are no protocol types.
type rawJSON struct{ value any }

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return json.Marshal(r.value) }
