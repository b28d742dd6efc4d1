package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"stepline/traceindex"
)

// RankCosts are the costs of one rank alone, by the rank's number in the run (its position where the traces tell no rank).
func (l *Loaded) RankCosts(rank int) (*traceindex.Costs, error) {
	var known []string
	for i, index := range l.Run.Ranks {
		number := index.Meta.Rank
		if number < 0 {
			number = i
		}
		if number == rank {
			return l.Attribution.RankCosts(i), nil
		}
		known = append(known, fmt.Sprint(number))
	}
	if len(known) == 0 {
		return nil, errors.New("the run has no ranks")
	}
	return nil, fmt.Errorf("the run has no rank %d; it has %s", rank, strings.Join(known, ", "))
}

// Warnings are all warnings of a run: of the set, of each rank's file, and of the attribution, each once.
func (l *Loaded) Warnings() []traceindex.Warning {
	warnings := slices.Clone(l.Run.Warnings)
	for _, rank := range l.Run.Ranks {
		for _, warning := range rank.Warnings {
			if warning.File == "" {
				warning.File = rank.Meta.File
			}
			warnings = append(warnings, warning)
		}
	}
	warnings = append(warnings, l.Costs.Warnings...)
	seen := map[string]bool{}
	return slices.DeleteFunc(warnings, func(warning traceindex.Warning) bool {
		key := warning.Code + "\x00" + warning.File + "\x00" + warning.Message
		repeated := seen[key]
		seen[key] = true
		return repeated
	})
}
