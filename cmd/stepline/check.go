package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stepline/analysis"
	"stepline/report"
	"stepline/rules"
)

// checkFlags are the options of `stepline check`.
type checkFlags struct {
	traces, selected, ignored         []string
	format, root, stdinName           string
	fix, unsafeFixes, diff, addIgnore bool
	exitZero, statistics, noCache     bool
}

func newCheckCommand(io streams) *cobra.Command {
	var flags checkFlags
	cmd := &cobra.Command{
		Use:   "check [PATH…]",
		Short: "Lint training code; with a trace, price each finding",
		Long: `Lints Python files and folders (default: the current folder; "-" reads standard input). Folders are searched as git sees
them; what is named is checked even where git ignores it. With --trace each finding gets a verdict and its price per step.
Exits 1 while findings above hint level remain, 2 when a named path is not there or cannot be read (the others are checked).`,
		Example: `  stepline check
  stepline check train.py --trace runs/trace.json.gz
  stepline check --fix src
  stepline check --format sarif > stepline.sarif`,
		RunE: func(cmd *cobra.Command, paths []string) error { return runCheck(cmd, io, &flags, paths) },
	}
	set := cmd.Flags()
	set.StringArrayVar(&flags.traces, "trace", nil, "price findings with this trace (repeat for the ranks of a run)")
	set.StringArrayVar(&flags.selected, "select", nil, "check these rules only: ids or prefixes, such as SYN or SYN001 (repeat)")
	set.StringArrayVar(&flags.ignored, "ignore", nil, "leave these rules out: ids or prefixes (repeat)")
	set.StringVar(&flags.format, "format", "text", "text, json, sarif, github or gitlab")
	set.StringVar(&flags.root, "root", ".", "the workspace: findings are named relative to it, settings are read from it")
	set.StringVar(&flags.stdinName, "stdin-filename", "stdin.py", "the name of what is read from standard input")
	set.BoolVar(&flags.fix, "fix", false, "apply safe fixes")
	set.BoolVar(&flags.unsafeFixes, "unsafe-fixes", false, "with --fix or --diff: unsafe fixes too")
	set.BoolVar(&flags.diff, "diff", false, "print what --fix would change as a patch, and change nothing")
	set.BoolVar(&flags.addIgnore, "add-ignore", false, "write an ignore comment for every finding above hint level")
	set.BoolVar(&flags.exitZero, "exit-zero", false, "exit 0 even with findings")
	set.BoolVar(&flags.statistics, "statistics", false, "print how often each rule spoke instead of the findings")
	set.BoolVar(&flags.noCache, "no-cache", false, "check anew even where nothing has changed since the last check, and keep nothing")
	return cmd
}

var checkFormats = []string{"text", "json", "sarif", "github", "gitlab"}

func (f *checkFlags) validate(paths []string) error {
	f.selected, f.ignored = splitLists(f.selected), splitLists(f.ignored)
	switch {
	case !slices.Contains(checkFormats, f.format):
		return usageError("--format %s: use text, json, sarif, github or gitlab", f.format)
	case slices.Contains(paths, "-") && len(paths) > 1:
		return usageError(`"-" (standard input) goes with no other path`)
	case f.unsafeFixes && !f.fix && !f.diff:
		return usageError("--unsafe-fixes says which fixes --fix or --diff takes; give one of them too")
	case f.addIgnore && (f.fix || f.diff):
		return usageError("--add-ignore goes with neither --fix nor --diff; run them one after the other")
	case f.statistics && f.format != "text" && f.format != "json":
		return usageError("--statistics has the formats text and json")
	case f.statistics && f.diff:
		return usageError("--statistics does not go with --diff")
	}
	return nil
}

// splitLists takes "SYN,AMP" as two values beside repeated flags.
func splitLists(values []string) []string {
	var list []string
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

func runCheck(cmd *cobra.Command, io streams, flags *checkFlags, paths []string) error {
	if err := flags.validate(paths); err != nil {
		return err
	}
	style, err := io.style(cmd)
	if err != nil {
		return err
	}
	collectAt(commandGCPercent)
	workspace, err := openWorkspace(cmd.Context(), io, flags.root, func(settings *analysis.Settings) {
		if len(flags.selected) > 0 {
			settings.Rules.Select = flags.selected
		}
		settings.Rules.Ignore = append(slices.Clone(settings.Rules.Ignore), flags.ignored...)
	})
	if err != nil {
		return err
	}
	costs, traceWarnings, traceErr := loadCosts(cmd.Context(), io, workspace, flags.traces)
	if errors.Is(traceErr, context.Canceled) {
		return traceErr
	}
	stdin := slices.Equal(paths, []string{"-"})
	checked, pathErr, err := checkInput(cmd.Context(), io, workspace, flags, paths, costs)
	if err != nil {
		return err
	}
	before := checked
	fixed, err := mend(cmd.Context(), workspace, flags, checked, costs)
	if err != nil {
		return err
	}
	if fixed != nil && !flags.diff {
		checked = fixed.Checked
		if !stdin {
			if err := writeFixed(workspace, fixed); err != nil {
				return err
			}
		}
	}
	found := &report.Findings{Findings: checked.Findings, Files: len(checked.Files), Warnings: append(traceWarnings, checked.Warnings...),
		Locate: report.LocateIn(checked.Notebooks)}
	output := io
	if stdin && fixed != nil && !flags.diff && len(checked.Files) > 0 { // the mended text is the output, as formatters do it
		if _, err := fmt.Fprint(io.out, checked.Texts[checked.Files[0]]); err != nil {
			return err
		}
		output.out = io.err
	}
	if flags.diff {
		err = writePatches(io, before, fixed)
	} else {
		err = writeFindings(output, flags, found, style)
	}
	if err != nil {
		return err
	}
	printWarnings(io, found.Warnings)
	if fixed != nil && flags.fix && fixed.Applied > 0 && !stdin {
		fmt.Fprintf(io.err, "stepline: mended %s in %s\n", report.Plural(fixed.Applied, "finding"), report.Plural(len(fixed.After), "file"))
	}
	if err := errors.Join(pathErr, traceErr); err != nil {
		return &exitError{code: exitUsage, cause: err}
	}
	if !flags.exitZero && anyAboveHint(checked.Findings) {
		return &exitError{code: exitFindings}
	}
	return nil
}

// checkInput lints the paths or standard input. pathErr names paths that do not exist; the others were checked.
func checkInput(ctx context.Context, io streams, workspace *analysis.Workspace, flags *checkFlags, paths []string, costs rules.Costs) (checked *analysis.Checked, pathErr, err error) {
	if slices.Equal(paths, []string{"-"}) {
		text, err := readAllText(io.in)
		if err != nil {
			return nil, nil, fmt.Errorf("standard input: %w", err)
		}
		if err := workspace.Index(ctx, true); err != nil {
			return nil, nil, err
		}
		checked, err := workspace.CheckSources(ctx, []analysis.Source{{Path: workspace.DisplayPath(flags.stdinName), Text: text}}, costs)
		return checked, nil, err
	}
	if len(flags.traces) == 0 && !flags.mends() && !flags.noCache {
		checked, pathErr = workspace.CheckRemembered(ctx, paths)
	} else {
		checked, pathErr = workspace.Check(ctx, paths, costs)
	}
	if checked == nil {
		return nil, nil, pathErr
	}
	return checked, pathErr, nil
}

// mends tells whether texts are to be changed, or shown changed.
func (f *checkFlags) mends() bool { return f.fix || f.diff || f.addIgnore }

// mend applies what the flags ask for, in memory; nil if they ask for nothing.
func mend(ctx context.Context, workspace *analysis.Workspace, flags *checkFlags, checked *analysis.Checked, costs rules.Costs) (*analysis.Fixed, error) {
	switch {
	case flags.addIgnore:
		return workspace.AddIgnores(ctx, checked, costs)
	case flags.fix, flags.diff:
		safety := rules.Safe
		if flags.unsafeFixes {
			safety = rules.Unsafe
		}
		return workspace.Fix(ctx, checked, safety, costs)
	default:
		return nil, nil
	}
}

func writeFindings(io streams, flags *checkFlags, found *report.Findings, style report.Style) error {
	switch {
	case flags.statistics && flags.format == "json":
		return report.WriteJSON(io.out, report.NewStatisticsDocument(found))
	case flags.statistics:
		return report.WriteStatistics(io.out, found)
	case flags.format == "json":
		return report.WriteJSON(io.out, report.NewCheckDocument(found))
	case flags.format == "sarif":
		return report.WriteCheckSARIF(io.out, found, steplineVersion())
	case flags.format == "github":
		return report.WriteCheckGitHub(io.out, found)
	case flags.format == "gitlab":
		return report.WriteCheckGitLab(io.out, found)
	default:
		return report.WriteCheckText(io.out, found, report.CheckView{Width: io.outputWidth(), Style: style})
	}
}

func writePatches(io streams, before *analysis.Checked, fixed *analysis.Fixed) error {
	for _, file := range before.Files {
		after, changed := fixed.After[file.Path]
		if !changed {
			continue
		}
		if err := report.WritePatch(io.out, file.Path, before.Texts[file], after); err != nil {
			return err
		}
	}
	return nil
}

// writeFixed replaces the changed files on disk. A file that changed since it was read is left alone and named.
func writeFixed(workspace *analysis.Workspace, fixed *analysis.Fixed) error {
	var errs []error
	for path, after := range fixed.After {
		name := path
		if !filepath.IsAbs(name) {
			name = filepath.Join(workspace.Root(), filepath.FromSlash(path))
			if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) { // outside the workspace: named as given
				name = filepath.FromSlash(path)
			}
		}
		errs = append(errs, replaceFile(name, fixed.Before[path], after))
	}
	return errors.Join(errs...)
}

// replaceFile writes a file anew by renaming, so that it is whole at any moment. Its mode stays; a link stays a link.
func replaceFile(name, before, after string) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	current, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if string(current) != before {
		return fmt.Errorf("%s: changed while it was checked; nothing was written, run again", name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	scratch, err := os.CreateTemp(filepath.Dir(name), ".stepline-*")
	if err != nil {
		return fmt.Errorf("%s: no file can be written in its folder: %w", name, cause(err))
	}
	defer func() {
		if err != nil {
			_ = os.Remove(scratch.Name())
		}
	}()
	_, err = scratch.WriteString(after)
	err = errors.Join(err, scratch.Chmod(info.Mode().Perm()), scratch.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(scratch.Name(), name)
}

func anyAboveHint(findings []rules.Finding) bool {
	return slices.ContainsFunc(findings, func(f rules.Finding) bool { return f.Severity > rules.Hint })
}
