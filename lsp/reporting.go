package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"stepline/analysis"
	"stepline/lsp/internal/text"
	"stepline/lsp/internal/wire"
	"stepline/report"
)

// class is the run's bottleneck class as the JSON contract names it, nil where it is not known.
func (t *loadedTrace) class() *string {
	if t.loaded.Diagnosis == nil || t.loaded.Diagnosis.Class == "" {
		return nil
	}
	c := string(t.loaded.Diagnosis.Class)
	return &c
}

// renderReport writes the report on a folder's trace: html, markdown, json or text.
func (s *server) renderReport(ctx context.Context, f *folder, format string) (string, error) {
	loaded := f.trace.loaded
	checked, err := f.workspace.CheckRun(ctx, loaded)
	if err != nil {
		return "", err
	}
	run := &report.Run{
		Costs: loaded.Costs, Diagnosis: loaded.Diagnosis, RankNumbers: loaded.RankNumbers(),
		Findings: &report.Findings{Findings: checked.Findings, Files: len(checked.Files), Locate: report.LocateIn(checked.Notebooks)},
		Warnings: loaded.Warnings(), Beside: loaded.Beside, Source: sourceLines(loaded.Sources), Version: s.options.Version,
	}
	var out bytes.Buffer
	switch format {
	case "html":
		err = report.WriteRunHTML(&out, run)
	case "markdown":
		err = report.WriteRunMarkdown(&out, run)
	case "json":
		err = report.WriteJSON(&out, report.NewRunDocument(run))
	default:
		err = report.WriteRunText(&out, run, report.RunView{Width: 100})
	}
	if err != nil {
		return "", failed("the report cannot be written: %v", err)
	}
	return out.String(), nil
}

// sourceLines gives lines of the sources a trace was put on.
func sourceLines(sources map[string]string) func(file string, line int) string {
	texts := map[string]*text.Text{}
	return func(file string, line int) string {
		t := texts[file]
		if t == nil {
			t = text.New(sources[file])
			texts[file] = t
		}
		if line < 1 || line > t.LineCount() {
			return ""
		}
		return t.Line(line - 1)
	}
}

// commandCompare takes [base, new] or [{"base": […], "with": […], "folder": uri}] (URIs or paths) and answers what changed as Markdown.
func (s *server) commandCompare(_ context.Context, arguments []json.RawMessage, token []byte) (wire.Reply, error) {
	var sides struct {
		Base   []string `json:"base"`
		With   []string `json:"with"`
		Folder string   `json:"folder"`
	}
	if len(arguments) == 1 && isObject(arguments[0]) {
		if err := decode(arguments[0], &sides); err != nil {
			return wire.Reply{}, err
		}
	} else if names, _, err := traceArguments(arguments); err == nil && len(names) == 2 {
		sides.Base, sides.With = names[:1], names[1:]
	}
	if len(sides.Base) == 0 || len(sides.With) == 0 {
		return wire.Reply{}, invalid(`stepline.compare needs two traces, or {"base": […], "with": […]}`)
	}
	root, base, err := s.resolveTraces(sides.Base, sides.Folder)
	if err != nil {
		return wire.Reply{}, err
	}
	_, with, err := s.resolveTraces(sides.With, sides.Folder)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.Reply{Long: true, Work: func(ctx context.Context) (any, error) {
		if err := s.folderReady(ctx, root); err != nil {
			return nil, err
		}
		content, err := s.compare(ctx, s.current.Load().folderByRoot(root), base, with, token)
		if err != nil {
			return nil, err
		}
		return map[string]string{"content": content}, nil
	}}, nil
}

func (s *server) compare(ctx context.Context, f *folder, base, with []string, token []byte) (string, error) {
	if err := irregular(slices.Concat(base, with)); err != nil {
		return "", failed("%v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := s.beginProgress(ctx, token, "stepline: comparing "+traceNames(f, base)+" with "+traceNames(f, with), cancel)
	var sides [2]*analysis.Loaded
	for i, paths := range [][]string{base, with} {
		loaded, err := f.workspace.LoadTrace(ctx, paths, analysis.LoadOptions{Progress: p.at})
		if loaded == nil {
			p.end("failed")
			if errors.Is(err, context.Canceled) {
				return "", err
			}
			return "", failed("%v", err)
		}
		sides[i] = loaded
	}
	p.end("compared")
	compared, err := analysis.Compare(ctx, f.workspace, f.workspace, sides[0], sides[1])
	if err != nil {
		return "", err
	}
	diff := &report.Diff{
		BaseFiles: sides[0].Costs.Summary.Files, NewFiles: sides[1].Costs.Summary.Files, Comparison: compared.Comparison, FailAbove: -1,
		Warnings: append(sides[0].Warnings(), sides[1].Warnings()...), Source: sourceLines(sides[1].Sources),
	}
	for _, p := range compared.Predictions {
		diff.Predictions = append(diff.Predictions, report.DiffPrediction{Finding: p.Finding, SavedNs: p.SavedNs, Delivered: p.Delivered})
	}
	var out bytes.Buffer
	if err := report.WriteDiffMarkdown(&out, diff); err != nil {
		return "", failed("the comparison cannot be written: %v", err)
	}
	return out.String(), nil
}
