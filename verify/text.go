package verify

import (
	"fmt"
	"io"
	"math"
	"strings"

	"stepline/report"
)

// WriteText prints a result for people.
func WriteText(w io.Writer, r *Result) error {
	var out strings.Builder
	out.WriteString(r.headline() + "\n")
	for _, line := range r.sentences() {
		out.WriteString("  " + line + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// WriteMarkdown writes a result as a block for a pull request.
func WriteMarkdown(w io.Writer, r *Result) error {
	var out strings.Builder
	fmt.Fprintf(&out, "### %s\n\n", escape(r.headline()))
	if r.Base != nil {
		out.WriteString("| | base | new | change | 95 % interval |\n| --- | ---: | ---: | ---: | ---: |\n")
		share, low, high := r.Change()
		interval := "unknown"
		if !math.IsInf(r.Step.NoiseNs, 0) {
			interval = fmt.Sprintf("%+.2f to %+.2f %%", low*100, high*100)
		}
		fmt.Fprintf(&out, "| %s time | %s | %s | %+.2f %% | %s |\n", r.unit(), meanStd(r.Step.Base.Mean, r.Step.Base.StdDev), meanStd(r.Step.New.Mean, r.Step.New.StdDev), share*100, interval)
		if b, n := r.Base.GPUPeakBytes, r.New.GPUPeakBytes; b != nil && n != nil {
			fmt.Fprintf(&out, "| GPU memory, peak | %s | %s | %s | |\n", report.Bytes(int64(*b)), report.Bytes(int64(*n)), relativeBytes(*b, *n))
		}
		if b, n := r.Base.HostPeakBytes, r.New.HostPeakBytes; b != nil && n != nil {
			fmt.Fprintf(&out, "| host memory, peak | %s | %s | %s | |\n", report.Bytes(int64(*b)), report.Bytes(int64(*n)), relativeBytes(*b, *n))
		}
		out.WriteString("\n")
	}
	for _, line := range r.sentences() {
		fmt.Fprintf(&out, "- %s\n", escape(line))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func relativeBytes(base, new float64) string {
	if base == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", (new-base)/base*100)
}

// headline is the verdict in one line.
func (r *Result) headline() string {
	if r.Base == nil {
		if r.Loader != nil {
			return r.Loader.sentence()
		}
		return "nothing was compared"
	}
	if r.lossesDiffer() {
		return "results differ; the " + r.unit() + " is " + r.speed()
	}
	return r.speed()
}

// speed is "faster by X % (95 % interval l to h %)" or that there is no difference beyond noise.
func (r *Result) speed() string {
	share, low, high := r.Change()
	if r.Verdict == NoDifference {
		return fmt.Sprintf("no difference beyond noise (%+.2f %%, 95 %% interval %+.2f to %+.2f %%)", share*100, low*100, high*100)
	}
	word := "slower"
	if r.Verdict == Faster {
		word, share, low, high = "faster", -share, -high, -low
	}
	return fmt.Sprintf("%s by %.2f %% (95 %% interval %.2f to %.2f %%)", word, share*100, low*100, high*100)
}

// sentences are what there is to say below the headline.
func (r *Result) sentences() []string {
	var lines []string
	if r.Base != nil {
		for _, s := range []struct {
			side *SideResult
			mean float64
			std  float64
		}{{r.Base, r.Step.Base.Mean, r.Step.Base.StdDev}, {r.New, r.Step.New.Mean, r.Step.New.StdDev}} {
			lines = append(lines, fmt.Sprintf("%s (%s): %s", s.side.Name, report.Printable(s.side.Told), s.side.timed(s.mean, s.std)))
		}
		lines = append(lines, fmt.Sprintf("Welch's t-test over the runs: p = %.2g", r.Step.P), r.Losses.sentence())
		if b, n := r.Base.GPUPeakBytes, r.New.GPUPeakBytes; b != nil && n != nil {
			lines = append(lines, fmt.Sprintf("GPU memory, peak of allocated: %s → %s", report.Bytes(int64(*b)), report.Bytes(int64(*n))))
		}
		if b, n := r.Base.HostPeakBytes, r.New.HostPeakBytes; b != nil && n != nil {
			lines = append(lines, fmt.Sprintf("host memory, peak: %s → %s", report.Bytes(int64(*b)), report.Bytes(int64(*n))))
		}
		if r.Loader != nil {
			lines = append(lines, r.Loader.sentence())
		}
		if r.FailAbove >= 0 {
			state := "held"
			if r.Slowed {
				state = "failed"
			}
			lines = append(lines, fmt.Sprintf("gate: slower by more than %.4g %% beyond noise: %s", r.FailAbove*100, state))
		}
	}
	return append(lines, r.Warnings...)
}

// unit is what was timed: a step or a whole run.
func (r *Result) unit() string {
	if r.Base.Clock == wallClock {
		return "run"
	}
	return "step"
}

// timed says how long a side's steps took, or its whole runs where those were timed.
func (s *SideResult) timed(mean, std float64) string {
	if s.Clock == wallClock {
		return fmt.Sprintf("%s a run, mean and standard deviation of %d runs, timed from start to end", meanStd(mean, std), len(s.Runs))
	}
	return fmt.Sprintf("%s a step, mean and standard deviation of %d runs of %s steps, timed by %s", meanStd(mean, std), len(s.Runs), s.steps(), s.Clock)
}

// steps is the runs' number of steps, or their range.
func (s *SideResult) steps() string {
	least, most := s.Runs[0].Steps, s.Runs[0].Steps
	for _, r := range s.Runs {
		least, most = min(least, r.Steps), max(most, r.Steps)
	}
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

func (l *LossResult) sentence() string {
	switch {
	case l == nil:
		return "losses: not compared (--no-losses)"
	case l.BaseCount == 0 && l.NewCount == 0:
		return "losses: none were seen, so results were not compared (--loss-pattern reads them from the output)"
	case l.BaseCount != l.NewCount:
		return fmt.Sprintf("losses: base has %d a run and new %d", l.BaseCount, l.NewCount)
	}
	own := ""
	if l.Own > l.Tolerance/ownTimes {
		own = fmt.Sprintf("; one side's own runs differ by up to %s, so only more than %s is called a difference", percent(l.Own), percent(math.Max(l.Tolerance, ownTimes*l.Own)))
	}
	if l.Differ {
		return fmt.Sprintf("losses differ: loss %d of %d is %.6g in base and %.6g in new (%s, tolerance %s)%s", l.At+1, l.Compared, l.BaseLoss, l.NewLoss, percent(l.Largest), percent(l.Tolerance), own)
	}
	if l.Largest == 0 {
		return fmt.Sprintf("losses: all %d are equal%s", l.Compared, own)
	}
	return fmt.Sprintf("losses: %d are equal within %s (largest difference %s)%s", l.Compared, percent(l.Tolerance), percent(l.Largest), own)
}

func (l *LoaderResult) sentence() string {
	if l.Runs < 2 {
		return "loader: no batches were seen, so the budget was not checked"
	}
	text := fmt.Sprintf("loader: %s a batch (95 %% interval %s to %s, %d runs, %d batches), budget %s: ", report.Duration(l.MeanNs),
		report.Duration(math.Max(0, l.MeanNs-l.HalfNs)), report.Duration(l.MeanNs+l.HalfNs), l.Runs, l.Batches, report.Duration(l.BudgetNs))
	switch l.Verdict {
	case LoaderWithin:
		return text + "within it"
	case LoaderOver:
		return text + "over it"
	}
	return text + "not decided, the interval holds the budget"
}

func meanStd(mean, std float64) string {
	return report.Duration(mean) + " ± " + report.Duration(std)
}

func percent(share float64) string {
	if math.IsInf(share, 1) {
		return "one is not finite"
	}
	return fmt.Sprintf("%.3g %%", share*100)
}

// escape keeps a command line from being read as Markdown.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}
