package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// ignoreList is an ignore comment with its list of codes.
var ignoreList = regexp.MustCompile(`#[ \t]*stepline:[ \t]*ignore[ \t]*\[([^\]\r\n]*)\]`)

// AddIgnores makes the fix that silences findings of one file where they stand: their rules join the line's ignore comment,
// or a new one goes to the line's end. The line is that of the end of the finding's simple statement (formatters keep
// trailing comments there, and no string is open), else that of the finding's end. Lines that end with a backslash can
// hold no comment: left counts the findings that stay.
func AddIgnores(file *pyscan.File, findings []Finding) (fix Fix, left int) {
	codes := map[int][]string{} // by line
	var lines []int
	for i := range findings {
		f := &findings[i]
		at := max(f.Span.Start, f.Span.End-1)
		if s := file.StatementAt(f.Span.Start); s != nil && len(pyscan.Bodies(s)) == 0 && s.Range().Covers(f.Span) {
			at = max(s.Range().Start, s.Range().End-1)
		}
		line := file.Line(at)
		text := strings.TrimRight(file.LineText(line), " \t\f")
		if strings.HasSuffix(text, `\`) {
			left++
			continue
		}
		if codes[line] == nil {
			lines = append(lines, line)
		}
		if !containsCode(codes[line], f.Rule.ID) {
			codes[line] = append(codes[line], f.Rule.ID)
		}
	}
	fix = Fix{Title: "Ignore here", Safety: Safe}
	for _, line := range lines {
		fix.Edits = append(fix.Edits, ignoreEdit(file, line, codes[line]))
	}
	return fix, left
}

func ignoreEdit(file *pyscan.File, line int, codes []string) TextEdit {
	span := file.LineSpan(line)
	text := file.Text[span.Start:span.End]
	if m := ignoreList.FindStringSubmatchIndex(text); m != nil {
		list := strings.Join(codes, ", ")
		if strings.TrimSpace(text[m[2]:m[3]]) != "" {
			list = ", " + list
		}
		end := span.Start + m[3]
		return TextEdit{File: file, Span: pyscan.Span{Start: end, End: end}, New: list}
	}
	at := span.Start + len(strings.TrimRight(text, " \t\f"))
	return TextEdit{File: file, Span: pyscan.Span{Start: at, End: span.End}, New: "  # stepline: ignore[" + strings.Join(codes, ", ") + "]"}
}

func containsCode(codes []string, code string) bool {
	for _, c := range codes {
		if c == code {
			return true
		}
	}
	return false
}
