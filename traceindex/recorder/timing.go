package recorder

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Timing is what one run of a script was seen to do without a profiler: the process that took the most steps, rank 0 first.
type Timing struct {
	Rank *int `json:"rank"`
	// Steps is how many steps were taken; StepNs has each one's time from the end of the step before, so one less.
	Steps  int       `json:"steps"`
	StepNs []float64 `json:"step_ns"`
	// Clock is "cuda events" or "host".
	Clock string `json:"clock"`
	// Losses are the values on which the script called backward(), in order.
	Losses []float64 `json:"-"`
	// WaitNs is the time in the DataLoader's __next__ for each batch; FirstWaits are the indices of each iterator's first,
	// in which its workers start.
	WaitNs     []float64 `json:"wait_ns"`
	FirstWaits []int     `json:"first_waits"`
	// Peaks in bytes; nil where they are not known. GPUPeakBytes is of allocated memory, GPUReservedBytes of the caching
	// allocator's.
	GPUPeakBytes     *float64 `json:"gpu_peak_bytes"`
	GPUReservedBytes *float64 `json:"gpu_reserved_bytes"`
	HostPeakBytes    *float64 `json:"host_peak_bytes"`

	LossTexts []string `json:"losses"`
}

// Timer is the recorder's timing part laid out for one run of a script.
type Timer struct {
	// Environment is the script's, with what brings the timing in.
	Environment []string

	control string
}

// NewTimer lays the timing part out for a run with environment base. With a seed, torch, random and NumPy start from it, and a
// script that seeds them itself is not disturbed. Close it after Read.
func NewTimer(base []string, seed *int64) (*Timer, error) {
	control, err := os.MkdirTemp("", "stepline-verify-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the timer: %w", err)
	}
	environment, err := install(control, settings{Control: control, Mode: "time", Seed: seed}, base)
	if err != nil {
		os.RemoveAll(control)
		return nil, err
	}
	return &Timer{Environment: environment, control: control}, nil
}

// Close removes what NewTimer laid out.
func (t *Timer) Close() error { return os.RemoveAll(t.control) }

// Read is what the run that has ended was seen to do; an error where nothing of it stepped an optimizer or read a loader.
func (t *Timer) Read() (*Timing, error) {
	found, err := filepath.Glob(filepath.Join(t.control, "timing-*.json"))
	if err != nil {
		return nil, err
	}
	var timings []*Timing
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the steps' times: %w", err)
		}
		timing := &Timing{}
		if err := json.Unmarshal(text, timing); err != nil {
			return nil, fmt.Errorf("the steps' times: %w", err)
		}
		for _, loss := range timing.LossTexts {
			value, err := strconv.ParseFloat(loss, 64)
			if err != nil {
				value = math.NaN()
			}
			timing.Losses = append(timing.Losses, value)
		}
		timings = append(timings, timing)
	}
	if len(timings) == 0 {
		return nil, &NothingRecordedError{Reason: whyNothing(t.control, readStatuses(t.control))}
	}
	rank := func(t *Timing) int {
		if t.Rank == nil {
			return 0
		}
		return *t.Rank
	}
	slices.SortFunc(timings, func(a, b *Timing) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Steps, a.Steps))
	})
	return timings[0], nil
}

// SteadyWaits are the loader's waits without those for the first batch of each iterator, in which its workers start.
func (t *Timing) SteadyWaits() []float64 {
	var waits []float64
	for i, ns := range t.WaitNs {
		if !slices.Contains(t.FirstWaits, i) {
			waits = append(waits, ns)
		}
	}
	return waits
}
