package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stepline/report"
	"stepline/verify"
)

type verifyFlags struct {
	base, new, baseCommand   string
	runs, warmup             int
	seed                     int64
	stepPattern, lossPattern string
	wall, noLosses           bool
	tolerance, failAbove     string
	loaderBudget             time.Duration
	copied, linked           []string
	format                   string
}

func newVerifyCommand(io streams) *cobra.Command {
	var flags verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [options] -- python bench.py …",
		Short: "Run a change and its base in turn: is it faster, and are its results the same",
		Long: `Runs two sides in turn, several times each, and says whether the new one is faster beyond noise and whether its losses are
the same. A side is a git commit, checked out in a temporary worktree, or a command:

  --base REF           that commit against the working tree (uncommitted changes included)
  --base REF --new REF one commit against another
  --base-command LINE  a shell line against the command after ` + "`--`" + `, both in the current folder

Steps are timed and losses read without an edit to the script, as ` + "`stepline record`" + ` finds them (optimizer steps, backward calls),
with the profiler off; --step-pattern and --loss-pattern read them from the output instead. torch, random and NumPy start from
--seed. A run counts once, by its mean step; Welch's t-test over the runs says what is noise.

--loader-budget holds the mean wait for a DataLoader's batch against a budget, with or without a base; alone it repeats the
runs until the budget is outside the 95 % interval, three times --runs at most, and fails only when the interval lies over it.

Exit codes: 0 fine, 1 a gate failed or results differ, 2 a command failed or wrong usage. Ctrl-C removes the worktrees.`,
		Example: `  stepline verify --base main -- python bench.py
  stepline verify --base v1.2 --new HEAD --runs 8 --fail-above 3% --format markdown -- python bench.py
  stepline verify --base-command 'python old.py' -- python new.py
  stepline verify --loader-budget 5ms -- python train.py --steps 50`,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			options, err := flags.options(cmd, io, arguments)
			if err != nil {
				return err
			}
			return runVerify(cmd.Context(), io, flags.format, options)
		},
	}
	set := cmd.Flags()
	set.SetInterspersed(false) // what follows the command is the script's
	set.StringVar(&flags.base, "base", "", "the git `REF` to compare with")
	set.StringVar(&flags.new, "new", "", "the git `REF` to measure (default: the working tree)")
	set.StringVar(&flags.baseCommand, "base-command", "", "compare with this shell `LINE`, in the current folder")
	set.IntVar(&flags.runs, "runs", 5, "runs of each side")
	set.IntVar(&flags.warmup, "warmup", 5, "first steps of each run that are left out")
	set.Int64Var(&flags.seed, "seed", 0, "what torch, random and NumPy start from; a negative number leaves them alone")
	set.StringVar(&flags.stepPattern, "step-pattern", "", `read step times from the output: a `+"`REGEX`"+` with a group named ms, s, us or rate, as in 'step (?P<ms>[\d.]+) ms'`)
	set.StringVar(&flags.lossPattern, "loss-pattern", "", `read losses from the output: a `+"`REGEX`"+` with a group around the number, as in 'loss (\S+)'`)
	set.BoolVar(&flags.wall, "wall", false, "compare the commands' whole time instead of steps")
	set.StringVar(&flags.tolerance, "loss-tolerance", "0.1%", "relative difference up to which losses are equal")
	set.BoolVar(&flags.noLosses, "no-losses", false, "do not compare losses")
	set.StringVar(&flags.failAbove, "fail-above", "", "exit 1 when the mean step grew by more than this, as in 3%, beyond noise")
	set.DurationVar(&flags.loaderBudget, "loader-budget", 0, "exit 1 when the mean wait for a batch is over this, as in 5ms")
	set.StringArrayVar(&flags.copied, "copy", nil, "copy this `PATH` of the checkout into both worktrees, such as a benchmark that the base does not have (repeat)")
	set.StringArrayVar(&flags.linked, "link", nil, "link this `PATH` of the checkout into both worktrees, such as ignored data (repeat)")
	set.StringVar(&flags.format, "format", "text", "text, markdown or json")
	return cmd
}

func (f *verifyFlags) options(cmd *cobra.Command, io streams, command []string) (verify.Options, error) {
	given := cmd.Flags().Changed
	o := verify.Options{
		Command: command, Runs: f.runs, Warmup: f.warmup, Wall: f.wall, LoaderBudget: f.loaderBudget, Copy: f.copied, Link: f.linked,
		Env: os.Environ(), Told: io.err, FailAbove: -1,
	}
	var err error
	if o.Dir, err = os.Getwd(); err != nil {
		return o, err
	}
	if given("warmup") && f.warmup == 0 {
		o.Warmup = -1
	}
	if f.seed >= 0 {
		o.Seed = &f.seed
	}
	switch {
	case f.runs < 2:
		return o, usageError("--runs %d: a single run has no scatter to tell noise by; use 2 or more", f.runs)
	case f.warmup < 0:
		return o, usageError("--warmup %d: leave 0 or more steps out", f.warmup)
	case !slices.Contains(diffFormats, f.format):
		return o, usageError("--format %s: use text, markdown or json", f.format)
	case f.base != "" && f.baseCommand != "":
		return o, usageError("--base and --base-command do not go together: the base is a commit or a command")
	case f.new != "" && f.base == "":
		return o, usageError("--new needs --base, the commit to compare with")
	case f.wall && f.stepPattern != "":
		return o, usageError("--wall and --step-pattern do not go together")
	case f.loaderBudget < 0:
		return o, usageError("--loader-budget %s: use a time such as 5ms", f.loaderBudget)
	case (len(f.copied) > 0 || len(f.linked) > 0) && f.base == "":
		return o, usageError("--copy and --link bring files into worktrees, which only --base makes")
	}
	switch {
	case f.base != "":
		o.Base = &verify.Source{Ref: f.base}
		o.New = verify.Source{Ref: f.new, WorkingTree: f.new == ""}
	case f.baseCommand != "":
		o.Base = &verify.Source{Shell: f.baseCommand}
	}
	if o.FailAbove, err = parseShare(f.failAbove); err != nil {
		return o, usageError("--fail-above %s: %v", f.failAbove, err)
	}
	if o.LossTolerance, err = parseShare(f.tolerance); err != nil || f.tolerance == "" {
		return o, usageError("--loss-tolerance %s: use a relative difference such as 0.1%%", f.tolerance)
	}
	if f.noLosses {
		o.LossTolerance = -1
	}
	return o, f.patterns(&o)
}

func (f *verifyFlags) patterns(o *verify.Options) (err error) {
	if f.stepPattern != "" {
		if o.Step, err = verify.NewStepPattern(f.stepPattern); err != nil {
			return usageError("--step-pattern %s: %v", f.stepPattern, err)
		}
	}
	if f.lossPattern != "" {
		if o.Loss, err = verify.NewLossPattern(f.lossPattern); err != nil {
			return usageError("--loss-pattern %s: %v", f.lossPattern, err)
		}
	}
	return nil
}

func runVerify(ctx context.Context, io streams, format string, options verify.Options) error {
	if io.letChildDecide != nil {
		io.letChildDecide()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	result, err := verify.Run(ctx, options)
	if failed := (*verify.FailedError)(nil); errors.As(err, &failed) {
		for _, line := range failed.Last {
			fmt.Fprintln(io.err, "  | "+report.Printable(line))
		}
	}
	if err != nil {
		return err
	}
	switch format {
	case "json":
		err = verify.WriteJSON(io.out, result)
	case "markdown":
		err = verify.WriteMarkdown(io.out, result)
	default:
		err = verify.WriteText(io.out, result)
	}
	if err == nil && result.Failed() {
		return &exitError{code: exitFindings}
	}
	return err
}
