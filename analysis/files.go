package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	ignore "github.com/sabhiram/go-gitignore"

	"stepline/traceindex"
)

// MaxSourceBytes is the size of a Python file over which it is passed over: real code is smaller, generated tables are not
// training code.
const MaxSourceBytes = 4 << 20

// skippedFolders hold no code of the user's own. A folder named on the command line is entered whatever it is called.
var skippedFolders = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".venv": true, "venv": true, ".env": true, "env": true, ".tox": true, ".nox": true,
	"node_modules": true, "__pycache__": true, ".mypy_cache": true, ".ruff_cache": true, ".pytest_cache": true,
	".ipynb_checkpoints": true, "site-packages": true, "__pypackages__": true, ".eggs": true, "buck-out": true,
}

// PythonFiles lists the Python files and notebooks under paths (files or folders; none means the workspace), sorted, each
// once. Folders are searched as git sees them: .gitignore files, the setting exclude, and folders of tools are left out.
// A path that does not exist is an error that names it; the others are listed all the same.
func (w *Workspace) PythonFiles(paths []string) ([]string, error) {
	if len(paths) == 0 {
		paths = []string{cmp.Or(w.root, ".")}
	}
	var files []string
	var errs []error
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s: no such file or folder", p))
		case err != nil:
			errs = append(errs, err)
		case info.IsDir():
			found, err := w.walk(p)
			errs = append(errs, err)
			files = append(files, found...)
		default:
			files = append(files, p) // named outright: whatever its name
		}
	}
	slices.Sort(files)
	return eachOnce(files), errors.Join(errs...)
}

// eachOnce leaves out files that are named before, whichever way they are written: a.py, ./a.py, /home/me/a.py.
func eachOnce(files []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(name string) bool {
		absolute, err := filepath.Abs(name)
		if err != nil {
			return false // no current folder: the name is all there is
		}
		twice := seen[absolute]
		seen[absolute] = true
		return twice
	})
}

// walk lists a folder's Python files. Symbolic links to folders are not followed: a loop would never end.
func (w *Workspace) walk(folder string) ([]string, error) {
	ignores := gitIgnores(folder)
	var files []string
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil { // unreadable: the rest is still listed
			return nil
		}
		if entry.IsDir() {
			if name != folder && (skippedFolders[entry.Name()] || ignores.ignored(name, true) || w.excluded(name)) {
				return fs.SkipDir
			}
			ignores.enter(name)
			return nil
		}
		extension := strings.ToLower(filepath.Ext(name))
		if (extension == ".py" || extension == ".ipynb") && !waitsForWriter(name, entry) && !ignores.ignored(name, false) && !w.excluded(name) {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// waitsForWriter tells what is found in a folder but holds no text by itself: named pipes, which would be waited for without
// end, sockets and devices, and links to them.
func waitsForWriter(name string, entry fs.DirEntry) bool {
	const special = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice | fs.ModeCharDevice | fs.ModeIrregular
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type()&special != 0
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode()&special != 0
}

// excluded matches a path against the setting exclude: globs against the path in the workspace, or against its name alone
// where the glob has no slash.
func (w *Workspace) excluded(name string) bool {
	relative := w.DisplayPath(name)
	for _, glob := range w.settings.Exclude {
		glob = strings.TrimSuffix(filepath.ToSlash(glob), "/")
		target := relative
		if !strings.Contains(glob, "/") {
			target = path.Base(relative)
		}
		if matched, err := doublestar.Match(glob, target); err == nil && matched {
			return true
		}
	}
	return false
}

// DisplayPath is how a file is named in results: relative to the workspace with slashes, or as given where it lies outside.
func (w *Workspace) DisplayPath(name string) string {
	if absolute, err := filepath.Abs(name); err == nil && w.root != "" {
		if relative, err := filepath.Rel(w.root, absolute); err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(relative)
		}
	}
	return filepath.ToSlash(name)
}

// gitIgnoreStack holds the .gitignore files that speak for the folders of a walk, outermost first.
type gitIgnoreStack struct {
	files []gitIgnoreFile
}

type gitIgnoreFile struct {
	folder string // absolute
	rules  *ignore.GitIgnore
}

// gitIgnores reads the .gitignore files of the folders above a walk, up to the repository's root.
func gitIgnores(folder string) *gitIgnoreStack {
	stack := &gitIgnoreStack{}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return stack
	}
	var above []string
	for at := absolute; ; at = filepath.Dir(at) {
		if at != absolute {
			above = append(above, at)
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			slices.Reverse(above)
			for _, each := range above {
				stack.enter(each)
			}
			return stack
		}
		if filepath.Dir(at) == at {
			return stack // no repository: only what lies under the folder speaks
		}
	}
}

func (s *gitIgnoreStack) enter(folder string) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return
	}
	s.files = slices.DeleteFunc(s.files, func(f gitIgnoreFile) bool { return !within(absolute, f.folder) })
	name := filepath.Join(absolute, ".gitignore")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxNamedFile {
		return // there is none, or a link, which git does not follow either
	}
	if rules, err := ignore.CompileIgnoreFile(name); err == nil {
		s.files = append(s.files, gitIgnoreFile{absolute, rules})
	}
}

func (s *gitIgnoreStack) ignored(name string, folder bool) bool {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	for _, f := range s.files {
		if !within(absolute, f.folder) {
			continue
		}
		relative, err := filepath.Rel(f.folder, absolute)
		if err != nil {
			continue
		}
		relative = filepath.ToSlash(relative)
		if folder {
			relative += "/"
		}
		if f.rules.MatchesPath(relative) {
			return true
		}
	}
	return false
}

func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

// readSource reads a file to be checked. What is no source (too large, binary, not UTF-8) comes back as a warning instead.
func readSource(name, display string) (string, *traceindex.Warning) {
	passedOver := func(code, message string) (string, *traceindex.Warning) {
		return "", &traceindex.Warning{Code: code, Message: display + ": " + message, File: display}
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() > MaxSourceBytes {
		return passedOver("too-large", fmt.Sprintf("not checked: %d bytes, the limit is %d", info.Size(), MaxSourceBytes))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return passedOver("unreadable", "not checked: "+rootCause(err))
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, size := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return passedOver("not-utf8", fmt.Sprintf("not checked: not UTF-8 text (byte %d)", at))
	}
	if at := strings.IndexByte(string(data), 0); at >= 0 {
		return passedOver("binary", fmt.Sprintf("not checked: a binary file (NUL at byte %d)", at))
	}
	return string(data), nil
}

func rootCause(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}
