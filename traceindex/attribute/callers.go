package attribute

import (
	"path"

	"stepline/traceindex"
)

// callLine is the recorded line of a call, as the first line of its statement; 0 without a recording, or if the recorded caller
// is not in the source's file (a frame between the two was never seen).
func (t *tokenTable) callLine(e traceindex.EventID, source *source) int {
	c, ok := t.ix.CallLineOf(e)
	if !ok || c.Line <= 0 || path.Base(cleanRecorded(c.File)) != path.Base(source.module.file.Path) {
		return 0
	}
	return source.module.file.LineOfStatement(c.Line + source.finder.shift(c.Line))
}

// record puts the tokens whose call lines were recorded on them: the alignment only places what lies between.
func (a *alignment) record(tokens []token) {
	for i := range tokens {
		if line := tokens[i].callLine; line > 0 {
			a.tokens[i].line, a.tokens[i].margin, a.tokens[i].own, a.tokens[i].others = int32(line), impossible, 0, nil
		}
	}
}
