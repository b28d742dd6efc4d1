package report

import (
	"stepline/rules"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
)

type (
	// RunDocument is the output of `report --format json` (docs/schema/report.schema.json).
	RunDocument struct {
		Schema       int                  `json:"schema"`
		Trace        TraceSummary         `json:"trace"`
		Bottleneck   BottleneckRow        `json:"bottleneck"`
		Steps        []StepRow            `json:"steps"`
		Lines        []LineRow            `json:"lines"`
		Unattributed []UnattributedRow    `json:"unattributed"`
		Findings     []FindingRow         `json:"findings"`
		Stragglers   []StragglerRow       `json:"stragglers"`
		Quality      []QualityRow         `json:"quality"`
		Warnings     []traceindex.Warning `json:"warnings"`
		// Ranks are all ranks of the run; Set is there for indexed ranks, of which Steps has only the detailed ones.
		Ranks []RankRow `json:"ranks"`
		Set   *SetRow   `json:"set,omitempty"`
		// Beside has what inputs other than traces say; absent without any.
		Beside *Beside `json:"beside,omitempty"`
	}
	// BottleneckRow is what bounds the steps and why.
	BottleneckRow struct {
		Class    string        `json:"class"`
		Shares   SharesRow     `json:"shares"`
		Evidence []EvidenceRow `json:"evidence"`
	}
	// SharesRow splits the steps' time (0–1, sum 1).
	SharesRow struct {
		Data          float64 `json:"data"`
		Communication float64 `json:"communication"`
		Sync          float64 `json:"sync"`
		Launch        float64 `json:"launch"`
		Copy          float64 `json:"copy"`
		Compute       float64 `json:"compute"`
		Other         float64 `json:"other"`
	}
	// EvidenceRow is one measured reason. File and Line are absent where it has no place.
	EvidenceRow struct {
		Message   string  `json:"message"`
		File      string  `json:"file,omitempty"`
		Line      int     `json:"line,omitempty"`
		UsPerStep float64 `json:"us_per_step"`
		Share     float64 `json:"share"`
	}
	// StepRow is one step of one rank. StartUs is on the trace's own clock. Gaps and busy time sum to the step.
	StepRow struct {
		Rank       int        `json:"rank"`
		Index      int        `json:"index"`
		StartUs    float64    `json:"start_us"`
		DurationUs float64    `json:"duration_us"`
		GPUBusy    float64    `json:"gpu_busy"`
		Phases     []PhaseRow `json:"phases"`
		Gaps       []GapRow   `json:"gaps"`
	}
	// PhaseRow is a part of a step as the training thread went through it.
	PhaseRow struct {
		Op         string  `json:"op"`
		StartUs    float64 `json:"start_us"`
		DurationUs float64 `json:"duration_us"`
		GPUBusy    float64 `json:"gpu_busy"`
		DependsOn  string  `json:"depends_on"`
		Note       string  `json:"note"`
	}
	// GapRow is a stretch with nothing on the GPU. File and Line are absent where the host was in no line.
	GapRow struct {
		StartUs    float64 `json:"start_us"`
		DurationUs float64 `json:"duration_us"`
		Cause      string  `json:"cause"`
		File       string  `json:"file,omitempty"`
		Line       int     `json:"line,omitempty"`
		Note       string  `json:"note"`
	}
	// StragglerRow is a rank that others wait for.
	StragglerRow struct {
		Rank          int     `json:"rank"`
		WaitUsPerStep float64 `json:"wait_us_per_step"`
		WaitingRank   string  `json:"waiting"`
		Collectives   int     `json:"collectives"`
		File          string  `json:"file,omitempty"`
		Line          int     `json:"line,omitempty"`
	}
	// QualityRow is something about the trace that limits what it can tell.
	QualityRow struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
)

// NewRunDocument writes a report down as the contract has it.
func NewRunDocument(r *Run) RunDocument {
	lines := NewLinesDocument(r.Costs, RankLines(r.Costs.Lines, OrderGPU, 0))
	d := r.Diagnosis
	document := RunDocument{
		Schema: SchemaVersion, Trace: lines.Trace, Lines: lines.Lines, Unattributed: lines.Unattributed,
		Bottleneck: BottleneckRow{
			Class:    string(d.Class),
			Shares:   sharesRow(d.Shares),
			Evidence: make([]EvidenceRow, 0, len(d.Evidence)),
		},
		Steps:      make([]StepRow, 0, len(d.Steps)),
		Findings:   r.findingRows(),
		Stragglers: make([]StragglerRow, 0, len(d.Stragglers)),
		Quality:    make([]QualityRow, 0, len(d.Quality)),
		Warnings:   r.Warnings,
		Ranks:      r.rankDocument(), Set: r.setRow(),
	}
	if !r.Beside.Empty() {
		document.Beside = r.Beside
	}
	if document.Warnings == nil {
		document.Warnings = []traceindex.Warning{}
	}
	for _, e := range d.Evidence {
		file, line := placeOf(e.Place, e.Known)
		document.Bottleneck.Evidence = append(document.Bottleneck.Evidence, EvidenceRow{
			Message: e.Message, File: file, Line: line, UsPerStep: Microseconds(e.NsPerStep), Share: e.Share,
		})
	}
	for i := range d.Steps {
		if r.detailed(&d.Steps[i]) {
			document.Steps = append(document.Steps, r.stepRow(i))
		}
	}
	for _, s := range d.Stragglers {
		file, line := placeOf(s.Place, s.Known)
		document.Stragglers = append(document.Stragglers, StragglerRow{
			Rank: r.rank(s.Rank), WaitUsPerStep: Microseconds(s.WaitNs / int64(max(1, s.Steps))), WaitingRank: s.WaitingName,
			Collectives: s.Collectives, File: file, Line: line,
		})
	}
	for _, q := range d.Quality {
		document.Quality = append(document.Quality, QualityRow{Code: q.Code, Message: q.Message})
	}
	return document
}

func placeOf(place attribute.Place, known bool) (file string, line int) {
	if !known {
		return "", 0
	}
	return place.File, max(place.Line, 0)
}

func (r *Run) stepRow(i int) StepRow {
	step := &r.Diagnosis.Steps[i]
	row := StepRow{
		Rank: r.rank(step.Rank), Index: step.Number, StartUs: Microseconds(step.StartNs), DurationUs: Microseconds(step.DurNs()),
		GPUBusy: share(step.BusyNs, step.DurNs()),
		Phases:  make([]PhaseRow, 0, len(step.Phases)), Gaps: make([]GapRow, 0, len(step.Gaps)),
	}
	for _, phase := range step.Phases {
		row.Phases = append(row.Phases, PhaseRow{
			Op: phase.Op, StartUs: Microseconds(phase.StartNs), DurationUs: Microseconds(phase.DurNs()),
			GPUBusy: share(phase.GPUBusyNs, phase.DurNs()), DependsOn: phase.DependsOn, Note: phase.Note,
		})
	}
	for j := range step.Gaps {
		gap := &step.Gaps[j]
		file, line := placeOf(gap.Place, gap.Known)
		row.Gaps = append(row.Gaps, GapRow{
			StartUs: Microseconds(gap.StartNs), DurationUs: Microseconds(gap.DurNs()), Cause: gap.Cause.String(), File: file, Line: line, Note: gapNote(gap),
		})
	}
	return row
}

// findingRows are the lint's findings and those of the trace alone, which have the whole line as their place, if any.
func (r *Run) findingRows() []FindingRow {
	rows := []FindingRow{}
	if r.Findings != nil {
		rows = NewCheckDocument(r.Findings).Findings
	}
	rows = append(rows, r.indexedFindingRows()...)
	for i := range r.Diagnosis.Findings {
		f := &r.Diagnosis.Findings[i]
		severity := rules.Warning
		if f.Info {
			severity = rules.Info
		}
		row := FindingRow{Rule: f.Rule, Name: f.Name, Severity: severity.String(), Message: f.Message, Related: []RelatedRow{}, Verdict: rules.Confirmed.String()}
		if row.File, row.Line = placeOf(f.Place, f.Known); row.Line > 0 {
			row.Column, row.EndLine, row.EndColumn = 1, row.Line, len([]rune(r.source(row.File, row.Line)))+1
		}
		// What of it can be removed the trace alone does not say: from nothing to all.
		low, high, share, wait := 0.0, Microseconds(f.NsPerStep), 0.0, 0.0
		row.CostUsPerStep, row.CostHighUsPerStep, row.CostShare, row.WaitUsPerStep = &low, &high, &share, &wait
		rows = append(rows, row)
	}
	return rows
}
