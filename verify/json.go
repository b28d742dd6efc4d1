package verify

import (
	"encoding/json"
	"io"
	"math"
)

// WriteJSON writes a result as docs/schema/verify.schema.json has it. Times are microseconds.
func WriteJSON(w io.Writer, r *Result) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r.document())
}

type object = map[string]any

func (r *Result) document() object {
	warnings := []string{}
	warnings = append(warnings, r.Warnings...)
	d := object{"schema": 1, "verdict": r.Verdict, "failed": r.Failed(), "new": r.New.document(), "warnings": warnings}
	if r.Loader != nil {
		l := r.Loader
		d["loader"] = object{"budget_us": l.BudgetNs / 1e3, "runs": l.Runs, "batches": l.Batches, "verdict": l.Verdict}
		if l.Runs > 0 {
			put(d["loader"].(object), "mean_us", l.MeanNs/1e3)
			put(d["loader"].(object), "half_interval_us", l.HalfNs/1e3)
		}
	}
	if r.Base == nil {
		return d
	}
	d["base"] = r.Base.document()
	share, low, high := r.Change()
	step := object{
		"base_mean_us": r.Step.Base.Mean / 1e3, "base_std_us": r.Step.Base.StdDev / 1e3, "base_runs": r.Step.Base.N,
		"new_mean_us": r.Step.New.Mean / 1e3, "new_std_us": r.Step.New.StdDev / 1e3, "new_runs": r.Step.New.N,
		"delta_us": r.Step.DeltaNs / 1e3, "p": r.Step.P, "beyond_noise": r.Step.Significant(),
	}
	put(step, "noise_us", r.Step.NoiseNs/1e3)
	put(step, "change", share)
	put(step, "change_low", low)
	put(step, "change_high", high)
	d["step"] = step
	if r.Losses != nil {
		d["losses"] = r.Losses.document()
	}
	if r.FailAbove >= 0 {
		d["gate"] = object{"fail_above": r.FailAbove, "failed": r.Slowed}
	}
	return d
}

func (l *LossResult) document() object {
	losses := object{"compared": l.Compared, "base_count": l.BaseCount, "new_count": l.NewCount, "tolerance": l.Tolerance, "differ": l.Differ}
	put(losses, "largest", l.Largest)
	put(losses, "own", l.Own)
	if l.Largest > 0 {
		losses["at"] = l.At
		put(losses, "base_loss", l.BaseLoss)
		put(losses, "new_loss", l.NewLoss)
	}
	return losses
}

func (s *SideResult) document() object {
	runs := []object{}
	for _, run := range s.Runs {
		one := object{
			"steps": run.Steps, "step_mean_us": run.MeanNs / 1e3, "step_std_us": run.StdNs / 1e3, "wall_us": run.WallNs / 1e3,
			"losses": run.Losses, "batches": run.Waits, "wait_mean_us": run.MeanWaitNs / 1e3,
		}
		put(one, "last_loss", run.LastLoss)
		runs = append(runs, one)
	}
	d := object{"name": s.Name, "source": s.Told, "clock": s.Clock, "runs": runs}
	if s.GPUPeakBytes != nil {
		d["gpu_peak_bytes"] = *s.GPUPeakBytes
	}
	if s.HostPeakBytes != nil {
		d["host_peak_bytes"] = *s.HostPeakBytes
	}
	return d
}

// put leaves out what JSON cannot say: NaN and the infinities.
func put(d object, name string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		d[name] = v
	}
}
