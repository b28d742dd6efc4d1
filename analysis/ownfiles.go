package analysis

import (
	"fmt"
	"io/fs"
	"os"
)

// maxNamedFile bounds a file that is read because of its name: requirements, lock files, .gitignore. Lock files of real
// projects have a few megabytes.
const maxNamedFile = 16 << 20

// ownFiles are the files of a folder that may be a stranger's: links that lead out of it are not there, nor what is neither a
// folder nor a regular file (a named pipe would be waited for, a device never ends), nor what is too large to be what its name
// says.
type ownFiles struct {
	root  *os.Root
	files fs.FS
}

// openOwnFiles opens a folder's own files; the caller closes them.
func openOwnFiles(folder string) (*ownFiles, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &ownFiles{root, root.FS()}, nil
}

func (o *ownFiles) close() {
	_ = o.root.Close() // it was only read
}

// Open implements fs.FS.
func (o *ownFiles) Open(name string) (fs.File, error) {
	info, err := fs.Stat(o.files, name)
	reason := ""
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
	case !info.Mode().IsRegular():
		reason = "neither a folder nor a regular file"
	case info.Size() > maxNamedFile:
		reason = fmt.Sprintf("%d bytes, the limit is %d", info.Size(), maxNamedFile)
	}
	if reason != "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%s: %w", reason, fs.ErrInvalid)}
	}
	return o.files.Open(name)
}
