// Package process runs the programs that the benchmarks measure: how long each takes, and how much memory it holds at most.
//
// It is imported by the commands bench and bench/ranks.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Usage is what one run of a process took.
type Usage struct {
	Wall time.Duration
	// PeakBytes is the largest resident set, as the kernel counted it.
	PeakBytes int64
}

// Run runs a command to its end and returns what it took and its standard output. The error of a command that fails ends with
// what it wrote to standard error.
func Run(command *exec.Cmd) (Usage, []byte, error) {
	var out, trouble bytes.Buffer
	command.Stdout, command.Stderr = &out, &trouble
	started := time.Now()
	err := command.Run()
	took := time.Since(started)
	if err != nil {
		return Usage{}, nil, fmt.Errorf("%s: %w: %s", filepath.Base(command.Path), err, bytes.TrimSpace(trouble.Bytes()))
	}
	peak, ok := peakBytes(command.ProcessState)
	if !ok {
		return Usage{}, nil, errors.New("this system does not tell a process's peak memory")
	}
	return Usage{Wall: took, PeakBytes: peak}, out.Bytes(), nil
}

// Median is the median time and the median peak of several runs, one at least.
func Median(runs []Usage) Usage {
	walls, peaks := make([]time.Duration, len(runs)), make([]int64, len(runs))
	for i, each := range runs {
		walls[i], peaks[i] = each.Wall, each.PeakBytes
	}
	slices.Sort(walls)
	slices.Sort(peaks)
	return Usage{Wall: walls[len(walls)/2], PeakBytes: peaks[len(peaks)/2]}
}
