package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"stepline/traceindex/attribute"
	"stepline/traceindex/diagnose"
)

// Side is one of the two runs, diagnosed.
type Side struct {
	Attribution *attribute.Attribution
	Diagnosis   *diagnose.Diagnosis
	// Samples are the side's, where it is not in memory: Attribution then is nil.
	Samples *StepSamples
}

func (s Side) samples() *StepSamples {
	if s.Samples != nil {
		return s.Samples
	}
	return samplesOf(s.Attribution, s.Diagnosis)
}

// Follow tells where a line of the base's source is in the new one's; false if it was removed or changed.
type Follow func(file string, line int) (newLine int, same bool)

// LineDifference is one line's change. Base and New lines differ where the line was moved; 0 where a side does not have it.
type LineDifference struct {
	File              string
	BaseLine, NewLine int
	Function          string
	// GPU is GPU time forward and backward, Idle the GPU's idle time with the training thread on the line.
	GPU, Idle Difference
}

// NamedDifference is the change of an op, a kernel or a cause.
type NamedDifference struct {
	Name string
	Difference
}

// Comparison is what changed from a base run to a new one, per step. It is immutable.
type Comparison struct {
	Step, Busy           Difference
	BaseClass, NewClass  diagnose.Class
	BaseShares, NewShare diagnose.Shares
	// Causes are the parts of the step: "compute", "copies", "communication" busy, then the gaps by cause ("gap: loader", …).
	// Their deltas sum to Step's.
	Causes []NamedDifference
	// Lines, Ops and Kernels are sorted by the size of the change, largest first.
	Lines        []LineDifference
	Ops, Kernels []NamedDifference
}

// Run compares two runs. A nil follow takes lines for unmoved.
func Run(base, new Side, follow Follow) *Comparison {
	if follow == nil {
		follow = func(_ string, line int) (int, bool) { return line, true }
	}
	b, n := base.samples(), new.samples()
	c := &Comparison{
		Step: newDifference(b.stepNs, n.stepNs), Busy: newDifference(b.busyNs, n.busyNs),
		BaseClass: base.Diagnosis.Class, NewClass: new.Diagnosis.Class, BaseShares: base.Diagnosis.Shares, NewShare: new.Diagnosis.Shares,
		Ops: named(b.ops, n.ops, b.steps, n.steps), Kernels: named(b.kernels, n.kernels, b.steps, n.steps),
	}
	c.Causes = causes(b, n)
	c.Lines = lines(b, n, follow)
	return c
}

func causes(b, n *StepSamples) []NamedDifference {
	out := []NamedDifference{
		{"compute", newDifference(b.compute, n.compute)},
		{"copies", newDifference(b.copies, n.copies)},
		{"communication", newDifference(b.comm, n.comm)},
	}
	keys := map[diagnose.Cause]bool{}
	for k := range b.causes {
		keys[k] = true
	}
	for k := range n.causes {
		keys[k] = true
	}
	gaps := []NamedDifference{}
	for k := range keys {
		gaps = append(gaps, NamedDifference{"gap: " + k.String(), newDifference(orZero(b.causes[k], b.steps), orZero(n.causes[k], n.steps))})
	}
	return append(out, sortedByChange(gaps)...)
}

func orZero(values []float64, n int) []float64 {
	if values == nil {
		return make([]float64, n)
	}
	return values
}

func named(b, n map[string][]float64, bSteps, nSteps int) []NamedDifference {
	var out []NamedDifference
	for k, v := range b {
		out = append(out, NamedDifference{k, newDifference(v, orZero(n[k], nSteps))})
	}
	for k, v := range n {
		if b[k] == nil {
			out = append(out, NamedDifference{k, newDifference(make([]float64, bSteps), v)})
		}
	}
	return sortedByChange(out)
}

func sortedByChange(all []NamedDifference) []NamedDifference {
	slices.SortFunc(all, func(x, y NamedDifference) int {
		return cmp.Or(cmp.Compare(math.Abs(y.DeltaNs), math.Abs(x.DeltaNs)), strings.Compare(x.Name, y.Name))
	})
	return all
}

// lines pairs the lines of both sides.
func lines(b, n *StepSamples, follow Follow) []LineDifference {
	type place struct {
		file string
		line int
	}
	type pair struct {
		base, new Line
	}
	pairs := map[place]*pair{} // by the new side's line; base-only lines by a negative one
	for _, side := range []map[Line][]float64{b.lines, b.idle} {
		for l := range side {
			at, same := follow(l.File, l.Line)
			key := place{l.File, at}
			if !same {
				key.line = -l.Line
			}
			if pairs[key] == nil {
				pairs[key] = &pair{}
			}
			pairs[key].base = l
		}
	}
	for _, side := range []map[Line][]float64{n.lines, n.idle} {
		for l := range side {
			key := place{l.File, l.Line}
			if pairs[key] == nil {
				pairs[key] = &pair{}
			}
			pairs[key].new = l
		}
	}
	var out []LineDifference
	for _, p := range pairs {
		d := LineDifference{File: cmp.Or(p.new.File, p.base.File), BaseLine: p.base.Line, NewLine: p.new.Line, Function: cmp.Or(p.new.Function, p.base.Function)}
		d.GPU = newDifference(orZero(b.lines[p.base], b.steps), orZero(n.lines[p.new], n.steps))
		d.Idle = newDifference(orZero(b.idle[p.base], b.steps), orZero(n.idle[p.new], n.steps))
		out = append(out, d)
	}
	size := func(d LineDifference) float64 { return math.Abs(d.GPU.DeltaNs) + math.Abs(d.Idle.DeltaNs) }
	slices.SortFunc(out, func(x, y LineDifference) int {
		return cmp.Or(cmp.Compare(size(y), size(x)), strings.Compare(x.File, y.File), cmp.Compare(x.NewLine, y.NewLine), cmp.Compare(x.BaseLine, y.BaseLine))
	})
	return out
}

// Exceeds reports whether the mean step grew by more than a share (0.03 is 3 %) and by more than noise.
func (c *Comparison) Exceeds(share float64) bool {
	return c.Step.Relative() > share && c.Step.Significant()
}
