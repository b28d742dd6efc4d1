package rankset

import "stepline/traceindex/compare"

// Follow tells where lines of the base are in the new run, by what the sets know of the sources: the text of each line that cost
// something. A line that stayed where it was is followed there; one that moved, to the only line of its file with its text. A
// line of another text is another line.
func Follow(base, new *Run) compare.Follow {
	type text struct{ file, source string }
	lines := map[text][]int{} // in the new run
	for at, source := range new.sources {
		lines[text{at.file, source}] = append(lines[text{at.file, source}], at.line)
	}
	return func(file string, line int) (int, bool) {
		source := base.Source(file, line)
		if source == "" || new.Source(file, line) == source {
			return line, true
		}
		if found := lines[text{file, source}]; len(found) == 1 {
			return found[0], true
		}
		if new.Source(file, line) == "" {
			return line, len(lines[text{file, source}]) == 0 // nothing runs there now: it costs nothing any more
		}
		return 0, false
	}
}

// Mended are the confirmed findings of the base that the new run no longer has though lines of their files cost something in it,
// told apart by rule and the text of their line.
func Mended(base, new *Run) []MergedFinding {
	type key struct{ rule, file, source string }
	left := map[key]int{}
	for i := range new.Findings {
		f := &new.Findings[i]
		left[key{f.Rule, f.File, new.Source(f.File, int(f.LineNumber))}]++
	}
	ran := map[string]bool{}
	for i := range new.Costs.Lines {
		ran[new.Costs.Lines[i].File] = true
	}
	var out []MergedFinding
	for _, f := range base.Findings {
		if f.Verdict != "confirmed" || f.LowNs <= 0 || !ran[f.File] {
			continue
		}
		if k := (key{f.Rule, f.File, base.Source(f.File, int(f.LineNumber))}); left[k] > 0 {
			left[k]--
			continue
		}
		out = append(out, f)
	}
	return out
}
