package report

import (
	"encoding/json"
	"io"

	"stepline/traceindex"
)

// SchemaVersion is the "schema" number of every JSON document stepline prints.
const SchemaVersion = 1

type (
	// LinesDocument is the output of `lines --format json` (docs/schema/lines.schema.json).
	LinesDocument struct {
		Schema       int                  `json:"schema"`
		Trace        TraceSummary         `json:"trace"`
		Lines        []LineRow            `json:"lines"`
		Unattributed []UnattributedRow    `json:"unattributed"`
		Warnings     []traceindex.Warning `json:"warnings"`
		// Beside has what inputs other than traces say; absent without any.
		Beside *Beside `json:"beside,omitempty"`
	}
	// TraceSummary is the "trace" object: sums over the whole trace, in microseconds.
	TraceSummary struct {
		Files           []string `json:"files"`
		Ranks           int      `json:"ranks"`
		Device          string   `json:"device"`
		Steps           int      `json:"steps"`
		StepMeanUs      float64  `json:"step_mean_us"`
		GPUTotalUs      float64  `json:"gpu_total_us"`
		GPUBusyUs       float64  `json:"gpu_busy_us"`
		GPUIdleUs       float64  `json:"gpu_idle_us"`
		GPUIdleNoLineUs float64  `json:"gpu_idle_no_line_us"`
		CallLines       bool     `json:"call_lines"`
	}
	// LineRow is one line's cost: sums over the whole trace, in microseconds. Line counts from 1.
	LineRow struct {
		File           string       `json:"file"`
		Line           int          `json:"line"`
		Function       string       `json:"function"`
		Calls          int64        `json:"calls"`
		CudaSelfUs     float64      `json:"cuda_self_us"`
		CudaBackwardUs float64      `json:"cuda_backward_us"`
		Kernels        int64        `json:"kernels"`
		CPUUs          float64      `json:"cpu_us"`
		GPUIdleUs      float64      `json:"gpu_idle_us"`
		SyncUs         float64      `json:"sync_us"`
		BubbleUs       float64      `json:"bubble_us"`
		CopyUs         float64      `json:"copy_us"`
		CopyBytes      int64        `json:"copy_bytes"`
		Confidence     string       `json:"confidence"`
		ConfidenceUs   ConfidenceUs `json:"confidence_us"`
	}
	// ConfidenceUs splits a line's GPU time by how sure its place is, in microseconds.
	ConfidenceUs struct {
		Exact     float64 `json:"exact"`
		Likely    float64 `json:"likely"`
		Ambiguous float64 `json:"ambiguous"`
		Function  float64 `json:"function"`
	}
	// UnattributedRow is GPU time that fits no line, with the place it hangs at where there is one.
	UnattributedRow struct {
		Reason     string  `json:"reason"`
		CudaUs     float64 `json:"cuda_us"`
		File       string  `json:"file,omitempty"`
		Line       int     `json:"line,omitempty"`
		Function   string  `json:"function,omitempty"`
		Candidates []int   `json:"candidates,omitempty"`
	}
)

// NewLinesDocument writes costs down as the contract has them; lines keep the order given.
func NewLinesDocument(costs *traceindex.Costs, lines []traceindex.LineCost) LinesDocument {
	document := LinesDocument{
		Schema:       SchemaVersion,
		Trace:        NewTraceSummary(costs.Summary),
		Lines:        make([]LineRow, 0, len(lines)),
		Unattributed: make([]UnattributedRow, 0, len(costs.Unattributed)),
		Warnings:     costs.Warnings,
	}
	for i := range lines {
		document.Lines = append(document.Lines, NewLineRow(&lines[i]))
	}
	for _, row := range costs.Unattributed {
		document.Unattributed = append(document.Unattributed, UnattributedRow{
			Reason: row.Reason, CudaUs: Microseconds(row.Ns),
			File: row.File, Line: row.Line, Function: row.Function, Candidates: row.Candidates,
		})
	}
	if document.Warnings == nil {
		document.Warnings = []traceindex.Warning{}
	}
	return document
}

// NewTraceSummary is the "trace" object of a run.
func NewTraceSummary(s traceindex.Summary) TraceSummary {
	files := s.Files
	if files == nil {
		files = []string{}
	}
	return TraceSummary{
		Files: files, Ranks: s.Ranks, Device: s.Device, Steps: s.Steps,
		StepMeanUs: Microseconds(s.StepMeanNs),
		GPUTotalUs: Microseconds(s.GPUTotalNs), GPUBusyUs: Microseconds(s.GPUBusyNs),
		GPUIdleUs: Microseconds(s.GPUIdleNs), GPUIdleNoLineUs: Microseconds(s.GPUIdleNoLineNs),
		CallLines: s.CallLines,
	}
}

// NewLineRow is one row of `lines --format json`.
func NewLineRow(l *traceindex.LineCost) LineRow {
	return LineRow{
		File: l.File, Line: l.Line, Function: l.Function, Calls: l.Calls,
		CudaSelfUs: Microseconds(l.SelfNs), CudaBackwardUs: Microseconds(l.BackwardNs), Kernels: l.Kernels,
		CPUUs: Microseconds(l.CPUNs), GPUIdleUs: Microseconds(l.GPUIdleNs),
		SyncUs: Microseconds(l.SyncNs), BubbleUs: Microseconds(l.BubbleNs),
		CopyUs: Microseconds(l.CopyNs), CopyBytes: l.CopyBytes,
		Confidence: l.Confidence.String(),
		ConfidenceUs: ConfidenceUs{
			Exact:     Microseconds(l.ByConfidence[traceindex.ConfidenceExact]),
			Likely:    Microseconds(l.ByConfidence[traceindex.ConfidenceLikely]),
			Ambiguous: Microseconds(l.ByConfidence[traceindex.ConfidenceAmbiguous]),
			Function:  Microseconds(l.ByConfidence[traceindex.ConfidenceFunction]),
		},
	}
}

// Microseconds converts nanoseconds without losing one (exact up to 2^53 ns, 104 days).
func Microseconds(ns int64) float64 { return float64(ns) / 1e3 }

// WriteJSON prints a document of the contract, indented, with a final newline and without HTML escapes.
func WriteJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}
