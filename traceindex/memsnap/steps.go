package memsnap

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// StepBound is one training step in unix microseconds.
type StepBound struct {
	Number         int
	StartUs, EndUs int64
}

// StepMemory is what one step did on one device.
type StepMemory struct {
	StepBound
	Device                      int
	Allocs, AllocBytes          int64
	Frees                       int64
	PeakBytes, HeldAtEndBytes   int64
	SegmentAllocs, SegmentFrees int64 // cudaMalloc and cudaFree: after warm-up there should be none
}

// LineGrowth is a line that holds more at the end of every step.
type LineGrowth struct {
	File             string
	Line             int
	Function         string
	BytesPerStep     int64 // mean over Steps−1 steps
	Steps            int
	HeldAtFirstBytes int64 // at the end of the first step compared
	HeldAtLastBytes  int64
}

// StepBounds are the steps the profiler marked beside the recording (ProfilerStep#N). Empty if it was not running; a trace of
// the same run knows the steps then.
func (s *Snapshot) StepBounds() []StepBound {
	var steps []StepBound
	open := map[int]int64{}
	for _, a := range s.Annotations {
		number, ok := strings.CutPrefix(a.Name, "ProfilerStep#")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if a.Start {
			if _, twice := open[n]; !twice {
				open[n] = a.TimeUs
			}
			continue
		}
		if start, started := open[n]; started && !slices.ContainsFunc(steps, func(step StepBound) bool { return step.Number == n }) {
			steps = append(steps, StepBound{n, start, a.TimeUs})
		}
	}
	slices.SortFunc(steps, func(a, b StepBound) int { return cmp.Compare(a.StartUs, b.StartUs) })
	return steps
}

// Steps says what each step allocated on each device; bounds come from StepBounds or from a trace and must not overlap. Steps
// without any event are left out.
func (s *Snapshot) Steps(bounds []StepBound) []StepMemory {
	var steps []StepMemory
	for device := range s.Devices() {
		w := s.newWalk(device)
		at := 0
		var current *StepMemory
		for {
			before := w.held
			if !w.next() {
				break
			}
			for at < len(bounds) && w.event.TimeUs > bounds[at].EndUs {
				at++
				current = nil
			}
			if at == len(bounds) || w.event.TimeUs < bounds[at].StartUs {
				continue
			}
			if current == nil {
				steps = append(steps, StepMemory{StepBound: bounds[at], Device: device, PeakBytes: before})
				current = &steps[len(steps)-1]
			}
			current.count(w)
		}
	}
	return steps
}

func (m *StepMemory) count(w *walk) {
	switch w.event.Action {
	case ActionAlloc:
		m.Allocs++
		m.AllocBytes += w.event.Bytes
	case ActionFreeCompleted:
		m.Frees++
	case ActionSegmentAlloc, ActionSegmentMap:
		m.SegmentAllocs++
	case ActionSegmentFree, ActionSegmentUnmap:
		m.SegmentFrees++
	}
	m.PeakBytes = max(m.PeakBytes, w.held)
	m.HeldAtEndBytes = w.held
}

// minGrowthSteps is how many steps must end higher than the one before until that is called growth.
const minGrowthSteps = 3

// Growth finds the lines that hold more at the end of every step. The first step is left out: optimizers and caches are filled
// in it. accept is as for Lines. Largest growth first.
func (s *Snapshot) Growth(bounds []StepBound, accept func(file string) bool) []LineGrowth {
	if len(bounds) < minGrowthSteps+1 {
		return nil
	}
	bounds = bounds[1:]
	lines := s.newLineOf(accept)
	held := make([][]int64, len(bounds)) // step → line → bytes at its end, over all devices
	for device := range s.Devices() {
		s.heldAtEnds(lines, device, bounds, held)
	}
	var grown []LineGrowth
	for row, line := range lines.lines {
		ends := make([]int64, len(bounds))
		for step := range bounds {
			if row < len(held[step]) {
				ends[step] = held[step][row]
			}
		}
		if !increasing(ends) {
			continue
		}
		first, last := ends[0], ends[len(ends)-1]
		grown = append(grown, LineGrowth{line.File, line.Line, line.Function, (last - first) / int64(len(ends)-1), len(ends), first, last})
	}
	slices.SortStableFunc(grown, func(a, b LineGrowth) int { return cmp.Compare(b.BytesPerStep, a.BytesPerStep) })
	return grown
}

func increasing(list []int64) bool {
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			return false
		}
	}
	return true
}

func (s *Snapshot) heldAtEnds(lines *lineOf, device int, bounds []StepBound, held [][]int64) {
	for i := range lines.live {
		lines.live[i] = 0
	}
	w := s.newWalk(device)
	for _, before := range w.before {
		lines.add(lines.row(before.stack), before.bytes)
	}
	at := 0
	close := func(until int64) {
		for at < len(bounds) && until > bounds[at].EndUs {
			for len(held[at]) < len(lines.live) {
				held[at] = append(held[at], 0)
			}
			for row, bytes := range lines.live {
				held[at][row] += bytes
			}
			at++
		}
	}
	var last int64
	for w.next() {
		close(w.event.TimeUs)
		last = max(last, w.event.TimeUs)
		if w.known && w.delta != 0 {
			lines.add(lines.row(w.stack), w.delta)
		}
	}
	if at < len(bounds) && last >= bounds[at].StartUs {
		close(bounds[at].EndUs + 1) // the recording ended within or right after this step
	}
}
