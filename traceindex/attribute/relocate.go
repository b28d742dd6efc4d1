package attribute

import (
	"slices"

	"stepline/pyscan"
)

// Relocated is the attribution with its places moved, as when the sources have been edited since they ran: move gives each place's
// new one, files are the sources that the new places are in. A place whose function is gone comes back Missing.
func (a *Attribution) Relocated(files map[string]*pyscan.File, move func(Place) Place) *Attribution {
	moved := *a
	moved.Files = files
	// Rows keep their numbers: everything else refers to places by them. Two that become equal stay two rows.
	moved.places = newPlaceTable()
	for _, p := range a.places.places {
		moved.places.places = append(moved.places.places, move(p))
	}
	moved.ranks = make([]*rankPlaces, len(a.ranks))
	for i, p := range a.ranks {
		rank := *p
		rank.gpu = slices.Clone(p.gpu)
		for j := range rank.gpu {
			g := &rank.gpu[j]
			switch g.Reason {
			case "", reasonAmbiguous, reasonChanged:
				if g.place != noPlace {
					g.Reason = ""
					*g = moved.settle(*g)
				}
			}
		}
		moved.ranks[i] = &rank
	}
	return &moved
}
