package verify

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"stepline/traceindex/recorder"
)

// side is one of the two that are run.
type side struct {
	name    string // base or new
	told    string // its ref or command, for people
	dir     string
	command []string
	env     []string
}

// run is one run of a side.
type run struct {
	stepNs  []float64 // warm-up left out
	losses  []float64
	waitNs  []float64
	clock   string
	wallNs  float64
	gpuPeak *float64 // bytes
	host    *float64
}

// FailedError is a command that did not end well, with the end of what it printed.
type FailedError struct {
	Side, Told string
	Run        int // from 1
	Code       int // negative where a signal ended it
	Last       []string
}

func (e *FailedError) Error() string {
	how := fmt.Sprintf("with exit code %d", e.Code)
	if e.Code < 0 {
		how = "by a signal"
	}
	said := "it printed nothing"
	if len(e.Last) > 0 {
		said = "its last lines are above"
	}
	return fmt.Sprintf("%s (%s) failed in its run %d %s; %s", e.Side, e.Told, e.Run, how, said)
}

const lastLines = 20

// output takes what a command prints: its last lines, and what the patterns find.
type output struct {
	step    *StepPattern
	loss    *LossPattern
	last    []string
	partial []byte
	stepNs  []float64
	losses  []float64
}

func (o *output) Write(text []byte) (int, error) {
	o.partial = append(o.partial, text...)
	for {
		end := bytes.IndexAny(o.partial, "\r\n") // progress bars end their lines with \r
		if end < 0 {
			return len(text), nil
		}
		o.line(string(o.partial[:end]))
		o.partial = o.partial[end+1:]
	}
}

func (o *output) line(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if len(o.last) == lastLines {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, line)
	if o.step != nil {
		if ns, found := o.step.read(line); found {
			o.stepNs = append(o.stepNs, ns)
		}
	}
	if o.loss != nil {
		if v, found := o.loss.read(line); found {
			o.losses = append(o.losses, v)
		}
	}
}

// once runs a side once and reads what it did.
func (s *side) once(ctx context.Context, o Options, number int) (*run, error) {
	timer, err := recorder.NewTimer(s.env, o.Seed)
	if err != nil {
		return nil, err
	}
	defer timer.Close()
	command := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	command.Dir, command.Env = s.dir, timer.Environment
	printed := &output{step: o.Step, loss: o.Loss}
	command.Stdout, command.Stderr = printed, printed
	endTogether(command)
	started := time.Now()
	err = command.Run()
	wall := time.Since(started)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(printed.partial) > 0 {
		printed.line(string(printed.partial))
	}
	if err != nil {
		if command.ProcessState == nil {
			return nil, fmt.Errorf("%s (%s): %w", s.name, s.told, err)
		}
		return nil, &FailedError{Side: s.name, Told: s.told, Run: number, Code: command.ProcessState.ExitCode(), Last: printed.last}
	}
	timing, unseen := timer.Read()
	if timing == nil {
		timing = &recorder.Timing{}
	}
	return s.measured(o, printed, timing, unseen, wall)
}

// measured chooses between what was printed and what was timed.
func (s *side) measured(o Options, printed *output, timing *recorder.Timing, unseen error, wall time.Duration) (*run, error) {
	r := &run{wallNs: float64(wall.Nanoseconds()), gpuPeak: timing.GPUPeakBytes, host: timing.HostPeakBytes, losses: timing.Losses}
	if o.Loss != nil {
		if r.losses = printed.losses; len(r.losses) == 0 {
			return nil, fmt.Errorf("%s (%s): no line of its output fits --loss-pattern", s.name, s.told)
		}
	}
	r.waitNs = timing.SteadyWaits()
	steps := timing.StepNs
	r.clock = timing.Clock
	switch {
	case o.Wall:
		r.stepNs, r.clock = []float64{r.wallNs}, wallClock
		return r, nil
	case o.Step != nil:
		if steps = printed.stepNs; len(steps) == 0 {
			return nil, fmt.Errorf("%s (%s): no line of its output fits --step-pattern", s.name, s.told)
		}
		r.clock = "output"
	case o.Base == nil && len(r.waitNs) > 0:
		// Only the loader is measured; a script that reads it and takes no step is fine.
	case len(steps) == 0:
		why := "it took fewer than two steps"
		if unseen != nil {
			why = unseen.Error()
		}
		return nil, fmt.Errorf("%s (%s): no step was timed: %s; have them printed and give --step-pattern, or compare whole runs with --wall", s.name, s.told, why)
	}
	if len(steps) > 0 && len(steps) <= o.Warmup {
		return nil, fmt.Errorf("%s (%s): %d steps, and the first %d are left out as warm-up; run more steps or give a smaller --warmup", s.name, s.told, len(steps), o.Warmup)
	}
	r.stepNs = steps[min(o.Warmup, len(steps)):]
	return r, nil
}
