package report

import (
	"math"

	"stepline/traceindex"
	"stepline/traceindex/compare"
	"stepline/traceindex/diagnose"
)

type (
	// DiffDocument is the output of `diff --format json` (docs/schema/diff.schema.json). Times are microseconds per step.
	DiffDocument struct {
		Schema      int                  `json:"schema"`
		Base        DiffSide             `json:"base"`
		New         DiffSide             `json:"new"`
		Step        DifferenceRow        `json:"step"`
		GPUBusy     DifferenceRow        `json:"gpu_busy"`
		Causes      []NamedDifferenceRow `json:"causes"`
		Lines       []LineDifferenceRow  `json:"lines"`
		Ops         []NamedDifferenceRow `json:"ops"`
		Kernels     []NamedDifferenceRow `json:"kernels"`
		Predictions []PredictionRow      `json:"predictions"`
		Gate        *GateRow             `json:"gate,omitempty"`
		Warnings    []traceindex.Warning `json:"warnings"`
	}
	// DiffSide is one of the two runs.
	DiffSide struct {
		Files  []string  `json:"files"`
		Class  string    `json:"class"`
		Shares SharesRow `json:"shares"`
	}
	// DifferenceRow is a change with its spread. NoiseUs is the half-width of the 95 % interval around DeltaUs, absent (with P = 1)
	// where a side has fewer than two steps.
	DifferenceRow struct {
		BaseMeanUs  float64  `json:"base_mean_us"`
		BaseStdUs   float64  `json:"base_std_us"`
		BaseSteps   int      `json:"base_steps"`
		NewMeanUs   float64  `json:"new_mean_us"`
		NewStdUs    float64  `json:"new_std_us"`
		NewSteps    int      `json:"new_steps"`
		DeltaUs     float64  `json:"delta_us"`
		NoiseUs     *float64 `json:"noise_us,omitempty"`
		P           float64  `json:"p"`
		BeyondNoise bool     `json:"beyond_noise"`
	}
	// NamedDifferenceRow is the change of an op, kernel or cause.
	NamedDifferenceRow struct {
		Name string `json:"name"`
		DifferenceRow
	}
	// LineDifferenceRow is the change of one line; a line number is absent where a side does not have the line.
	LineDifferenceRow struct {
		File     string        `json:"file"`
		BaseLine int           `json:"base_line,omitempty"`
		NewLine  int           `json:"new_line,omitempty"`
		Function string        `json:"function"`
		CUDA     DifferenceRow `json:"cuda"`
		GPUIdle  DifferenceRow `json:"gpu_idle"`
	}
	// PredictionRow is a mended finding and its promise.
	PredictionRow struct {
		Rule      string  `json:"rule"`
		File      string  `json:"file"`
		Line      int     `json:"line"`
		LowUs     float64 `json:"promised_us_per_step"`
		HighUs    float64 `json:"promised_high_us_per_step"`
		SavedUs   float64 `json:"saved_us_per_step"`
		Delivered bool    `json:"delivered"`
	}
	// GateRow is the outcome of --fail-above.
	GateRow struct {
		FailAbove float64 `json:"fail_above"`
		Failed    bool    `json:"failed"`
	}
)

// NewDiffDocument makes the JSON form of a comparison.
func NewDiffDocument(d *Diff) *DiffDocument {
	doc := &DiffDocument{
		Schema: SchemaVersion,
		Base:   DiffSide{Files: d.BaseFiles, Class: string(d.BaseClass), Shares: sharesRow(d.BaseShares)},
		New:    DiffSide{Files: d.NewFiles, Class: string(d.NewClass), Shares: sharesRow(d.NewShare)},
		Step:   differenceRow(d.Step), GPUBusy: differenceRow(d.Busy),
		Causes: namedRows(d.Causes), Ops: namedRows(d.Ops), Kernels: namedRows(d.Kernels),
		Lines: []LineDifferenceRow{}, Predictions: []PredictionRow{}, Warnings: d.Warnings,
	}
	if doc.Warnings == nil {
		doc.Warnings = []traceindex.Warning{}
	}
	for _, l := range d.Lines {
		doc.Lines = append(doc.Lines, LineDifferenceRow{File: l.File, BaseLine: l.BaseLine, NewLine: l.NewLine, Function: l.Function, CUDA: differenceRow(l.GPU), GPUIdle: differenceRow(l.Idle)})
	}
	for _, p := range d.Predictions {
		of := p.promise()
		doc.Predictions = append(doc.Predictions, PredictionRow{Rule: of.rule, File: of.file, Line: of.line, LowUs: Microseconds(of.lowNs), HighUs: Microseconds(of.highNs), SavedUs: p.SavedNs / 1e3, Delivered: p.Delivered})
	}
	if d.FailAbove >= 0 {
		doc.Gate = &GateRow{FailAbove: d.FailAbove, Failed: d.Failed}
	}
	return doc
}

func sharesRow(s diagnose.Shares) SharesRow {
	return SharesRow{Data: s.Data, Communication: s.Communication, Sync: s.Sync, Launch: s.Launch, Copy: s.Copy, Compute: s.Compute, Other: s.Other}
}

func differenceRow(d compare.Difference) DifferenceRow {
	row := DifferenceRow{BaseMeanUs: d.Base.Mean / 1e3, BaseStdUs: d.Base.StdDev / 1e3, BaseSteps: d.Base.N, NewMeanUs: d.New.Mean / 1e3, NewStdUs: d.New.StdDev / 1e3, NewSteps: d.New.N, DeltaUs: d.DeltaNs / 1e3, P: d.P, BeyondNoise: d.Significant()}
	if !math.IsInf(d.NoiseNs, 0) {
		noise := d.NoiseNs / 1e3
		row.NoiseUs = &noise
	}
	return row
}

func namedRows(all []compare.NamedDifference) []NamedDifferenceRow {
	rows := []NamedDifferenceRow{}
	for _, d := range all {
		rows = append(rows, NamedDifferenceRow{Name: d.Name, DifferenceRow: differenceRow(d.Difference)})
	}
	return rows
}
