package rules

import (
	"regexp"
	"sync"
	"sync/atomic"
)

// words matches identifiers against a pattern and remembers the answers: the same few names are asked again and again.
type words struct {
	pattern *regexp.Regexp
	known   sync.Map
	size    atomic.Int64
}

// maxRememberedWords bounds what a long session of an editor can gather.
const maxRememberedWords = 50_000

func wordPattern(pattern string) *words { return &words{pattern: regexp.MustCompile(pattern)} }

// MatchString reports whether the pattern matches the identifier.
func (w *words) MatchString(name string) bool {
	if name == "" {
		return false
	}
	if known, ok := w.known.Load(name); ok {
		return known.(bool)
	}
	matches := w.pattern.MatchString(name)
	if w.size.Add(1) < maxRememberedWords {
		w.known.Store(name, matches)
	}
	return matches
}
