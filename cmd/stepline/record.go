package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stepline/analysis"
	"stepline/capture"
	"stepline/traceindex/recorder"
)

// recordFlags are what of `record` is no option of the recorder itself.
type recordFlags struct {
	template  string
	set       []string
	onAnomaly []string
	watch     recorder.Watch
	maxDisk   string
	pythonAPI bool
}

func newRecordCommand(io streams) *cobra.Command {
	options := recorder.Options{Version: steplineVersion(), Out: io.out, Err: io.err, In: io.in}
	var flags recordFlags
	cmd := &cobra.Command{
		Use:   "record [options] -- python train.py …",
		Short: "Run a training script with the profiler attached and write its trace and call lines",
		Long: `Runs a command as it is, with torch.profiler attached to every Python process in it that trains: after the warm-up steps
the next steps are recorded, then the profiler is detached and the script goes on. The trace is written with the line of every
call beside it, which a trace alone does not hold. Works under torchrun (one file a rank). The exit code is the script's own.

With --template the settings are those of a capture template (` + "`stepline templates`" + `); options given besides go first. Templates of
Nsight Systems and Nsight Compute run the command under nsys or ncu, where they are installed.

With --on-anomaly the profiler stays off until a step is slow or the loss is no number: then the next steps are recorded into
a folder of their own, of which the last few are kept. SIGUSR2 to this command, or writing the file capture-now in the output
folder, records the next steps too. Each capture has a .capture.json beside its trace that says why it was made.`,
		Example: `  stepline record -- python train.py --epochs 1
  stepline record --steps 10 --output runs/today -- torchrun --nproc-per-node 2 train.py
  stepline record --template compile -- python train.py
  stepline record --on-anomaly 'step>1.2*p95' --on-anomaly nan --output captures -- python train.py`,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if flags.pythonAPI {
				return writePythonAPI(io.out, arguments)
			}
			run := recording{options: options, command: arguments}
			if err := run.apply(cmd, flags); err != nil {
				return err
			}
			if io.letChildDecide != nil {
				io.letChildDecide()
			}
			err := run.start(cmd.Context())
			if script := (*recorder.ExitError)(nil); errors.As(err, &script) {
				return &exitError{code: script.Code} // the script has said what there was to say
			}
			return err
		},
	}
	set := cmd.Flags()
	set.SetInterspersed(false) // what follows the command is the script's
	set.IntVar(&options.Steps, "steps", 5, "optimizer steps to record (with --on-anomaly 3 in each capture)")
	set.IntVar(&options.Warmup, "warmup", 3, "optimizer steps to let pass before")
	set.BoolVar(&options.Shapes, "shapes", false, "record the operators' input shapes too (slower, larger)")
	set.BoolVar(&options.Memory, "memory", false, "record allocations too (slower, larger)")
	set.BoolVar(&options.Snapshot, "snapshot", false, "write a GPU memory snapshot beside the trace (torch 2.1 or newer)")
	set.BoolVar(&options.NoFrames, "no-frames", false, "leave Python frames out: gaps without the profiler's load, but no lines")
	set.StringVarP(&options.OutDir, "output", "o", "", "folder to write to (default: a new one under the user's cache folder)")
	set.StringVar(&options.Root, "root", "", "the workspace whose sources are fingerprinted (default: the current folder)")
	set.BoolVar(&options.OmitText, "omit-text", false, "keep the sources' text out of the recording; hashes stay")
	set.StringVar(&flags.template, "template", "", "record as a capture template says; `NAME` of `stepline templates`")
	set.StringArrayVar(&flags.set, "set", nil, "a setting of the template, as `name=value` (repeat)")
	set.StringArrayVar(&flags.onAnomaly, "on-anomaly", nil, "record when this `CONDITION` holds: nan, step>1.2*p95, step>250ms (repeat)")
	set.IntVar(&flags.watch.Keep, "keep", 5, "with --on-anomaly: captures to keep, the newest")
	set.StringVar(&flags.maxDisk, "max-disk", "1GB", "with --on-anomaly: disk space of all captures kept")
	set.DurationVar(&flags.watch.Cooldown, "cooldown", time.Minute, "with --on-anomaly: time after a capture in which only one asked for is made")
	set.StringVar(&flags.watch.Signal, "signal", "USR2", "with --on-anomaly: the signal that asks for a capture; USR1, USR2 or none")
	set.StringVar(&flags.watch.Textfile, "textfile", "", "with --on-anomaly: keep the live step times for Prometheus in this `FILE.prom`")
	set.BoolVar(&flags.pythonAPI, "python-api", false, "print the Python module for loops of your own, and run nothing")
	return cmd
}

// recording is what one call of `record` will do.
type recording struct {
	options recorder.Options
	command []string
	// after is run when the command has ended well; load says how to read what was made.
	after []string
	load  string
}

// apply puts the command line's choices together: the template's first, what the user said himself over them.
func (r *recording) apply(cmd *cobra.Command, flags recordFlags) error {
	given := cmd.Flags().Changed
	switch {
	case r.options.Steps < 1:
		return usageError("--steps %d: record 1 or more", r.options.Steps)
	case r.options.Warmup < 0:
		return usageError("--warmup %d: let 0 or more steps pass", r.options.Warmup)
	}
	if given("warmup") && r.options.Warmup == 0 {
		r.options.Warmup = -1 // the recorder reads 0 as its default, and a user's 0 means none
	}
	if len(flags.onAnomaly) > 0 {
		bytes, ok := analysis.ParseBytes(flags.maxDisk)
		if !ok || bytes == 0 {
			return usageError("--max-disk %s: use a size such as 500MB", flags.maxDisk)
		}
		if flags.template != "" {
			return usageError("--template and --on-anomaly do not go together: give the options that you want, such as --shapes")
		}
		switch {
		case flags.watch.Keep < 1:
			return usageError("--keep %d: keep 1 or more captures", flags.watch.Keep)
		case flags.watch.Cooldown < 0:
			return usageError("--cooldown %s: use 0s for none, or a time such as 1m", flags.watch.Cooldown)
		}
		watch := flags.watch
		watch.When, watch.MaxBytes = flags.onAnomaly, bytes
		if watch.Cooldown == 0 {
			watch.Cooldown = -1
		}
		r.options.Watch = &watch
		if !given("steps") {
			r.options.Steps = 3
		}
		return nil
	}
	for _, name := range []string{"keep", "max-disk", "cooldown", "signal", "textfile"} {
		if given(name) {
			return usageError("--%s needs --on-anomaly, as in `stepline record --on-anomaly nan -- python train.py`", name)
		}
	}
	if flags.template == "" {
		if len(flags.set) > 0 {
			return usageError("--set needs --template; `stepline templates` lists them")
		}
		return nil
	}
	return r.applyTemplate(cmd, flags)
}

func (r *recording) applyTemplate(cmd *cobra.Command, flags recordFlags) error {
	template, err := capture.Find(flags.template)
	if err != nil {
		return err
	}
	settings, err := namedValues("--set", flags.set)
	if err != nil {
		return err
	}
	plan, err := template.Plan(settings, len(r.command) > 0)
	if err != nil {
		return err
	}
	given := cmd.Flags().Changed
	if !given("steps") && plan.Steps > 0 {
		r.options.Steps = plan.Steps
	}
	if !given("warmup") && plan.Warmup >= 0 {
		r.options.Warmup = plan.Warmup
		if plan.Warmup == 0 {
			r.options.Warmup = -1
		}
	}
	r.options.Shapes = r.options.Shapes || plan.Shapes
	r.options.NoFrames = r.options.NoFrames || plan.NoFrames
	r.options.Snapshot = r.options.Snapshot || plan.Snapshot
	if len(plan.Environment) > 0 {
		r.options.Env = append(os.Environ(), plan.Environment...)
	}
	if len(r.command) == 0 {
		r.command = plan.Command
	}
	if len(plan.Tool) == 0 {
		if !given("output") {
			r.options.OutDir = plan.Output
		}
		return nil
	}
	if given("output") {
		return usageError("template %s names its files by --set output=STEM, not --output", template.Name)
	}
	if _, err := exec.LookPath(plan.Tool[0]); err != nil {
		return usageError("template %s runs %s, which is not on the PATH; install it, or run where it is: %s %s (`stepline template %s` says more)",
			template.Name, plan.Tool[0], capture.ShellLine(plan.Tool), capture.ShellLine(r.command), template.Name)
	}
	r.command = append(plan.Tool, r.command...)
	r.options.Range, r.after, r.load = true, plan.After, plan.Load
	return nil
}

// start runs the command, and what a tool's template runs after it.
func (r *recording) start(ctx context.Context) error {
	if err := recorder.Run(ctx, r.options, r.command); err != nil {
		return err
	}
	if len(r.after) > 0 {
		after := exec.CommandContext(ctx, r.after[0], r.after[1:]...)
		after.Stdout, after.Stderr = r.options.Out, r.options.Err
		if err := after.Run(); err != nil {
			return fmt.Errorf("%s: %w", capture.ShellLine(r.after), err)
		}
	}
	if r.load != "" {
		fmt.Fprintln(r.options.Err, "stepline record: then: "+r.load)
	}
	return nil
}

func writePythonAPI(out io.Writer, arguments []string) error {
	if len(arguments) > 0 {
		return usageError("--python-api prints a module and runs nothing: stepline record --python-api > stepline_recorder.py")
	}
	text, err := recorder.PythonAPI(steplineVersion())
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// namedValues reads the name=value pairs of a repeated option, such as --set.
func namedValues(option string, pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, usageError("%s %s: write it as name=value", option, pair)
		}
		values[name] = value
	}
	return values, nil
}
