package attribute

import (
	"slices"

	"stepline/pyscan"
	"stepline/traceindex"
)

// Place is a statement of the workspace, or as much as is known of one.
type Place struct {
	// File is relative to the workspace root, with /.
	File string
	// Line is the first line of the innermost statement (from 1); the def's line for ConfidenceFunction; 0 for
	// ConfidenceAmbiguous and where the function is not in the source.
	Line int
	// Function is the qualified name: "MLP.forward".
	Function   string
	Confidence traceindex.Confidence
	// Candidates are the lines that fit alike, for ConfidenceAmbiguous.
	Candidates []int
	// Missing tells that the file is in the workspace but the function is not in it (it has been renamed or removed since).
	Missing bool
	// Compiled tells that it is a compiled graph that runs there: the line is the one that called the compiled code.
	Compiled bool
}

// Certain reports whether the place names one line that costs may be shown on.
func (p Place) Certain() bool { return p.Line > 0 && p.Confidence != traceindex.ConfidenceAmbiguous }

// placeID is a row of placeTable, noPlace for none.
type placeID int32

const noPlace placeID = -1

// placeTable interns places.
type placeTable struct {
	places []Place
	ids    map[placeKey]placeID
}

type placeKey struct {
	file, function string
	line           int
	confidence     traceindex.Confidence
	missing        bool
	compiled       bool
	candidates     string
}

func newPlaceTable() *placeTable { return &placeTable{ids: map[placeKey]placeID{}} }

func (t *placeTable) intern(p Place) placeID {
	var lines []byte
	for _, l := range p.Candidates {
		lines = appendInt(lines, l)
	}
	key := placeKey{p.File, p.Function, p.Line, p.Confidence, p.Missing, p.Compiled, string(lines)}
	if id, ok := t.ids[key]; ok {
		return id
	}
	p.Candidates = slices.Clone(p.Candidates)
	id := placeID(len(t.places))
	t.places = append(t.places, p)
	t.ids[key] = id
	return id
}

// functionName is the qualified name of the def or module that a frame's lines are told under: lambdas and comprehensions count
// to the function around them.
func functionName(fn *pyscan.Function) string {
	fn = definition(fn)
	if fn.QualName == "" {
		return fn.Name
	}
	return fn.QualName
}

func definition(fn *pyscan.Function) *pyscan.Function {
	for fn.Parent != nil && (fn.Comprehension != nil || fn.Value != nil) {
		fn = fn.Parent
	}
	return fn
}
