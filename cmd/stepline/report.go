package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"stepline/analysis"
	"stepline/report"
	"stepline/traceindex/rankset/parquet"
)

var reportFormats = []string{"text", "markdown", "html", "json", "prometheus"}

func newReportCommand(io streams) *cobra.Command {
	var root, format, output string
	var pairs []string
	cmd := &cobra.Command{
		Use:   "report TRACE…",
		Short: "Say what bounds the training step, why, and what to do first",
		Long: `Reads traces as one run and explains its steps: what bounds them, with the lines it rests on; every idle gap of the GPU
with its cause; the lint findings of the files that ran, with their prices; the hot lines; and what limits the trace.`,
		Example: `  stepline report trace.json.gz
  stepline report runs/ --root src --format html --output report.html`,
		RunE: func(cmd *cobra.Command, traces []string) error {
			if len(traces) == 0 {
				return usageError("name a trace, as in `stepline report trace.json.gz`")
			}
			if !slices.Contains(reportFormats, format) {
				return usageError("--format %s: use text, markdown, html, json or prometheus", format)
			}
			if len(pairs) > 0 && format != "prometheus" {
				return usageError("--label needs --format prometheus")
			}
			labels, err := namedValues("--label", pairs)
			if err != nil {
				return err
			}
			style, err := io.style(cmd)
			if err != nil {
				return err
			}
			workspace, err := openWorkspace(cmd.Context(), io, root, nil)
			if err != nil {
				return err
			}
			var place outputPlace
			if output != "" {
				if place, err = findOutput(output); err != nil {
					return err
				}
			}
			run, unusable := loadReport(cmd.Context(), io, workspace, traces)
			if run == nil {
				return unusable
			}
			if output == "" {
				err = writeReport(io, format, run, style, labels)
			} else {
				err = place.write(func(file *os.File) error {
					destination := io
					destination.out = file
					return writeReport(destination, format, run, style, labels)
				})
			}
			if err != nil {
				return err
			}
			printWarnings(io, run.Warnings)
			if unusable != nil {
				return &exitError{code: exitUsage, cause: unusable}
			}
			return nil
		},
	}
	set := cmd.Flags()
	set.StringVar(&root, "root", ".", "the workspace: the folder of the sources that ran")
	set.StringVar(&format, "format", "text", "text, markdown, html, json or prometheus")
	set.StringVarP(&output, "output", "o", "", "write to this file instead of standard output")
	set.StringArrayVar(&pairs, "label", nil, "with --format prometheus: a label for every series, as `name=value` (repeat)")
	return cmd
}

// loadReport reads traces, or folders of indexed ranks. With a run the error names inputs that could not be used.
func loadReport(ctx context.Context, io streams, workspace *analysis.Workspace, inputs []string) (*report.Run, error) {
	folders, err := setFolders(inputs)
	if err != nil {
		return nil, err
	}
	if len(folders) > 0 {
		set, err := readSet(ctx, io, folders, parquet.Want{Diagnosis: true, Gaps: true}, -1)
		if err != nil {
			return nil, err
		}
		return reportOfSet(set), nil
	}
	trace, unusable := loadTrace(ctx, io, workspace, inputs, analysis.LoadOptions{BesideAlone: true})
	if trace == nil {
		return nil, unusable
	}
	run, err := reportOf(ctx, workspace, trace)
	if err != nil {
		return nil, err
	}
	return run, unusable
}

// reportOf brings together what the writers of a report need.
func reportOf(ctx context.Context, workspace *analysis.Workspace, trace *loadedTrace) (*report.Run, error) {
	checked, err := workspace.CheckRun(ctx, trace.Loaded)
	if err != nil {
		return nil, err
	}
	return &report.Run{
		Costs: trace.Costs, Diagnosis: trace.Diagnosis, RankNumbers: trace.RankNumbers(),
		Findings: &report.Findings{Findings: checked.Findings, Files: len(checked.Files), Locate: report.LocateIn(checked.Notebooks)},
		Warnings: trace.warnings, Beside: trace.Beside, Source: sourceLines(trace.Sources), Version: steplineVersion(),
	}, nil
}

func writeReport(io streams, format string, run *report.Run, style report.Style, labels map[string]string) error {
	switch format {
	case "json":
		return report.WriteJSON(io.out, report.NewRunDocument(run))
	case "markdown":
		return report.WriteRunMarkdown(io.out, run)
	case "html":
		return report.WriteRunHTML(io.out, run)
	case "prometheus":
		return report.WriteRunPrometheus(io.out, run, labels)
	default:
		return report.WriteRunText(io.out, run, report.RunView{Width: io.outputWidth(), Style: style})
	}
}
