package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const loads = "import torch\nx = torch.load(p)\n"

func (c *fakeClient) pull(uri string, previous any) (kind, id string, items []diagnostic) {
	c.t.Helper()
	var report struct {
		Kind, ResultID string
		Items          []diagnostic
	}
	params := object{"textDocument": object{"uri": uri}}
	if previous != nil {
		params["previousResultId"] = previous
	}
	c.must("textDocument/diagnostic", params, &report)
	return report.Kind, report.ResultID, report.Items
}

func TestPullDiagnostics(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"open.py": loads, "closed.py": "\n" + loads, "clean.py": "x = 1\n", "venv/lib.py": loads})
	uri := func(name string) string { return pathURI(filepath.Join(dir, name)) }
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		can := fullCapabilities()
		can["textDocument"].(object)["diagnostic"] = object{"dynamicRegistration": false}
		c.initialize(dir, can, nil)
		c.open(uri("open.py"), loads)
		kind, id, items := c.pull(uri("open.py"), nil)
		if d := cmp.Diff([]string{"IOL003 1:4-1:17"}, places(items)); kind != "full" || id == "" || d != "" {
			t.Errorf("%s %s (-want +got)\n%s", kind, id, d)
		}
		if kind, again, _ := c.pull(uri("open.py"), id); kind != "unchanged" || again != id {
			t.Errorf("pulled again: %s %s, want unchanged %s", kind, again, id)
		}
		c.change(uri("open.py"), 2, object{"range": span(0, 0, 0, 0), "text": "\n"})
		if kind, _, items := c.pull(uri("open.py"), id); kind != "full" || len(items) != 1 || items[0].Range.Start.Line != 2 {
			t.Errorf("after a change: %s %v", kind, places(items))
		}
		if _, _, items := c.pull(uri("closed.py"), nil); len(items) != 1 {
			t.Errorf("a closed file: %v", places(items))
		}
		if _, _, items := c.pull("file:///etc/hostname.py", nil); len(items) != 0 {
			t.Errorf("a file outside: %v", places(items))
		}
		var all struct {
			Items []struct {
				Kind, URI, ResultID string
				Version             *int
				Items               []diagnostic
			}
		}
		c.must("workspace/diagnostic", object{"previousResultIds": []any{}}, &all)
		got := map[string]string{}
		previous := []object{}
		for _, r := range all.Items {
			got[filepath.Base(r.URI)] = fmt.Sprintf("%s %d %v", r.Kind, len(r.Items), r.Version != nil)
			previous = append(previous, object{"uri": r.URI, "value": r.ResultID})
		}
		want := map[string]string{"open.py": "full 1 true", "closed.py": "full 1 false", "clean.py": "full 0 false"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("workspace pull (-want +got)\n%s", d)
		}
		c.must("workspace/diagnostic", object{"previousResultIds": previous}, &all)
		for _, r := range all.Items {
			if r.Kind != "unchanged" {
				t.Errorf("%s is %s the second time", r.URI, r.Kind)
			}
		}
		if err := os.Remove(filepath.Join(dir, "closed.py")); err != nil {
			t.Fatal(err)
		}
		c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": uri("closed.py"), "type": 3}}})
		c.received("workspace/diagnostic/refresh") // when it is asked for, the file has been seen to be gone
		all.Items = nil
		c.must("workspace/diagnostic", object{"previousResultIds": previous}, &all)
		for _, r := range all.Items {
			if deleted := r.URI == uri("closed.py"); deleted != (r.Kind == "full") || len(r.Items) > 0 {
				t.Errorf("after closed.py was deleted, %s is %s with %v", r.URI, r.Kind, places(r.Items))
			}
		}
		if n := len(c.received("textDocument/publishDiagnostics")); n != 0 {
			t.Errorf("%d pushes to a client that pulls", n)
		}
	})
}

func TestAClientThatBeginsToPullIsPushedNoMore(t *testing.T) {
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", object{}, nil)
		c.open("untitled:a", loads)
		if _, found := c.published("untitled:a"); len(found) != 1 {
			t.Errorf("pushed %v", places(found))
		}
		if _, _, items := c.pull("untitled:a", nil); len(items) != 1 {
			t.Errorf("pulled %v", places(items))
		}
		c.change("untitled:a", 2, object{"text": "\n" + loads})
		if _, found := c.published("untitled:a"); len(found) != 0 {
			t.Errorf("what was pushed stays beside what is pulled: %v", places(found))
		}
	})
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", object{}, nil)
		c.notify("notebookDocument/didOpen", object{
			"notebookDocument":  object{"uri": "file:///n/x.ipynb", "version": 1, "cells": []object{{"kind": 2, "document": "cell:0"}}},
			"cellTextDocuments": []object{{"uri": "cell:0", "languageId": "python", "version": 1, "text": loads}}})
		if _, found := c.published("cell:0"); len(found) != 1 {
			t.Errorf("pushed %v", places(found))
		}
		if _, _, items := c.pull("cell:0", nil); len(items) != 1 {
			t.Errorf("pulled %v", places(items))
		}
		if _, found := c.published("cell:0"); len(found) != 0 {
			t.Errorf("what was pushed of a cell stays beside what is pulled: %v", places(found))
		}
	})
}

func TestSettingsFromAllPlacesAndLive(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"a.py": loads})
	uri := pathURI(filepath.Join(dir, "a.py"))
	file := filepath.Join(dir, "stepline.toml")
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		configured := func(section object) { c.answer("workspace/configuration", []any{section}) }
		configured(object{})
		check := func(when string, want int) {
			t.Helper()
			if _, found := c.published(uri); len(found) != want {
				t.Errorf("%s: %v, want %d", when, places(found), want)
			}
		}
		c.initialize(dir, fullCapabilities(), object{"rules": object{"ignore": []string{"IOL003"}}})
		c.open(uri, loads)
		check("initializationOptions ignore the rule", 0)
		configured(object{"rules": object{"ignore": []string{}}})
		c.notify("workspace/didChangeConfiguration", object{"settings": nil})
		check("workspace/configuration says otherwise", 1)
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": pathURI(file), "type": 2}}})
		}
		write("[rules]\nignore = [\"IOL\"]\n")
		check("the file wins for rules", 0)
		write("[rules\nignore = [\"IOL\"]\n")
		check("a file that is no TOML is told and its settings do not hold", 1)
		if asked := c.received("workspace/configuration"); len(asked) == 0 || !strings.Contains(string(asked[0].Params), `"section":"stepline"`) {
			t.Errorf("asked for %+v", asked)
		}
		messages := c.received("window/showMessage")
		if len(messages) != 1 || !strings.Contains(string(messages[0].Params), "stepline.toml:1") {
			t.Errorf("messages %+v", messages)
		}
		write("[rules]\nignor = [\"IOL\"]\nseverity = {IOL003 = \"error\"}\n")
		_, found := c.published(uri)
		if len(found) != 1 || found[0].Severity != 1 {
			t.Errorf("a wrong key loses the others: %+v", found)
		}
		if messages := c.received("window/showMessage"); len(messages) != 2 || !strings.Contains(string(messages[1].Params), "stepline.toml:2: rules.ignor") {
			t.Errorf("messages %+v", messages)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		c.notify("textDocument/didSave", object{"textDocument": object{"uri": pathURI(file)}})
		c.notify("workspace/didChangeConfiguration", object{"settings": object{"stepline": object{"rules": object{"select": []string{"SYN"}}}}})
		configured(nil)
		c.notify("workspace/didChangeConfiguration", object{"settings": object{"stepline": object{"rules": object{"select": []string{"SYN"}}}}})
		check("a pushed setting", 0)
	})
}

func TestMultiRootFoldersHaveTheirOwnSettingsAndTraces(t *testing.T) {
	a := workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py", "trace.json.gz": "@traces/gpt/trace.json.gz", "stepline.toml": "[rules]\nselect = [\"IOL\"]\n", "l.py": loads})
	b := workspaceOf(t, map[string]string{"l.py": loads, "stepline.toml": "[rules]\nignore = [\"IOL\"]\n", "gpt.py": "@traces/gpt/gpt.py"})
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		var result object
		c.must("initialize", object{"processId": nil, "capabilities": fullCapabilities(), "workspaceFolders": []object{{"uri": pathURI(a), "name": "a"}}}, &result)
		c.notify("initialized", object{})
		au, bu := pathURI(filepath.Join(a, "l.py")), pathURI(filepath.Join(b, "l.py"))
		c.open(au, loads)
		c.open(bu, loads)
		if _, found := c.published(bu); len(found) != 0 {
			t.Errorf("a loose file has its own folder's settings: %v", places(found))
		}
		c.notify("workspace/didChangeWorkspaceFolders", object{"event": object{"added": []object{{"uri": pathURI(b), "name": "b"}}, "removed": []object{}}})
		_, inA := c.published(au)
		_, inB := c.published(bu)
		if len(inA) != 1 || len(inB) != 0 {
			t.Errorf("a: %v, b: %v", places(inA), places(inB))
		}
		hints := func(dir string) int {
			uri := pathURI(filepath.Join(dir, "gpt.py"))
			c.open(uri, readText(t, filepath.Join(dir, "gpt.py")))
			c.received("") // loading has ended
			var list []hint
			c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 9999, 0)}, &list)
			return len(list)
		}
		if inA, inB := hints(a), hints(b); inA == 0 || inB != 0 {
			t.Errorf("%d hints in the folder with a trace, %d in the other", inA, inB)
		}
		c.notify("workspace/didChangeWorkspaceFolders", object{"event": object{"added": []object{}, "removed": []object{{"uri": pathURI(a), "name": "a"}}}})
		if _, found := c.published(au); len(found) != 1 {
			t.Errorf("after its folder went: %v", places(found))
		}
	})
}

func TestNotebookCellsAreOneModule(t *testing.T) {
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		cell := func(i int) string { return fmt.Sprintf("vscode-notebook-cell:/n/x.ipynb#W%d", i) }
		kinds := []object{{"kind": 2, "document": cell(0)}, {"kind": 1, "document": cell(1)}, {"kind": 2, "document": cell(2)}}
		c.notify("notebookDocument/didOpen", object{
			"notebookDocument": object{"uri": "file:///n/x.ipynb", "notebookType": "jupyter-notebook", "version": 1, "cells": kinds},
			"cellTextDocuments": []object{
				{"uri": cell(0), "languageId": "python", "version": 1, "text": "%matplotlib inline\nimport torch\n!pip install x\nif 1:\n    !ls"},
				{"uri": cell(1), "languageId": "markdown", "version": 1, "text": "x = torch.load(p)"},
				{"uri": cell(2), "languageId": "python", "version": 1, "text": "y = 1\nx = torch.load(p)"},
			}})
		for i, want := range [][]string{{}, nil, {"IOL003 1:4-1:17"}} {
			_, found := c.published(cell(i))
			if d := cmp.Diff(want, places(found)); d != "" && !(want == nil && len(found) == 0) {
				t.Errorf("cell %d (-want +got)\n%s", i, d)
			}
		}
		change := func(version int, cells object) {
			c.notify("notebookDocument/didChange", object{"notebookDocument": object{"uri": "file:///n/x.ipynb", "version": version}, "change": object{"cells": cells}})
		}
		change(2, object{"textContent": []object{{"document": object{"uri": cell(2), "version": 2}, "changes": []object{{"range": span(0, 0, 1, 0), "text": ""}}}}})
		if version, found := c.published(cell(2)); version != 2 || cmp.Diff([]string{"IOL003 0:4-0:17"}, places(found)) != "" {
			t.Errorf("after an edit: version %d %v", version, places(found))
		}
		var actions []struct {
			Title string
			Data  json.RawMessage
		}
		c.must("textDocument/codeAction", object{"textDocument": object{"uri": cell(2)}, "range": span(0, 5, 0, 5), "context": object{}}, &actions)
		if len(actions) == 0 {
			t.Fatal("no actions in a cell")
		}
		var full struct {
			Edit struct {
				DocumentChanges []struct {
					TextDocument struct{ URI string }
					Edits        []struct {
						Range struct{ Start struct{ Line int } }
					}
				}
			}
		}
		last := actions[len(actions)-1]
		for _, a := range actions {
			if strings.HasPrefix(a.Title, "Ignore") {
				last = a
			}
		}
		c.must("codeAction/resolve", object{"title": last.Title, "data": last.Data}, &full)
		if len(full.Edit.DocumentChanges) != 1 || full.Edit.DocumentChanges[0].TextDocument.URI != cell(2) || full.Edit.DocumentChanges[0].Edits[0].Range.Start.Line != 0 {
			t.Errorf("the edit is %+v", full.Edit)
		}
		var hover json.RawMessage
		c.must("textDocument/hover", object{"textDocument": object{"uri": cell(2)}, "position": at(0, 6)}, &hover)
		if !strings.Contains(string(hover), "IOL003") {
			t.Errorf("hover %s", hover)
		}
		// A cell of another kind is none of the module's.
		c.must("textDocument/hover", object{"textDocument": object{"uri": cell(1)}, "position": at(0, 6)}, &hover)
		if string(hover) != "null" {
			t.Errorf("hover in a Markdown cell %s", hover)
		}
		change(2, object{"data": []object{{"kind": 1, "document": cell(2)}}})
		if _, found := c.published(cell(2)); len(found) != 0 {
			t.Errorf("a cell made Markdown keeps %v", places(found))
		}
		change(2, object{"data": []object{{"kind": 2, "document": cell(2)}}})
		if _, found := c.published(cell(2)); len(found) != 1 {
			t.Errorf("a cell made code again has %v", places(found))
		}
		// A client that moves a cell by inserting it before it removes it has it twice for a moment.
		for version, array := range []object{{"start": 0, "deleteCount": 0, "cells": []object{{"kind": 2, "document": cell(2)}}}, {"start": 0, "deleteCount": 1}} {
			change(3+version, object{"structure": object{"array": array}})
			if _, found := c.published(cell(2)); cmp.Diff([]string{"IOL003 0:4-0:17"}, places(found)) != "" {
				t.Errorf("version %d, of a cell that moves: %v", 3+version, places(found))
			}
		}
		// The cell that imports torch moves behind the one that uses it, then goes.
		change(5, object{"structure": object{"array": object{"start": 0, "deleteCount": 1}, "didClose": []object{{"uri": cell(0)}}}})
		if _, found := c.published(cell(2)); len(found) != 0 {
			t.Errorf("without the import: %v", places(found))
		}
		change(6, object{"structure": object{"array": object{"start": 0, "deleteCount": 0, "cells": []object{{"kind": 2, "document": cell(5)}}},
			"didOpen": []object{{"uri": cell(5), "languageId": "python", "version": 1, "text": "import torch"}}}})
		if _, _, items := c.pull(cell(2), nil); len(items) != 1 {
			t.Errorf("pulled %v", places(items))
		}
		c.notify("notebookDocument/didClose", object{"notebookDocument": object{"uri": "file:///n/x.ipynb"}, "cellTextDocuments": []object{}})
		if _, _, items := c.pull(cell(2), nil); len(items) != 0 {
			t.Errorf("after closing %v", places(items))
		}
	})
}

func TestLinesFollowEditsAndStaleOnesShowNothing(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), object{"traces": []string{"trace.json.gz"}})
		c.open(uri, text)
		hints := func() map[string]string {
			c.received("") // loading has ended
			var list []hint
			c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 9999, 0)}, &list)
			out := map[string]string{}
			for _, h := range list {
				out[h.Label] = strings.TrimSpace(strings.Split(text, "\n")[h.Position.Line])
			}
			return out
		}
		before := hints()
		if before["3.58 ms · 22 %"] != "return self.down(F.gelu(self.up(x)))" {
			t.Fatalf("hints %v", before)
		}
		edit := func(version int, old, new string) {
			t.Helper()
			at := strings.Index(text, old)
			if at < 0 {
				t.Fatalf("no %q", old)
			}
			line := strings.Count(text[:at], "\n")
			col := at - strings.LastIndex(text[:at], "\n") - 1
			endLine := line + strings.Count(old, "\n")
			endCol := len(old) - strings.LastIndex(old, "\n") - 1
			if endLine == line {
				endCol = col + len(old)
			}
			c.change(uri, version, object{"range": span(line, col, endLine, endCol), "text": new})
			text = text[:at] + new + text[at+len(old):]
		}
		edit(2, "import torch\n", "import os\nimport torch\n\n\n")
		if d := cmp.Diff(before, hints()); d != "" {
			t.Errorf("lines inserted above (-before +after)\n%s", d)
		}
		edit(3, "        return self.down(F.gelu(self.up(x)))\n", "        # a remark\n        return self.down(F.gelu(self.up(x)))  # another\n")
		after := hints()
		delete(after, "3.58 ms · 22 %")
		kept := map[string]string{}
		for k, v := range before {
			if k != "3.58 ms · 22 %" {
				kept[k] = v
			}
		}
		if d := cmp.Diff(kept, after); d != "" || len(hints()) != len(before) {
			t.Errorf("a comment in a function (-before +after)\n%s", d)
		}
		edit(4, "self.down(F.gelu(self.up(x)))", "self.down(F.relu(self.up(x)))")
		if d := cmp.Diff(kept, hints()); d != "" {
			t.Errorf("a statement changed in MLP.forward (-want +got)\n%s", d)
		}
		line := strings.Count(text[:strings.Index(text, "F.relu")], "\n")
		var hover json.RawMessage
		c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": at(line, 10)}, &hover)
		if !strings.Contains(string(hover), "has changed since") {
			t.Errorf("hover on a stale line: %s", hover)
		}
		var costs struct {
			Lines []struct {
				Line  int
				Heat  float64
				Stale bool
				Cuda  float64 `json:"cuda_self_us"`
			}
		}
		c.must("stepline/lineCosts", object{"textDocument": object{"uri": uri}}, &costs)
		hottest, stale := 0.0, 0
		for _, l := range costs.Lines {
			hottest = max(hottest, l.Heat)
			if l.Stale {
				stale++
			}
		}
		if len(costs.Lines) < 20 || stale == 0 {
			t.Errorf("%d rows, %d stale, hottest %g", len(costs.Lines), stale, hottest)
		}
		states := c.received("stepline/status")
		if !strings.Contains(string(states[len(states)-1].Params), `"stale":true`) {
			t.Errorf("status %s", states[len(states)-1].Params)
		}
	})
}

func TestTracesAreFoundWatchedAndReloaded(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	trace := filepath.Join(dir, "trace.json.gz")
	data := readText(t, trace)
	if err := os.Remove(trace); err != nil {
		t.Fatal(err)
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		c.open(uri, text)
		hints := func() int {
			var list []hint
			c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 9999, 0)}, &list)
			return len(list)
		}
		if n := hints(); n != 0 {
			t.Errorf("%d hints without a trace", n)
		}
		written := func() {
			if err := os.WriteFile(trace, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
			c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": pathURI(trace), "type": 1}}})
			time.Sleep(2 * settleTime) // of the bubble's clock
		}
		written()
		c.received("x")
		if n := hints(); n == 0 {
			t.Error("a new trace was not loaded")
		}
		loads := func() int { return len(c.received("workspace/inlayHint/refresh")) }
		before := loads()
		written()
		if loads() <= before {
			t.Error("a trace written anew was not loaded again")
		}
		// A newer file of which nothing is left, as while it is being written, takes no trace's place.
		newer := filepath.Join(dir, "newer.pt.trace.json")
		if err := os.WriteFile(newer, []byte(`{"traceEvents": [`), 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(trace) // the bubble's clock is far behind the disk's
		if err != nil {
			t.Fatal(err)
		}
		later := info.ModTime().Add(time.Hour)
		if err := os.Chtimes(newer, later, later); err != nil {
			t.Fatal(err)
		}
		c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": pathURI(newer), "type": 1}}})
		c.waitFor("window/showMessage", "newer.pt.trace.json")
		if got := c.lastTrace(); got != "trace.json.gz" || hints() == 0 {
			t.Errorf("with a newer file that holds nothing, %q is loaded", got)
		}
	})
}

func TestALargeTraceIsOfferedNotLoaded(t *testing.T) {
	dir, uri, text := gptWorkspace(t)
	for _, answer := range []any{nil, object{"title": "Load"}} {
		session(t, Options{}, func(t *testing.T, c *fakeClient) {
			c.answer("window/showMessageRequest", answer)
			c.initialize(dir, fullCapabilities(), object{"trace": object{"autoLoadLimit": 1000}})
			c.open(uri, text)
			if n := len(c.received("window/showMessageRequest")); n != 1 {
				t.Errorf("asked %d times", n)
			}
			var list []hint
			c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 9999, 0)}, &list)
			if (len(list) > 0) != (answer != nil) {
				t.Errorf("answered %v: %d hints", answer, len(list))
			}
		})
	}
}

func TestAStrangersFolderReadsNothingOutside(t *testing.T) {
	outside := workspaceOf(t, map[string]string{"trace.json.gz": "@traces/gpt/trace.json.gz"})
	dir := workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py", "stepline.toml": fmt.Sprintf("traces = [%q]\n", filepath.Join(outside, "trace.json.gz"))})
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		uri := pathURI(filepath.Join(dir, "gpt.py"))
		c.open(uri, readText(t, filepath.Join(dir, "gpt.py")))
		c.received("") // loading would have ended
		var list []hint
		c.must("textDocument/inlayHint", object{"textDocument": object{"uri": uri}, "range": span(0, 0, 9999, 0)}, &list)
		messages := c.received("window/showMessage")
		if len(list) != 0 || len(messages) != 1 || !strings.Contains(string(messages[0].Params), "outside the folder") {
			t.Errorf("%d hints, messages %+v", len(list), messages)
		}
	})
}
