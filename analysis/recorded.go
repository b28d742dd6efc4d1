package analysis

import (
	"strings"

	"stepline/pyscan"
	"stepline/traceindex/attribute"
)

// followEdits brings what was attributed to recorded texts to the workspace's files as they are now: unchanged statements keep
// their numbers on their new lines, functions that changed inside keep theirs as a whole.
func followEdits(a *attribute.Attribution, sources *ranSources) {
	for path, f := range sources.byPath {
		if f.ran == nil {
			a.Doubt(path, f.asItRan)
		}
	}
	for path, recorded := range a.Files {
		now := sources.File(path)
		if now == nil || now.Text == recorded.Text {
			continue
		}
		lines := FollowLines(recorded, now)
		a.Move(path, now, func(old int) (int, bool) {
			if line, fresh := lines.Line(old); line > 0 {
				return line, fresh
			}
			return followClassLine(recorded, now, old)
		})
	}
}

// followClassLine follows a line of a class's body, which runs in no function of the model, by its text where that stands once.
func followClassLine(older, newer *pyscan.File, old int) (int, bool) {
	span := older.LineSpan(old)
	text := strings.TrimSpace(older.Text[span.Start:span.End])
	if text == "" || older.FunctionAt(span.Start) != older.Module || only(older, text) == 0 {
		return 0, false
	}
	line := only(newer, text)
	return line, line > 0
}

// only is the line with a text that no other line has, 0 if there is none or several.
func only(file *pyscan.File, text string) int {
	found := 0
	for line := 1; line <= file.LineCount(); line++ {
		span := file.LineSpan(line)
		if strings.TrimSpace(file.Text[span.Start:span.End]) != text {
			continue
		}
		if found > 0 {
			return 0
		}
		found = line
	}
	return found
}
