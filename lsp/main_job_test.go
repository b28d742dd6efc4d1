package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readText(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func gptWorkspace(t testing.TB) (dir, uri, text string) {
	t.Helper()
	dir = workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py", "trace.json.gz": "@traces/gpt/trace.json.gz"})
	return dir, pathURI(filepath.Join(dir, "gpt.py")), readText(t, filepath.Join(dir, "gpt.py"))
}

type hint struct {
	Position struct{ Line, Character int }
	Label    string
	Tooltip  *struct{ Value string }
	Data     json.RawMessage
}

// TestTheMainJob is what a user does: opens a script beside its trace, sees findings and costs, and mends something.
func TestTheMainJob(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"traces": []string{"trace.json.gz"}})
		c.open(uri, text)
		_, found := c.published(uri)
		if len(found) == 0 {
			t.Fatal("no diagnostics")
		}
		rulesFound := map[string]int{}
		for _, d := range found {
			rulesFound[d.Code]++
			t.Logf("%d:%d %s %d %s", d.Range.Start.Line+1, d.Range.Start.Character, d.Code, d.Severity, d.Message)
		}
		for _, want := range []string{"SYN001", "XFR001"} {
			if rulesFound[want] == 0 {
				t.Errorf("no %s in %v", want, rulesFound)
			}
		}
		states := c.received("stepline/status")
		if len(states) == 0 {
			t.Fatal("no status")
		}
		t.Logf("%s", states[len(states)-1].Params)
		var hints []hint
		c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 10000, 0)}, &hints)
		if len(hints) < 5 {
			t.Fatalf("%d hints", len(hints))
		}
		lines := strings.Split(text, "\n")
		for _, h := range hints {
			t.Logf("%s   %s", strings.TrimSpace(lines[h.Position.Line]), h.Label)
			if h.Position.Character != len(lines[h.Position.Line]) {
				t.Errorf("the hint on line %d is not at the line's end", h.Position.Line)
			}
			if h.Tooltip != nil {
				t.Error("a tooltip that was to be resolved came at once")
			}
		}
		var resolved hint
		c.must("inlayHint/resolve", object{"position": hints[0].Position, "label": hints[0].Label, "data": hints[0].Data}, &resolved)
		if resolved.Tooltip == nil || !strings.Contains(resolved.Tooltip.Value, "GPU forward") {
			t.Errorf("resolved to %+v", resolved)
		}
		var hover struct {
			Contents struct{ Kind, Value string }
		}
		c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": hints[0].Position}, &hover)
		t.Logf("%s", hover.Contents.Value)
		for _, want := range []string{"GPU forward", "Confidence: exact", "a step"} {
			if !strings.Contains(hover.Contents.Value, want) {
				t.Errorf("the hover lacks %q", want)
			}
		}
		var some []hint
		only := hints[2].Position.Line
		c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(only, 0, only, 1)}, &some)
		if len(some) != 1 || some[0].Label != hints[2].Label {
			t.Errorf("the hints of one line are %+v", some)
		}
		if got := len(c.received("workspace/inlayHint/refresh")); got == 0 {
			t.Error("hints were not refreshed at load")
		}
	})
}

func TestQuickFixIsOfferedLazilyAndMends(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, text)
		_, found := c.published(uri)
		for _, d := range found {
			var actions []map[string]any
			c.must("textDocument/codeAction", object{"textDocument": object{"uri": uri}, "range": d.Range, "context": object{"diagnostics": []any{}}}, &actions)
			kinds := map[string]bool{}
			for _, a := range actions {
				if a["edit"] != nil {
					t.Errorf("%s: the edit came at once", a["title"])
				}
				var full struct {
					Title string
					Edit  struct {
						DocumentChanges []struct {
							TextDocument struct {
								URI     string
								Version int
							}
							Edits []struct {
								Range   map[string]any
								NewText string
							}
						}
					}
				}
				c.must("codeAction/resolve", a, &full)
				kinds[a["kind"].(string)] = true
				if len(full.Edit.DocumentChanges) == 0 || full.Edit.DocumentChanges[0].TextDocument.Version != 1 || len(full.Edit.DocumentChanges[0].Edits) == 0 {
					t.Errorf("%s: resolved to %+v", full.Title, full.Edit)
				}
			}
			if !kinds["quickfix"] {
				t.Errorf("no quick fix for %s", d.place())
			}
		}
		// Ignore the first finding here: apply the edit as an editor does, and it is gone.
		var actions []map[string]any
		c.must("textDocument/codeAction", object{"textDocument": object{"uri": uri}, "range": found[0].Range, "context": object{"diagnostics": []any{}}}, &actions)
		for _, a := range actions {
			if strings.HasPrefix(a["title"].(string), "Ignore "+found[0].Code) {
				var full struct {
					Edit struct {
						DocumentChanges []struct {
							Edits []struct {
								Range   map[string]any
								NewText string
							}
						}
					}
				}
				c.must("codeAction/resolve", a, &full)
				e := full.Edit.DocumentChanges[0].Edits[0]
				c.change(uri, 2, object{"range": e.Range, "text": e.NewText})
			}
		}
		var want []string
		for _, d := range found {
			if d.Range.Start.Line != found[0].Range.Start.Line || d.Code != found[0].Code {
				want = append(want, d.place())
			}
		}
		version, left := c.published(uri)
		if d := cmp.Diff(want, places(left)); version != 2 || d != "" {
			t.Errorf("version %d after ignoring (-want +got)\n%s", version, d)
		}
	})
}

func TestLoadAndUnloadTrace(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, text)
		hints := func() int {
			var list []hint
			c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 10000, 0)}, &list)
			return len(list)
		}
		if n := hints(); n != 0 {
			t.Fatalf("%d hints without a trace", n)
		}
		for name, arguments := range map[string]any{
			"uri": []any{pathURI(filepath.Join(dir, "trace.json.gz"))}, "path": []any{filepath.Join(dir, "trace.json.gz")},
			"relative": []any{"trace.json.gz"}, "object": []any{object{"traces": []string{"trace.json.gz"}}},
		} {
			var loaded struct{ Trace struct{ Steps, Ranks int } }
			c.must("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": arguments, "workDoneToken": "t-" + name}, &loaded)
			if loaded.Trace.Steps != 2 || loaded.Trace.Ranks != 1 {
				t.Errorf("%s: loaded %+v", name, loaded)
			}
			if n := hints(); n == 0 {
				t.Errorf("%s: no hints after loading", name)
			}
			var unloaded struct{ Unloaded bool }
			c.must("workspace/executeCommand", object{"command": "stepline.unloadTrace"}, &unloaded)
			if n := hints(); n != 0 || !unloaded.Unloaded {
				t.Errorf("%s: %d hints after unloading (%v)", name, n, unloaded)
			}
		}
		progress := c.received("$/progress")
		if len(progress) < 2 || !strings.Contains(string(progress[0].Params), `"begin"`) || !strings.Contains(string(progress[len(progress)-1].Params), `"end"`) {
			t.Errorf("progress %d", len(progress))
		}
	})
}

func TestBrokenTracesEndInOneClearMessageAndLintGoesOn(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	whole := readText(t, filepath.Join(dir, "trace.json.gz"))
	for name, content := range map[string]string{"not.json": "hello", "empty.json": "", "cut.json.gz": whole[:len(whole)/2], "other.json": `{"schema": 1, "nodes": []}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, text)
		_, before := c.published(uri)
		for _, name := range []string{"not.json", "empty.json", "other.json", "missing.json"} {
			err := c.call("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []any{name}}, nil)
			if err == nil || err.Code != -32803 || !strings.Contains(err.Message, name) || strings.Contains(err.Message, "\n") {
				t.Errorf("%s: %v", name, err)
			}
			t.Log(err)
		}
		var loaded struct {
			Trace    struct{ Files []string }
			Warnings []struct{ Code string }
		}
		c.must("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []any{"cut.json.gz"}}, &loaded)
		told := c.received("window/showMessage")
		if len(loaded.Warnings) == 0 || len(told) != 1 || !strings.Contains(string(told[0].Params), "cut.json.gz") {
			t.Errorf("a cut trace: warnings %+v, messages %+v", loaded.Warnings, told)
		}
		_, after := c.published(uri)
		if d := cmp.Diff(places(before), places(after)); d != "" {
			t.Errorf("findings changed (-before +after)\n%s", d)
		}
	})
}
