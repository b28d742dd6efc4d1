package analysis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex"
)

// Checked is the lint of a set of files.
type Checked struct {
	// Findings are sorted by path and place.
	Findings []rules.Finding
	// Files are the models of what was checked, in the order of their paths; a notebook's is its cells as one module.
	Files []*pyscan.File
	// Texts are the files as read, Notebooks those that are notebooks, by model.
	Texts     map[*pyscan.File]string
	Notebooks map[*pyscan.File]*pyscan.Notebook
	// Warnings tell of files that were passed over and of places that do not parse; the rest of such a file was checked.
	Warnings []traceindex.Warning
}

// Source is a file to check whose text is already there (standard input, an editor's buffer).
type Source struct{ Path, Text string }

// Check lints the Python files under paths (none: the workspace). costs is the loaded trace's view, nil without one.
// The error names paths that do not exist or cannot be read; the others were checked.
func (w *Workspace) Check(ctx context.Context, paths []string, costs rules.Costs) (*Checked, error) {
	found, missing := w.find(paths)
	if len(paths) > 0 && w.root != "" {
		// What the files are called from decides as much as what is in them.
		if err := w.Index(ctx, true); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	read, err := w.readAll(ctx, found)
	if err != nil {
		return nil, err
	}
	checked, err := w.CheckSources(ctx, read.sources, costs)
	if err != nil {
		return nil, err
	}
	checked.Warnings = append(read.passedOver, checked.Warnings...)
	return checked, errors.Join(missing, read.refused)
}

// readFiles are files as read: the texts, a warning for each that is no source, and an error for each that was named and
// cannot be read.
type readFiles struct {
	sources    []Source
	passedOver []traceindex.Warning
	refused    error
}

// size is the texts' length in bytes.
func (r readFiles) size() int {
	n := 0
	for _, source := range r.sources {
		n += len(source.Text)
	}
	return n
}

// readAll reads files to be checked, in parallel.
func (w *Workspace) readAll(ctx context.Context, found foundFiles) (readFiles, error) {
	texts, unusable := make([]string, len(found.names)), make([]*notSource, len(found.names))
	if err := inParallel(ctx, len(found.names), func(i int) {
		texts[i], unusable[i] = readSource(found.names[i])
	}); err != nil {
		return readFiles{}, err
	}
	read := readFiles{passedOver: found.passedOver}
	for i, name := range found.names {
		display := w.DisplayPath(name)
		switch {
		case unusable[i] == nil:
			read.sources = append(read.sources, Source{display, texts[i]})
		case found.outright[name] && unusable[i].code == codeUnreadable:
			read.refused = errors.Join(read.refused, unreadable(name, unusable[i].reason))
		default:
			read.passedOver = append(read.passedOver, traceindex.Warning{
				Code: unusable[i].code, Message: fmt.Sprintf("%s: not checked: %s", display, unusable[i].reason), File: display})
		}
	}
	return read, nil
}

// CheckSources lints texts as files of the workspace.
func (w *Workspace) CheckSources(ctx context.Context, sources []Source, costs rules.Costs) (*Checked, error) {
	checked, err := parseSources(ctx, sources, w.Project())
	if err != nil {
		return nil, err
	}
	return w.checkParsed(ctx, checked, w.projectOf(checked.Files), costs)
}

// checkAmong lints texts as files of a project that other texts belong to as well.
func (w *Workspace) checkAmong(ctx context.Context, sources, around []Source, costs rules.Costs) (*Checked, error) {
	if len(around) == 0 {
		return w.CheckSources(ctx, sources, costs)
	}
	others, err := parseSources(ctx, around, nil)
	if err != nil {
		return nil, err
	}
	project := rules.NewProject(others.Files)
	checked, err := parseSources(ctx, sources, project)
	if err != nil {
		return nil, err
	}
	return w.checkParsed(ctx, checked, projectAmong(project, checked.Files), costs)
}

// checkParsed lints models in a project.
func (w *Workspace) checkParsed(ctx context.Context, checked *Checked, project *rules.Project, costs rules.Costs) (*Checked, error) {
	found := make([][]rules.Finding, len(checked.Files))
	if err := inParallel(ctx, len(checked.Files), func(i int) {
		found[i] = w.checkIn(project, checked.Files[i], costs)
	}); err != nil {
		return nil, err
	}
	for i, file := range checked.Files {
		checked.Findings = append(checked.Findings, found[i]...)
		for _, e := range file.SyntaxErrors {
			checked.Warnings = append(checked.Warnings, checked.syntaxWarning(file, e))
			break // one a file: what follows a mistake is often no mistake
		}
	}
	rules.SortFindings(checked.Findings)
	return checked, nil
}

// parseSources makes the models, but for those a project (it may be nil) has made. A notebook that is none becomes a warning.
func parseSources(ctx context.Context, sources []Source, project *rules.Project) (*Checked, error) {
	made := map[string]*pyscan.File{}
	if project != nil {
		for _, f := range project.Files() {
			made[f.Path] = f
		}
	}
	files, notebooks, failures := make([]*pyscan.File, len(sources)), make([]*pyscan.Notebook, len(sources)), make([]error, len(sources))
	err := inParallel(ctx, len(sources), func(i int) {
		if !IsNotebook(sources[i].Path) {
			if f := made[sources[i].Path]; f != nil && f.Text == sources[i].Text {
				files[i] = f
				return
			}
			files[i] = pyscan.Parse(sources[i].Path, sources[i].Text)
			return
		}
		if notebooks[i], failures[i] = pyscan.ParseNotebook(sources[i].Path, []byte(sources[i].Text)); failures[i] == nil {
			files[i] = notebooks[i].File
		}
	})
	if err != nil {
		return nil, err
	}
	checked := &Checked{Texts: map[*pyscan.File]string{}, Notebooks: map[*pyscan.File]*pyscan.Notebook{}}
	for i, file := range files {
		if failures[i] != nil {
			path := sources[i].Path
			checked.Warnings = append(checked.Warnings, traceindex.Warning{Code: "no-notebook", File: path, Message: fmt.Sprintf("%s: not checked: %v", path, failures[i])})
			continue
		}
		checked.Files = append(checked.Files, file)
		checked.Texts[file] = sources[i].Text
		if notebooks[i] != nil {
			checked.Notebooks[file] = notebooks[i]
		}
	}
	return checked, nil
}

// syntaxWarning tells of a place that does not parse.
func (c *Checked) syntaxWarning(file *pyscan.File, e pyscan.SyntaxError) traceindex.Warning {
	place := fmt.Sprintf("%s:%d", file.Path, file.Line(e.Start))
	at := int64(e.Start)
	warning := traceindex.Warning{Code: "syntax-error", File: file.Path, Byte: &at}
	if notebook := c.Notebooks[file]; notebook != nil {
		cell, line := notebook.Position(e.Start)
		place, warning.Byte = fmt.Sprintf("%s:cell %d:%d", file.Path, cell, line), nil
	}
	warning.Message = fmt.Sprintf("%s: does not parse: %s; the rest of the file was checked", place, e.Message)
	return warning
}

// IsNotebook tells a Jupyter notebook by its name.
func IsNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }

// inParallel runs work(0) … work(n−1) on all cores until ctx ends. Each core has one goroutine for all it does: parsers and rules
// recurse deep, and a goroutine for each piece of work would have to grow its stack anew each time.
func inParallel(ctx context.Context, n int, work func(i int)) error {
	var next atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := groupCtx.Err(); err != nil {
					return err
				}
				work(int(i))
			}
			return nil
		})
	}
	return group.Wait()
}
