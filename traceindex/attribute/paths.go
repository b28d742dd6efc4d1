package attribute

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"stepline/pyscan"
)

// PathMapping says that recorded paths beginning with From are those beginning with To in the workspace (relative to its root;
// "" is the root itself).
type PathMapping struct{ From, To string }

// Workspace is a folder of Python sources. It opens nothing outside its root, links included.
type Workspace struct {
	root     *os.Root
	mappings []PathMapping
	// Open is asked for a file before the disk is: the text of an editor's buffer, or a model parsed already. It may be nil.
	// Set it before the first use.
	Open func(path string) (*pyscan.File, bool)
	// Recorded gives the text of a recorded path as it was when it ran, where the recording kept it; it may be nil. The alignment
	// then reads that text and not the workspace's, which may have been edited since: Attribution.Move brings the result to it.
	Recorded func(recorded string) (text string, ok bool)

	listOnce sync.Once
	byBase   map[string][]string // file name → workspace paths
	mu       sync.Mutex
	parsed   map[string]*pyscan.File
}

// maxSourceBytes is the largest Python file that is read.
const maxSourceBytes = 8 << 20

// maxListedFiles bounds the walk of a workspace: a mistaken root like / must not be walked to its end.
const maxListedFiles = 200_000

// Directory returns the sources of a folder. Mappings are tried first, in order.
func Directory(root string, mappings []PathMapping) (*Workspace, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("workspace %s cannot be opened: %w", root, err)
	}
	return &Workspace{root: r, mappings: mappings, parsed: map[string]*pyscan.File{}}, nil
}

// Close releases the folder.
func (w *Workspace) Close() error { return w.root.Close() }

// File is the model of a workspace file, nil if it cannot be read.
func (w *Workspace) File(name string) *pyscan.File {
	if w.Open != nil {
		if f, ok := w.Open(name); ok {
			return f
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, ok := w.parsed[name]; ok {
		return f
	}
	var file *pyscan.File
	if info, err := w.root.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() <= maxSourceBytes {
		if text, err := w.root.ReadFile(name); err == nil {
			file = pyscan.Parse(name, string(text))
		}
	}
	w.parsed[name] = file
	return file
}

// skippedFolders hold no sources of the user's own.
var skippedFolders = nameSet("node_modules", "__pycache__", "site-packages", "dist-packages", "venv", ".venv", "env", ".git", ".hg", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache")

// list walks the folder once.
func (w *Workspace) list() {
	w.byBase = map[string][]string{}
	n := 0
	// A folder that cannot be read is passed over: its files are simply not found.
	_ = fs.WalkDir(w.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			if name != "." && (skippedFolders[entry.Name()] || strings.HasPrefix(entry.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if n++; n > maxListedFiles {
			return fs.SkipAll
		}
		if strings.HasSuffix(name, ".py") {
			w.byBase[entry.Name()] = append(w.byBase[entry.Name()], name)
		}
		return nil
	})
}

// Resolve finds the workspace file of a recorded path: user mappings first, then the longest common suffix, checked against the
// functions and lines that the trace names.
func (w *Workspace) Resolve(recorded RecordedFile) Resolution {
	r := w.resolve(recorded)
	if r.File == nil || w.Recorded == nil {
		return r
	}
	if text, ok := w.Recorded(recorded.Path); ok && text != r.File.Text {
		r.File = pyscan.Parse(r.File.Path, text)
	}
	return r
}

func (w *Workspace) resolve(recorded RecordedFile) Resolution {
	name := cleanRecorded(recorded.Path)
	for _, m := range w.mappings {
		if rest, ok := mapped(name, m); ok {
			if f := w.File(rest); f != nil {
				return Resolution{File: f}
			}
		}
	}
	if !strings.HasSuffix(name, ".py") && !strings.HasSuffix(name, ".ipynb") {
		return Resolution{}
	}
	w.listOnce.Do(w.list)
	var fits []candidate
	for _, p := range w.byBase[path.Base(name)] {
		if c := w.judge(p, name, recorded.Functions); c.file != nil {
			fits = append(fits, c)
		}
	}
	if len(fits) == 0 {
		return Resolution{}
	}
	slices.SortFunc(fits, func(a, b candidate) int {
		return cmp.Or(-cmp.Compare(a.suffix, b.suffix), -cmp.Compare(a.lines, b.lines), cmp.Compare(a.path, b.path))
	})
	best := fits[0]
	tied := []string{best.path}
	for _, c := range fits[1:] {
		if c.suffix == best.suffix && c.lines == best.lines {
			tied = append(tied, c.path)
		}
	}
	if len(tied) > 1 {
		return Resolution{Candidates: tied}
	}
	return Resolution{File: best.file}
}

// cleanRecorded gives a recorded path one form: slashes, no drive, no leading "./".
func cleanRecorded(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if len(p) > 2 && p[1] == ':' && p[2] == '/' {
		p = p[2:]
	}
	return path.Clean(p)
}

// mapped applies one mapping to a recorded path.
func mapped(name string, m PathMapping) (string, bool) {
	from := cleanRecorded(m.From)
	rest, ok := strings.CutPrefix(name, from)
	if !ok || rest != "" && rest[0] != '/' && from != "/" && from != "." {
		return "", false
	}
	to := path.Clean(strings.ReplaceAll(m.To, `\`, "/"))
	joined := path.Join(to, strings.TrimPrefix(rest, "/"))
	if !fs.ValidPath(joined) {
		return "", false // it would leave the root
	}
	return joined, true
}

// isUserPath reports whether a recorded path is an absolute one outside Python's own folders, so that a file at the root of the
// workspace may be meant by its name alone.
func isUserPath(recorded string) bool {
	if !strings.HasPrefix(recorded, "/") {
		return false
	}
	for _, part := range strings.Split(recorded, "/") {
		if part == "site-packages" || part == "dist-packages" || strings.HasPrefix(part, "python3") || strings.HasPrefix(part, "torchinductor_") {
			return false
		}
	}
	return true
}

// candidate is a workspace file that may be a recorded one.
type candidate struct {
	path   string
	file   *pyscan.File
	suffix int // path parts in common, counted from the end
	lines  int // recorded functions found at their lines
}

// judge compares a workspace file with a recorded one; its file is nil when they cannot be the same.
func (w *Workspace) judge(p, recorded string, functions []RecordedFunction) candidate {
	ours, theirs := strings.Split(p, "/"), strings.Split(strings.TrimPrefix(recorded, "/"), "/")
	common := 0
	for common < len(ours) && common < len(theirs) && ours[len(ours)-1-common] == theirs[len(theirs)-1-common] {
		common++
	}
	file := w.File(p)
	if file == nil {
		return candidate{}
	}
	names, lines, told := fit(file, functions)
	user := isUserPath(recorded)
	// A whole path that is the same may have been edited since: its names count. One that agrees only in part must agree in its
	// functions, and in more than one of them: every trace has torch's own files, and `torch/nn/modules/linear.py` with its
	// `forward` is not the workspace's `modules/linear.py`.
	whole := common == len(theirs) || common == len(ours) && (user || w.continues(theirs[len(theirs)-1-common]))
	switch {
	case told == 0:
		if !whole {
			return candidate{}
		}
	case whole && names*2 >= told:
	case names == told && lines*4 >= told*3 && (user || told > 1 && !slices.Contains(theirs, "torch")):
	default:
		return candidate{}
	}
	return candidate{path: p, file: file, suffix: common, lines: lines}
}

// continues reports whether a recorded path goes on like the workspace's own where the workspace's root is reached: with the root
// folder's name, where the root lies inside a package, or with the folder that packages are installed in.
func (w *Workspace) continues(part string) bool {
	if part == "site-packages" || part == "dist-packages" {
		return true
	}
	root, err := filepath.Abs(w.root.Name())
	return err == nil && part == filepath.Base(root)
}

// fit counts how many of the recorded functions a file has, by name and at the recorded line.
func fit(file *pyscan.File, functions []RecordedFunction) (names, lines, told int) {
	have := map[string]bool{}
	for _, fn := range file.Functions {
		have[fn.Name] = true
	}
	for _, c := range file.Classes {
		have[c.Name] = true
	}
	for _, r := range functions {
		owner, name := splitQualified(r.Name)
		if name == "<module>" || strings.HasPrefix(name, "torch_dynamo_resume") || name == "" {
			continue
		}
		if strings.HasPrefix(name, "<") && !have[name] && strings.HasSuffix(name, "comp>") {
			continue
		}
		told++
		if !have[name] {
			continue
		}
		names++
		qualified := ""
		if owner != "" {
			qualified = r.Name
		}
		if fn, resumed := findFunction(file, name, qualified, r.Line); fn != nil && (!resumed || fn.FirstLine <= r.Line && r.Line <= fn.LastLine) {
			lines++
		}
	}
	return names, lines, told
}
