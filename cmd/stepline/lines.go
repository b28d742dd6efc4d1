package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stepline/analysis"
	"stepline/report"
	"stepline/traceindex"
)

func newLinesCommand(io streams) *cobra.Command {
	var root, format, order string
	var top, rank int
	var all, memory bool
	cmd := &cobra.Command{
		Use:   "lines TRACE…",
		Short: "Print what each line costs on the GPU",
		Long: `Reads traces (files, folders of ranks, globs) as one run and prints what each source line costs: GPU time forward and
backward, kernels, and how sure the line is. Text shows means per step, JSON and CSV sums over the whole trace.
Nsight Compute reports (CSV), NCCL logs and memory snapshots given beside the traces say more about the same lines; with
--memory the table is that of the snapshots: what each line holds.`,
		Example: `  stepline lines trace.json.gz
  stepline lines runs/ --root src --top 20
  stepline lines trace.json.gz --format json | jq '.lines[0]'
  stepline lines --memory trace.json.gz memory_snapshot.pickle`,
		RunE: func(cmd *cobra.Command, traces []string) error {
			if len(traces) == 0 {
				return usageError("name a trace, as in `stepline lines trace.json.gz`; `stepline record -- python train.py` makes one")
			}
			if !slices.Contains([]string{"text", "json", "csv"}, format) {
				return usageError("--format %s: use text, json or csv", format)
			}
			key, err := report.ParseLineOrder(order)
			if err != nil {
				return usageError("--sort: %v", err)
			}
			if top < 0 {
				return usageError("--top %d: a number of lines, 0 for all", top)
			}
			style, err := io.style(cmd)
			if err != nil {
				return err
			}
			workspace, err := openWorkspace(cmd.Context(), io, root, nil)
			if err != nil {
				return err
			}
			view := report.LinesView{Width: io.outputWidth(), Style: style, Order: key, Top: top, All: all}
			folders, err := setFolders(traces)
			if err != nil {
				return err
			}
			if len(folders) > 0 {
				if memory {
					return usageError("--memory: indexed ranks carry no memory snapshot; give the snapshot beside a trace")
				}
				if !cmd.Flags().Changed("rank") {
					rank = -1
				}
				return linesOfSet(cmd.Context(), io, folders, rank, format, view)
			}
			loaded, unusable := loadTrace(cmd.Context(), io, workspace, traces, analysis.LoadOptions{CostsOnly: true, BesideAlone: true})
			if loaded == nil {
				return unusable
			}
			if memory && (loaded.Beside == nil || loaded.Beside.Memory == nil) {
				return usageError("--memory: none of the inputs is a memory snapshot; torch.cuda.memory._dump_snapshot writes one")
			}
			costs := loaded.Costs
			if cmd.Flags().Changed("rank") {
				if costs, err = loaded.RankCosts(rank); err != nil {
					return usageError("--rank: %v", err)
				}
				loaded.finish(costs)
			}
			switch format {
			case "json":
				document := report.NewLinesDocument(costs, report.RankLines(costs.Lines, key, top))
				document.Beside = loaded.Beside
				err = report.WriteJSON(io.out, document)
			case "csv":
				if memory {
					err = report.WriteMemoryCSV(io.out, loaded.Beside.Memory, top)
				} else {
					err = report.WriteLinesCSV(io.out, report.RankLines(costs.Lines, key, top))
				}
			default:
				view.Source = sourceLines(loaded.Sources)
				err = writeLines(io, loaded, costs, memory, view)
			}
			if err != nil {
				return err
			}
			printWarnings(io, costs.Warnings)
			if unusable != nil {
				return &exitError{code: exitUsage, cause: unusable}
			}
			return nil
		},
	}
	set := cmd.Flags()
	set.StringVar(&root, "root", ".", "the workspace: the folder of the sources that ran")
	set.StringVar(&format, "format", "text", "text, json or csv")
	set.StringVar(&order, "sort", string(report.OrderGPU), "rank lines by: "+orderNames())
	set.IntVar(&top, "top", 0, "show this many lines; 0 shows all that matter")
	set.BoolVar(&all, "all", false, "text: show every line, however cheap")
	set.BoolVar(&memory, "memory", false, "what each line holds in GPU memory, by the memory snapshots among the inputs")
	set.IntVar(&rank, "rank", 0, "count one rank alone (default: all ranks together)")
	return cmd
}

// writeLines prints the table of the lines, or that of their memory, and what the other inputs say.
func writeLines(io streams, loaded *loadedTrace, costs *traceindex.Costs, memory bool, view report.LinesView) error {
	if memory {
		return report.WriteMemoryText(io.out, loaded.Beside.Memory, view)
	}
	if len(loaded.Run.Ranks) > 0 {
		if err := report.WriteLinesText(io.out, costs, view); err != nil {
			return err
		}
	}
	view.NoHeading = len(loaded.Run.Ranks) == 0
	count, _ := report.StepCount(costs.Summary)
	return report.WriteBesideText(io.out, loaded.Beside, view, 1/float64(count))
}

func orderNames() string {
	names := make([]string, len(report.LineOrders))
	for i, order := range report.LineOrders {
		names[i] = string(order)
	}
	return strings.Join(names, ", ")
}

// sourceLines looks lines up in the texts the costs were put on.
func sourceLines(sources map[string]string) func(file string, line int) string {
	split := map[string][]string{}
	return func(file string, line int) string {
		lines, known := split[file]
		if !known {
			lines = strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(sources[file], "\ufeff")), "\n")
			split[file] = lines
		}
		if line < 1 || line > len(lines) {
			return ""
		}
		return lines[line-1]
	}
}
