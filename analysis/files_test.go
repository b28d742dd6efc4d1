package analysis

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"stepline/pyscan"
)

// ignoring is a repository in which git ignores some files, the settings exclude others, and tools keep theirs.
func ignoring(t *testing.T) *Workspace {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		".git/HEAD":            "",
		".gitignore":           "build/\n/generated_*.py\nscratch.py\n!src/scratch.py\n*.tmp.py\n",
		"train.py":             "",
		"scratch.py":           "",
		"generated_a.py":       "",
		"notes.txt":            "",
		"src/model.py":         "",
		"src/scratch.py":       "",
		"src/old/.gitignore":   "a.py\n",
		"src/old/a.py":         "",
		"src/old/b.py":         "",
		"build/lib.py":         "",
		"build/x.tmp.py":       "",
		"build/deep/lib.py":    "",
		"build/own/.gitignore": "*\n",
		"build/own/lib.py":     "",
		".venv/lib.py":         "",
		"third_party/dep.py":   "",
		"empty/notes.txt":      "",
	} {
		writeFile(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	settings := DefaultSettings()
	settings.Exclude = []string{"third_party"}
	w, err := Open(context.Background(), root, settings)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestNamedPathsAreChecked: a search leaves out what git and the settings ignore; what is named is taken all the same.
func TestNamedPathsAreChecked(t *testing.T) {
	w := ignoring(t)
	for _, test := range []struct {
		named, want, warns string // paths with spaces between
	}{
		{named: "", want: "src/model.py src/old/b.py src/scratch.py train.py"},
		{named: "src", want: "src/model.py src/old/b.py src/scratch.py"},
		{named: "scratch.py generated_a.py notes.txt", want: "generated_a.py notes.txt scratch.py"},
		{named: "build", want: "build/deep/lib.py build/lib.py"},
		{named: "build/deep", want: "build/deep/lib.py"},
		{named: "build/own", warns: "build/own: nothing to check: what is in it is ignored"},
		{named: "build/own/lib.py", want: "build/own/lib.py"},
		{named: ".venv", want: ".venv/lib.py"},
		{named: "third_party train.py", want: "third_party/dep.py train.py"},
		{named: "empty", warns: "empty: nothing to check: no Python file"},
	} {
		t.Run(test.named, func(t *testing.T) {
			var paths []string
			for name := range strings.FieldsSeq(test.named) {
				paths = append(paths, filepath.Join(w.Root(), filepath.FromSlash(name)))
			}
			found, err := w.find(paths)
			if err != nil {
				t.Fatal(err)
			}
			var names, warnings []string
			for _, name := range found.names {
				names = append(names, w.DisplayPath(name))
			}
			for _, warning := range found.passedOver {
				warnings = append(warnings, warning.Message)
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
			if said := strings.Join(warnings, "\n"); !strings.HasPrefix(said, test.warns) || (test.warns == "") != (said == "") {
				t.Errorf("warns %q, want %q", said, test.warns)
			}
		})
	}
}

// TestAWorkspaceThatIsIgnored: a folder that is opened is looked at, though a repository around it ignores it.
func TestAWorkspaceThatIsIgnored(t *testing.T) {
	w, err := Open(context.Background(), filepath.Join(ignoring(t).Root(), "build"), DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Index(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"lib.py": true, "deep/lib.py": true, "x.tmp.py": false, "own/lib.py": false} {
		if got := w.Project().File(path) != nil; got != want {
			t.Errorf("%s is in the project: %v", path, got)
		}
		if w.RefreshFile(path); (w.Project().File(path) != nil) != want {
			t.Errorf("%s, after it changed, is in the project: %v", path, !want)
		}
	}
}

// TestAChangedFileIsTakenAsTheIndexTakesIt: what a search leaves out is no file of the project when it changes either; a
// document that an editor holds open is, until it is closed.
func TestAChangedFileIsTakenAsTheIndexTakesIt(t *testing.T) {
	w := ignoring(t)
	if err := w.Index(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	indexed := w.Project()
	all := []string{
		"train.py", "scratch.py", "generated_a.py", "notes.txt", "src/model.py", "src/scratch.py", "src/old/a.py", "src/old/b.py",
		"build/lib.py", "build/deep/lib.py", ".venv/lib.py", "third_party/dep.py", "nowhere.py",
	}
	for _, path := range all {
		writeFile(t, filepath.Join(w.Root(), filepath.FromSlash(path)), "changed = 1\n")
		w.RefreshFile(path)
		want := indexed.File(path) != nil || path == "nowhere.py"
		if f := w.Project().File(path); (f != nil) != want || want && f.Text != "changed = 1\n" {
			t.Errorf("%s, after it changed, is in the project: %v, want %v", path, f != nil, want)
		}
	}
	for _, path := range all {
		w.SetFile(pyscan.Parse(path, "typed = 1\n"))
		w.RefreshFile(path)
		if f := w.Project().File(path); f == nil || f.Text != "typed = 1\n" {
			t.Errorf("%s is open and not in the project as the editor has it", path)
		}
		w.DropFile(path)
		if want := indexed.File(path) != nil || path == "nowhere.py"; (w.Project().File(path) != nil) != want {
			t.Errorf("%s, after it was closed, is in the project: %v", path, !want)
		}
	}
	writeFile(t, filepath.Join(w.Root(), ".gitignore"), "# nothing is ignored any more\n")
	if w.RefreshFile("build/lib.py"); w.Project().File("build/lib.py") == nil {
		t.Error("a .gitignore file that changed holds as it was")
	}
}

// TestAChangedFileOfALooseFolder: where only the root's own files are looked at, as in a home directory, all of them are, and
// none below.
func TestAChangedFileOfALooseFolder(t *testing.T) {
	w := ignoring(t)
	if err := w.Index(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"train.py": true, "scratch.py": true, "notes.txt": false, "src/model.py": false, "build/lib.py": false} {
		if got := w.Project().File(path) != nil; got != want {
			t.Errorf("%s is in the project: %v", path, got)
		}
		if w.RefreshFile(path); (w.Project().File(path) != nil) != want {
			t.Errorf("%s, after it changed, is in the project: %v", path, !want)
		}
	}
}

// TestAPathThatIsNotThere is an error that names it; the rest is checked.
func TestAPathThatIsNotThere(t *testing.T) {
	root := t.TempDir()
	train := filepath.Join(root, "train.py")
	writeFile(t, train, "import torch\nstate = torch.load('a')\n")
	w, err := Open(context.Background(), root, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, says string }{
		{"nowhere.py", "no such file or folder"},
		{"train.py/nowhere.py", "no such file or folder"},
	} {
		for _, check := range []func() (*Checked, error){
			func() (*Checked, error) {
				return w.Check(context.Background(), []string{filepath.Join(root, test.path), train}, nil)
			},
			func() (*Checked, error) {
				return w.CheckRemembered(context.Background(), []string{filepath.Join(root, test.path), train})
			},
		} {
			checked, err := check()
			if err == nil || strings.Count(err.Error(), test.path) != 1 || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v", test.path, err)
			}
			if checked == nil || len(checked.Findings) != 1 {
				t.Errorf("%s: the other file was not checked", test.path)
			}
		}
	}
}
