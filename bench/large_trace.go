package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"stepline/bench/process"
)

func benchLargeTrace(stepline string, runs int) error {
	trace, err := largeTrace()
	if err != nil {
		return err
	}
	size, err := os.Stat(trace)
	if err != nil {
		return err
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("python3 is needed for the comparison with json.load")
	}
	cache, err := os.MkdirTemp("", "stepline-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	lines := func(cacheFolder string) *exec.Cmd {
		command := exec.Command(stepline, "lines", trace, "--root", "testdata/traces/gpt", "--format", "json")
		command.Env = append(os.Environ(), "XDG_CACHE_HOME="+cacheFolder)
		return command
	}
	var base, first, again []process.Usage
	for i := range runs {
		folder := filepath.Join(cache, fmt.Sprint(i)) // a fresh cache: this run reads the JSON
		for _, measured := range []struct {
			list    *[]process.Usage
			command *exec.Cmd
		}{
			{&base, exec.Command(python, "-c", "import gzip, json, sys; json.load(gzip.open(sys.argv[1]))", trace)},
			{&first, lines(folder)},
			{&again, lines(folder)},
		} {
			took, output, err := process.Run(measured.command)
			if err != nil {
				return err
			}
			*measured.list = append(*measured.list, took)
			if measured.list != &base {
				if err := sumsUp(output); err != nil {
					return err
				}
			}
		}
	}
	python3, cold, cached := process.Median(base), process.Median(first), process.Median(again)
	row("trace", "%s, %.1f MB gzip; %s/%s, %d cores", filepath.Base(trace), float64(size.Size())/1e6, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	row("python3 json.load", "%.2f s, %.0f MB peak", python3.Wall.Seconds(), float64(python3.PeakBytes)/1e6)
	row("stepline lines, first open", "%.2f s (%.3f×), %.0f MB peak (%.3f×)", cold.Wall.Seconds(), ratio(cold.Wall, python3.Wall),
		float64(cold.PeakBytes)/1e6, float64(cold.PeakBytes)/float64(python3.PeakBytes))
	row("stepline lines, again", "%.2f s (%.3f×), %.0f MB peak (%.3f×)", cached.Wall.Seconds(), ratio(cached.Wall, python3.Wall),
		float64(cached.PeakBytes)/1e6, float64(cached.PeakBytes)/float64(python3.PeakBytes))
	return nil
}

// sumsUp checks that a fast answer is a right one: lines and unattributed rows add up to the trace's GPU time.
func sumsUp(output []byte) error {
	var document struct {
		Trace struct {
			Total float64 `json:"gpu_total_us"`
		} `json:"trace"`
		Lines []struct {
			Self     float64 `json:"cuda_self_us"`
			Backward float64 `json:"cuda_backward_us"`
		} `json:"lines"`
		Unattributed []struct {
			Time float64 `json:"cuda_us"`
		} `json:"unattributed"`
	}
	if err := json.Unmarshal(output, &document); err != nil {
		return err
	}
	sum := 0.0
	for _, line := range document.Lines {
		sum += line.Self + line.Backward
	}
	for _, rest := range document.Unattributed {
		sum += rest.Time
	}
	if difference := sum - document.Trace.Total; document.Trace.Total == 0 || difference > 0.01 || difference < -0.01 {
		return fmt.Errorf("lines sum to %.3f µs, the trace has %.3f µs", sum, document.Trace.Total)
	}
	return nil
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }
