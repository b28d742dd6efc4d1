package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stepline/analysis"
	"stepline/lsp/internal/text"
	"stepline/pyscan"
)

// The model-based test: a session of random opens, edits, closes, saves, settings and traces, by a client that is pushed
// diagnostics or one that pulls them. After every few steps the server's texts equal the model's, and what it says equals a fresh
// run over the same texts, files on disk, settings and trace.

// step is one random action; its numbers are taken modulo what is there, so that any step is possible at any time and
// failures shrink well.
type step struct {
	Kind    int
	File    int
	Edits   []randomEdit
	Setting int
}

type randomEdit struct {
	Whole      bool
	Start, Len int
	Snippet    int
}

var snippets = []string{
	"import torch\n", "x = torch.load(p)\n", "模 = '🙂é'\n", "\r\n", "\r", "\n", "🙂", "    ", "(", "\"\"\"", "# stepline: ignore[IOL003]", "torch", "load(p)", "\ufeff", "",
	"for x, y in loader:\n    loss = model(x.cuda())\n    loss.backward()\n    opt.step()\n    print(loss.item())\n",
	"from b import helper\nfor x in loader:\n    l = model(x)\n    l.backward()\n    helper(l)\n", "def helper(t):\n    return t.item()\n",
	"model = torch.nn.Linear(3, 4).cuda()\n", "opt = torch.optim.SGD(model.parameters(), lr=1)\n",
}

var modelFiles = []string{"a.py", "b.py", "pkg/c.py", "compiled.py"}

var modelSettings = []object{
	{}, {"rules": object{"ignore": []string{"IOL003"}}}, {"rules": object{"select": []string{"IOL", "SYN"}}}, {"rules": object{"severity": object{"IOL003": "error"}}},
	{"traces": []string{"run/trace.json.gz"}}, {"traces": []string{"run/trace.json.gz"}, "rules": object{"ignore": []string{"IOL"}}},
}

func stepGenerator() *rapid.Generator[step] {
	edit := rapid.Custom(func(t *rapid.T) randomEdit {
		return randomEdit{rapid.IntRange(0, 9).Draw(t, "whole") == 0, rapid.IntRange(0, 400).Draw(t, "start"), rapid.IntRange(0, 30).Draw(t, "len"), rapid.IntRange(0, len(snippets)-1).Draw(t, "snippet")}
	})
	return rapid.Custom(func(t *rapid.T) step {
		return step{rapid.IntRange(0, 19).Draw(t, "kind"), rapid.IntRange(0, len(modelFiles)-1).Draw(t, "file"), rapid.SliceOfN(edit, 1, 4).Draw(t, "edits"), rapid.IntRange(0, len(modelSettings)-1).Draw(t, "setting")}
	})
}

// model is what the client knows.
type model struct {
	c        *fakeClient
	dir      string
	open     map[string]string // file → text
	version  map[string]int
	settings object
	pulls    bool
	compiled string // compiled.py as it ran in the trace
	// trace is the run as a fresh load has it, nil where none is loaded; bySettings tells that the settings name it.
	trace      *analysis.Loaded
	bySettings bool
}

func (m *model) uri(file string) string { return pathURI(filepath.Join(m.dir, file)) }

func TestModelOfASession(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		encoding := rapid.SampledFrom([]string{"utf-8", "utf-16", "utf-32"}).Draw(rt, "encoding")
		pulls := rapid.Bool().Draw(rt, "pulls")
		steps := rapid.SliceOfN(stepGenerator(), 1, 40).Draw(rt, "steps")
		trouble := ""
		synctest.Test(t, func(t *testing.T) { trouble = playModel(t, encoding, pulls, steps) })
		if trouble != "" {
			rt.Fatal(trouble)
		}
	})
}

func playModel(t *testing.T, encoding string, pulls bool, steps []step) (trouble string) {
	dir := workspaceOf(t, map[string]string{"a.py": loads, "b.py": snippets[17], "compiled.py": "@traces/compile/compiled.py", "run/trace.json.gz": "@traces/compile/trace.json.gz"})
	if err := os.MkdirAll(filepath.Join(dir, "pkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := startClient(t, Options{NoWatch: true})
	m := &model{c: c, dir: dir, open: map[string]string{}, version: map[string]int{}, settings: object{}, pulls: pulls, compiled: readText(t, filepath.Join(dir, "compiled.py"))}
	c.answer("workspace/configuration", []any{m.settings})
	can := fullCapabilities()
	can["general"] = object{"positionEncodings": []string{encoding}}
	if pulls {
		can["textDocument"].(object)["diagnostic"] = object{}
	}
	c.initialize(dir, can, object{"autoDiscover": false})
	enc := map[string]text.Encoding{"utf-8": text.UTF8, "utf-16": text.UTF16, "utf-32": text.UTF32}[encoding]
	for i, s := range steps {
		m.play(s, enc)
		if i%4 == 3 || i == len(steps)-1 {
			if trouble = m.differs(); trouble != "" {
				trouble = fmt.Sprintf("after step %d: %s", i, trouble)
				break
			}
		}
	}
	c.quit()
	return trouble
}

func (m *model) play(s step, enc text.Encoding) {
	file := modelFiles[s.File]
	current, open := m.open[file]
	switch {
	case s.Kind == 0 && open:
		delete(m.open, file)
		m.c.notify("textDocument/didClose", object{"textDocument": object{"uri": m.uri(file)}})
	case s.Kind == 1: // an open, late or repeated
		m.open[file] = snippets[s.Edits[0].Snippet] + loads
		m.version[file] = s.Edits[0].Start
		m.c.notify("textDocument/didOpen", object{"textDocument": object{"uri": m.uri(file), "languageId": "python", "version": m.version[file], "text": m.open[file]}})
	case s.Kind == 2: // an edit of a closed file, or of an older version
		if !open {
			m.c.change(m.uri(file), 5, object{"text": "never"})
		} else if m.version[file] > 0 {
			m.c.change(m.uri(file), m.version[file], object{"text": "never"})
		}
	case s.Kind == 3:
		m.configure(modelSettings[s.Setting])
	case s.Kind == 4: // the file changes on disk
		if err := os.WriteFile(filepath.Join(m.dir, file), []byte(snippets[s.Edits[0].Snippet]+loads), 0o644); err != nil {
			m.c.t.Error(err)
		}
		m.c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": m.uri(file), "type": 2}}})
		synctest.Wait()
	case s.Kind == 5 && s.Edits[0].Snippet%3 == 0:
		m.c.must("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []string{"run/trace.json.gz"}}, nil)
		m.trace, m.bySettings = m.freshTrace(), false
	case s.Kind == 5:
		m.c.must("workspace/executeCommand", object{"command": "stepline.unloadTrace"}, nil)
		m.trace = nil
	case s.Kind == 6 && open:
		m.c.begin("textDocument/hover", object{"textDocument": object{"uri": m.uri(file)}, "position": at(1, 4)})
		m.c.begin("textDocument/codeAction", object{"textDocument": object{"uri": m.uri(file)}, "range": span(0, 0, 9, 0), "context": object{}})
	case !open && file == "compiled.py":
		m.open[file], m.version[file] = m.compiled, 1
		m.c.open(m.uri(file), m.compiled)
	case !open:
		m.open[file], m.version[file] = loads, 1
		m.c.open(m.uri(file), loads)
	default:
		m.edit(file, current, s.Edits, enc)
	}
}

// configure changes the settings. Traces named anew are loaded, those no longer named go, those a command loaded stay.
func (m *model) configure(settings object) {
	before, now := m.settings["traces"] != nil, settings["traces"] != nil
	m.settings = settings
	m.c.answer("workspace/configuration", []any{settings})
	m.c.notify("workspace/didChangeConfiguration", object{"settings": nil})
	m.settle()
	switch {
	case now && !before:
		m.trace, m.bySettings = m.freshTrace(), true
	case before && !now && m.bySettings:
		m.trace = nil
	}
}

// settle waits until the server has nothing left to do, not even what it does when nobody types.
func (m *model) settle() {
	time.Sleep(2 * time.Second) // of the bubble's clock
	synctest.Wait()
}

// freshTrace loads the trace as a new server would with the same buffers.
func (m *model) freshTrace() *analysis.Loaded {
	w, err := m.freshWorkspace()
	if err != nil {
		m.c.t.Error(err)
		return nil
	}
	loaded, err := w.LoadTrace(m.c.t.Context(), []string{"run/trace.json.gz"}, analysis.LoadOptions{BesideAlone: true, Buffer: func(path string) (*pyscan.File, bool) {
		source, open := m.open[path]
		if !open {
			return nil, false
		}
		return pyscan.Parse(path, source), true
	}})
	if err != nil {
		m.c.t.Error(err)
	}
	return loaded
}

// edit sends changes in one message, positions by the model's own reckoning.
func (m *model) edit(file, current string, edits []randomEdit, enc text.Encoding) {
	var changes []object
	for _, e := range edits {
		insert := snippets[e.Snippet]
		if e.Whole {
			current = insert + loads
			changes = append(changes, object{"text": current})
			continue
		}
		runes := []rune(current)
		start := e.Start % (len(runes) + 1)
		end := min(len(runes), start+e.Len)
		from, to := slowPosition(runes, start, enc), slowPosition(runes, end, enc)
		changes = append(changes, object{"range": object{"start": at(from.line, from.character), "end": at(to.line, to.character)}, "text": insert})
		// A place between \r and \n is, for the protocol, the line's end.
		current = string(runes[:from.index]) + insert + string(runes[to.index:])
	}
	m.version[file] += 1 + len(edits)
	m.open[file] = current
	m.c.change(m.uri(file), m.version[file], changes...)
}

type slowPlace struct{ line, character, index int }

// slowPosition walks from the text's start, rune by rune: another way than the server's.
func slowPosition(runes []rune, index int, enc text.Encoding) slowPlace {
	if index > 0 && index < len(runes) && runes[index] == '\n' && runes[index-1] == '\r' {
		index--
	}
	p := slowPlace{index: index}
	for i, r := range runes[:index] {
		switch {
		case r == '\n', r == '\r' && !(i+1 < len(runes) && runes[i+1] == '\n'):
			p.line, p.character = p.line+1, 0
			continue
		case r == '\r':
			continue
		}
		switch enc {
		case text.UTF8:
			p.character += len(string(r))
		case text.UTF16:
			p.character += map[bool]int{true: 2, false: 1}[r > 0xFFFF]
		default:
			p.character++
		}
	}
	return p
}

// differs says how the server differs from the model, "" if it does not.
func (m *model) differs() string {
	m.settle()
	now := m.c.server.current.Load()
	for file, want := range m.open {
		d := now.documents[documentKey(m.uri(file))]
		if d == nil || d.text.String() != want {
			got := "nothing"
			if d != nil {
				got = fmt.Sprintf("%q", d.text.String())
			}
			return fmt.Sprintf("%s holds %s, want %q", file, got, want)
		}
	}
	if len(now.documents) != len(m.open) {
		return fmt.Sprintf("%d documents are open, want %d", len(now.documents), len(m.open))
	}
	if loaded := now.folders[0].trace != nil; loaded != (m.trace != nil) {
		return fmt.Sprintf("a trace is loaded: %v, want %v", loaded, m.trace != nil)
	}
	fresh, err := m.fresh()
	if err != nil {
		return err.Error()
	}
	for file, got := range m.said() {
		if d := cmp.Diff(fresh[file], got); d != "" {
			return fmt.Sprintf("%s: findings (-fresh +server)\n%s\ntext %q", file, d, m.open[file])
		}
	}
	return ""
}

// said are the server's findings by file: the open ones' where it pushes, all files' where it is pulled.
func (m *model) said() map[string][]string {
	said := map[string][]string{}
	add := func(file string, list []diagnostic) {
		said[file] = []string{}
		for _, d := range list {
			said[file] = append(said[file], fmt.Sprintf("%s %d %s", d.place(), d.Severity, d.Message))
		}
	}
	if !m.pulls {
		for file := range m.open {
			version, list := m.c.published(m.uri(file))
			add(file, list)
			if version != m.version[file] {
				said[file] = append(said[file], fmt.Sprintf("at version %d, want %d", version, m.version[file]))
			}
		}
		return said
	}
	var all struct {
		Items []struct {
			URI   string
			Items []diagnostic
		}
	}
	m.c.must("workspace/diagnostic", object{"previousResultIds": []any{}}, &all)
	for _, r := range all.Items {
		file := strings.TrimPrefix(r.URI, pathURI(m.dir)+"/")
		add(file, r.Items)
		if _, _, items := m.c.pull(r.URI, nil); len(items) != len(r.Items) {
			said[file] = append(said[file], fmt.Sprintf("pulled alone it has %d findings", len(items)))
		}
	}
	return said
}

// freshWorkspace is the folder with the settings as they are, nothing kept from before.
func (m *model) freshWorkspace() (*analysis.Workspace, error) {
	settings, err := analysis.Merge(analysis.Layer{}, analysis.ClientLayer("model", m.jsonSettings()))
	if err != nil {
		return nil, err
	}
	w, err := analysis.Open(m.c.t.Context(), m.dir, settings)
	if err != nil {
		return nil, err
	}
	return w, w.Index(m.c.t.Context(), true)
}

// fresh lints the model's texts among the files on disk, and those files, with nothing kept from before.
func (m *model) fresh() (map[string][]string, error) {
	w, err := m.freshWorkspace()
	if err != nil {
		return nil, err
	}
	for file, source := range m.open {
		w.SetFile(pyscan.Parse(file, source))
	}
	out := map[string][]string{}
	for _, parsed := range w.Project().Files() {
		t := text.New(parsed.Text)
		out[parsed.Path] = []string{}
		for _, f := range w.CheckFile(parsed, m.trace.RuleCosts()) {
			r := t.Range(f.Span.Start, f.Span.End, m.c.server.encoding)
			out[parsed.Path] = append(out[parsed.Path], fmt.Sprintf("%s %d:%d-%d:%d %d %s", f.Rule.ID, r.Start.Line, r.Start.Character, r.End.Line, r.End.Character, severity(f.Severity), pricedMessage(&f)))
		}
	}
	return out, nil
}

func (m *model) jsonSettings() map[string]any {
	raw, err := json.Marshal(m.settings)
	if err != nil {
		m.c.t.Error(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		m.c.t.Error(err)
	}
	return out
}
