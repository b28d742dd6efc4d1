//go:build unix

package analysis

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stepline/rules"
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

// TestAFileOfALinkedFolderIsReadOnlyInside: what is named to be read again may lie below a folder that is a link.
func TestAFileOfALinkedFolderIsReadOnlyInside(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(elsewhere, "in", "deep.py"), "key = 1\n")
	writeFile(t, filepath.Join(root, "own", "deep.py"), "key = 1\n")
	for link, to := range map[string]string{"out": elsewhere, "inside": "own"} {
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
	for path, want := range map[string]bool{"own/deep.py": true, "inside/deep.py": true, "out/in/deep.py": false} {
		w.RefreshFile(path)
		if got := w.Project().File(path) != nil; got != want {
			t.Errorf("%s, after it changed, is in the project: %v", path, got)
		}
		file, err := w.FileOnDisk(context.Background(), filepath.Join(root, filepath.FromSlash(path)))
		if err != nil || (file != nil) != want {
			t.Errorf("%s on disk: %v, %v", path, file != nil, err)
		}
	}
}

// TestRequirementsOfAStrangersFolder: what names the torch version is read only where it is the folder's own and a file; pipes
// and devices would keep the session waiting, or take its memory.
func TestRequirementsOfAStrangersFolder(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "requirements.txt")
	writeFile(t, elsewhere, "torch==2.1.0\n")
	link := func(to string) func(string) error { return func(name string) error { return os.Symlink(to, name) } }
	pipe := func(name string) error { return syscall.Mkfifo(name, 0o600) }
	for _, test := range []struct {
		name, file string
		make       func(name string) error
		known      bool
	}{
		{"its own", "requirements.txt", link("own.txt"), true},
		{"a link out", "requirements.txt", link(elsewhere), false},
		{"a device", "uv.lock", link("/dev/zero"), false},
		{"a pipe", "requirements.txt", pipe, false},
		{"a pipe for the folder", "requirements", pipe, false},
		{"a folder elsewhere", "requirements", link(filepath.Dir(elsewhere)), false},
		{"a link to itself", "poetry.lock", link("poetry.lock"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			writeFile(t, filepath.Join(root, "own.txt"), "torch==2.1.0\n")
			if err := test.make(filepath.Join(root, test.file)); err != nil {
				t.Fatal(err)
			}
			w, err := Open(context.Background(), root, DefaultSettings())
			if err != nil {
				t.Fatal(err)
			}
			if known := w.config.TargetTorch != (rules.TorchRange{}); known != test.known {
				t.Errorf("the torch version is %v", w.config.TargetTorch)
			}
		})
	}
}

// TestGitIgnoreIsAFile: git follows no link of that name, and a pipe would be waited for.
func TestGitIgnoreIsAFile(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"device": func(name string) error { return os.Symlink("/dev/zero", name) },
		"pipe":   func(name string) error { return syscall.Mkfifo(name, 0o600) },
	} {
		root := t.TempDir()
		train := filepath.Join(root, "train.py")
		writeFile(t, train, "import torch\n")
		if err := make(filepath.Join(root, ".gitignore")); err != nil {
			t.Fatal(err)
		}
		w, err := Open(context.Background(), root, DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		names, err := w.PythonFiles(nil)
		if diff := cmp.Diff([]string{train}, names); err != nil || diff != "" {
			t.Errorf("%s (-want +got): %v\n%s", name, err, diff)
		}
	}
}

// TestAFileThatCannotBeOpened: named outright it is an error that says what to do, found in a folder a warning.
func TestAFileThatCannotBeOpened(t *testing.T) {
	root := t.TempDir()
	train, closed := filepath.Join(root, "train.py"), filepath.Join(root, "closed.py")
	writeFile(t, train, "import torch\nstate = torch.load('a')\n")
	// A link to itself cannot be opened by anybody, root included.
	if err := os.Symlink("closed.py", closed); err != nil {
		t.Fatal(err)
	}
	w, err := Open(context.Background(), root, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		paths        []string
		error, warns string
	}{
		{[]string{closed, train}, closed + ": cannot be read: too many levels of symbolic links; make it readable or leave it out", ""},
		{nil, "", "closed.py: not checked: too many levels of symbolic links"},
	} {
		checked, err := w.CheckRemembered(context.Background(), test.paths)
		said, warned := "", ""
		if err != nil {
			said = err.Error()
		}
		for _, warning := range checked.Warnings {
			warned += warning.Message
		}
		if said != test.error || warned != test.warns || len(checked.Findings) != 1 {
			t.Errorf("%v: error %q, warnings %q, %d findings", test.paths, said, warned, len(checked.Findings))
		}
	}
}
