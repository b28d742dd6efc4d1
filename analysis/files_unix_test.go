//go:build unix

package analysis

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamedPipesAreNoSources: a pipe called like a source, or a link to one, is passed over: to read it would wait for ever.
func TestNamedPipesAreNoSources(t *testing.T) {
	root := t.TempDir()
	train, pipe := filepath.Join(root, "train.py"), filepath.Join(root, "pipe.py")
	writeFile(t, train, "import torch\nstate = torch.load('a')\n")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pipe.py", filepath.Join(root, "link.py")); err != nil {
		t.Fatal(err)
	}
	w, err := Open(context.Background(), root, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{nil, {root}, {train}} {
		names, err := w.PythonFiles(paths)
		if diff := cmp.Diff([]string{train}, names); err != nil || diff != "" {
			t.Errorf("of %v (-want +got): %v\n%s", paths, err, diff)
		}
	}
	checked, err := w.CheckRemembered(context.Background(), []string{train})
	if err != nil || len(checked.Findings) != 1 {
		t.Errorf("%v, %d findings", err, len(checked.Findings))
	}
}

// TestIndexReadsNothingOutside: a link out of the workspace is no file of it, one that stays inside is.
func TestIndexReadsNothingOutside(t *testing.T) {
	root, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "secret.py")
	writeFile(t, elsewhere, "key = 1\n")
	writeFile(t, filepath.Join(root, "train.py"), "import torch\n")
	for link, to := range map[string]string{"out.py": elsewhere, "in.py": "train.py"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(context.Background(), root, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Index(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range byPath(w.Project().Files()) {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"in.py", "train.py"}, paths); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
