package traceindex

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// judgeQuality adds the warnings that follow from the events themselves.
func (ix *Index) judgeQuality() {
	warn := func(code, format string, args ...any) {
		ix.Warnings = append(ix.Warnings, Warning{Code: code, Message: fmt.Sprintf(format, args...), File: ix.Meta.File})
	}
	if skew := ix.Skew(); skew.Before > 0 {
		warn("clock-skew", "the clocks of host and GPU disagree: the first GPU event of %d of %d launches starts before its launch, by up to %s; these launches count in no launch delay",
			skew.Before, skew.Launches, microseconds(skew.MaxNs))
	}
	if over := ix.Overruns(); len(over) > 0 {
		worst := over[0]
		var raw, cut int64
		for _, e := range over {
			raw += ix.Events.DurNs[e]
			cut += ix.GPUDurNs(e)
			if ix.Events.DurNs[e] > ix.Events.DurNs[worst] {
				worst = e
			}
		}
		warn("impossible-duration", "%s over later events of the same stream, which cannot be, and counts up to the next one's start: %s recorded, %s counted; the longest is %q with %s recorded, %s counted",
			plural(len(over), "GPU event runs", "GPU events run"), microseconds(raw), microseconds(cut), shorten(ix.Name(worst)), microseconds(ix.Events.DurNs[worst]), microseconds(ix.GPUDurNs(worst)))
	}
}

// Quality says what the trace lacks or distorts, for the reader of a diagnosis: neither errors nor damage. The same things in
// the same order for the same trace.
func (ix *Index) Quality() []Warning {
	var notes []Warning
	note := func(code, format string, args ...any) {
		notes = append(notes, Warning{Code: code, Message: fmt.Sprintf(format, args...), File: ix.Meta.File})
	}
	var frames, numbered int
	for row, c := range ix.Events.Category {
		switch {
		case c == CategoryPython:
			frames++
		case c == CategoryOp && ix.Events.Detail[row] >= 0 && ix.Ops[ix.Events.Detail[row]].Sequence >= 0:
			numbered++
		}
	}
	if len(ix.GPUEvents) == 0 {
		note("no-gpu-events", "the trace has no GPU events: it was recorded without ProfilerActivity.CUDA, or nothing ran on a GPU")
	}
	if frames == 0 && ix.Events.Len() > 0 {
		if strings.HasPrefix(ix.Meta.Producer, "Nsight Systems") {
			note("no-python-frames", "the export has no Python backtraces: record with `nsys profile --python-backtrace=cuda --cudabacktrace=all` to see lines")
		} else {
			note("no-python-frames", "the trace has no Python frames: record it with with_stack=True to see lines")
		}
	}
	if numbered == 0 && frames > 0 {
		note("no-sequence-numbers", "no op has a sequence number: backward time cannot be put on forward lines")
	}
	if n := len(ix.LaunchesWithoutWork()); n > 0 {
		note("no-gpu-work-seen", "%s no GPU work seen in the file: it ran after recording ended, or was not recorded", plural(n, "launch has", "launches have"))
	}
	if n := len(ix.UnlinkedGPUEvents()); n > 0 {
		note("no-launch-seen", "of %d GPU events, %d have no launch in the file: started before recording began, or without a correlation id", len(ix.GPUEvents), n)
	}
	if n := len(ix.clamps); n > 0 {
		note("cut-frames", "%s after the caller in the file (the return was not seen) and counts up to the caller's end", plural(n, "frame ends", "frames end"))
	}
	overheads := ix.OverheadNs()
	names := make([]string, 0, len(overheads))
	for name := range overheads {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		note("profiler-overhead", "%s of profiler overhead: %s", microseconds(overheads[name]), name)
	}
	return notes
}

// plural is the number with the words that go with it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func microseconds(ns int64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(float64(ns)/1000, 'f', 3, 64), "0"), ".") + " µs"
}

// shorten cuts a name for a message.
func shorten(name string) string {
	const most = 80
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}
