package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// workspaceFiles is how many files lie around the one that is edited.
const workspaceFiles = 700

// editingSession is a session to be replayed: a workspace, and a long file in it that somebody types into.
type editingSession struct {
	folder, path, source string
	keystrokes           int
}

// newEditingSession writes the workspace: training scripts of their own names, each importing from its neighbour.
func newEditingSession(source string, keystrokes int) (*editingSession, error) {
	folder, err := os.MkdirTemp("", "stepline-bench")
	if err != nil {
		return nil, err
	}
	one, err := os.ReadFile("testdata/traces/gpt/gpt.py")
	if err != nil {
		return nil, err
	}
	s := &editingSession{folder: folder, path: filepath.Join(folder, "gpt.py"), source: source, keystrokes: keystrokes}
	for i := range workspaceFiles {
		name := filepath.Join(folder, fmt.Sprintf("package%d", i%20), fmt.Sprintf("module%d.py", i))
		text := named(string(one), i)
		if i > 20 {
			text = fmt.Sprintf("from package%d.module%d import grad_norm_%d\n", i%20, i-20, i-20) + text
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return s, os.WriteFile(s.path, []byte(source), 0o644)
}

func (s *editingSession) remove() { _ = os.RemoveAll(s.folder) }

// named is a source with its classes and functions called anew, so that copies are as many programs.
func named(source string, i int) string {
	return definition.ReplaceAllStringFunc(source, func(word string) string { return fmt.Sprintf("%s_%d", word, i) })
}

var definition = regexp.MustCompile(`\b(CausalSelfAttention|FlashAttention|MLP|Layer|GPT|get_batch|grad_norm|train)\b`)

// typed are the lines that are typed, letter by letter, one into each function in turn.
var typed = []string{
	"scale = 1.0 / math.sqrt(q.size(-1))",
	"if step % 100 == 0:",
	"mask = torch.tril(torch.ones(t, t)).to(x.device)",
	"print(f\"loss {loss.item():.3f} at {step}\")  # what it costs is to be seen",
	"with torch.no_grad():",
}

// keystroke is one letter at a place (line and character from 0).
type keystroke struct {
	line, character int
	letter          string
}

// keys are the session's keystrokes: below the `def` of one function after the other, a line is begun and typed.
func (s *editingSession) keys() []keystroke {
	var defs []int
	for i, line := range strings.Split(s.source, "\n") {
		if strings.HasPrefix(line, "    def ") || strings.HasPrefix(line, "def ") {
			defs = append(defs, i)
		}
	}
	var keys []keystroke
	for turn := 0; len(keys) < s.keystrokes; turn++ {
		// Functions from the end of the file to its beginning, so that lines typed before do not move those to come.
		line := defs[len(defs)-1-turn*7%len(defs)] + 1
		keys = append(keys, keystroke{line, 0, "\n"})
		for i, letter := range "        " + typed[turn%len(typed)] {
			keys = append(keys, keystroke{line, i, string(letter)})
		}
	}
	return keys[:s.keystrokes]
}

// measured is what a session gave.
type measured struct {
	start, opened, traceLoaded    time.Duration
	keystrokes, hover, hint, lens []time.Duration
	hoverWhileLoading             []time.Duration
	// own is what the server says of its own share; loading of that until the trace was loaded.
	own, loading latencies
}

// latencies are the answer to stepline/latency.
type latencies struct {
	Edits   latency
	Answers map[string]latency
}

type latency struct {
	Count  int
	P50Ms  float64 `json:"p50_ms"`
	P95Ms  float64 `json:"p95_ms"`
	MostMs float64 `json:"most_ms"`
}

func (l latency) String() string {
	return fmt.Sprintf("p50 %.2f ms, p95 %.2f ms, most %.2f ms", l.P50Ms, l.P95Ms, l.MostMs)
}

// replay plays the session against a language server. trace, if any, is loaded before the typing, as stepline loads it; every
// tenth keystroke is followed by what editors ask, where the server answers it.
func (s *editingSession) replay(trace string, command string, arguments ...string) (*measured, error) {
	got := &measured{}
	began := time.Now()
	c, err := startClient(command, arguments...)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	if _, err := c.request("initialize", s.initialize(shown)); err != nil {
		return nil, err
	}
	got.start = time.Since(began)
	c.notify("initialized", map[string]any{})
	uri := fileURI(s.path)
	opened := time.Now()
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "python", "version": 1, "text": s.source}})
	arrived, err := c.until(diagnosticsOf(uri, 1))
	if err != nil {
		return nil, err
	}
	got.opened = arrived.Sub(opened)
	if trace != "" {
		if err := got.load(c, uri, trace); err != nil {
			return nil, fmt.Errorf("loading %s: %w", trace, err)
		}
		if err := c.ask("stepline/latency", &got.loading); err != nil {
			return nil, err
		}
	}
	if err := s.typeAll(c, uri, trace != "", got); err != nil || trace == "" {
		return got, err
	}
	return got, c.ask("stepline/latency", &got.own)
}

// shown is what the client says it shows, as VS Code and Neovim do: a hint's tooltip is asked for where the mouse rests on it.
var shown = map[string]any{
	"publishDiagnostics": map[string]any{"versionSupport": true, "relatedInformation": true},
	"inlayHint":          map[string]any{"resolveSupport": map[string]any{"properties": []string{"tooltip", "textEdits", "label.tooltip", "label.location", "label.command"}}},
}

func (s *editingSession) initialize(textDocument map[string]any) map[string]any {
	return map[string]any{
		"processId": os.Getpid(), "rootUri": fileURI(s.folder),
		"workspaceFolders":      []any{map[string]any{"uri": fileURI(s.folder), "name": "bench"}},
		"initializationOptions": map[string]any{"autoDiscover": false},
		"capabilities":          map[string]any{"textDocument": textDocument},
	}
}

// diagnosticsOf recognises the push of a version's diagnostics.
func diagnosticsOf(uri string, version int) func(*message) bool {
	return func(m *message) bool {
		if m.Method != "textDocument/publishDiagnostics" {
			return false
		}
		var p struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
		}
		return json.Unmarshal(m.Params, &p) == nil && p.URI == uri && p.Version >= version
	}
}

// load loads a trace; meanwhile a hover is asked for 10 ms after each answer, as by somebody who moves the mouse: asked without a
// pause the hovers would slow down the loading that they are to be measured beside.
func (m *measured) load(c *client, uri, trace string) error {
	trace, err := filepath.Abs(trace)
	if err != nil {
		return err
	}
	began := time.Now()
	id := c.begin("workspace/executeCommand", map[string]any{"command": "stepline.loadTrace", "arguments": []string{trace}})
	for loaded := false; !loaded; {
		time.Sleep(10 * time.Millisecond)
		asked := time.Now()
		hover := c.begin("textDocument/hover", hoverParams(uri, 62))
		arrived, err := c.until(func(got *message) bool {
			if got.answered(id) {
				loaded = true
				m.traceLoaded = got.arrived.Sub(began)
			}
			return got.answered(hover)
		})
		if err != nil {
			return err
		}
		m.hoverWhileLoading = append(m.hoverWhileLoading, arrived.Sub(asked))
	}
	return nil
}

func hoverParams(uri string, line int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]any{"line": line, "character": 12}}
}

func (s *editingSession) typeAll(c *client, uri string, ask bool, got *measured) error {
	for i, key := range s.keys() {
		at := map[string]any{"line": key.line, "character": key.character}
		began := time.Now()
		c.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": uri, "version": i + 2},
			"contentChanges": []any{map[string]any{"range": map[string]any{"start": at, "end": at}, "text": key.letter}}})
		arrived, err := c.until(diagnosticsOf(uri, i+2))
		if err != nil {
			return err
		}
		got.keystrokes = append(got.keystrokes, arrived.Sub(began))
		if !ask || i%10 != 9 {
			continue
		}
		visible := map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 80, "character": 0}}
		for _, asked := range []struct {
			into   *[]time.Duration
			method string
			params map[string]any
		}{
			{&got.hint, "textDocument/inlayHint", map[string]any{"textDocument": map[string]any{"uri": uri}, "range": visible}},
			{&got.lens, "textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}}},
			{&got.hover, "textDocument/hover", hoverParams(uri, 62)},
		} {
			took, err := c.request(asked.method, asked.params)
			if err != nil {
				return fmt.Errorf("%s: %w", asked.method, err)
			}
			*asked.into = append(*asked.into, took)
		}
	}
	return nil
}

// checkAll times the first check of the whole workspace: start, initialize, and one pull of every file's diagnostics.
func (s *editingSession) checkAll(stepline string) (time.Duration, error) {
	c, err := startClient(stepline, "lsp")
	if err != nil {
		return 0, err
	}
	defer c.stop()
	if _, err := c.request("initialize", s.initialize(map[string]any{"diagnostic": map[string]any{}})); err != nil {
		return 0, err
	}
	began := time.Now()
	c.notify("initialized", map[string]any{})
	if _, err := c.request("workspace/diagnostic", map[string]any{"previousResultIds": []any{}}); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// benchSession replays the session against stepline and, where it is installed (scripts/ruff.sh), ruff's server.
func benchSession(stepline, source, trace string, keystrokes int) error {
	// The client decodes every diagnostic and keeps nothing: at the usual pace its own collections, one every few keystrokes, would
	// take the processors from the server that is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(2000))
	s, err := newEditingSession(source, keystrokes)
	if err != nil {
		return err
	}
	defer s.remove()
	all, err := s.checkAll(stepline)
	if err != nil {
		return err
	}
	got, err := s.replay(trace, stepline, "lsp")
	if err != nil {
		return err
	}
	row("session: start to initialized", "%.1f ms", milliseconds(got.start))
	row(fmt.Sprintf("session: %d files first checked", workspaceFiles+1), "%.2f s", all.Seconds())
	row("session: 5,000-line file opened to diagnostics", "%.1f ms", milliseconds(got.opened))
	row("session: trace loaded", "%.2f s", got.traceLoaded.Seconds())
	row("session: hover while the trace loads", "%s", quantiles(got.hoverWhileLoading))
	row("session: hover while the trace loads, the server's share", "%s", got.loading.Answers["textDocument/hover"])
	row("session: keystroke to diagnostics", "%s over %d keystrokes", quantiles(got.keystrokes), len(got.keystrokes))
	row("session: keystroke to diagnostics, the server's share", "%s", got.own.Edits)
	row("session: hover", "%s", quantiles(got.hover))
	row("session: inlay hints of 80 lines", "%s", quantiles(got.hint))
	row("session: code lenses", "%s", quantiles(got.lens))
	if _, err := exec.LookPath(ruff); errors.Is(err, os.ErrNotExist) {
		row("ruff's server on the same session", "not installed; scripts/ruff.sh installs it")
		return nil
	}
	theirs, err := s.replay("", ruff, "server")
	if err != nil {
		return fmt.Errorf("ruff: %w", err)
	}
	row("ruff's server: start to initialized", "%.1f ms", milliseconds(theirs.start))
	row("ruff's server: 5,000-line file opened to diagnostics", "%.1f ms", milliseconds(theirs.opened))
	row("ruff's server: keystroke to diagnostics", "%s over %d keystrokes", quantiles(theirs.keystrokes), len(theirs.keystrokes))
	return nil
}

func quantiles(times []time.Duration) string {
	return fmt.Sprintf("p50 %.2f ms, p95 %.2f ms, most %.2f ms", milliseconds(quantile(times, 0.5)), milliseconds(quantile(times, 0.95)), milliseconds(quantile(times, 1)))
}
