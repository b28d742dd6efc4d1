package attribute

import (
	"fmt"
	"maps"
	"slices"

	"stepline/traceindex"
)

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
	for _, r := range a.ranks {
		a.resettle(r, path)
	}
	for _, function := range slices.Sorted(maps.Keys(changed)) {
		a.Warnings = append(a.Warnings, traceindex.Warning{Code: "changed-since-recording", File: path,
			Message: fmt.Sprintf("%s in %s has changed since it was recorded: its time is shown on the function, not on its lines", function, path)})
	}
}
