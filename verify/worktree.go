package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"stepline/report"
)

// worktrees are the temporary checkouts of one verification.
type worktrees struct {
	root   string // of the user's checkout
	prefix string // of the current folder in it, "" at its top
	folder string // everything of ours
	made   []string
}

func newWorktrees(ctx context.Context, dir string) (*worktrees, error) {
	root, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s is in no git repository that can be read (%w); compare two commands with --base-command", dir, err)
	}
	prefix, err := git(ctx, dir, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "stepline-verify-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the worktrees: %w", err)
	}
	return &worktrees{root: root, prefix: prefix, folder: folder}, nil
}

// close removes every worktree, and git's notes of them, whatever became of the run.
func (w *worktrees) close() error {
	var troubles []error
	for _, made := range w.made {
		if _, err := git(context.Background(), w.root, "worktree", "remove", "--force", made); err != nil {
			troubles = append(troubles, err)
		}
	}
	if err := os.RemoveAll(w.folder); err != nil {
		troubles = append(troubles, err)
	}
	if len(troubles) == 0 {
		return nil
	}
	_, _ = git(context.Background(), w.root, "worktree", "prune") // what lay in the folder is gone
	return fmt.Errorf("removing the worktrees in %s: %w", w.folder, errors.Join(troubles...))
}

// checkout makes the worktree of a source and returns its folder and a name for people.
func (w *worktrees) checkout(ctx context.Context, source Source, name string, o Options) (folder, told string, err error) {
	commit, told := "", source.Ref
	if source.WorkingTree {
		told = "working tree"
		// A commit of the changes that only its number leads to; empty where nothing is changed.
		if commit, err = git(ctx, w.root, "stash", "create"); err != nil {
			return "", "", err
		}
		if commit == "" {
			commit = "HEAD"
		}
	} else if commit, err = git(ctx, w.root, "rev-parse", "--verify", "--quiet", "--end-of-options", source.Ref+"^{commit}"); err != nil {
		return "", "", fmt.Errorf("there is no commit %q in %s", source.Ref, w.root)
	}
	folder = filepath.Join(w.folder, name)
	w.made = append(w.made, folder)
	if _, err = git(ctx, w.root, "worktree", "add", "--quiet", "--detach", folder, commit); err != nil {
		return "", "", err
	}
	if source.WorkingTree {
		if err = w.copyUntracked(ctx, folder, o); err != nil {
			return "", "", err
		}
	}
	for _, path := range o.Copy {
		if err = w.bring(path, folder, copyAll); err != nil {
			return "", "", fmt.Errorf("--copy %s: %w", path, err)
		}
	}
	for _, path := range o.Link {
		if err = w.bring(path, folder, os.Symlink); err != nil {
			return "", "", fmt.Errorf("--link %s: %w", path, err)
		}
	}
	return folder, told, nil
}

// mostUntracked is the size in bytes of untracked files that are copied without being asked: source code, not data sets.
const mostUntracked = 256 << 20

// copyUntracked copies the untracked files that are not ignored, except what --link or --copy bring anyway.
func (w *worktrees) copyUntracked(ctx context.Context, folder string, o Options) error {
	listed, err := git(ctx, w.root, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return err
	}
	var paths []string
	var total, largest int64
	var largestPath string
	for path := range strings.SplitSeq(listed, "\x00") {
		if path == "" || w.brought(path, o) {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.root, path))
		if err != nil {
			continue // gone since it was listed
		}
		if total += info.Size(); info.Size() > largest {
			largest, largestPath = info.Size(), path
		}
		paths = append(paths, path)
	}
	if total > mostUntracked {
		return fmt.Errorf("the untracked files of %s are %s, the largest is %s: have git ignore data, and --link it if the command needs it",
			w.root, report.Bytes(total), largestPath)
	}
	for _, path := range paths {
		if err := copyAll(filepath.Join(w.root, path), filepath.Join(folder, path)); err != nil {
			return fmt.Errorf("untracked %s: %w", path, err)
		}
	}
	return nil
}

// brought tells whether a path, given from the root, is at or below one that --copy or --link name.
func (w *worktrees) brought(path string, o Options) bool {
	for _, named := range append(slices.Clone(o.Copy), o.Link...) {
		if !filepath.IsAbs(named) {
			named = filepath.Join(w.root, w.prefix, named)
		}
		if inside, err := filepath.Rel(named, filepath.Join(w.root, path)); err == nil && filepath.IsLocal(inside) {
			return true
		}
	}
	return false
}

// bring puts a path of the checkout, given from the current folder, into a worktree in place of what is there.
func (w *worktrees) bring(path, folder string, place func(from, to string) error) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.root, w.prefix, path)
	}
	inside, err := filepath.Rel(w.root, path)
	if err != nil || !filepath.IsLocal(inside) || inside == "." {
		return errors.New("it is not in the repository")
	}
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	target := filepath.Join(folder, inside)
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return place(path, target)
}

// copyAll copies a file, a link, or a folder with all that is in it.
func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, inside)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			aim, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(aim, target)
		case !entry.Type().IsRegular():
			return nil // a socket or a pipe is no source
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	})
}

// pythonPath has a worktree's packages found before an editable install of the checkout, and entries of PYTHONPATH that lie in
// the checkout stand for the same folders of the worktree.
func (w *worktrees) pythonPath(environment []string, folder string) []string {
	paths := []string{folder}
	if info, err := os.Stat(filepath.Join(folder, "src")); err == nil && info.IsDir() {
		paths = []string{filepath.Join(folder, "src"), folder}
	}
	out := make([]string, 0, len(environment)+1)
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if name != "PYTHONPATH" {
			out = append(out, entry)
			continue
		}
		for _, path := range filepath.SplitList(value) {
			if inside, err := filepath.Rel(w.root, path); err == nil && filepath.IsLocal(inside) {
				path = filepath.Join(folder, inside)
			}
			paths = append(paths, path)
		}
	}
	return append(out, "PYTHONPATH="+strings.Join(paths, string(os.PathListSeparator)))
}

// git runs a git command without the repository's hooks and returns its output without the last line's end.
func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull}, arguments...)...)
	command.Dir = dir
	var out, told bytes.Buffer
	command.Stdout, command.Stderr = &out, &told
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if text := strings.Join(strings.Fields(told.String()), " "); text != "" {
			return "", fmt.Errorf("git %s: %s", arguments[0], text)
		}
		return "", fmt.Errorf("git %s: %w", arguments[0], err)
	}
	return strings.TrimRight(out.String(), "\r\n"), nil
}
