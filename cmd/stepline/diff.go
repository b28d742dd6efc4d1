package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stepline/analysis"
	"stepline/report"
)

var diffFormats = []string{"text", "markdown", "json"}

type diffFlags struct {
	with              []string
	root, baseRoot    string
	format, failAbove string
	failShare         float64
}

func newDiffCommand(io streams) *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff BASE… --with NEW [--with NEW…]",
		Short: "Compare two runs: what changed per step, and what of it is noise",
		Long: `Compares the steps of two runs: per line, op, kernel and cause of idle time, with mean and standard deviation over the
steps and Welch's t-test for what is noise. Findings that were mended are held against what their price promised.
With --fail-above 3% it exits 1 when the mean step grew by more than 3 % and by more than noise.`,
		Example: `  stepline diff before.json.gz --with after.json.gz
  stepline diff main-run/ --with branch-run/ --fail-above 3% --format markdown`,
		RunE: func(cmd *cobra.Command, base []string) error {
			if len(base) == 0 || len(flags.with) == 0 {
				return usageError("name the traces of both runs, as in `stepline diff before.json.gz --with after.json.gz`")
			}
			if !slices.Contains(diffFormats, flags.format) {
				return usageError("--format %s: use text, markdown or json", flags.format)
			}
			var err error
			if flags.failShare, err = parseShare(flags.failAbove); err != nil {
				return usageError("--fail-above %s: %v", flags.failAbove, err)
			}
			return runDiff(cmd, io, base, flags)
		},
	}
	set := cmd.Flags()
	set.StringArrayVar(&flags.with, "with", nil, "a trace of the new run (repeat for its ranks)")
	set.StringVar(&flags.root, "root", ".", "the workspace: the folder of the sources that ran")
	set.StringVar(&flags.baseRoot, "base-root", "", "the sources that the base ran, where they are another folder (a git worktree)")
	set.StringVar(&flags.format, "format", "text", "text, markdown or json")
	set.StringVar(&flags.failAbove, "fail-above", "", "exit 1 when the mean step grew by more than this, as in 3%, beyond noise")
	return cmd
}

// parseShare reads "3%" or "0.03"; −1 for "". A plain 3 is refused: who writes it means 3 %, and a gate at 300 % would hold forever.
func parseShare(text string) (float64, error) {
	if text == "" {
		return -1, nil
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || v < 0 || v != v || v > 1e6 {
		return 0, fmt.Errorf("use a share of the step such as 3%%")
	}
	if percent {
		v /= 100
	} else if v >= 1 {
		return 0, fmt.Errorf("write %s%%; without %% it would be %.4g %%", strings.TrimSpace(number), v*100)
	}
	return v, nil
}

func runDiff(cmd *cobra.Command, io streams, base []string, flags diffFlags) error {
	style, err := io.style(cmd)
	if err != nil {
		return err
	}
	newWorkspace, err := openWorkspace(cmd.Context(), io, flags.root, nil)
	if err != nil {
		return err
	}
	baseWorkspace := newWorkspace
	if flags.baseRoot != "" {
		if baseWorkspace, err = openWorkspace(cmd.Context(), io, flags.baseRoot, nil); err != nil {
			return err
		}
	}
	baseSets, err := setFolders(base)
	if err != nil {
		return err
	}
	newSets, err := setFolders(flags.with)
	if err != nil {
		return err
	}
	if len(baseSets)+len(newSets) > 0 {
		diff, err := setDiff(cmd.Context(), io, side{baseSets, base, baseWorkspace}, side{newSets, flags.with, newWorkspace}, flags.failShare)
		if err != nil {
			return err
		}
		if err := writeDiff(io, flags.format, diff, style); err != nil {
			return err
		}
		return concludeDiff(io, diff, nil, nil)
	}
	before, unusable := loadTrace(cmd.Context(), io, baseWorkspace, base, analysis.LoadOptions{})
	if before == nil {
		return unusable
	}
	after, unusableNew := loadTrace(cmd.Context(), io, newWorkspace, flags.with, analysis.LoadOptions{})
	if after == nil {
		return unusableNew
	}
	diff, err := diffOf(cmd.Context(), baseWorkspace, newWorkspace, before, after, flags.failShare)
	if err != nil {
		return err
	}
	if err := writeDiff(io, flags.format, diff, style); err != nil {
		return err
	}
	return concludeDiff(io, diff, unusable, unusableNew)
}

func writeDiff(io streams, format string, diff *report.Diff, style report.Style) error {
	switch format {
	case "json":
		return report.WriteJSON(io.out, report.NewDiffDocument(diff))
	case "markdown":
		return report.WriteDiffMarkdown(io.out, diff)
	default:
		return report.WriteDiffText(io.out, diff, io.outputWidth(), style)
	}
}

// concludeDiff prints the warnings and makes the exit code.
func concludeDiff(io streams, diff *report.Diff, unusable, unusableNew error) error {
	printWarnings(io, diff.Warnings)
	switch {
	case unusable != nil:
		return &exitError{code: exitUsage, cause: unusable}
	case unusableNew != nil:
		return &exitError{code: exitUsage, cause: unusableNew}
	case diff.Failed:
		return &exitError{code: exitFindings}
	}
	return nil
}

// diffOf compares two loaded runs and brings together what the writers need.
func diffOf(ctx context.Context, baseWorkspace, newWorkspace *analysis.Workspace, before, after *loadedTrace, failAbove float64) (*report.Diff, error) {
	compared, err := analysis.Compare(ctx, baseWorkspace, newWorkspace, before.Loaded, after.Loaded)
	if err != nil {
		return nil, err
	}
	diff := &report.Diff{
		BaseFiles: before.Costs.Summary.Files, NewFiles: after.Costs.Summary.Files, Comparison: compared.Comparison,
		FailAbove: failAbove, Failed: failAbove >= 0 && compared.Exceeds(failAbove),
		Warnings: slices.Concat(before.warnings, after.warnings), Source: sourceLines(after.Sources),
	}
	for _, p := range compared.Predictions {
		diff.Predictions = append(diff.Predictions, report.DiffPrediction{Finding: p.Finding, SavedNs: p.SavedNs, Delivered: p.Delivered})
	}
	return diff, nil
}
