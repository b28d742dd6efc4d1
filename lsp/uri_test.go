package lsp

import "testing"

func TestDocumentKey(t *testing.T) {
	same := [][]string{
		{"file:///c%3A/Work/a%20b.py", "file:///C:/Work/a b.py", "file:///c:/Work/a%20b.py", "file://localhost/C%3a/Work/a%20b.py"},
		{"file:///home/u/x.py", "file:/home/u/x.py", "file:///home/u/./y/../x.py", "FILE:///home/u/x.py"},
		{"file://Server/share/x.py", "file://server/share/x.py"},
		{"untitled:Untitled-1", "untitled:Untitled%2D1"},
		{"git:/home/u/x.py?%7B%22ref%22%3A%22~%22%7D"},
		{"vscode-notebook-cell:/home/u/x.ipynb#W0sZmlsZQ%3D%3D"},
		{"vscode-notebook-cell:/home/u/x.ipynb#W1sZmlsZQ%3D%3D"},
		{"no uri at all"},
		{"file:relative.py"},
		{"file:///home/u/%zz.py"},
	}
	seen := map[string]int{}
	for i, group := range same {
		for _, raw := range group {
			key := documentKey(raw)
			if j, dup := seen[key]; dup && j != i {
				t.Errorf("%q and group %d share the key %q", raw, j, key)
			}
			seen[key] = i
			if first := documentKey(group[0]); key != first {
				t.Errorf("%q has key %q, %q has %q", raw, key, group[0], first)
			}
		}
	}
}

func TestPathURIRoundTrip(t *testing.T) {
	for _, p := range []string{"/home/u/a b#c?d%.py", "/模型/🙂.py", "/a;b&c=d+e.py"} {
		if got, ok := uriPath(pathURI(p)); !ok || got != p {
			t.Errorf("%q: URI %q gives back %q", p, pathURI(p), got)
		}
	}
}
