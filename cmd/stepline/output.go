package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// outputPlace is where --output writes: a file that is replaced as a whole once everything is written, or a pipe or device
// (/dev/stdout, /dev/null) that is written straight, because a file in its place would break it for everybody else.
type outputPlace struct {
	given, path string // as the user wrote it, and with links followed: a link stays a link
	straight    bool
}

// findOutput says what is at a place before any work is done for it.
func findOutput(given string) (outputPlace, error) {
	place := outputPlace{given: given, path: given}
	target, unresolved := filepath.EvalSymlinks(given)
	info, err := os.Stat(given)
	switch {
	case err == nil && info.IsDir():
		return place, usageError("--output %s: it is a folder; name a file in it", given)
	case err == nil:
		// What /dev/stdout leads to need not have a name of its own.
		if place.straight = !info.Mode().IsRegular() || unresolved != nil; !place.straight {
			place.path = target
		}
	case errors.Is(err, fs.ErrNotExist):
		folder := filepath.Dir(given)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return place, usageError("--output %s: there is no folder %s", given, folder)
		}
	default:
		return place, usageError("--output %s: %v", given, cause(err))
	}
	return place, nil
}

// write has the place filled. What was there stays as it is until all is written.
func (p outputPlace) write(fill func(*os.File) error) (err error) {
	if p.straight {
		file, err := os.OpenFile(p.path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return fmt.Errorf("--output %s: %w", p.given, cause(err))
		}
		return errors.Join(fill(file), file.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(p.path), ".stepline-*")
	if err != nil {
		return fmt.Errorf("--output %s: %w", p.given, cause(err))
	}
	defer os.Remove(file.Name()) // already renamed where all went well
	err = errors.Join(fill(file), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), p.path)
	}
	if err != nil {
		return fmt.Errorf("--output %s: %w", p.given, cause(err))
	}
	return nil
}

// cause is an error without the name of the file, which is a temporary one here and says nothing to the user.
func cause(err error) error {
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
