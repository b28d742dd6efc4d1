package report

import (
	"stepline/pyscan"
	"stepline/rules"
	"stepline/traceindex"
)

type (
	// CheckDocument is the output of `check --format json` (docs/schema/check.schema.json).
	CheckDocument struct {
		Schema   int                  `json:"schema"`
		Findings []FindingRow         `json:"findings"`
		Files    int                  `json:"files"`
		Warnings []traceindex.Warning `json:"warnings"`
	}
	// FindingRow is one finding. Lines and columns count from 1, columns in code points; costs are microseconds a step.
	FindingRow struct {
		Rule      string       `json:"rule"`
		Name      string       `json:"name"`
		Severity  string       `json:"severity"`
		Message   string       `json:"message"`
		File      string       `json:"file"`
		Cell      int          `json:"cell,omitempty"`
		Line      int          `json:"line"`
		Column    int          `json:"column"`
		EndLine   int          `json:"end_line"`
		EndColumn int          `json:"end_column"`
		Related   []RelatedRow `json:"related"`

		// Verdict and the costs are there only with a trace; the costs only where the code ran in it.
		Verdict           string   `json:"verdict,omitempty"`
		CostUsPerStep     *float64 `json:"cost_us_per_step,omitempty"`
		CostHighUsPerStep *float64 `json:"cost_high_us_per_step,omitempty"`
		CostShare         *float64 `json:"cost_share,omitempty"`
		WaitUsPerStep     *float64 `json:"wait_us_per_step,omitempty"`

		Fix *FixRow `json:"fix,omitempty"`
	}
	// RelatedRow is a place that explains a finding.
	RelatedRow struct {
		File    string `json:"file"`
		Cell    int    `json:"cell,omitempty"`
		Line    int    `json:"line"`
		Message string `json:"message"`
	}
	// FixRow is the preferred fix of a finding.
	FixRow struct {
		Title  string    `json:"title"`
		Safety string    `json:"safety"`
		Edits  []EditRow `json:"edits"`
	}
	// EditRow replaces a range of a file by Text; the end is exclusive.
	EditRow struct {
		File        string `json:"file"`
		Cell        int    `json:"cell,omitempty"`
		StartLine   int    `json:"start_line"`
		StartColumn int    `json:"start_column"`
		EndLine     int    `json:"end_line"`
		EndColumn   int    `json:"end_column"`
		Text        string `json:"text"`
	}
)

// Findings is what `check` prints: the findings in their order and how much was looked at.
type Findings struct {
	Findings []rules.Finding
	// Files is the number of Python files and notebooks checked.
	Files    int
	Warnings []traceindex.Warning
	// Locate places byte offsets; nil means LocateInFile.
	Locate Locate
}

func (f *Findings) locate(file *pyscan.File, offset int) Position {
	if f.Locate == nil {
		return LocateInFile(file, offset)
	}
	return f.Locate(file, offset)
}

// NewCheckDocument writes findings down as the contract has them.
func NewCheckDocument(found *Findings) CheckDocument {
	document := CheckDocument{
		Schema: SchemaVersion, Files: found.Files,
		Findings: make([]FindingRow, 0, len(found.Findings)),
		Warnings: found.Warnings,
	}
	if document.Warnings == nil {
		document.Warnings = []traceindex.Warning{}
	}
	for i := range found.Findings {
		document.Findings = append(document.Findings, newFindingRow(found, &found.Findings[i]))
	}
	return document
}

func newFindingRow(found *Findings, f *rules.Finding) FindingRow {
	start, end := found.locate(f.File, f.Span.Start), found.locate(f.File, f.Span.End)
	row := FindingRow{
		Rule: f.Rule.ID, Name: f.Rule.Name, Severity: f.Severity.String(), Message: f.Message,
		File: f.File.Path, Cell: start.Cell, Line: start.Line, Column: start.Column, EndLine: end.Line, EndColumn: end.Column,
		Related: make([]RelatedRow, 0, len(f.Related)),
		Verdict: f.Verdict.String(),
	}
	for _, related := range f.Related {
		at := found.locate(related.File, related.Span.Start)
		row.Related = append(row.Related, RelatedRow{File: related.File.Path, Cell: at.Cell, Line: at.Line, Message: related.Message})
	}
	if f.Verdict == rules.Confirmed || f.Verdict == rules.Refuted {
		low, high, wait := Microseconds(f.Cost.LowNs), Microseconds(max(f.Cost.LowNs, f.Cost.HighNs)), Microseconds(f.Cost.WaitNs)
		share := f.Cost.Share
		row.CostUsPerStep, row.CostHighUsPerStep, row.CostShare, row.WaitUsPerStep = &low, &high, &share, &wait
	}
	if fix := f.Fix(); fix != nil {
		row.Fix = newFixRow(found, fix)
	}
	return row
}

func newFixRow(found *Findings, fix *rules.Fix) *FixRow {
	row := &FixRow{Title: fix.Title, Safety: fix.Safety.String(), Edits: make([]EditRow, 0, len(fix.Edits))}
	for _, edit := range fix.Edits {
		start, end := found.locate(edit.File, edit.Span.Start), found.locate(edit.File, edit.Span.End)
		row.Edits = append(row.Edits, EditRow{
			File: edit.File.Path, Cell: start.Cell,
			StartLine: start.Line, StartColumn: start.Column, EndLine: end.Line, EndColumn: end.Column, Text: edit.New,
		})
	}
	return row
}
