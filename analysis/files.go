package analysis

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

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
// once. Folders are searched as git sees them: .gitignore files, the setting exclude, and folders of tools are left out; but
// what is named is taken, ignored or not: a file, or a folder with what nothing else ignores in it.
// A path that does not exist or cannot be read is an error that names it; the others are listed all the same.
func (w *Workspace) PythonFiles(paths []string) ([]string, error) {
	found, err := w.find(paths)
	return found.names, err
}

// foundFiles are files to be checked.
type foundFiles struct {
	names    []string        // sorted, each once
	outright map[string]bool // those that were named themselves
	// passedOver tells of folders that could not be searched, and of those that were named and gave nothing.
	passedOver []traceindex.Warning
}

// find is PythonFiles with what there is to say about it.
func (w *Workspace) find(paths []string) (foundFiles, error) {
	if len(paths) == 0 {
		paths = []string{cmp.Or(w.root, ".")}
	}
	found := foundFiles{outright: map[string]bool{}}
	var errs []error
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			errs = append(errs, fmt.Errorf("%s: no such file or folder", p))
		case err != nil:
			errs = append(errs, unreadable(p, rootCause(err)))
		case info.IsDir():
			errs = append(errs, w.walk(p, &found))
		default:
			found.names = append(found.names, p) // whatever its name
			found.outright[p] = true
		}
	}
	slices.Sort(found.names)
	found.names = eachOnce(found.names)
	return found, errors.Join(errs...)
}

// unreadable is the error of a path that was named and cannot be read.
func unreadable(name, reason string) error {
	return fmt.Errorf("%s: cannot be read: %s; make it readable or leave it out", name, reason)
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

// walk adds a folder's Python files. Symbolic links to folders are not followed: a loop would never end.
func (w *Workspace) walk(folder string, found *foundFiles) error {
	ignores := w.ignores.above(folder)
	before, left := len(found.names), false
	tell := func(code, name, message string) {
		name = w.DisplayPath(name)
		found.passedOver = append(found.passedOver, traceindex.Warning{Code: code, Message: name + ": " + message, File: name})
	}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == folder:
			return unreadable(name, rootCause(err))
		case err != nil: // the rest is still listed
			tell(codeUnreadable, name, "not searched: "+rootCause(err))
			return nil
		case entry.IsDir():
			if name != folder && w.leavesOut(ignores, name, true) {
				left = true
				return fs.SkipDir
			}
			ignores.enter(name)
			return nil
		case !isSource(name) || waitsForWriter(name, entry):
		case w.leavesOut(ignores, name, false):
			left = true
		default:
			found.names = append(found.names, name)
		}
		return nil
	})
	if err == nil && len(found.names) == before {
		message := "nothing to check: no Python file or notebook in it"
		if left {
			message = "nothing to check: what is in it is ignored by git or by the setting exclude, or is a tool's; name a file to have it checked"
		}
		tell("no-sources", folder, message)
	}
	return err
}

// leavesOut tells whether a search passes over a file, or a folder below the one it began in.
func (w *Workspace) leavesOut(ignores *gitIgnoreStack, name string, folder bool) bool {
	return folder && skippedFolders[filepath.Base(name)] || ignores.ignored(name, folder) || w.excluded(name)
}

// leavesOutFile tells whether Index passes over a file of the workspace's folder because of its path.
func (w *Workspace) leavesOutFile(path string) bool {
	if !w.indexed() {
		return strings.Contains(path, "/") // the root's own files were read, all of them
	}
	ignores := w.ignores.above(w.root)
	ignores.enter(w.root)
	at, elements := w.root, strings.Split(path, "/")
	for i, element := range elements {
		at = filepath.Join(at, element)
		last := i == len(elements)-1
		if w.leavesOut(ignores, at, !last) {
			return true
		}
		if !last {
			ignores.enter(at)
		}
	}
	return !isSource(at)
}

// isSource tells Python files and notebooks by their names.
func isSource(name string) bool {
	return isModule(name) || IsNotebook(name)
}

// isModule tells Python files, which others can import, by their names.
func isModule(name string) bool { return strings.EqualFold(filepath.Ext(name), ".py") }

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

// codeUnreadable marks what cannot be read at all.
const codeUnreadable = "unreadable"

// notSource says why a file is not checked.
type notSource struct{ code, reason string }

// readSource reads a file to be checked, or tells why it is no source: it cannot be read, is too large, binary, not UTF-8.
func readSource(name string) (string, *notSource) {
	info, err := os.Stat(name)
	if err == nil && info.Size() > MaxSourceBytes {
		return "", &notSource{"too-large", fmt.Sprintf("%d bytes, the limit is %d", info.Size(), MaxSourceBytes)}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", &notSource{codeUnreadable, rootCause(err)}
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
		return "", &notSource{"not-utf8", fmt.Sprintf("not UTF-8 text (byte %d)", at)}
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return "", &notSource{"binary", fmt.Sprintf("a binary file (NUL at byte %d)", at)}
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
