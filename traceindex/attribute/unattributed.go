package attribute

import (
	"cmp"
	"slices"

	"stepline/traceindex"
)

// Reasons for GPU time that is on no line.
const (
	reasonAccumulation     = "gradient accumulation"
	reasonReduction        = "gradient reduction"
	reasonGather           = "parameter gathering"
	reasonDouble           = "backward of backward"
	reasonAmbiguous        = "ambiguous"
	reasonNoFrame          = "no Python frame"
	reasonNoSource         = "no source in the workspace"
	reasonNoSourceBackward = "no source in the workspace, backward"
	reasonRange            = "range"
	reasonRangeBackward    = "range, backward"
	reasonOp               = "op"
	reasonOpBackward       = "op, backward"
	reasonNoLaunch         = "no launch in the trace"
	reasonChanged          = "function not in the source"
	reasonUnknownBackward  = "backward without a forward op"
)

// unattributedKey is what rows are summed by.
type unattributedKey struct {
	reason string
	place  placeID
}

// unattributed sums the GPU time that is on no line by reason and by the place it hangs at.
type unattributed struct {
	places *placeTable
	rows   map[unattributedKey]*traceindex.Unattributed
}

func (u *unattributed) add(g *GPUPlace, ns int64) {
	key := unattributedKey{g.Reason, g.place}
	row := u.rows[key]
	if row == nil {
		row = &traceindex.Unattributed{Reason: g.Reason}
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
