package analysis

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex"
)

// Checked is the lint of a set of files.
type Checked struct {
	// Findings are sorted by path and place.
	Findings []rules.Finding
	// Files are the models of what was checked, in the order of their paths.
	Files []*pyscan.File
	// Warnings tell of files that were passed over and of places that do not parse; the rest of such a file was checked.
	Warnings []traceindex.Warning
}

// Source is a file to check whose text is already there (standard input, an editor's buffer).
type Source struct{ Path, Text string }

// Check lints the Python files under paths (none: the workspace). costs is the loaded trace's view, nil without one.
// The error names paths that do not exist; what does exist was checked.
func (w *Workspace) Check(ctx context.Context, paths []string, costs rules.Costs) (*Checked, error) {
	names, missing := w.PythonFiles(paths)
	if len(paths) > 0 && w.root != "" {
		// What the files are called from decides as much as what is in them.
		if err := w.Index(ctx, true); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	sources := make([]*Source, len(names))
	warnings := make([]*traceindex.Warning, len(names))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		group.Go(func() error {
			display := w.DisplayPath(name)
			text, warning := readSource(name, display)
			if warnings[i] = warning; warning == nil {
				sources[i] = &Source{display, text}
			}
			return groupCtx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var readable []Source
	var passedOver []traceindex.Warning
	for i := range names {
		if warnings[i] != nil {
			passedOver = append(passedOver, *warnings[i])
			continue
		}
		readable = append(readable, *sources[i])
	}
	checked, err := w.CheckSources(ctx, readable, costs)
	if err != nil {
		return nil, err
	}
	checked.Warnings = append(passedOver, checked.Warnings...)
	return checked, missing
}

// CheckSources lints texts as files of the workspace.
func (w *Workspace) CheckSources(ctx context.Context, sources []Source, costs rules.Costs) (*Checked, error) {
	checked := &Checked{Files: make([]*pyscan.File, len(sources))}
	if err := inParallel(ctx, len(sources), func(i int) {
		checked.Files[i] = pyscan.Parse(sources[i].Path, sources[i].Text)
	}); err != nil {
		return nil, err
	}
	found := make([][]rules.Finding, len(sources))
	project := w.projectOf(checked.Files)
	if err := inParallel(ctx, len(sources), func(i int) {
		found[i] = w.checkIn(project, checked.Files[i], costs)
	}); err != nil {
		return nil, err
	}
	for i, file := range checked.Files {
		checked.Findings = append(checked.Findings, found[i]...)
		for _, e := range file.SyntaxErrors {
			at := int64(e.Start)
			checked.Warnings = append(checked.Warnings, traceindex.Warning{
				Code:    "syntax-error",
				Message: fmt.Sprintf("%s:%d: does not parse: %s; the rest of the file was checked", file.Path, file.Line(e.Start), e.Message),
				File:    file.Path, Byte: &at,
			})
			break // one a file: what follows a mistake is often no mistake
		}
	}
	rules.SortFindings(checked.Findings)
	return checked, nil
}

// inParallel runs work(0) … work(n−1) on all cores until ctx ends.
func inParallel(ctx context.Context, n int, work func(i int)) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			if err := groupCtx.Err(); err != nil {
				return err
			}
			work(i)
			return nil
		})
	}
	return group.Wait()
}
