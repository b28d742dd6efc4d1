package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"stepline/analysis"
	"stepline/traceindex/rankset/parquet"
)

type indexFlags struct {
	dir, root, runID, host string
	rank                   int
}

func newIndexCommand(io streams) *cobra.Command {
	var flags indexFlags
	cmd := &cobra.Command{
		Use:   "index --parquet DIR TRACE…",
		Short: "Write what a report needs of a rank as Parquet, for runs of many ranks",
		Long: `Reads the trace of a rank on its own node and writes its lines, steps, gaps with their causes, GPU time, collectives and
findings into the folder DIR, as Parquet partitioned by rank. The jobs of all ranks can write into one DIR at once; indexing a
rank again replaces it. stepline report, lines and diff take DIR in the place of traces, and so do DuckDB, Spark and Polars.

The rank is the trace's own, or that of its file's name. The run's id is --run-id, else that of the scheduler.`,
		Example: `  stepline index --parquet /shared/run42 --root src trace.rank3.json.gz
  stepline report /shared/run42
  stepline diff /shared/run41 --with /shared/run42`,
		RunE: func(cmd *cobra.Command, traces []string) error {
			switch {
			case flags.dir == "":
				return usageError("name the folder to write into, as in `stepline index --parquet runs/42 trace.json.gz`")
			case len(traces) == 0:
				return usageError("name a trace, as in `stepline index --parquet %s trace.json.gz`", flags.dir)
			case cmd.Flags().Changed("rank") && flags.rank < 0:
				return usageError("--rank %d: a rank counts from 0", flags.rank)
			}
			return runIndex(cmd.Context(), io, traces, flags)
		},
	}
	set := cmd.Flags()
	set.StringVar(&flags.dir, "parquet", "", "the folder of the set, the same for all ranks of a run")
	set.StringVar(&flags.root, "root", ".", "the workspace: the folder of the sources that ran")
	set.StringVar(&flags.runID, "run-id", "", "the run's name (default: SLURM_JOB_ID, TORCHELASTIC_RUN_ID or RAY_JOB_ID)")
	set.StringVar(&flags.host, "host", "", "this machine's name (default: its host name)")
	set.IntVar(&flags.rank, "rank", -1, "the rank of the one trace given, where the trace does not say it")
	return cmd
}

// runVariables name a run to schedulers and launchers, the outermost first.
var runVariables = []string{"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "RAY_JOB_ID"}

func runIndex(ctx context.Context, io streams, traces []string, flags indexFlags) error {
	workspace, err := openWorkspace(ctx, io, flags.root, nil)
	if err != nil {
		return err
	}
	trace, unusable := loadTrace(ctx, io, workspace, traces, analysis.LoadOptions{})
	if trace == nil {
		return unusable
	}
	if flags.rank >= 0 && len(trace.Run.Ranks) > 1 {
		return usageError("--rank %d: there are %d ranks in what was given; --rank names one", flags.rank, len(trace.Run.Ranks))
	}
	if flags.host == "" {
		if flags.host, err = os.Hostname(); err != nil {
			return fmt.Errorf("the host's name is not known, name it with --host: %w", err)
		}
	}
	for _, variable := range runVariables {
		if flags.runID == "" {
			flags.runID = io.environment(variable)
		}
	}
	seen := map[int]bool{}
	for place, ix := range trace.Run.Ranks {
		number := ix.Meta.Rank
		switch {
		case flags.rank >= 0:
			number = flags.rank
		case number < 0:
			number = 0
			fmt.Fprintf(io.err, "stepline: warning: %s names no rank and is written as rank 0; --rank names another\n", trace.names.shown(ix.Meta.File))
		}
		if seen[number] {
			return &exitError{code: exitUsage, cause: fmt.Errorf("%s: rank %d a second time; the first one was written, index this one with --rank NUMBER", trace.names.shown(ix.Meta.File), number)}
		}
		seen[number] = true
		rank, err := workspace.IndexRank(ctx, trace.Loaded, place)
		if err != nil {
			return err
		}
		rank.Number, rank.Info.Host, rank.Info.RunID = number, flags.host, flags.runID
		if err := parquet.Write(ctx, flags.dir, rank, steplineVersion()); err != nil {
			if errors.Is(err, context.Canceled) {
				return err
			}
			return fmt.Errorf("rank %d was not written: %w", number, err)
		}
		fmt.Fprintf(io.out, "rank %d → %s: %d steps, %d gaps, %d lines, %d collectives\n", number, flags.dir, len(rank.Steps), len(rank.Gaps), len(rank.Lines), len(rank.Collectives))
	}
	printWarnings(io, trace.warnings)
	if unusable != nil {
		return &exitError{code: exitUsage, cause: unusable}
	}
	return nil
}
