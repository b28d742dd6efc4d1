package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"stepline/rules"
)

// CheckView says how findings are drawn.
type CheckView struct {
	// Width is the terminal's width in cells; long source lines are cut around the finding.
	Width int
	Style Style
}

// WriteCheckText prints each finding with its source line, carets under the place, its price and its fix, then a summary.
func WriteCheckText(w io.Writer, found *Findings, view CheckView) error {
	var out strings.Builder
	view.Width = max(view.Width, 60)
	for i := range found.Findings {
		writeFinding(&out, found, &found.Findings[i], view)
	}
	out.WriteString(checkSummary(found) + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func writeFinding(out *strings.Builder, found *Findings, f *rules.Finding, view CheckView) {
	style := view.Style
	at := found.locate(f.File, f.Span.Start)
	fmt.Fprintf(out, "%s %s %s %s\n",
		style.Heading.Render(placeText(f.File.Path, at)+":"),
		severityStyle(style, f.Severity).Render(f.Severity.String()),
		style.Strong.Render(f.Rule.ID), style.Dim.Render(f.Rule.Name))
	for _, line := range strings.Split(ansi.Wordwrap(Printable(f.Message), view.Width-2, ""), "\n") {
		out.WriteString("  " + line + "\n")
	}
	writeExcerpt(out, f, at, view)
	if note := priceNote(f); note != "" {
		writeNote(out, style, view.Width, note)
	}
	for _, related := range f.Related {
		place := placeText(related.File.Path, found.locate(related.File, related.Span.Start))
		writeNote(out, style, view.Width, place+": "+Printable(related.Message))
	}
	if fix := f.Fix(); fix != nil {
		label := "fix"
		if fix.Safety == rules.Unsafe {
			label = "fix (unsafe)"
		}
		writeNote(out, style, view.Width, label+": "+Printable(fix.Title))
	}
	out.WriteString("\n")
}

func writeNote(out *strings.Builder, style Style, width int, text string) {
	const indent = "      = "
	for i, line := range strings.Split(ansi.Wordwrap(text, width-len(indent), ""), "\n") {
		lead := indent
		if i > 0 {
			lead = strings.Repeat(" ", len(indent))
		}
		out.WriteString(style.Dim.Render(lead) + line + "\n")
	}
}

// placeText is "train.py:36:20", or "explore.ipynb:cell 3:2:5" in a notebook.
func placeText(path string, at Position) string {
	if at.Cell > 0 {
		return fmt.Sprintf("%s:cell %d:%d:%d", Printable(path), at.Cell, at.Line, at.Column)
	}
	return fmt.Sprintf("%s:%d:%d", Printable(path), at.Line, at.Column)
}

// writeExcerpt prints the finding's first line with its number and carets under the span (to the line's end if it goes on).
func writeExcerpt(out *strings.Builder, f *rules.Finding, at Position, view CheckView) {
	const gutter = 5
	lineSpan := f.File.LineSpan(f.File.Line(f.Span.Start))
	start := min(max(f.Span.Start, lineSpan.Start), lineSpan.End)
	end := min(max(f.Span.End, start), lineSpan.End)
	before := Printable(strings.TrimPrefix(f.File.Text[lineSpan.Start:start], "\ufeff"))
	marked := Printable(f.File.Text[start:end])
	after := Printable(f.File.Text[end:lineSpan.End])
	indent := len(before) - len(strings.TrimLeft(before, " "))
	if keep := indent % 4; indent > 8 { // deep code moves left, its shape stays
		before, indent = before[indent-4-keep:], 4+keep
	}
	room := view.Width - gutter - 3
	if ansi.StringWidth(before+marked) > room {
		before = ansi.TruncateLeft(before, max(ansi.StringWidth(before)-room/3, 0), "…")
		marked = ansi.Truncate(marked, max(room-ansi.StringWidth(before), 8), "…")
	}
	after = ansi.Truncate(after, max(room-ansi.StringWidth(before+marked), 0), "…")
	carets := strings.Repeat("^", max(ansi.StringWidth(marked), 1))
	style := view.Style
	fmt.Fprintf(out, "%s %s%s%s\n", style.Dim.Render(padLeft(fmt.Sprint(at.Line), gutter)+" |"), before, marked, after)
	fmt.Fprintf(out, "%s %s%s\n", style.Dim.Render(strings.Repeat(" ", gutter)+" |"),
		strings.Repeat(" ", ansi.StringWidth(before)), severityStyle(style, f.Severity).Render(carets))
}

// priceNote is what the trace says about a finding, "" without a trace.
func priceNote(f *rules.Finding) string {
	evidence := ""
	if f.Cost.Evidence != "" {
		evidence = ": " + Printable(f.Cost.Evidence)
	}
	switch f.Verdict {
	case rules.Confirmed:
		return "confirmed by the trace, costs " + costRange(f.Cost) + evidence
	case rules.Refuted:
		return "refuted by the trace: it ran and cost " + costRange(f.Cost) + evidence
	case rules.NotObserved:
		return "not observed: this code did not run in the trace"
	default:
		return ""
	}
}

func costRange(c rules.Cost) string {
	low, high := Duration(float64(c.LowNs)), Duration(float64(max(c.LowNs, c.HighNs)))
	text := low
	switch {
	case low == high && low == "0":
		text = "nothing measurable"
	case low != high:
		text = low + " to " + high
	}
	if text != "nothing measurable" {
		text += " a step"
		if c.Share > 0 {
			text += " (" + Percent(c.Share) + ")"
		}
	}
	if c.WaitNs > 0 {
		text += "; the host waits " + Duration(float64(c.WaitNs))
	}
	return text
}

func severityStyle(style Style, severity rules.Severity) lipgloss.Style {
	switch severity {
	case rules.Error:
		return style.Error
	case rules.Warning:
		return style.Warning
	case rules.Info:
		return style.Info
	default:
		return style.Hint
	}
}

func checkSummary(found *Findings) string {
	if len(found.Findings) == 0 {
		return fmt.Sprintf("No findings in %s.", Plural(found.Files, "file"))
	}
	counts := map[rules.Severity]int{}
	safe, unsafe := 0, 0
	for i := range found.Findings {
		f := &found.Findings[i]
		counts[f.Severity]++
		if fix := f.Fix(); fix != nil && fix.Safety == rules.Safe {
			safe++
		} else if fix != nil && fix.Safety == rules.Unsafe {
			unsafe++
		}
	}
	var parts []string
	for _, severity := range []rules.Severity{rules.Error, rules.Warning, rules.Info, rules.Hint} {
		if counts[severity] > 0 {
			word := severity.String()
			if severity == rules.Info {
				parts = append(parts, fmt.Sprintf("%d info", counts[severity]))
				continue
			}
			parts = append(parts, Plural(counts[severity], word))
		}
	}
	text := fmt.Sprintf("%s in %s: %s.", Plural(len(found.Findings), "finding"), Plural(found.Files, "file"), strings.Join(parts, ", "))
	if safe > 0 {
		text += fmt.Sprintf(" %d can be mended with --fix.", safe)
	}
	if unsafe > 0 {
		more := "can be mended"
		if safe > 0 {
			more = "more"
		}
		text += fmt.Sprintf(" %d %s with --fix --unsafe-fixes, to be read before keeping.", unsafe, more)
	}
	return text
}

// WriteStatistics prints how often each rule spoke, most often first.
func WriteStatistics(w io.Writer, found *Findings) error {
	var out strings.Builder
	for _, row := range NewStatistics(found) {
		fixable := ""
		if row.Fixable > 0 {
			fixable = fmt.Sprintf("  %d with a safe fix", row.Fixable)
		}
		fmt.Fprintf(&out, "%6d  %s  %s%s\n", row.Count, row.Rule, row.Name, fixable)
	}
	out.WriteString(checkSummary(found) + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}
