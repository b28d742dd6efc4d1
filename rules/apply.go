package rules

import (
	"cmp"
	"slices"
	"strings"

	"stepline/pyscan"
)

// Applied is what ApplyFixes did.
type Applied struct {
	// Texts are the new texts of the files that changed.
	Texts map[*pyscan.File]string
	// Taken tells, per given fix, whether it is in Texts. A fix is left out when it overlaps one before it, or when the
	// file would no longer parse with it; lint the new text and apply again to get at those.
	Taken []bool
}

// ApplyFixes combines fixes, first come first served. Edits of one fix are applied together or not at all; equal edits of
// several fixes are made once. The result parses wherever the input did: a fix that would break a file is left out.
func ApplyFixes(fixes []Fix) Applied {
	taken := make([]bool, len(fixes))
	accepted := map[*pyscan.File][]TextEdit{}
	for i, fix := range fixes {
		if fits(accepted, fix.Edits) {
			taken[i] = true
			for _, e := range fix.Edits {
				if !slices.Contains(accepted[e.File], e) {
					accepted[e.File] = append(accepted[e.File], e)
				}
			}
		}
	}
	texts, broken := render(accepted)
	if len(broken) > 0 { // rare: take them one by one and leave out what breaks
		return applyOneByOne(fixes)
	}
	return Applied{Texts: texts, Taken: taken}
}

func applyOneByOne(fixes []Fix) Applied {
	taken := make([]bool, len(fixes))
	accepted := map[*pyscan.File][]TextEdit{}
	for i, fix := range fixes {
		if !fits(accepted, fix.Edits) {
			continue
		}
		trial := map[*pyscan.File][]TextEdit{}
		for _, e := range fix.Edits {
			if _, ok := trial[e.File]; !ok {
				trial[e.File] = slices.Clone(accepted[e.File])
			}
			if !slices.Contains(trial[e.File], e) {
				trial[e.File] = append(trial[e.File], e)
			}
		}
		if _, broken := render(trial); len(broken) > 0 {
			continue
		}
		taken[i] = true
		for file, edits := range trial {
			accepted[file] = edits
		}
	}
	texts, _ := render(accepted)
	return Applied{Texts: texts, Taken: taken}
}

// fits reports whether none of the edits touches an accepted one (equal edits aside). Two insertions at one place touch.
func fits(accepted map[*pyscan.File][]TextEdit, edits []TextEdit) bool {
	if len(edits) == 0 {
		return false
	}
	for i, e := range edits {
		for _, a := range accepted[e.File] {
			if a != e && touch(a.Span, e.Span) {
				return false
			}
		}
		for _, other := range edits[:i] {
			if other.File == e.File && touch(other.Span, e.Span) {
				return false
			}
		}
	}
	return true
}

func touch(a, b pyscan.Span) bool {
	if a.Len() == 0 || b.Len() == 0 {
		return a.Start <= b.End && b.Start <= a.End
	}
	return a.Start < b.End && b.Start < a.End
}

// render applies edits per file and names the files that parsed before and do not any more.
func render(edits map[*pyscan.File][]TextEdit) (texts map[*pyscan.File]string, broken []*pyscan.File) {
	texts = make(map[*pyscan.File]string, len(edits))
	for file, list := range edits {
		text := ApplyEdits(file.Text, list)
		texts[file] = text
		if len(pyscan.Parse(file.Path, text).SyntaxErrors) > len(file.SyntaxErrors) {
			broken = append(broken, file)
		}
	}
	return texts, broken
}

// ApplyEdits applies edits that do not overlap to a text.
func ApplyEdits(text string, edits []TextEdit) string {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b TextEdit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End))
	})
	var out strings.Builder
	at := 0
	for _, e := range sorted {
		if e.Span.Start < at {
			continue
		}
		out.WriteString(text[at:e.Span.Start])
		out.WriteString(e.New)
		at = e.Span.End
	}
	out.WriteString(text[at:])
	return out.String()
}
