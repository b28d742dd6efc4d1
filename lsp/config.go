package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"stepline/analysis"
)

// Settings come from four places: initializationOptions, workspace/configuration, didChangeConfiguration's payload and the
// folder's file. analysis.Merge knows who wins; here they are gathered, per folder, beside the session's goroutine.

// clientSettings are the client's, as far as they are no answers to workspace/configuration.
type clientSettings struct {
	initial map[string]any
	pushed  map[string]any
	// started tells that folders were configured once.
	started bool
	// generation counts configurations of a folder, so that an overtaken one is dropped.
	generation map[string]int
	// told are the messages shown last, by folder, so that a message is not repeated for every change.
	told map[string]string
}

func (c *clientSettings) setInitial(s *server, raw json.RawMessage) {
	c.generation, c.told = map[string]int{}, map[string]string{}
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	if err := json.Unmarshal(raw, &c.initial); err != nil {
		s.log.Warn("initializationOptions are no object and were passed over", zap.Error(err))
		return
	}
	if sub, ok := c.initial["stepline"].(map[string]any); ok {
		c.initial = sub // some clients send the section by its name
	}
	untrusted, _ := c.initial["untrusted"].(bool)
	s.client.untrusted = untrusted
}

func (s *server) didChangeConfiguration(params []byte) error {
	var p struct {
		Settings json.RawMessage `json:"settings"`
	}
	if params != nil {
		if err := decode(params, &p); err != nil {
			return err
		}
	}
	if isObject(p.Settings) {
		var all map[string]any
		if err := json.Unmarshal(p.Settings, &all); err != nil {
			return err
		}
		if sub, ok := all["stepline"]; ok {
			all, _ = sub.(map[string]any)
		}
		s.settingsFromClient.pushed = all
	}
	for _, f := range s.current.Load().allFolders() {
		s.configure(f.root)
	}
	return nil
}

// configured is what gathering a folder's settings gave.
type configured struct {
	settings  analysis.Settings
	workspace *analysis.Workspace
	problem   error
}

// askTime is how long a folder waits for the client's answer to workspace/configuration before it goes on with what is known;
// a later answer still holds. indexTime is how long it waits for its files to be read, so that in all but large folders the
// first findings see across files already.
const (
	askTime   = time.Second
	indexTime = 250 * time.Millisecond
)

// configure gathers a folder's settings and opens its workspace beside, then puts both into the state.
func (s *server) configure(root string) {
	c := &s.settingsFromClient
	c.generation[root]++
	generation := c.generation[root]
	f := s.current.Load().folderByRoot(root)
	if f == nil {
		return
	}
	layers := []analysis.Layer{analysis.ClientLayer("initializationOptions", c.initial), analysis.ClientLayer("didChangeConfiguration", c.pushed)}
	ask := s.client.can.Workspace.Configuration
	s.spawn(func(ctx context.Context) {
		apply := func(layers ...analysis.Layer) {
			s.openFolder(ctx, f, layers, func(got configured) {
				if c.generation[root] == generation {
					s.applySettings(root, got)
				}
			})
		}
		if !ask {
			apply(layers...)
			return
		}
		answer := make(chan analysis.Layer, 1)
		s.spawn(func(ctx context.Context) { answer <- s.askConfiguration(ctx, f.uri) })
		select {
		case layer := <-answer:
			apply(append(layers, layer)...)
		case <-time.After(askTime):
			apply(layers...)
			if layer := <-answer; len(layer.Values) > 0 {
				apply(append(layers, layer)...)
			}
		}
	})
}

// openFolder opens a folder's workspace and begins to read its files; use is posted as soon as it may be worked with.
func (s *server) openFolder(ctx context.Context, f *folder, layers []analysis.Layer, use func(configured)) {
	got := openWorkspace(ctx, f.root, layers)
	indexed := s.beginIndex(f, got.workspace)
	read := false
	select {
	case <-indexed:
		read = true
	case <-time.After(indexTime):
	case <-ctx.Done():
		return
	}
	if s.conn.Post(func() { use(got) }) && !read {
		<-indexed
		s.recheckLater(s.documentsOf(got.workspace))
	}
}

func openWorkspace(ctx context.Context, root string, layers []analysis.Layer) configured {
	var file analysis.Layer
	var problems []error
	if root != "" {
		var err error
		file, err = loadSettingsFile(osPath(root))
		problems = append(problems, err)
	}
	settings, err := analysis.Merge(file, layers...)
	problems = append(problems, err)
	w, err := analysis.Open(ctx, osPath(root), settings)
	problems = append(problems, err)
	if w == nil {
		// The folder is gone or never was: its documents are still linted, each alone.
		w, err = analysis.Open(ctx, "", settings)
		problems = append(problems, err)
	}
	return configured{settings: settings, workspace: w, problem: errors.Join(problems...)}
}

// loadSettingsFile reads a folder's settings file; one that is a link to elsewhere is not read.
func loadSettingsFile(root string) (analysis.Layer, error) {
	for _, name := range []string{"stepline.toml", "pyproject.toml"} {
		if leadsOut(root, filepath.Join(root, name)) {
			return analysis.Layer{}, fmt.Errorf("%s: a link to a file outside its folder, which is not read", name)
		}
	}
	return analysis.LoadSettingsFile(root)
}

func (s *server) askConfiguration(ctx context.Context, scope string) analysis.Layer {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	section := "stepline"
	item := protocol.ConfigurationItem{Section: &section}
	if scope != "" {
		u := wireURI(scope)
		item.ScopeURI = &u
	}
	answer, err := s.conn.Call(ctx, "workspace/configuration", &protocol.ConfigurationParams{Items: []protocol.ConfigurationItem{item}})
	if err != nil {
		s.log.Info("the client did not answer workspace/configuration", zap.Error(err))
		return analysis.Layer{}
	}
	var sections []map[string]any
	if err := json.Unmarshal(answer, &sections); err != nil || len(sections) == 0 {
		return analysis.Layer{}
	}
	return analysis.ClientLayer("workspace/configuration", sections[0])
}

// applySettings puts a folder's new settings into the state, checks its documents again and sees to its traces.
func (s *server) applySettings(root string, got configured) {
	old := s.current.Load().folderByRoot(root)
	if old == nil {
		return
	}
	s.tellSettingsProblem(root, got.problem)
	first := old.workspace == nil
	s.replaceFolder(root, func(f *folder) { f.settings, f.workspace = got.settings, got.workspace })
	if first {
		s.loadConfiguredTraces(root)
	} else {
		s.traceSettingsChanged(root, old.settings, got.settings)
	}
	s.folderIsReady(root)
	if !first {
		s.refreshClient()
	}
}

// folderIsReady lets go on what waits for a folder's settings.
func (s *server) folderIsReady(root string) {
	for _, ready := range s.waitingForFolder[root] {
		ready()
	}
	delete(s.waitingForFolder, root)
}

func (s *server) tellSettingsProblem(root string, problem error) {
	message := ""
	if problem != nil {
		message = problem.Error()
		s.log.Warn("settings", zap.String("folder", root), zap.Error(problem))
	}
	if message != "" && message != s.settingsFromClient.told[root] {
		s.showMessage(protocol.MessageTypeWarning, "stepline: "+message)
	}
	s.settingsFromClient.told[root] = message
}

func (s *server) showMessage(kind protocol.MessageType, message string) {
	s.notify("window/showMessage", &protocol.ShowMessageParams{Type: kind, Message: message}, "")
}

// replaceFolder changes a folder and gives its documents a new check.
func (s *server) replaceFolder(root string, change func(*folder)) {
	var touched []string
	s.update(func(next *state) {
		old := next.folderByRoot(root)
		if old == nil {
			return
		}
		f := *old
		change(&f)
		next.putFolder(&f)
		for key, d := range next.documents {
			if d.folder.root == root && d.folder.hidden == f.hidden {
				next.documents[key] = d.renewed(&f)
				touched = append(touched, key)
			}
		}
	})
	s.checker.poke(touched...)
}

func (s *state) folderByRoot(root string) *folder {
	for _, f := range s.folders {
		if f.root == root {
			return f
		}
	}
	return s.hiddenFolders[root]
}

func (s *state) putFolder(f *folder) {
	for i := range s.folders {
		if s.folders[i].root == f.root {
			s.folders[i] = f
			return
		}
	}
	s.hiddenFolders[f.root] = f
}

// refreshClient asks the client to fetch again what it fetched: hints, lenses, diagnostics.
func (s *server) refreshClient() {
	w := s.client.can.Workspace
	for _, r := range []struct {
		can    bool
		method string
	}{
		{w.InlayHint.RefreshSupport, "workspace/inlayHint/refresh"},
		{w.CodeLens.RefreshSupport, "workspace/codeLens/refresh"},
		{w.Diagnostics.RefreshSupport && s.pulls.Load(), "workspace/diagnostic/refresh"},
	} {
		if r.can {
			s.ask(r.method, nil)
		}
	}
}

// ask sends a request whose answer does not matter.
func (s *server) ask(method string, params any) {
	s.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := s.conn.Call(ctx, method, params); err != nil && ctx.Err() == nil {
			s.log.Debug("the client refused", zap.String("method", method), zap.Error(err))
		}
	})
}
