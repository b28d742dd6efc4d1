package report

import (
	"fmt"
	"math"
	"strings"

	"stepline/rules"
	"stepline/traceindex"
	"stepline/traceindex/compare"
	"stepline/traceindex/rankset"
)

// Diff is everything `stepline diff` says, finished: the writers choose and write down.
type Diff struct {
	BaseFiles, NewFiles []string
	*compare.Comparison
	Predictions []DiffPrediction
	// FailAbove is the gate as a share, negative without one; Failed tells that the step grew by more, beyond noise.
	FailAbove float64
	Failed    bool
	Warnings  []traceindex.Warning
	// Source returns a line of the new run's source (from 1), "" if there is none.
	Source func(file string, line int) string
}

// DiffPrediction is a mended finding with what its price promised. Of a set's ranks the finding is known by Indexed alone.
type DiffPrediction struct {
	Finding   rules.Finding
	Indexed   *rankset.MergedFinding
	SavedNs   float64
	Delivered bool
}

// promise is what a prediction is about.
type promise struct {
	rule, file    string
	line          int
	lowNs, highNs int64
}

func (p DiffPrediction) promise() promise {
	if f := p.Indexed; f != nil {
		return promise{f.Rule, f.File, int(f.LineNumber), f.LowNs, f.HighNs}
	}
	f := p.Finding
	return promise{f.Rule.ID, f.File.Path, f.File.Line(f.Span.Start), f.Cost.LowNs, f.Cost.HighNs}
}

// shownDifferences is how many rows a table of the text and Markdown forms has.
const shownDifferences = 10

// noise says how a difference stands against scatter: "beyond noise", "within noise", or why that cannot be told.
func noise(d compare.Difference) string {
	switch {
	case math.IsInf(d.NoiseNs, 1):
		return "untested: fewer than 2 steps"
	case d.Significant():
		return "beyond noise"
	default:
		return "noise"
	}
}

// signed writes a difference with its sign: "−259 ms".
func signed(ns float64) string {
	switch {
	case ns > 0:
		return "+" + Duration(ns)
	case ns < 0:
		return "−" + Duration(-ns)
	}
	return "0"
}

// relative writes a change over its base: "−83.1 %", "new" for something that was not there.
func relative(d compare.Difference) string {
	r := d.Relative()
	switch {
	case math.IsInf(r, 1):
		return "new"
	case d.New.Mean == 0 && d.Base.Mean > 0:
		return "gone"
	case r > 0:
		return "+" + Percent(r)
	case r < 0:
		return "−" + Percent(-r)
	}
	return "0 %"
}

// spread writes a mean with its standard deviation: "312 ms ± 4.10 ms".
func spread(s compare.Stat) string {
	if s.N < 2 {
		return Duration(s.Mean)
	}
	return Duration(s.Mean) + " ± " + Duration(s.StdDev)
}

// verdict is the first sentence: what became of the step.
func (d *Diff) verdict() string {
	step := d.Step
	counts := fmt.Sprintf("%s → %s a step (%d and %d steps)", spread(step.Base), spread(step.New), step.Base.N, step.New.N)
	switch {
	case math.IsInf(step.NoiseNs, 1):
		return counts + ": " + signed(step.DeltaNs) + ", " + relative(step) + "; a side with fewer than 2 steps cannot be told from noise"
	case !step.Significant():
		return counts + ": no difference beyond noise (" + signed(step.DeltaNs) + " ± " + Duration(step.NoiseNs) + ")"
	case step.DeltaNs < 0:
		return counts + ": faster by " + Duration(-step.DeltaNs) + " ± " + Duration(step.NoiseNs) + " (" + relative(step) + ")"
	}
	return counts + ": slower by " + Duration(step.DeltaNs) + " ± " + Duration(step.NoiseNs) + " (" + relative(step) + ")"
}

func (p DiffPrediction) sentence() string {
	of := p.promise()
	promised := Duration(float64(of.lowNs))
	if of.highNs > of.lowNs {
		promised += " to " + Duration(float64(of.highNs))
	}
	outcome := "the step did not become shorter by that"
	if p.Delivered {
		outcome = "delivered"
	}
	return fmt.Sprintf("%s at %s:%d promised %s a step; the step is %s: %s", of.rule, of.file, of.line, promised, changeWords(-p.SavedNs), outcome)
}

func changeWords(deltaNs float64) string {
	switch {
	case deltaNs < 0:
		return Duration(-deltaNs) + " shorter"
	case deltaNs > 0:
		return Duration(deltaNs) + " longer"
	}
	return "as long"
}

func (d *Diff) lineName(l compare.LineDifference) string {
	switch {
	case l.NewLine == 0:
		return fmt.Sprintf("%s:%d (base only)", l.File, l.BaseLine)
	case l.BaseLine == 0:
		return fmt.Sprintf("%s:%d (new)", l.File, l.NewLine)
	case l.BaseLine != l.NewLine:
		return fmt.Sprintf("%s:%d → %d", l.File, l.BaseLine, l.NewLine)
	}
	return fmt.Sprintf("%s:%d", l.File, l.NewLine)
}

func (d *Diff) sourceOf(l compare.LineDifference) string {
	if d.Source == nil || l.NewLine == 0 {
		return ""
	}
	return strings.TrimSpace(d.Source(l.File, l.NewLine))
}

// gate says what became of --fail-above, "" without it.
func (d *Diff) gate() string {
	switch {
	case d.FailAbove < 0:
		return ""
	case d.Failed:
		return fmt.Sprintf("gate failed: the mean step grew by %s, more than %s and beyond noise", Percent(d.Step.Relative()), Percent(d.FailAbove))
	}
	return fmt.Sprintf("gate passed: the mean step did not grow by more than %s beyond noise", Percent(d.FailAbove))
}
