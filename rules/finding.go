package rules

import (
	"cmp"
	"slices"

	"stepline/pyscan"
)

// Finding is one thing a rule says about one place.
type Finding struct {
	Rule *Rule
	// File is the file Span lies in.
	File *pyscan.File
	// Span is the expression that costs, as byte offsets into File.Text.
	Span     pyscan.Span
	Message  string
	Severity Severity
	Related  []Related
	// Fixes are the ways to mend it, the preferred one first; empty where the rule only advises.
	Fixes []Fix
	Tags  []Tag

	// Verdict and Cost are filled when a trace is loaded; Verdict is VerdictNone without one and for unpriced rules.
	Verdict Verdict
	Cost    Cost
	// Measured is the span a trace is asked about; the zero span stands for Span. MeasuredFile is its file, nil for File.
	Measured     pyscan.Span
	MeasuredFile *pyscan.File

	// Carried says, of a finding that Live.Edited gives, which of the last full check's it is, moved: 1 for the first; 0 for one that
	// was found anew.
	Carried int
}

// Fix returns the preferred fix, nil if there is none.
func (f *Finding) Fix() *Fix {
	if len(f.Fixes) == 0 {
		return nil
	}
	return &f.Fixes[0]
}

// Related is another place that explains a finding: the loop, the loader, the autocast block.
type Related struct {
	File    *pyscan.File
	Span    pyscan.Span
	Message string
}

// Fix is a titled set of edits that are applied together or not at all.
type Fix struct {
	Title  string
	Safety Safety
	Edits  []TextEdit
}

// TextEdit replaces Span of File by New.
type TextEdit struct {
	File *pyscan.File
	Span pyscan.Span
	New  string
}

// Tag marks how an editor should draw a finding.
type Tag uint8

const (
	// TagUnnecessary marks code that can go (drawn faded).
	TagUnnecessary Tag = iota + 1
	// TagDeprecated marks names that newer torch versions dropped (drawn struck through).
	TagDeprecated
)

// Verdict is what a trace says about a finding.
type Verdict uint8

const (
	// VerdictNone: no trace was asked.
	VerdictNone Verdict = iota
	// Confirmed: it happened in the trace and cost what Cost says.
	Confirmed
	// Refuted: it happened and cost nothing that matters; the finding is a hint.
	Refuted
	// NotObserved: the code did not run in the trace.
	NotObserved
)

// String is the word of the JSON contract, "" for VerdictNone.
func (v Verdict) String() string {
	return [...]string{"", "confirmed", "refuted", "not-observed"}[v]
}

// SortFindings orders findings by path, place and rule; it is the order every output uses unless it ranks by price.
func SortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File.Path, b.File.Path),
			cmp.Compare(a.Span.Start, b.Span.Start),
			cmp.Compare(a.Span.End, b.Span.End),
			cmp.Compare(a.Rule.ID, b.Rule.ID),
			cmp.Compare(a.Message, b.Message),
		)
	})
}
