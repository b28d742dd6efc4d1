package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"stepline/rules"
)

// gitlabIssue is one entry of GitLab's code quality report.
// Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
type gitlabIssue struct {
	Description string         `json:"description"`
	CheckName   string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string      `json:"path"`
	Lines gitlabLines `json:"lines"`
}

type gitlabLines struct {
	Begin int `json:"begin"`
	End   int `json:"end"`
}

// WriteCheckGitLab prints findings as a GitLab code quality report. A finding's fingerprint is of its rule, file and source
// line, so that it stays the same finding when lines are put above it.
func WriteCheckGitLab(w io.Writer, found *Findings) error {
	issues := make([]gitlabIssue, 0, len(found.Findings))
	seen := map[string]int{}
	for i := range found.Findings {
		f := &found.Findings[i]
		start, end := found.locate(f.File, f.Span.Start), found.locate(f.File, f.Span.End)
		identity := strings.Join([]string{f.Rule.ID, f.File.Path, strings.TrimSpace(f.File.LineText(f.File.Line(f.Span.Start)))}, "\x00")
		seen[identity]++
		hash := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", identity, seen[identity]))
		issues = append(issues, gitlabIssue{
			Description: f.Message, CheckName: f.Rule.ID + " " + f.Rule.Name, Fingerprint: hex.EncodeToString(hash[:]),
			Severity: gitlabSeverity(f.Severity),
			Location: gitlabLocation{Path: f.File.Path, Lines: gitlabLines{Begin: start.Line, End: max(start.Line, end.Line)}},
		})
	}
	return WriteJSON(w, issues)
}

func gitlabSeverity(severity rules.Severity) string {
	switch severity {
	case rules.Error:
		return "critical"
	case rules.Warning:
		return "major"
	case rules.Info:
		return "minor"
	default:
		return "info"
	}
}
