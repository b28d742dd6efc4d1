package recorder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say what to record and where to. The zero value of a field means its default, where one is named.
type Options struct {
	// Steps is how many optimizer steps are recorded; default 5.
	Steps int
	// Warmup is how many optimizer steps pass before the recording starts; default 3, a negative number means 0. The first
	// step's end is the first that can be seen, so 0 records from there as 1 does, without a step for the profiler to warm
	// up.
	Warmup int
	// Shapes records the operators' input shapes, Memory their allocations. Both make the trace larger and the steps slower.
	Shapes, Memory bool
	// NoFrames leaves Python frames out: the gaps come out as they are without the profiler's load, lines do not.
	NoFrames bool
	// Snapshot writes a memory snapshot beside the trace, with the Python frames of every block; it needs a GPU and torch 2.1.
	Snapshot bool
	// Watch, where it is set, records on anomaly instead of once; Steps are then the steps of each capture, Warmup is unused.
	Watch *Watch
	// Range calls the CUDA profiler API around the window instead of recording it: for a command run under nsys or ncu.
	Range bool
	// OutDir is the folder to write to; it is made where missing, and files of the same names are replaced. Default: a new
	// folder under the user's cache folder, so that the workspace is left alone.
	OutDir string
	// Root is the workspace, whose source files are fingerprinted; default the current folder.
	Root string
	// OmitText leaves the sources' text out of the fingerprint; hashes stay.
	OmitText bool
	// Version of stepline, noted in the files.
	Version string
	// In, Out and Err are the script's streams; Err gets Run's own lines too. Default: the process's own. A file is handed
	// to the script itself, so that a terminal stays one.
	In       io.Reader
	Out, Err io.Writer
	// Env is the environment to run in; default os.Environ().
	Env []string
}

func (o Options) withDefaults(script string) (Options, error) {
	switch {
	case o.Steps < 0:
		return o, fmt.Errorf("%d steps: record 1 or more", o.Steps)
	case o.Steps == 0:
		o.Steps = 5
	}
	switch {
	case o.Warmup < 0:
		o.Warmup = 0
	case o.Warmup == 0:
		o.Warmup = 3
	}
	if o.Snapshot && (o.Watch != nil || o.Range) {
		return o, errors.New("a memory snapshot is written beside one recording: leave out --snapshot, or record without --on-anomaly and without a template that runs nsys or ncu")
	}
	if o.Watch != nil {
		if err := o.Watch.check(); err != nil {
			return o, err
		}
	}
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Err == nil {
		o.Err = os.Stderr
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Root == "" {
		o.Root = "."
	}
	var err error
	if o.Root, err = filepath.Abs(o.Root); err != nil {
		return o, fmt.Errorf("workspace %s: %w", o.Root, err)
	}
	if o.OutDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("no folder to write to: %w; name one with --output", err)
		}
		o.OutDir = filepath.Join(cache, "stepline", "recordings", script+"-"+time.Now().Format("20060102-150405"))
	}
	if o.OutDir, err = filepath.Abs(o.OutDir); err != nil {
		return o, fmt.Errorf("output folder %s: %w", o.OutDir, err)
	}
	if o.Watch != nil && o.Watch.Textfile != "" {
		if o.Watch, err = o.Watch.withTextfile(); err != nil {
			return o, err
		}
	}
	return o, nil
}

// scriptName is what the recording's default folder is called after: the first argument that names a Python file or module.
func scriptName(args []string) string {
	for i, arg := range args {
		if strings.HasSuffix(arg, ".py") {
			return strings.TrimSuffix(filepath.Base(arg), ".py")
		}
		if i > 0 && args[i-1] == "-m" && !strings.HasPrefix(arg, "torch.distributed") {
			return arg
		}
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

var errNoCommand = errors.New("no command to record: give it after `--`, as in `stepline record -- python train.py`")

// ExitError is the script's own failure, to be passed on as the exit code; the script has said what there was to say.
type ExitError struct {
	// Code is the script's exit code, or 128 plus the number of the signal that ended it, as a shell has it.
	Code int
}

func (e *ExitError) Error() string { return fmt.Sprintf("the script ended with exit code %d", e.Code) }

// NothingRecordedError says why a script that ran well left no trace.
type NothingRecordedError struct{ Reason string }

func (e *NothingRecordedError) Error() string { return "nothing was recorded: " + e.Reason }
