package attribute

import (
	"cmp"
	"slices"

	"stepline/traceindex"
)

// Reason says why GPU time is on no line; the zero Reason is that of time which is on one.
type Reason uint8

const (
	onLine Reason = iota
	reasonAccumulation
	reasonReduction
	reasonGather
	reasonDouble
	reasonAmbiguous
	reasonNoFrame
	reasonNoSource
	reasonNoSourceBackward
	reasonRange
	reasonRangeBackward
	reasonOp
	reasonOpBackward
	reasonNoLaunch
	reasonChanged
	reasonUnknownBackward
)

// String is the reason in JSON and for people, "" for time on a line.
func (r Reason) String() string {
	return [...]string{
		onLine:                 "",
		reasonAccumulation:     "gradient accumulation",
		reasonReduction:        "gradient reduction",
		reasonGather:           "parameter gathering",
		reasonDouble:           "backward of backward",
		reasonAmbiguous:        "ambiguous",
		reasonNoFrame:          "no Python frame",
		reasonNoSource:         "no source in the workspace",
		reasonNoSourceBackward: "no source in the workspace, backward",
		reasonRange:            "range",
		reasonRangeBackward:    "range, backward",
		reasonOp:               "op",
		reasonOpBackward:       "op, backward",
		reasonNoLaunch:         "no launch in the trace",
		reasonChanged:          "function not in the source",
		reasonUnknownBackward:  "backward without a forward op",
	}[r]
}

// unattributedKey is what rows are summed by.
type unattributedKey struct {
	reason Reason
	place  placeID
}

// unattributed sums the GPU time that is on no line by reason and by the place it hangs at.
type unattributed struct {
	places *placeTable
	rows   map[unattributedKey]*traceindex.Unattributed
}

func (u *unattributed) add(g gpuPlace, ns int64) {
	key := unattributedKey{g.reason, g.place}
	row := u.rows[key]
	if row == nil {
		row = &traceindex.Unattributed{Reason: g.reason.String()}
		if g.place != noPlace {
			p := &u.places.places[g.place]
			row.File, row.Line, row.Function, row.Candidates = p.File, p.Line, p.Function, p.Candidates
		}
		u.rows[key] = row
	}
	row.Ns += ns
	row.Kernels++
}

// list merges rows that differ only in how sure their place is, largest first.
func (u *unattributed) list() []traceindex.Unattributed {
	var out []traceindex.Unattributed
	for _, row := range u.rows {
		i := slices.IndexFunc(out, func(o traceindex.Unattributed) bool {
			return o.Reason == row.Reason && o.File == row.File && o.Line == row.Line && o.Function == row.Function && slices.Equal(o.Candidates, row.Candidates)
		})
		if i < 0 {
			out = append(out, *row)
			continue
		}
		out[i].Ns += row.Ns
		out[i].Kernels += row.Kernels
	}
	slices.SortFunc(out, func(a, b traceindex.Unattributed) int {
		return cmp.Or(-cmp.Compare(a.Ns, b.Ns), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function), slices.Compare(a.Candidates, b.Candidates))
	})
	return out
}
