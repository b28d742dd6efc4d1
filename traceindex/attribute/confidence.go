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

// weakMatch is the cost from which on a call's own match is too doubtful for ConfidenceExact, whatever the alternatives cost: where
// a statement has been deleted or replaced since, its calls fit another line badly, and no other line at all.
const weakMatch cost = 600

// confidence is the label of one placed token.
func (p *placed) confidence() traceindex.Confidence {
	c := confidenceOf(p.margin)
	if c == traceindex.ConfidenceExact && p.own >= weakMatch {
		return traceindex.ConfidenceLikely
	}
	return c
}
