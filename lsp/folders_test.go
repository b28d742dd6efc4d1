package lsp

import (
	"path/filepath"
	"testing"
)

// TestAFolderRenamedStaysAsItIs: an editor tells that a folder has another name by removing and adding it in one event.
func TestAFolderRenamedStaysAsItIs(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"gpt.py": "@traces/gpt/gpt.py", "trace.json.gz": "@traces/gpt/trace.json.gz", "l.py": loads})
	folder := func(name string) []object { return []object{{"uri": pathURI(dir), "name": name}} }
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		lu, gu := pathURI(filepath.Join(dir, "l.py")), pathURI(filepath.Join(dir, "gpt.py"))
		c.open(lu, loads)
		c.open(gu, readText(t, filepath.Join(dir, "gpt.py")))
		shown := func(what string) {
			t.Helper()
			c.received("") // what is under way has ended
			var list []hint
			c.must("textDocument/inlayHint", object{"textDocument": object{"uri": gu}, "range": span(0, 0, 9999, 0)}, &list)
			if _, found := c.published(lu); len(found) != 1 || len(list) == 0 {
				t.Errorf("%s: %v, %d hints", what, places(found), len(list))
			}
		}
		shown("before")
		loaded := c.server.current.Load().folderByRoot(dir).trace
		change := func(removed, added []object) {
			c.notify("workspace/didChangeWorkspaceFolders", object{"event": object{"added": added, "removed": removed}})
		}
		change(folder("w"), folder("other"))
		c.change(lu, 2, object{"text": loads})
		shown("renamed")
		if c.server.current.Load().folderByRoot(dir).trace != loaded {
			t.Error("its trace was loaded again")
		}
		// Two events that are handled at once.
		change(folder("other"), nil)
		change(nil, folder("third"))
		shown("removed and added")
	})
}
