package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stepline/pyscan"
)

// unusedSuppression is the frame's own rule: an ignore comment that silences nothing.
var unusedSuppression = &Rule{
	ID:       "LNT001",
	Name:     "unused-ignore",
	Summary:  "an ignore comment that silences nothing",
	Severity: Info,
	Fix:      Safe,
	AnyFile:  true,
	Page:     unusedSuppressionPage,
	Check:    func(*Pass) {},
}

// UnusedSuppression is the rule that reports ignore comments which silence nothing; Run applies it itself.
func UnusedSuppression() *Rule { return unusedSuppression }

const unusedSuppressionPage = `# LNT001 unused-ignore

## What it does
Reports ` + "`# stepline: ignore[…]`" + ` comments, and stepline's codes in ` + "`# noqa: …`" + ` comments, that silence no finding.

## Why it costs
A comment that outlives its finding hides the next one on that line.

## Example
` + "```python" + `
loss.backward()  # stepline: ignore[SYN001]
` + "```" + `

## Instead
` + "```python" + `
loss.backward()
` + "```" + `

## When it stays silent
For rules that are switched off by the configuration, and for codes of other linters.

## Fix safety
Safe: the code, or the whole comment when nothing is left of it, is removed.

## What a trace shows
Nothing; this is about the source alone.

## References
- stepline's README, "Suppressions".
`

// suppression is one ignore comment.
type suppression struct {
	line    int           // 1-based
	whole   bool          // ignore-file
	all     bool          // no codes: everything
	noqa    bool          // written as # noqa
	codes   []string      // upper case
	spans   []pyscan.Span // of each code
	comment pyscan.Span   // from # to the end of the directive
	used    []bool        // per code; used[0] for all
}

var (
	steplineComment = regexp.MustCompile(`#[ \t]*stepline:[ \t]*(ignore-file|ignore)\b[ \t]*(?:\[([^\]\r\n]*)\])?`)
	noqaComment     = regexp.MustCompile(`(?i)#[ \t]*noqa\b(?:[ \t]*:[ \t]*([A-Z][A-Z0-9]*(?:[ \t]*[, \t][ \t]*[A-Z]+[0-9]+)*))?`)
	ruleCode        = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*`)
)

// saysNoqa reports whether a text holds "noqa" in any case.
func saysNoqa(text string) bool {
	for _, q := range []byte("qQ") {
		for from := 0; ; {
			i := strings.IndexByte(text[from:], q)
			if i < 0 {
				break
			}
			from += i + 1
			if from >= 3 && from < len(text) && strings.EqualFold(text[from-3:from+1], "noqa") {
				return true
			}
		}
	}
	return false
}

// suppressionsOf finds the ignore comments in a part of a file. Look-alikes inside string literals are none.
func suppressionsOf(t *Tree, part pyscan.Span) []*suppression {
	text := t.File.Text[:part.End]
	if !strings.Contains(text[part.Start:], "stepline:") && !saysNoqa(text[part.Start:]) {
		return nil
	}
	strs := stringSpans(t)
	inString := func(offset int) bool {
		return slices.ContainsFunc(strs, func(s pyscan.Span) bool { return s.Contains(offset) })
	}
	var out []*suppression
	for _, m := range matchesIn(steplineComment, text, part.Start) {
		if inString(m[0]) {
			continue
		}
		s := &suppression{comment: pyscan.Span{Start: m[0], End: m[1]}, whole: text[m[2]:m[3]] == "ignore-file"}
		s.read(text, m[4], m[5])
		out = append(out, s)
	}
	for _, m := range matchesIn(noqaComment, text, part.Start) {
		if inString(m[0]) {
			continue
		}
		s := &suppression{comment: pyscan.Span{Start: m[0], End: m[1]}, noqa: true}
		s.read(text, m[2], m[3])
		out = append(out, s)
	}
	for _, s := range out {
		s.line = lineOf(t.File, s.comment.Start)
	}
	slices.SortFunc(out, func(a, b *suppression) int { return a.comment.Start - b.comment.Start })
	return out
}

// matchesIn are a pattern's matches in a text from an offset on.
func matchesIn(pattern *regexp.Regexp, text string, from int) [][]int {
	matches := pattern.FindAllStringSubmatchIndex(text[from:], -1)
	for _, m := range matches {
		for i := range m {
			if m[i] >= 0 {
				m[i] += from
			}
		}
	}
	return matches
}

func (s *suppression) read(text string, start, end int) {
	if start < 0 || strings.TrimSpace(text[start:end]) == "" {
		s.all, s.used = true, make([]bool, 1)
		return
	}
	for _, m := range ruleCode.FindAllStringIndex(text[start:end], -1) {
		s.codes = append(s.codes, strings.ToUpper(text[start+m[0]:start+m[1]]))
		s.spans = append(s.spans, pyscan.Span{Start: start + m[0], End: start + m[1]})
	}
	s.used = make([]bool, len(s.codes))
}

// silences marks and reports whether the comment covers the rule.
func (s *suppression) silences(r *Rule) bool {
	if s.all {
		s.used[0] = true
		return true
	}
	for i, code := range s.codes {
		if s.means(code, r) {
			s.used[i] = true
			return true
		}
	}
	return false
}

// minNoqaCode is a family's length: `# noqa: D` and the like are other linters' families, not the beginning of one of stepline's.
const minNoqaCode = len("SYN")

// means tells whether a code of the comment is the rule: its id, the beginning of it, or its name.
func (s *suppression) means(code string, r *Rule) bool {
	if s.noqa && len(code) < minNoqaCode {
		return false
	}
	return strings.HasPrefix(r.ID, code) || strings.EqualFold(r.Name, code)
}

func stringSpans(t *Tree) []pyscan.Span {
	var out []pyscan.Span
	for _, s := range t.Sites {
		switch n := s.Node.(type) {
		case *pyscan.Constant:
			if n.Kind == pyscan.ConstString || n.Kind == pyscan.ConstBytes {
				out = append(out, n.Span)
			}
		case *pyscan.FString:
			out = append(out, n.Span)
		}
	}
	return out
}

// suppress drops the findings that comments silence. A comment counts for findings that begin or end on its line, and for
// findings of a simple statement that ends on its line (formatters move trailing comments there).
func suppress(t *Tree, comments []*suppression, findings []Finding) []Finding {
	if len(comments) == 0 {
		return findings
	}
	return slices.DeleteFunc(findings, func(f Finding) bool {
		lines := findingLines(t, f.Span)
		silenced := false
		for _, c := range comments {
			if (c.whole && !c.noqa || slices.Contains(lines, c.line)) && c.silences(f.Rule) {
				silenced = true
			}
		}
		return silenced
	})
}

// findingLines are the lines on which a comment speaks for a span.
func findingLines(t *Tree, span pyscan.Span) []int {
	lines := []int{lineOf(t.File, span.Start), lineOf(t.File, max(span.Start, span.End-1))}
	if s := t.simpleStatementAt(span.Start); s != nil {
		r := s.Range()
		if r.Covers(span) {
			lines = append(lines, lineOf(t.File, max(r.Start, r.End-1)))
		}
	}
	return lines
}

// simpleStatementAt is the innermost simple statement that covers an offset, nil if a compound statement's header does.
func (t *Tree) simpleStatementAt(offset int) *Site {
	var found *Site
	for _, s := range t.Sites {
		stmt, ok := s.Node.(pyscan.Stmt)
		if !ok || !stmt.Range().Contains(offset) {
			continue
		}
		switch stmt.(type) {
		case *pyscan.FunctionDef, *pyscan.ClassDef, *pyscan.If, *pyscan.For, *pyscan.While, *pyscan.With, *pyscan.Try, *pyscan.Match, *pyscan.BadStmt:
		default:
			found = s
		}
	}
	return found
}

// unusedFindings reports the comments that silenced nothing. checked tells which rules ran; catalog knows all of them. What is
// found can be silenced by an ignore of LNT001 on its line, or one for the file, which then must be of use itself.
func unusedFindings(t *Tree, comments []*suppression, catalog []*Rule, checked func(*Rule) bool) []Finding {
	var out []Finding
	for _, c := range comments {
		if c.all {
			if c.noqa || c.used[0] { // a bare noqa speaks to every linter
				continue
			}
			out = append(out, unusedFinding(t, c, -1, "this comment silences no finding"))
			continue
		}
		for i, code := range c.codes {
			known, ran := false, false
			for _, r := range catalog {
				if c.means(code, r) {
					known, ran = true, ran || checked(r)
				}
			}
			switch {
			case c.used[i], known && !ran, !known && c.noqa, c.means(code, unusedSuppression):
			case !known:
				out = append(out, unusedFinding(t, c, i, fmt.Sprintf("stepline has no rule %s", code)))
			default:
				out = append(out, unusedFinding(t, c, i, fmt.Sprintf("nothing here breaks %s: the comment silences no finding", code)))
			}
		}
	}
	out = slices.DeleteFunc(out, func(f Finding) bool {
		silenced := false
		for _, c := range comments {
			if !c.all && (c.whole || c.line == lineOf(t.File, f.Span.Start)) && c.silences(unusedSuppression) {
				silenced = true
			}
		}
		return silenced
	})
	for _, c := range comments {
		for i, code := range c.codes {
			if !c.used[i] && c.means(code, unusedSuppression) {
				out = append(out, unusedFinding(t, c, i, fmt.Sprintf("no comment here is unused but for %s", code)))
			}
		}
	}
	return out
}

func unusedFinding(t *Tree, c *suppression, code int, message string) Finding {
	span := c.comment
	if code >= 0 {
		span = c.spans[code]
	}
	edit := TextEdit{File: t.File, Span: c.comment}
	if code >= 0 && len(c.codes) > 1 {
		edit.Span = listItemSpan(t.File.Text, c.spans, code)
	} else {
		edit.Span = commentRemoval(t.File.Text, c.comment)
	}
	return Finding{
		Rule: unusedSuppression, File: t.File, Span: span, Message: message, Severity: unusedSuppression.Severity,
		Tags:  []Tag{TagUnnecessary},
		Fixes: []Fix{{Title: "Remove the unused ignore", Safety: Safe, Edits: []TextEdit{edit}}},
	}
}

// listItemSpan is one item of a comma list with one of its commas.
func listItemSpan(text string, spans []pyscan.Span, i int) pyscan.Span {
	if i+1 < len(spans) {
		return pyscan.Span{Start: spans[i].Start, End: spans[i+1].Start}
	}
	return pyscan.Span{Start: spans[i-1].End, End: spans[i].End}
}

// commentRemoval is the directive with what would be left dangling: the blanks before it, and the whole line if nothing else is on it.
func commentRemoval(text string, span pyscan.Span) pyscan.Span {
	lineEnd := len(text)
	if i := strings.IndexAny(text[span.End:], "\r\n"); i >= 0 {
		lineEnd = span.End + i
	}
	rest := strings.TrimSpace(text[span.End:lineEnd])
	if rest != "" && !strings.HasPrefix(rest, "#") { // words of the same comment stay, as a comment
		return pyscan.Span{Start: span.Start + 1, End: span.End}
	}
	if rest == "" {
		span.End = lineEnd
	} else {
		span.End += strings.IndexByte(text[span.End:lineEnd], '#')
		return span
	}
	start := span.Start
	for start > 0 && (text[start-1] == ' ' || text[start-1] == '\t') {
		start--
	}
	if start == 0 || text[start-1] == '\n' || text[start-1] == '\r' { // alone on its line
		end := lineEnd
		if strings.HasPrefix(text[end:], "\r\n") {
			end += 2
		} else if end < len(text) {
			end++
		}
		return pyscan.Span{Start: start, End: end}
	}
	return pyscan.Span{Start: start, End: span.End}
}
