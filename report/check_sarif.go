package report

import (
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"stepline/pyscan"
	"stepline/rules"
)

// WriteCheckSARIF prints findings as SARIF 2.1.0 with the rules that spoke, related places, fixes and, with a trace, the
// verdict and costs as result properties. version is stepline's own.
func WriteCheckSARIF(w io.Writer, found *Findings, version string) error {
	run := sarif.NewRunWithInformationURI("stepline", "https://stepline.dev")
	run.Tool.Driver.WithVersion(version)
	run.WithColumnKind("unicodeCodePoints")
	for _, rule := range rulesOf(found) {
		run.Tool.Driver.AddRule(sarifRule(rule))
	}
	for i := range found.Findings {
		run.AddResult(sarifResult(found, &found.Findings[i], run))
	}
	document := sarif.NewReport().AddRun(run)
	return WriteJSON(w, document)
}

// rulesOf lists the rules that spoke, by id.
func rulesOf(found *Findings) []*rules.Rule {
	var list []*rules.Rule
	for i := range found.Findings {
		if !slices.Contains(list, found.Findings[i].Rule) {
			list = append(list, found.Findings[i].Rule)
		}
	}
	slices.SortFunc(list, func(a, b *rules.Rule) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func sarifRule(rule *rules.Rule) *sarif.ReportingDescriptor {
	text := func(s string) *sarif.MultiformatMessageString { return sarif.NewMultiformatMessageString().WithText(s) }
	descriptor := sarif.NewRule(rule.ID).WithName(rule.Name).
		WithShortDescription(text(rule.Summary)).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(sarifLevel(rule.Severity))).
		WithHelpURI(rule.PageURL())
	if rule.Page != "" {
		descriptor.WithHelp(text(rule.Page).WithMarkdown(rule.Page))
	}
	return descriptor
}

func sarifLevel(severity rules.Severity) string {
	switch severity {
	case rules.Error:
		return "error"
	case rules.Warning:
		return "warning"
	default:
		return "note"
	}
}

func sarifResult(found *Findings, f *rules.Finding, run *sarif.Run) *sarif.Result {
	result := sarif.NewRuleResult(f.Rule.ID).
		WithRuleIndex(run.GetRuleIndex(f.Rule.ID)).
		WithLevel(sarifLevel(f.Severity)).
		WithMessage(sarif.NewTextMessage(f.Message)).
		AddLocation(sarif.NewLocationWithPhysicalLocation(sarifPlace(found, f.File, f.Span)))
	for i, related := range f.Related {
		result.AddRelatedLocation(sarif.NewLocationWithPhysicalLocation(sarifPlace(found, related.File, related.Span)).
			WithID(i + 1).WithMessage(sarif.NewTextMessage(related.Message)))
	}
	if fix := f.Fix(); fix != nil && len(fix.Edits) > 0 {
		result.AddFixe(sarifFix(found, fix))
	}
	properties := sarif.NewPropertyBag()
	properties.Add("severity", f.Severity.String())
	row := newFindingRow(found, f)
	if row.Verdict != "" {
		properties.Add("verdict", row.Verdict)
	}
	if row.CostUsPerStep != nil {
		properties.Add("cost_us_per_step", *row.CostUsPerStep)
		properties.Add("cost_high_us_per_step", *row.CostHighUsPerStep)
		properties.Add("cost_share", *row.CostShare)
		properties.Add("wait_us_per_step", *row.WaitUsPerStep)
	}
	if row.Cell > 0 {
		properties.Add("cell", row.Cell)
	}
	if row.Fix != nil {
		properties.Add("fix_safety", row.Fix.Safety)
	}
	return result.WithProperties(properties)
}

func sarifPlace(found *Findings, file *pyscan.File, span pyscan.Span) *sarif.PhysicalLocation {
	return sarif.NewPhysicalLocation().WithArtifactLocation(sarifArtifact(file.Path)).WithRegion(sarifRegion(found, file, span))
}

func sarifArtifact(path string) *sarif.ArtifactLocation {
	return sarif.NewArtifactLocation().WithURI((&url.URL{Path: path}).String())
}

func sarifRegion(found *Findings, file *pyscan.File, span pyscan.Span) *sarif.Region {
	start, end := found.locate(file, span.Start), found.locate(file, span.End)
	return sarif.NewRegion().WithStartLine(start.Line).WithStartColumn(start.Column).WithEndLine(end.Line).WithEndColumn(end.Column)
}

func sarifFix(found *Findings, fix *rules.Fix) *sarif.Fix {
	changes := map[string]*sarif.ArtifactChange{}
	result := sarif.NewFix().WithDescription(sarif.NewTextMessage(fix.Title))
	for _, edit := range fix.Edits {
		change := changes[edit.File.Path]
		if change == nil {
			change = sarif.NewArtifactChange().WithArtifactLocation(sarifArtifact(edit.File.Path))
			changes[edit.File.Path] = change
			result.AddArtifactChange(change)
		}
		change.AddReplacement(sarif.NewReplacement().
			WithDeletedRegion(sarifRegion(found, edit.File, edit.Span)).
			WithInsertedContent(sarif.NewArtifactContent().WithText(edit.New)))
	}
	return result
}
