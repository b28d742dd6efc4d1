package attribute

import "slices"

// Doubt puts the places of one file on their functions as wholes, except where a line is known to be as it ran: for files that have
// changed since and whose text was not recorded. Call it before the Attribution is shared.
func (a *Attribution) Doubt(path string, asItRan func(line int) bool) {
	file := a.Files[path]
	if file == nil {
		return
	}
	changed := map[string]bool{}
	for i := range a.places.places {
		p := &a.places.places[i]
		if p.File != path || p.Missing || p.Line > 0 && asItRan(p.Line) || len(p.Candidates) > 0 && !slices.ContainsFunc(p.Candidates, func(c int) bool { return !asItRan(c) }) {
			continue
		}
		changed[p.Function] = true
		*p = wholeFunction(*p, file, func(line int) (int, bool) { return line, false })
	}
	a.placesChanged(path, changed)
}
