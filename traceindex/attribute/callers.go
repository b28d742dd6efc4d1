package attribute

import (
	"path"
	"strings"

	"stepline/pyscan"
	"stepline/traceindex"
)

// callLine is the recorded line of a call, as the first line of its statement; 0 without a recording, or if the recorded caller
// is not in the source's file (a frame between the two was never seen).
func (t *tokenTable) callLine(e traceindex.EventID, source *source) int {
	c, ok := t.ix.CallLineOf(e)
	if !ok || c.Line <= 0 || path.Base(cleanRecorded(c.File)) != source.base {
		return 0
	}
	return source.module.file.LineOfStatement(c.Line + source.finder.shift(c.Line))
}

// backtraced reports whether a frame's calls can be taken at their recorded lines though the source does not explain them. Nsight
// Systems sees of a function's calls only those that lead to a CUDA call, so that they never explain its source; their lines are
// those that were running. Lines outside the function are another version's.
func (w *frameWalker) backtraced(a *alignment, fn *pyscan.Function) bool {
	if !a.recorded || !strings.HasPrefix(w.ix.Meta.Producer, "Nsight Systems") {
		return false
	}
	for i := range a.tokens {
		if line := int(a.tokens[i].line); line < fn.FirstLine || line > fn.LastLine {
			return false
		}
	}
	for i := range a.before {
		a.before[i] = nil // the path between calls is not known
	}
	return true
}

// record puts the tokens whose call lines were recorded on them: the alignment only places what lies between.
func (a *alignment) record(tokens []token) {
	a.recorded = len(tokens) > 0
	for i := range tokens {
		a.recorded = a.recorded && tokens[i].callLine > 0
		if line := tokens[i].callLine; line > 0 {
			a.tokens[i].line, a.tokens[i].margin, a.tokens[i].own, a.tokens[i].others = int32(line), impossible, 0, nil
		}
	}
}
