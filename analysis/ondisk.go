package analysis

import (
	"context"

	"stepline/pyscan"
	"stepline/rules"
)

// FileOnDisk is the model of one of the workspace's files as it is on disk, nil for what is no source. The folder around it is
// read only if it was not yet: what else changed there since is seen by Index and RefreshFile.
func (w *Workspace) FileOnDisk(ctx context.Context, name string) (*pyscan.File, error) {
	if !w.indexed() {
		if err := w.Index(ctx, true); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	path := w.DisplayPath(name)
	info, err := w.statInside(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	p := &w.files
	p.mu.Lock()
	state, known := p.disk[path]
	p.mu.Unlock()
	if known && state != (diskState{info.ModTime(), info.Size()}) {
		w.RefreshFile(path)
	}
	if project := w.Project(); known && project != nil {
		return project.File(path), nil
	}
	text, unusable := readSource(name)
	if unusable != nil {
		return nil, nil
	}
	checked, err := parseSources(ctx, []Source{{path, text}}, nil)
	if err != nil || len(checked.Files) == 0 {
		return nil, err
	}
	return checked.Files[0], nil
}

// indexed tells whether all folders of the workspace were read.
func (w *Workspace) indexed() bool {
	w.files.mu.Lock()
	defer w.files.mu.Unlock()
	return w.files.deep
}

// LintIn lints one file in a project of the workspace; the result tells what it rests on. costs is the loaded trace or nil.
func (w *Workspace) LintIn(project *rules.Project, file *pyscan.File, costs rules.Costs) rules.Result {
	return rules.Run(w.list, rules.Target{File: file, Project: project, Costs: costs}, w.config)
}
