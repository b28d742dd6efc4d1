package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReportCompareExplainAndLenses(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	cache := t.TempDir()
	session(t, Options{Cache: cache, Version: "1.2.3"}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"autoDiscover": false})
		c.open(uri, text)
		if err := c.call("stepline/report", object{"format": "html"}, nil); err == nil || err.Code != -32803 || !strings.Contains(err.Message, "no trace is loaded") {
			t.Errorf("a report without a trace: %v", err)
		}
		c.must("workspace/executeCommand", object{"command": "stepline.loadTrace", "arguments": []string{"trace.json.gz"}}, nil)
		for format, want := range map[string]string{"html": "<html", "markdown": "# ", "text": "gpt.py", "json": `"schema"`} {
			var report struct{ Content string }
			c.must("stepline/report", object{"format": format}, &report)
			if !strings.Contains(report.Content, want) {
				t.Errorf("%s: %.200s", format, report.Content)
			}
			if format == "json" && !json.Valid([]byte(report.Content)) {
				t.Error("the JSON report is no JSON")
			}
		}
		var opened struct{ URI string }
		c.must("workspace/executeCommand", object{"command": "stepline.openReport"}, &opened)
		shown := c.received("window/showDocument")
		if len(shown) != 1 || !strings.Contains(string(shown[0].Params), opened.URI) {
			t.Errorf("opened %q, shown %+v", opened.URI, shown)
		}
		if written, err := os.ReadDir(cache); err != nil || len(written) != 1 {
			t.Errorf("the cache folder holds %v, %v", written, err)
		}
		var compared struct{ Content string }
		c.must("workspace/executeCommand", object{"command": "stepline.compare", "arguments": []string{"trace.json.gz", "trace.json.gz"}}, &compared)
		if !strings.Contains(compared.Content, "no difference beyond noise") {
			t.Errorf("compared: %s", compared.Content)
		}
		var page struct{ Rule, Content string }
		c.must("workspace/executeCommand", object{"command": "stepline.explainRule", "arguments": []string{"syn001"}}, &page)
		if page.Rule != "SYN001" || !strings.Contains(page.Content, "## Why it costs") {
			t.Errorf("explained %+v", page)
		}
		var lenses []struct {
			Range   struct{ Start struct{ Line int } }
			Command struct{ Title, Command string }
		}
		c.must("textDocument/codeLens", object{"textDocument": object{"uri": uri}}, &lenses)
		lines := strings.Split(text, "\n")
		over := map[string]string{}
		for _, l := range lenses {
			over[strings.TrimSpace(lines[l.Range.Start.Line])] = l.Command.Title
			t.Logf("%s   ← %s", l.Command.Title, lines[l.Range.Start.Line])
		}
		loop := over["for step in range(steps + 3):"]
		if !strings.Contains(loop, "58.6 ms a step · GPU busy 28 %") || !strings.HasSuffix(loop, "open report") {
			t.Errorf("the lens over the training loop says %q", loop)
		}
		if forward := over["def forward(self, x):"]; !strings.Contains(forward, "on the GPU a step") {
			t.Errorf("the lens over a forward says %q", forward)
		}
		if module := over["class MLP(nn.Module):"]; !strings.Contains(module, "3.58 ms on the GPU a step · 22 % · 12 calls") {
			t.Errorf("the lens over a module says %q", module)
		}
		c.must("codeLens/resolve", object{"range": span(0, 0, 0, 0), "data": 1}, nil)
		states := c.received("stepline/status")
		if last := string(states[len(states)-1].Params); !strings.Contains(last, `"class":"`) {
			t.Errorf("status %s", last)
		}
	})
}

func TestIgnoreLineCommandAndFixAll(t *testing.T) {
	source := "import torch\nx = torch.load(p)\nloss.backward()  # stepline: ignore[SYN001]\n"
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		c.open("untitled:a", source)
		c.answer("workspace/applyEdit", object{"applied": true})
		c.must("workspace/executeCommand", object{"command": "stepline.ignoreLine", "arguments": []any{"untitled:a", 1}}, nil)
		edits := c.received("workspace/applyEdit")
		if len(edits) != 1 || !strings.Contains(string(edits[0].Params), "# stepline: ignore[IOL003]") {
			t.Errorf("edits %+v", edits)
		}
		if err := c.call("workspace/executeCommand", object{"command": "stepline.ignoreLine", "arguments": []any{object{"uri": "untitled:a", "line": 0}}}, nil); err == nil || err.Code != -32803 {
			t.Errorf("a line without a finding: %v", err)
		}
		var actions []map[string]any
		c.must("textDocument/codeAction", object{"textDocument": object{"uri": "untitled:a"}, "range": span(0, 0, 0, 0), "context": object{"only": []string{"source.fixAll"}}}, &actions)
		if len(actions) != 1 || actions[0]["kind"] != "source.fixAll.stepline" {
			t.Fatalf("fix all: %+v", actions)
		}
		var full struct {
			Edit struct {
				DocumentChanges []struct {
					Edits []struct {
						Range   struct{ Start struct{ Line int } }
						NewText string
					}
				}
			}
		}
		c.must("codeAction/resolve", actions[0], &full)
		if len(full.Edit.DocumentChanges) != 1 || full.Edit.DocumentChanges[0].Edits[0].Range.Start.Line != 2 {
			t.Errorf("fix all gives %+v (the unused ignore is the only safe fix)", full.Edit)
		}
		c.change("untitled:a", 2, object{"text": source + "\n"})
		if err := c.call("codeAction/resolve", actions[0], nil); err == nil || err.Code != -32801 {
			t.Errorf("an action of an older version: %v", err)
		}
	})
}

func TestTheSystemWatcherSeesNewTraces(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	trace := filepath.Join(dir, "trace.json.gz")
	data := readText(t, trace)
	if err := os.Remove(trace); err != nil {
		t.Fatal(err)
	}
	c := startClient(t, Options{})
	c.initialize(dir, object{}, nil)
	c.open(uri, text)
	c.waitPublished(uri, 1)
	// A status tells of the folder once its settings are known and the watcher runs; then the trace is written.
	c.must("workspace/executeCommand", object{"command": "stepline.unloadTrace"}, nil)
	if err := os.WriteFile(trace, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	c.waitFor("stepline/status", `"loading":false`, `"trace":"trace.json.gz"`)
	c.quit()
}
