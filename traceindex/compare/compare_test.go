package compare

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
	"stepline/traceindex/load"
)

// TestWelch holds the test against R: t.test(c(…), c(…)).
func TestWelch(t *testing.T) {
	base := []float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4}
	new := []float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4}
	d := newDifference(base, new)
	if math.Abs(d.P-0.021378001462867) > 1e-9 {
		t.Errorf("p = %.15f, want 0.021378001462867", d.P)
	}
	if !d.Significant() || math.Abs(d.DeltaNs-(d.New.Mean-d.Base.Mean)) > 1e-12 {
		t.Errorf("difference %+v", d)
	}
	for _, c := range []struct {
		name       string
		base, new  []float64
		p          float64
		infinite   bool
		equalNoise float64
	}{
		{"one step each", []float64{1}, []float64{5}, 1, true, 0},
		{"no scatter, no change", []float64{3, 3}, []float64{3, 3}, 1, false, 0},
		{"no scatter, a change", []float64{3, 3}, []float64{4, 4}, 0, false, 0},
		{"nothing", nil, nil, 1, true, 0},
	} {
		d := newDifference(c.base, c.new)
		if d.P != c.p || math.IsInf(d.NoiseNs, 1) != c.infinite || !c.infinite && d.NoiseNs != c.equalNoise {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

func side(t *testing.T, root string, traces ...string) Side {
	t.Helper()
	base := "../../testdata/traces/"
	var paths []string
	for _, p := range traces {
		paths = append(paths, filepath.Join(base, p))
	}
	run, err := load.Open(context.Background(), paths, load.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	src, err := attribute.Directory(filepath.Join(base, root), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	a, err := attribute.Attribute(context.Background(), run, src)
	if err != nil {
		t.Fatal(err)
	}
	d, err := diagnose.Run(context.Background(), a, diagnose.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return Side{Attribution: a, Diagnosis: d}
}

// TestWorkersSaveTheLoader compares the runs without and with loader workers.
func TestWorkersSaveTheLoader(t *testing.T) {
	base, new := side(t, "vision", "vision/trace.json.gz"), side(t, "vision", "vision_workers/trace.json.gz")
	c := Run(base, new, nil)
	if c.Step.Base.N != 4 || c.Step.New.N != 4 {
		t.Errorf("%d and %d steps, want 4 and 4", c.Step.Base.N, c.Step.New.N)
	}
	if !c.Step.Significant() || c.Step.DeltaNs > -200e6 {
		t.Errorf("the step changed by %.1f ms (p %.4f), want a significant saving of more than 200 ms", c.Step.DeltaNs/1e6, c.Step.P)
	}
	var sum float64
	for _, cause := range c.Causes {
		sum += cause.DeltaNs
		if cause.Name == "gap: loader" && cause.DeltaNs > -200e6 {
			t.Errorf("loader gaps changed by %.1f ms", cause.DeltaNs/1e6)
		}
	}
	if math.Abs(sum-c.Step.DeltaNs) > 10 {
		t.Errorf("causes change by %.0f ns in all, the step by %.0f ns", sum, c.Step.DeltaNs)
	}
	if l := c.Lines[0]; l.File != "data.py" || l.NewLine != 0 && l.Idle.DeltaNs > -100e6 {
		t.Errorf("the largest change is %+v, want the decoding in data.py", l)
	}
	back := Run(new, base, nil)
	if !back.Exceeds(0.03) || c.Exceeds(0.03) {
		t.Error("the run without workers is more than 3 % slower than the one with them, and not the other way round")
	}
}

// TestSameRunIsNoise compares a run with itself: nothing changes, nothing fails a gate.
func TestSameRunIsNoise(t *testing.T) {
	s := side(t, "ddp", "ddp/ddp.rank0.trace.json.gz", "ddp/ddp.rank1.trace.json.gz")
	c := Run(s, s, nil)
	if c.Step.Base.N != 3 {
		t.Errorf("%d samples from two ranks of 3 steps, want 3", c.Step.Base.N)
	}
	if c.Step.DeltaNs != 0 || c.Step.Significant() || c.Exceeds(0) {
		t.Errorf("a run differs from itself: %+v", c.Step)
	}
	for _, l := range c.Lines {
		if l.GPU.DeltaNs != 0 || l.Idle.DeltaNs != 0 || l.BaseLine != l.NewLine {
			t.Errorf("line %+v differs from itself", l)
		}
	}
}

// TestMovedLines follows an edit that moved everything down by one line.
func TestMovedLines(t *testing.T) {
	s := side(t, "gpt", "gpt/trace.json.gz")
	c := Run(s, s, func(file string, line int) (int, bool) { return line + 1000, true })
	for _, l := range c.Lines {
		if l.BaseLine != 0 && l.NewLine != 0 {
			t.Fatalf("%+v pairs lines that the edit moved apart", l)
		}
	}
}
