package report

import (
	"cmp"
	"slices"

	"stepline/rules"
)

// StatisticsRow is how often one rule spoke (`check --statistics`).
type StatisticsRow struct {
	Rule string `json:"rule"`
	Name string `json:"name"`
	// Count is the number of findings, Fixable the part of it with a safe fix.
	Count   int `json:"count"`
	Fixable int `json:"fixable"`
}

// NewStatistics counts findings by rule, most frequent first, then by id.
func NewStatistics(found *Findings) []StatisticsRow {
	byRule := map[*rules.Rule]*StatisticsRow{}
	for i := range found.Findings {
		f := &found.Findings[i]
		row := byRule[f.Rule]
		if row == nil {
			row = &StatisticsRow{Rule: f.Rule.ID, Name: f.Rule.Name}
			byRule[f.Rule] = row
		}
		row.Count++
		if fix := f.Fix(); fix != nil && fix.Safety == rules.Safe {
			row.Fixable++
		}
	}
	rows := make([]StatisticsRow, 0, len(byRule))
	for _, row := range byRule {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b StatisticsRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
	return rows
}

// StatisticsDocument is the output of `check --statistics --format json`.
type StatisticsDocument struct {
	Schema     int             `json:"schema"`
	Statistics []StatisticsRow `json:"statistics"`
	Files      int             `json:"files"`
}

// NewStatisticsDocument counts findings by rule.
func NewStatisticsDocument(found *Findings) StatisticsDocument {
	rows := NewStatistics(found)
	if rows == nil {
		rows = []StatisticsRow{}
	}
	return StatisticsDocument{Schema: SchemaVersion, Statistics: rows, Files: found.Files}
}
