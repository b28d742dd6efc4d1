package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"stepline/analysis"
	"stepline/rules"
	"stepline/traceindex"
)

// traceNames are traces as the user named them, relative to the current folder, and as the analysis wants them: absolute,
// since it takes relative ones from the workspace's root.
type traceNames struct {
	absolute []string
	// folder is stripped from names in results, so that a trace is called what the user called it; "" if a name was absolute.
	folder string
}

func nameTraces(traces []string) (traceNames, error) {
	current, err := os.Getwd()
	if err != nil {
		return traceNames{}, err
	}
	names := traceNames{folder: current + string(filepath.Separator)}
	for _, trace := range traces {
		if filepath.IsAbs(trace) {
			names.folder = ""
			names.absolute = append(names.absolute, trace)
			continue
		}
		names.absolute = append(names.absolute, filepath.Join(current, trace))
	}
	return names, nil
}

func (n traceNames) shown(text string) string {
	if n.folder == "" {
		return text
	}
	return strings.ReplaceAll(text, n.folder, "")
}

// loadedTrace is a run ready to print: names as the user knows them, all warnings together.
type loadedTrace struct {
	*analysis.Loaded
	names    traceNames
	warnings []traceindex.Warning
}

// loadTrace reads traces with a progress bar. With a trace the error names inputs that could not be used.
func loadTrace(ctx context.Context, io streams, workspace *analysis.Workspace, traces []string, options analysis.LoadOptions) (*loadedTrace, error) {
	names, err := nameTraces(traces)
	if err != nil {
		return nil, err
	}
	bar := newProgress(io)
	defer bar.close()
	options.Progress = func(p analysis.Progress) { bar.update(p.Stage, p.DoneBytes, p.TotalBytes) }
	loaded, unusable := workspace.LoadTrace(ctx, names.absolute, options)
	if unusable != nil && !errors.Is(unusable, context.Canceled) {
		unusable = namedError{unusable, names}
	}
	if loaded == nil {
		return nil, unusable
	}
	trace := &loadedTrace{Loaded: loaded, names: names}
	for _, warning := range loaded.Warnings() {
		warning.File, warning.Message = names.shown(warning.File), names.shown(warning.Message)
		trace.warnings = append(trace.warnings, warning)
	}
	trace.finish(loaded.Costs)
	loaded.Beside.Rename(names.shown)
	return trace, unusable
}

// finish gives costs of the run the names and warnings to be printed.
func (t *loadedTrace) finish(costs *traceindex.Costs) {
	files := make([]string, len(costs.Summary.Files))
	for i, file := range costs.Summary.Files {
		files[i] = t.names.shown(file)
	}
	costs.Summary.Files = files
	costs.Warnings = t.warnings
}

// namedError shows an error's traces as the user named them.
type namedError struct {
	error
	names traceNames
}

func (e namedError) Error() string { return e.names.shown(e.error.Error()) }
func (e namedError) Unwrap() error { return e.error }

// loadCosts loads the traces of check, nil without any; an unusable trace loses the prices, not the lint.
func loadCosts(ctx context.Context, io streams, workspace *analysis.Workspace, traces []string) (rules.Costs, []traceindex.Warning, error) {
	if len(traces) == 0 {
		return nil, nil, nil
	}
	trace, err := loadTrace(ctx, io, workspace, traces, analysis.LoadOptions{})
	if trace == nil {
		return nil, nil, err
	}
	return trace.RuleCosts(), trace.warnings, err
}
