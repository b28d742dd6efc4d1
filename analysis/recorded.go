package analysis

import (
	"os"
	"strings"

	"stepline/pyscan"
	"stepline/traceindex"
	"stepline/traceindex/attribute"
	"stepline/traceindex/recorder"
)

// recordedTexts gives the sources as they ran, from what `stepline record` notes beside its traces (X.sources.json.gz beside
// X.json.gz); nil where there is none. A file that cannot be read is as good as none: the workspace's text then stands in.
func recordedTexts(run *traceindex.Run) func(recorded string) (string, bool) {
	texts := map[string]string{}
	for _, index := range run.Ranks {
		sources := readRecordedSources(index.Meta.File)
		if sources == nil {
			continue
		}
		for _, f := range sources.Files {
			if f.Text == "" || f.ModifiedAfterStart {
				continue
			}
			for _, name := range f.Recorded {
				texts[name] = f.Text
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return func(recorded string) (string, bool) {
		text, ok := texts[recorded]
		return text, ok
	}
}

func readRecordedSources(trace string) *recorder.Sources {
	stem := strings.TrimSuffix(strings.TrimSuffix(trace, ".gz"), ".json")
	for _, name := range []string{stem + ".sources.json.gz", stem + ".sources.json"} {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		sources, err := recorder.ReadSources(file)
		file.Close()
		if err == nil {
			return sources
		}
	}
	return nil
}

// followEdits brings what was attributed to recorded texts to the workspace's files as they are now: unchanged statements keep
// their numbers on their new lines, functions that changed inside keep theirs as a whole.
func followEdits(a *attribute.Attribution, sources *attribute.Workspace) {
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
