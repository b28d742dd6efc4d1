package rules

import (
	"strings"

	"stepline/pyscan"
)

// find is where the file's text holds a text (one of the places), -1 where it does not. Answers are kept: rules ask the same
// of every file.
func (x *fileIndex) find(text string) int {
	if known, ok := x.texts.Load(text); ok {
		return known.(int)
	}
	at := -1
	if x.edit != nil {
		at = x.findEdited(text)
	} else {
		at = strings.Index(x.file.Text, text)
	}
	x.texts.Store(text, at)
	return at
}

// mentions reports whether the file's text holds one of the texts.
func (x *fileIndex) mentions(texts ...string) bool {
	for _, t := range texts {
		if x.find(t) >= 0 {
			return true
		}
	}
	return false
}

// inheritTexts takes over what is known of the file's text before an edit: only what the edit touched is searched anew.
func (x *fileIndex) inheritTexts(old *fileIndex) {
	was, is := old.file.Text, x.file.Text
	cut, _ := pyscan.Difference(was, is)
	prefix, suffix := cut.Start, len(was)-cut.End
	old.texts.Range(func(key, value any) bool {
		text, at := key.(string), value.(int)
		switch {
		case at < 0: // it can only have come up around the edit
			from := max(0, prefix-len(text)+1)
			to := min(len(is), len(is)-suffix+len(text)-1)
			if at = strings.Index(is[from:max(from, to)], text); at >= 0 {
				at += from
			}
		case at+len(text) <= prefix:
		case at >= len(was)-suffix:
			at += len(is) - len(was)
		default:
			return true // where it was, something changed: it is searched when asked for
		}
		x.texts.Store(text, at)
		return true
	})
}

// Mentions reports whether the file's text holds one of the texts.
func (f *Facts) Mentions(texts ...string) bool { return f.index.mentions(texts...) }
