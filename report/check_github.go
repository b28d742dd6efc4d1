package report

import (
	"fmt"
	"io"
	"strings"

	"stepline/rules"
)

// WriteCheckGitHub prints findings as GitHub Actions workflow commands, which show as annotations on the changed lines.
// Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
func WriteCheckGitHub(w io.Writer, found *Findings) error {
	var out strings.Builder
	for i := range found.Findings {
		f := &found.Findings[i]
		start, end := found.locate(f.File, f.Span.Start), found.locate(f.File, f.Span.End)
		properties := fmt.Sprintf("file=%s,line=%d", githubProperty(f.File.Path), start.Line)
		if start.Line == end.Line { // GitHub refuses columns of a range over several lines
			properties += fmt.Sprintf(",col=%d,endColumn=%d", start.Column, end.Column)
		} else {
			properties += fmt.Sprintf(",endLine=%d", end.Line)
		}
		properties += ",title=" + githubProperty("stepline "+f.Rule.ID+" "+f.Rule.Name)
		message := f.Message
		if note := priceNote(f); note != "" {
			message += "\n" + note
		}
		fmt.Fprintf(&out, "::%s %s::%s\n", githubLevel(f.Severity), properties, githubData(message))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func githubLevel(severity rules.Severity) string {
	switch severity {
	case rules.Error:
		return "error"
	case rules.Warning:
		return "warning"
	default:
		return "notice"
	}
}

var (
	githubDataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubPropertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func githubData(text string) string     { return githubDataEscapes.Replace(text) }
func githubProperty(text string) string { return githubPropertyEscapes.Replace(text) }
