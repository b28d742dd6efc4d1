package analysis

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	ignore "github.com/sabhiram/go-gitignore"
)

// ignoreFiles keeps .gitignore files as read: each of their lines is a regular expression or more to be made, which is too
// much for every file that changes. It may be used by several goroutines.
type ignoreFiles struct {
	mu   sync.Mutex
	kept map[string]ignoreFile // by name
}

// ignoreFile is a .gitignore file as it was at that state.
type ignoreFile struct {
	state diskState
	lines []string
	rules *ignore.GitIgnore
}

// read reads a folder's .gitignore file. ok is false where there is none, or a link, which git does not follow either.
func (i *ignoreFiles) read(folder string) (file ignoreFile, ok bool) {
	name := filepath.Join(folder, ".gitignore")
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxNamedFile {
		return ignoreFile{}, false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	state := diskState{info.ModTime(), info.Size()}
	if file := i.kept[name]; file.rules != nil && file.state == state {
		return file, true
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return ignoreFile{}, false
	}
	lines := strings.Split(string(data), "\n")
	file = ignoreFile{state, lines, ignore.CompileIgnoreLines(lines...)}
	if i.kept == nil {
		i.kept = map[string]ignoreFile{}
	}
	i.kept[name] = file
	return file, true
}

// gitIgnoreStack holds the .gitignore files that speak for the folders of a walk, outermost first.
type gitIgnoreStack struct {
	source  *ignoreFiles
	folders []ignoringFolder
}

type ignoringFolder struct {
	folder string // absolute
	rules  *ignore.GitIgnore
}

// above are the .gitignore files of the folders above a walk, up to the repository's root. Lines that ignore the folder of
// the walk itself do not hold: whoever names it wants what is in it.
func (i *ignoreFiles) above(folder string) *gitIgnoreStack {
	stack := &gitIgnoreStack{source: i}
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
			break
		}
		if filepath.Dir(at) == at {
			return stack // no repository: only what lies under the folder speaks
		}
	}
	for _, each := range slices.Backward(above) {
		file, ok := i.read(each)
		if !ok {
			continue
		}
		if relative := slashed(each, absolute, true); file.rules.MatchesPath(relative) {
			file.rules = ignore.CompileIgnoreLines(slices.DeleteFunc(slices.Clone(file.lines), func(line string) bool {
				return ignore.CompileIgnoreLines(line).MatchesPath(relative)
			})...)
		}
		stack.folders = append(stack.folders, ignoringFolder{each, file.rules})
	}
	return stack
}

// enter takes a folder's .gitignore file in, and lets go of those that do not speak for it.
func (s *gitIgnoreStack) enter(folder string) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return
	}
	s.folders = slices.DeleteFunc(s.folders, func(f ignoringFolder) bool { return !within(absolute, f.folder) })
	if file, ok := s.source.read(absolute); ok {
		s.folders = append(s.folders, ignoringFolder{absolute, file.rules})
	}
}

func (s *gitIgnoreStack) ignored(name string, folder bool) bool {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(s.folders, func(f ignoringFolder) bool {
		return within(absolute, f.folder) && f.rules.MatchesPath(slashed(f.folder, absolute, folder))
	})
}

// slashed is a path below a folder as .gitignore files name it: with slashes, one at the end where it is a folder.
func slashed(above, name string, folder bool) string {
	relative, err := filepath.Rel(above, name)
	if err != nil {
		return "" // both are absolute, one lies in the other
	}
	relative = filepath.ToSlash(relative)
	if folder {
		relative += "/"
	}
	return relative
}

func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}
