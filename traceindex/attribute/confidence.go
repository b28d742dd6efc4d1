package attribute

import "stepline/traceindex"

// Margins that separate the labels; docs/attribution.md says how often each is right.
const (
	exactMargin  cost = 1500
	likelyMargin cost = 50
)

// confidenceOf is the label of a margin.
func confidenceOf(margin cost) traceindex.Confidence {
	switch {
	case margin >= exactMargin:
		return traceindex.ConfidenceExact
	case margin >= likelyMargin:
		return traceindex.ConfidenceLikely
	}
	return traceindex.ConfidenceAmbiguous
}
