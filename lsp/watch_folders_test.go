package lsp

import (
	"os"
	"path/filepath"
	"testing"
)

// With the system's watcher, hence outside a bubble: what is written into a folder made a moment before is found, whether
// the client says that it watches or not.
func TestARecordingInAFolderOfItsOwnIsLoaded(t *testing.T) {
	for _, test := range []struct {
		name         string
		capabilities any
	}{
		{"the client watches", fullCapabilities()},
		{"the client does not watch", object{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, uri, text := gptWorkspace(t)
			trace := readText(t, filepath.Join(dir, "trace.json.gz"))
			if err := os.Remove(filepath.Join(dir, "trace.json.gz")); err != nil {
				t.Fatal(err)
			}
			c := startClient(t, Options{})
			defer c.quit()
			c.initialize(dir, test.capabilities, nil)
			c.open(uri, text)
			c.must("textDocument/hover", object{"textDocument": object{"uri": uri}, "position": object{"line": 0, "character": 0}}, nil)
			for _, run := range []string{"first", "second"} {
				folder := filepath.Join(dir, "runs", run)
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, "train.trace.json.gz"), []byte(trace), 0o644); err != nil {
					t.Fatal(err)
				}
				c.waitFor("stepline/status", "runs/"+run+"/train.trace.json.gz", "step_us")
			}
		})
	}
}
