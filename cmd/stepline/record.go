package main

import (
	"errors"

	"github.com/spf13/cobra"

	"stepline/traceindex/recorder"
)

func newRecordCommand(io streams) *cobra.Command {
	options := recorder.Options{Version: steplineVersion(), Out: io.out, Err: io.err, In: io.in}
	cmd := &cobra.Command{
		Use:   "record [options] -- python train.py …",
		Short: "Run a training script with the profiler attached and write its trace and call lines",
		Long: `Runs a command as it is, with torch.profiler attached to every Python process in it that trains: after the warm-up steps
the next steps are recorded, then the profiler is detached and the script goes on. The trace is written with the call lines
beside it, so that every line in it is exact. Works under torchrun (one file a rank). The exit code is the script's own.`,
		Example: `  stepline record -- python train.py --epochs 1
  stepline record --steps 10 --output runs/today -- torchrun --nproc-per-node 2 train.py`,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			options.Warmup = recordedWarmup(cmd, options.Warmup)
			if io.letChildDecide != nil {
				io.letChildDecide()
			}
			err := recorder.Run(cmd.Context(), options, arguments)
			if script := (*recorder.ExitError)(nil); errors.As(err, &script) {
				return &exitError{code: script.Code} // the script has said what there was to say
			}
			return err
		},
	}
	set := cmd.Flags()
	set.SetInterspersed(false) // what follows the command is the script's
	set.IntVar(&options.Steps, "steps", 5, "optimizer steps to record")
	set.IntVar(&options.Warmup, "warmup", 3, "optimizer steps to let pass before")
	set.BoolVar(&options.Shapes, "shapes", false, "record the operators' input shapes too (slower, larger)")
	set.BoolVar(&options.Memory, "memory", false, "record allocations too (slower, larger)")
	set.StringVarP(&options.OutDir, "output", "o", "", "folder to write to (default: a new one under the user's cache folder)")
	set.StringVar(&options.Root, "root", "", "the workspace whose sources are fingerprinted (default: the current folder)")
	set.BoolVar(&options.OmitText, "omit-text", false, "keep the sources' text out of the recording; hashes stay")
	return cmd
}

// recordedWarmup is the option as the recorder takes it: it reads 0 as its default, and a user's 0 means none.
func recordedWarmup(cmd *cobra.Command, warmup int) int {
	if cmd.Flags().Changed("warmup") && warmup == 0 {
		return -1
	}
	return warmup
}
