//go:build unix

package lsp

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestANamedPipeIsNotWaitedFor(t *testing.T) {
	dir := workspaceOf(t, map[string]string{"a.py": loads})
	for _, name := range []string{"pipe.json", "pipe.py"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize(dir, fullCapabilities(), nil)
		if err := c.loadTrace("pipe.json"); err == nil || !strings.Contains(err.Message, "pipe.json: not a regular file") {
			t.Errorf("answered %v", err)
		}
		if _, _, items := c.pull(pathURI(filepath.Join(dir, "pipe.py")), nil); len(items) != 0 {
			t.Errorf("a pipe has findings: %v", places(items))
		}
		alive(t, c)
	})
}
