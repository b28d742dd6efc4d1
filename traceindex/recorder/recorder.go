package recorder

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

//go:embed python/*.py
var python embed.FS

// settings is what the Python part reads from STEPLINE_RECORD.
type settings struct {
	Dir     string `json:"dir"`
	Control string `json:"control"`
	Steps   int    `json:"steps"`
	Warmup  int    `json:"warmup"`
	Shapes  bool   `json:"shapes"`
	Memory  bool   `json:"memory"`
	Root    string `json:"root"`
	Text    bool   `json:"text"`
	Version string `json:"version"`
	// Mode is "" for one window, else watch, time or range.
	Mode     string         `json:"mode,omitempty"`
	Frames   bool           `json:"frames"`
	Snapshot bool           `json:"snapshot,omitempty"`
	Watch    map[string]any `json:"watch,omitempty"`
	Seed     *int64         `json:"seed,omitempty"`
}

func (o Options) settings(control string) settings {
	s := settings{
		Dir: o.OutDir, Control: control, Steps: o.Steps, Warmup: o.Warmup, Shapes: o.Shapes, Memory: o.Memory, Root: o.Root,
		Text: !o.OmitText, Version: o.Version, Frames: !o.NoFrames, Snapshot: o.Snapshot,
	}
	switch {
	case o.Watch != nil:
		s.Mode, s.Watch = "watch", o.Watch.settings()
	case o.Range:
		s.Mode = "range"
	}
	return s
}

// Run runs a command with the recorder attached to every Python process in it that trains, and waits for it. The script keeps
// its streams, working folder and signals: those that reach this process are passed on, an interrupt from the terminal has
// reached the script already. A done ctx interrupts the script like Ctrl-C and lets it end in its own time.
//
// The error is an *[ExitError] where the script failed (also when it was recorded), a *[NothingRecordedError] where it ran
// well but left no trace, and another one where it could not be started. What was recorded is told on Options.Err.
func Run(ctx context.Context, options Options, args []string) error {
	if len(args) == 0 {
		return errNoCommand
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		if strings.HasSuffix(args[0], ".py") {
			return fmt.Errorf("%s cannot be run as a program: start it with Python, as in `stepline record -- python %s`", args[0], args[0])
		}
		return fmt.Errorf("cannot run the script: %w", err)
	}
	options, err = options.withDefaults(scriptName(args))
	if err != nil {
		return err
	}
	if err := writable(options.OutDir); err != nil {
		return err
	}
	control, err := os.MkdirTemp("", "stepline-record-")
	if err != nil {
		return fmt.Errorf("a folder for the recorder: %w", err)
	}
	defer os.RemoveAll(control)
	environment, err := install(control, options.settings(control), options.Env)
	if err != nil {
		return err
	}
	command := exec.Command(program, args[1:]...)
	command.Args[0] = args[0]
	command.Env = environment
	command.Stdin, command.Stdout, command.Stderr = options.In, options.Out, options.Err
	code, err := runPassingSignals(ctx, command, options.askForCapture())
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", args[0], err)
	}
	if options.Watch != nil {
		return concludeWatch(options, control, code)
	}
	return conclude(options, control, code)
}

// writable makes the output folder and sees that a file can be made in it, before the script spends its time.
func writable(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	probe, err := os.CreateTemp(folder, ".stepline-*")
	if err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// install lays the Python part out and returns the environment that leads to it.
func install(control string, chosen settings, base []string) ([]string, error) {
	parts, err := fs.Glob(python, "python/*.py")
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		text, err := python.ReadFile(part)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(control, filepath.Base(part)), text, 0o644); err != nil {
			return nil, fmt.Errorf("the recorder: %w", err)
		}
	}
	told, err := json.Marshal(chosen)
	if err != nil {
		return nil, err
	}
	environment := make([]string, 0, len(base)+2)
	path := control
	for _, entry := range base {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "PYTHONPATH":
			if value != "" {
				path += string(os.PathListSeparator) + value
			}
		case "STEPLINE_RECORD":
		default:
			environment = append(environment, entry)
		}
	}
	return append(environment, "PYTHONPATH="+path, "STEPLINE_RECORD="+string(told)), nil
}

// exitCode is a shell's: the process's own, or 128 and the signal's number.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
