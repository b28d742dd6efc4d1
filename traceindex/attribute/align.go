package attribute

import "slices"

// The alignment finds the cheapest way through a function's control flow on which the frame's recorded children can have been
// made, in order. backward[i][p] is the least cost of explaining tokens i… from point p to the end, forward[i][p] that of
// explaining the tokens before i and being at p; both are closed over silent passages. Their sum over a token's gates says what
// every other line would have cost: the margin.

const (
	// maxCells bounds the table of one alignment: points × tokens.
	maxCells = 6 << 20
	// maxWork bounds the time of one alignment: (gates + passages) × tokens.
	maxWork = 40 << 20
	// maxFunctionWork bounds the time spent on all distinct call sequences of one function, maxRunWork that on a whole run.
	maxFunctionWork = 400 << 20
	maxRunWork      = 4 << 30
)

// start is a point where the frame may have begun, with what it costs to believe so.
type start struct {
	point int32
	cost  cost
}

// visit is a stretch of a frame's path: a line, whether a statement began there, and how many silent steps it held.
type visit struct {
	line   int32
	begins int32
	steps  int32
}

// placed is where the alignment put one token.
type placed struct {
	line int32
	// gate is the index of the site, −1 for a token that none explains.
	gate int32
	// own is what the token itself cost: that of its match, or of leaving it unexplained.
	own cost
	// margin is what the best path through another line costs more than the best path.
	margin cost
	// others are the lines whose margin is below likelyMargin, the token's own excluded.
	others []int32
}

// alignment is the result for one token sequence from one start.
type alignment struct {
	tokens []placed
	// before holds, per token, the path since the token before; the last one is the path after the last token.
	before [][]visit
	total  cost
	// recorded tells that every token's line was recorded: nothing rests on the calls that the source shows.
	recorded bool
}

// aligner aligns token sequences with one function. It is used by one goroutine.
type aligner struct {
	g        *graph
	matches  map[string][]match // by token key
	backward []cost
	forward  []cost
	next     []cost
}

// match is a gate that a token may have come through.
type match struct {
	gate int32
	cost cost
}

func newAligner(g *graph) *aligner { return &aligner{g: g, matches: map[string][]match{}} }

// fits reports whether an alignment of n tokens stays within bounds.
func (a *aligner) fits(n int) bool {
	return !a.g.truncated && n*a.g.points <= maxCells && a.work(n) <= maxWork
}

// work is a measure of the time that an alignment of n tokens takes.
func (a *aligner) work(n int) int {
	return (n + 1) * (len(a.g.gates) + 2*len(a.g.flow.Edges) + a.g.points)
}

// align explains tokens from one of the starts. atEnd tells that the frame was still running when recording ended.
func (a *aligner) align(tokens []token, keys []string, starts []start, atEnd bool) *alignment {
	matches := make([][]match, len(tokens))
	for i := range tokens {
		matches[i] = a.match(&tokens[i], keys[i])
	}
	a.sweepBackward(tokens, matches, atEnd)
	d := &decoder{aligner: a, matches: matches, tokens: tokens, out: &alignment{tokens: make([]placed, len(tokens)), before: make([][]visit, len(tokens)+1)}}
	d.decode(starts)
	a.margins(tokens, matches, starts, d.out)
	d.out.record(tokens)
	return d.out
}

func (a *aligner) match(t *token, key string) []match {
	if m, ok := a.matches[key]; ok {
		return m
	}
	var found []match
	for i := range a.g.gates {
		if c := matchCost(t, &a.g.gates[i]); c < impossible {
			found = append(found, match{int32(i), c})
		}
	}
	a.matches[key] = found
	return found
}

func (a *aligner) layer(i int) []cost {
	n := a.g.points
	return a.backward[i*n : (i+1)*n]
}

func (a *aligner) sweepBackward(tokens []token, matches [][]match, atEnd bool) {
	n := a.g.points
	a.backward = slices.Grow(a.backward[:0], (len(tokens)+1)*n)[:(len(tokens)+1)*n]
	last := a.layer(len(tokens))
	ending := abort
	if atEnd {
		ending = openEnd
	}
	for p := range last {
		last[p] = ending
	}
	last[a.g.exit] = 0
	a.closeBackward(last)
	for i := len(tokens) - 1; i >= 0; i-- {
		after, now := a.layer(i+1), a.layer(i)
		skip := skipCost(&tokens[i])
		for p, c := range after {
			now[p] = c + skip
		}
		for _, m := range matches[i] {
			x := &a.g.gates[m.gate]
			now[x.from] = min(now[x.from], m.cost+after[x.to])
			if x.repeats {
				now[x.to] = min(now[x.to], m.cost+x.again+after[x.to])
			}
		}
		a.closeBackward(now)
	}
}

// closeBackward lowers every point to what its silent passages offer. Points are numbered nearly in program order, so sweeping
// from the end settles all but loops at once.
func (a *aligner) closeBackward(d []cost) {
	for changed := true; changed; {
		changed = false
		for p := len(d) - 1; p >= 0; p-- {
			best := d[p]
			for _, e := range a.g.out[p].neighbours {
				if c := d[e.point] + e.cost; c < best {
					best = c
				}
			}
			if best < d[p] {
				d[p], changed = best, true
			}
		}
	}
}

func (a *aligner) closeForward(d []cost) {
	for changed := true; changed; {
		changed = false
		for p := range d {
			best := d[p]
			for _, e := range a.g.in[p].neighbours {
				if c := d[e.point] + e.cost; c < best {
					best = c
				}
			}
			if best < d[p] {
				d[p], changed = best, true
			}
		}
	}
}

// margins goes forward over the tokens and compares, for each, the best path through its line with the best through any other.
func (a *aligner) margins(tokens []token, matches [][]match, starts []start, out *alignment) {
	n := a.g.points
	a.forward = slices.Grow(a.forward[:0], n)[:n]
	a.next = slices.Grow(a.next[:0], n)[:n]
	for p := range a.forward {
		a.forward[p] = impossible
	}
	for _, s := range starts {
		a.forward[s.point] = min(a.forward[s.point], s.cost)
	}
	best := map[int32]cost{}
	for i := range tokens {
		a.closeForward(a.forward)
		skip, after := skipCost(&tokens[i]), a.layer(i+1)
		clear(best)
		lower := func(line int32, c cost) {
			if old, ok := best[line]; !ok || c < old {
				best[line] = c
			}
		}
		for p, c := range a.forward {
			a.next[p] = min(c+skip, impossible)
			lower(a.g.lines[p], c+skip+after[p])
		}
		for _, m := range matches[i] {
			x := &a.g.gates[m.gate]
			a.through(x, x.from, m.cost, after, lower)
			if x.repeats {
				a.through(x, x.to, m.cost+x.again, after, lower)
			}
		}
		a.settle(&out.tokens[i], best, out.total)
		a.forward, a.next = a.next, a.forward
	}
}

// through considers taking gate x from point p.
func (a *aligner) through(x *gate, p int32, c cost, after []cost, lower func(int32, cost)) {
	c += a.forward[p]
	if c >= impossible {
		return
	}
	a.next[x.to] = min(a.next[x.to], c)
	lower(x.line, c+after[x.to])
}

// settle fills a token's margin and its rivals.
func (a *aligner) settle(t *placed, best map[int32]cost, total cost) {
	t.margin = impossible
	for line, c := range best {
		if line == t.line {
			continue
		}
		t.margin = min(t.margin, c-total)
		if c-total < likelyMargin {
			t.others = append(t.others, line)
		}
	}
	slices.Sort(t.others)
}

// decoder reads the best path off the backward table.
type decoder struct {
	*aligner
	tokens  []token
	matches [][]match
	out     *alignment
	visits  []visit
	seen    []int32 // per point, the number of the token for which it was last visited, plus one
}

func (d *decoder) decode(starts []start) {
	at, first := int32(-1), d.layer(0)
	d.out.total = impossible
	for _, s := range starts {
		if c := s.cost + first[s.point]; c < d.out.total {
			d.out.total, at = c, s.point
		}
	}
	if at < 0 {
		return
	}
	d.seen = make([]int32, d.g.points)
	d.enter(at)
	for i := range d.tokens {
		at = d.consume(i, at)
		d.out.before[i] = slices.Clone(d.visits)
		d.visits = d.visits[:0]
	}
	d.finish(at)
	d.out.before[len(d.tokens)] = slices.Clone(d.visits)
}

// consume walks from point at to where token i is taken, or given up.
func (d *decoder) consume(i int, at int32) int32 {
	now, after := d.layer(i), d.layer(i+1)
	skip := skipCost(&d.tokens[i])
	for {
		d.seen[at] = int32(i) + 1
		for _, m := range d.matches[i] {
			x := &d.g.gates[m.gate]
			if x.from == at && m.cost+after[x.to] == now[at] || x.repeats && x.to == at && m.cost+x.again+after[x.to] == now[at] {
				d.out.tokens[i] = placed{line: x.line, gate: m.gate, own: m.cost}
				if x.from == at {
					d.enterLine(x.to)
				}
				return x.to
			}
		}
		next := d.silent(now, at, int32(i)+1)
		if next < 0 {
			// No passage is as cheap as leaving the token unexplained (now[at] is after[at] + skip).
			d.out.tokens[i] = placed{line: d.g.lines[at], gate: -1, own: skip}
			return at
		}
		d.enter(next)
		at = next
	}
}

// silent is a passage from at that loses nothing, −1 if there is none.
func (d *decoder) silent(now []cost, at, mark int32) int32 {
	for _, e := range d.g.out[at].neighbours {
		if d.seen[e.point] != mark && e.cost+now[e.point] == now[at] {
			return e.point
		}
	}
	return -1
}

// finish follows the path to the function's exit after the last token, as far as it is certain to go.
func (d *decoder) finish(at int32) {
	now, mark := d.layer(len(d.tokens)), int32(len(d.tokens))+1
	for at != d.g.exit {
		d.seen[at] = mark
		next := d.silent(now, at, mark)
		if next < 0 {
			return
		}
		if next != d.g.exit {
			d.enter(next)
		}
		at = next
	}
}

// enter notes that the path reached a point.
func (d *decoder) enter(p int32) {
	d.enterLine(p)
	if d.g.starts[p] != 0 {
		d.visits[len(d.visits)-1].begins++
	}
}

func (d *decoder) enterLine(p int32) {
	line := d.g.lines[p]
	if begins := d.g.starts[p] != 0; len(d.visits) == 0 || d.visits[len(d.visits)-1].line != line || begins {
		d.visits = append(d.visits, visit{line: line})
	}
	d.visits[len(d.visits)-1].steps++
}
