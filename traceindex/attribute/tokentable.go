package attribute

import (
	"strings"

	"stepline/pyscan"
	"stepline/traceindex"
)

// tokenID is a row of tokenTable: tokens that no alignment can tell apart share one.
type tokenID int32

// tokenInterner interns the tokens of a run.
type tokenInterner struct {
	tokens []token
	keys   []string
	ids    map[string]tokenID
	key    []byte
}

// tokenTable makes the tokens of one rank.
type tokenTable struct {
	*tokenInterner
	ix *traceindex.Index
	// calls and ops are the plain tokens by event name; −1 where not yet made.
	calls, ops []tokenID
}

func newTokenTable(interner *tokenInterner, ix *traceindex.Index) *tokenTable {
	t := &tokenTable{tokenInterner: interner, ix: ix, calls: make([]tokenID, len(ix.Names)), ops: make([]tokenID, len(ix.Names))}
	for i := range ix.Names {
		t.calls[i], t.ops[i] = -1, -1
	}
	return t
}

func (t *tokenInterner) intern(tok token) tokenID {
	t.key = tok.appendKey(t.key[:0])
	if id, ok := t.ids[string(t.key)]; ok {
		return id
	}
	id := tokenID(len(t.tokens))
	key := string(t.key)
	t.tokens = append(t.tokens, tok)
	t.keys = append(t.keys, key)
	t.ids[key] = id
	return id
}

// of is the token of a frame's child.
func (t *tokenTable) of(e traceindex.EventID, g *graph, source *source) tokenID {
	name := t.ix.Events.Name[e]
	if t.ix.Events.Category[e] == traceindex.CategoryOp {
		if t.ops[name] < 0 {
			t.ops[name] = t.intern(opToken(t.ix.Names[name]))
		}
		return t.ops[name]
	}
	id := t.calls[name]
	if id < 0 {
		tok := parseName(t.ix.Names[name])
		if l, ok := t.ix.LocationOf(e); ok {
			tok = pythonToken(l.File, l.Line, l.Function)
		}
		id = t.intern(tok)
		t.calls[name] = id
	}
	tok := &t.tokens[id]
	line := t.callLine(e, source)
	var inside []string
	if tok.kind == tokenPython && !g.names[tok.name] && !noiseNames[tok.name] && !isConstructor(tok.name) {
		inside = t.inside(e)
	}
	if line == 0 && len(inside) == 0 {
		return id
	}
	variant := *tok
	variant.callLine, variant.inside = line, inside
	return t.intern(variant)
}

const (
	insideDepth  = 5
	insideNames  = 12
	insideEvents = 160
)

// inside lists the names of the functions called below an event, nearest first. It is what tells a decorator's wrapper from
// another: the decorated function runs within.
func (t *tokenTable) inside(e traceindex.EventID) []string {
	var names []string
	seen := 0
	end := t.ix.SubtreeEnd(e)
	depth := map[traceindex.EventID]int{e: 0}
	for row := e + 1; row < end && seen < insideEvents && len(names) < insideNames; row++ {
		if t.ix.Events.Category[row] != traceindex.CategoryPython {
			continue
		}
		seen++
		d, ok := depth[t.ix.Parent[row]]
		if !ok {
			d = t.depthBelow(row, e)
		} else {
			d++
		}
		if d > insideDepth {
			row = t.ix.SubtreeEnd(row) - 1
			continue
		}
		depth[row] = d
		l, ok := t.ix.LocationOf(row)
		if !ok {
			continue
		}
		_, name := splitQualified(l.Function)
		if !contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// depthBelow counts the Python frames between an event and one above it.
func (t *tokenTable) depthBelow(e, above traceindex.EventID) int {
	d := 0
	for p := e; p != above && p != traceindex.NoEvent; p = t.ix.Parent[p] {
		if t.ix.Events.Category[p] == traceindex.CategoryPython {
			d++
		}
	}
	return d
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// sequence gives the tokens and keys of ids.
func (t *tokenInterner) sequence(ids []tokenID) ([]token, []string) {
	tokens, keys := make([]token, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		tokens[i], keys[i] = t.tokens[id], t.keys[id]
	}
	return tokens, keys
}

// withoutBuiltins loosens a graph for traces that hold no calls of C functions: any call may have been one.
func (g *graph) withoutBuiltins() {
	for i := range g.gates {
		x := &g.gates[i]
		if x.kind != pyscan.SiteCall || x.callee.known || x.skip <= skipGenerator {
			continue
		}
		x.skip = skipGenerator
		for _, list := range []([]neighbour){g.out[x.from].neighbours, g.in[x.to].neighbours} {
			for j := range list {
				if list[j].cost == skipCall && (list[j].point == x.to || list[j].point == x.from) {
					list[j].cost = skipGenerator
				}
			}
		}
	}
}

// isEvaluateFunction reports whether an event is autograd's op that runs one backward node.
func isEvaluateFunction(name string) bool {
	return strings.HasPrefix(name, traceindex.EvaluateFunctionPrefix)
}
