package attribute

import (
	"context"
	"slices"

	"stepline/pyscan"
	"stepline/traceindex"
)

// frameSource is what is known of the frames of one recorded location.
type frameSource struct {
	source  *source // nil without source in the workspace
	fn      *pyscan.Function
	line    int
	resumed bool
	// whole is the place of the function as a whole; missing tells that the file lacks it.
	whole placeID
}

// frameWalker places everything of one rank.
type frameWalker struct {
	*resolver
	out     *rankPlaces
	ix      *traceindex.Index
	sources []frameSource // by row of ix.Locations
	tokens  *tokenTable

	children []traceindex.EventID // of the frame at hand: its tokens
	others   []traceindex.EventID // its other children: runtime calls and annotations
	graphs   []traceindex.EventID // compiled graphs that it runs
	compiled bool                 // it runs compiled graphs
	ids      []tokenID
	key      []byte
	entries  map[*alignment]*placedFrame
	contexts []callContext // the workspace frames around, outermost first
	builder  *timelineBuilder
	endNs    int64
}

// placedFrame is an alignment with its places looked up.
type placedFrame struct {
	tokens []placeID
	before [][]stretch
}

// stretch is a part of the path between two tokens.
type stretch struct {
	place  placeID
	steps  int32
	begins int32
	loop   bool // the line is that of a loop
}

// rank walks the host threads of one rank.
func (r *resolver) rank(ctx context.Context, ix *traceindex.Index) (*rankPlaces, error) {
	out := &rankPlaces{ix: ix, of: make([]placeID, ix.Events.Len()), framed: make([]uint64, (ix.Events.Len()+63)/64), timelines: map[traceindex.ThreadID]*timeline{}, calls: map[placeID]int64{}}
	w := &frameWalker{resolver: r, out: out, ix: ix, tokens: newTokenTable(&r.interner, ix), entries: map[*alignment]*placedFrame{}}
	w.resolveLocations()
	for i := range out.of {
		out.of[i] = noPlace
	}
	for _, t := range ix.HostThreads {
		if err := w.thread(ctx, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// resolveLocations finds the function of every recorded location.
func (w *frameWalker) resolveLocations() {
	w.sources = make([]frameSource, len(w.ix.Locations))
	for i, l := range w.ix.Locations {
		s := w.byPath[l.File]
		if s == nil {
			continue
		}
		f := &w.sources[i]
		f.source = s
		_, name := splitQualified(l.Function)
		qualified := ""
		if name != l.Function {
			qualified = l.Function
		}
		f.fn, f.resumed, f.line = s.finder.find(name, qualified, l.Line)
		if f.fn == nil {
			f.whole = w.attribution.places.intern(Place{File: s.module.file.Path, Function: l.Function, Missing: true})
			continue
		}
		f.whole = w.attribution.places.intern(Place{File: s.module.file.Path, Line: definition(f.fn).DefLine, Function: functionName(f.fn), Confidence: traceindex.ConfidenceFunction})
	}
}

// thread walks one thread's rows, which are its frame tree in preorder.
func (w *frameWalker) thread(ctx context.Context, t traceindex.ThreadID) error {
	ix, of := w.ix, w.out.of
	first, end := ix.RowsOf(t)
	w.endNs = 0
	for row := first; row < end; row++ {
		if ix.Events.Category[row].IsHost() && ix.Parent[row] == traceindex.NoEvent {
			w.endNs = max(w.endNs, ix.EndNs(row))
		}
	}
	w.builder = &timelineBuilder{}
	var stacks *callStacks
	if !hasPythonFrames(ix) {
		stacks = &callStacks{w: w, places: map[traceindex.NameID]placeID{}}
	}
	w.contexts = w.contexts[:0]
	for row := first; row < end; row++ {
		if row&0x3fff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		category := ix.Events.Category[row]
		if !category.IsHost() {
			continue
		}
		parent := ix.Parent[row]
		if parent != traceindex.NoEvent && of[row] == noPlace {
			of[row] = of[parent] // children of workspace frames have been placed with their frame
		}
		if stacks != nil && category == traceindex.CategoryOp {
			if id := stacks.place(row); id != noPlace && id != of[row] {
				of[row] = id
				w.builder.push(ix.Events.StartNs[row], ix.EndNs(row), w.segment(ix.EndNs(row), id))
			}
		}
		if category != traceindex.CategoryPython {
			continue
		}
		w.out.pythonFrames++
		source := w.frameSource(row)
		if source == nil || source.source == nil {
			continue
		}
		w.out.sourced++
		w.out.framed[row/64] |= 1 << (row % 64)
		w.builder.push(ix.Events.StartNs[row], ix.EndNs(row), w.frame(row, source))
	}
	if line := w.builder.finish(); len(line.pieces) > 0 {
		w.out.timelines[t] = line
	}
	return nil
}

func (w *frameWalker) frameSource(row traceindex.EventID) *frameSource {
	d := w.ix.Events.Detail[row]
	if d < 0 || w.ix.Python[d].Location < 0 {
		return nil
	}
	return &w.sources[w.ix.Python[d].Location]
}

// frame places the children of one workspace frame and returns its own segments of time.
func (w *frameWalker) frame(row traceindex.EventID, source *frameSource) []segment {
	w.collect(row)
	w.compiled = w.separateGraphs(row)
	endNs := w.ix.EndNs(row)
	placed := w.placeFrame(row, source)
	called := w.out.of[w.calledFrame(row)]
	if called == noPlace {
		called = source.whole
	}
	if len(w.graphs) > 0 {
		graph := w.attribution.places.places[called]
		graph.Compiled = true
		called = w.attribution.places.intern(graph)
	}
	for _, c := range w.graphs {
		w.out.of[c] = called
	}
	if placed == nil {
		for _, c := range w.children {
			w.out.of[c] = source.whole
		}
		for _, c := range w.others {
			w.out.of[c] = source.whole
		}
		return w.segment(endNs, source.whole)
	}
	for i, c := range w.children {
		w.out.of[c] = placed.tokens[i]
	}
	for _, gap := range placed.before {
		if w.compiled {
			break // the statements that a graph took did not run as such
		}
		for _, s := range gap {
			if s.begins > 0 {
				w.out.calls[s.place] += int64(s.begins)
			}
		}
	}
	segments := w.segments(row, placed)
	if w.compiled {
		segments = append(segments[:0], segment{endNs, called})
	}
	for _, c := range w.others {
		w.out.of[c] = placeIn(segments, w.ix.Events.StartNs[c])
	}
	return segments
}

// segment is the list of a frame that is in one place all along.
func (w *frameWalker) segment(endNs int64, id placeID) []segment {
	return append(w.builder.list(1), segment{endNs, id})
}

// placeIn is the place of a moment within a frame.
func placeIn(segments []segment, ns int64) placeID {
	i, _ := slices.BinarySearchFunc(segments, ns, func(s segment, ns int64) int {
		if s.endNs <= ns {
			return -1
		}
		return 1
	})
	if i >= len(segments) {
		i = len(segments) - 1
	}
	if i < 0 {
		return noPlace
	}
	return segments[i].place
}

// collect lists the frame's children: tokens, and those that the source does not show.
func (w *frameWalker) collect(row traceindex.EventID) {
	w.children, w.others = w.children[:0], w.others[:0]
	for c := range w.ix.Children(row) {
		switch w.ix.Events.Category[c] {
		case traceindex.CategoryPython, traceindex.CategoryOp:
			w.children = append(w.children, c)
		default:
			w.others = append(w.others, c)
		}
	}
}

// placeFrame aligns the frame with its function, or takes the alignment of a frame with the same calls and arguments. It returns
// nil where only the function is known.
func (w *frameWalker) placeFrame(row traceindex.EventID, source *frameSource) *placedFrame {
	if source.fn == nil {
		return nil
	}
	f := w.alignmentsOf(source)
	if f.aligner.g.truncated {
		f.tooLarge++
		return nil
	}
	arguments := w.argumentsOf(row, source, f.aligner.g)
	context := callContext{end: w.ix.SubtreeEnd(row), source: source, arguments: arguments, graph: f.aligner.g}
	var placed *placedFrame
	if !f.aligner.fits(len(w.children)) {
		f.tooLarge++
	} else if done := w.align(row, source, f, arguments); done == nil {
		f.tooLarge++
	} else if !done.unfit() || w.backtraced(done, source.fn) {
		placed = w.entries[done]
		if placed == nil {
			placed = w.lookUp(done, source)
			w.entries[done] = placed
		}
		context.alignment, context.children = done, slices.Clone(w.children)
	}
	w.contexts = append(w.contexts, context)
	return placed
}

// alignmentsOf compiles the frame's function on first need.
func (w *frameWalker) alignmentsOf(source *frameSource) *functionAlignments {
	f := source.source.graphs[source.fn]
	if f == nil {
		g := newGraph(source.source.module, source.fn, w.options)
		if !w.builtins {
			g.withoutBuiltins()
		}
		f = &functionAlignments{aligner: newAligner(g), done: map[string]*alignment{}, decided: map[string]*aligner{}, outcomes: map[string]string{}}
		source.source.graphs[source.fn] = f
	}
	return f
}

// align aligns the frame's children, or finds the alignment of the same ones; nil when too much time has gone into the function.
func (w *frameWalker) align(row traceindex.EventID, source *frameSource, f *functionAlignments, arguments *arguments) *alignment {
	aligner, outcomes := f.aligner, ""
	if arguments.anything() {
		w.key = arguments.key(w.key[:0])
		known, ok := f.outcomes[string(w.key)]
		if !ok {
			known = arguments.outcomes(aligner.g.flow.Branches)
			f.outcomes[string(w.key)] = known
		}
		outcomes = known
	}
	if w.compiled {
		outcomes = "compiled"
	}
	if outcomes != "" {
		decided := f.decided[outcomes]
		if decided == nil {
			g := aligner.g
			if w.compiled {
				g = g.loosened()
			} else {
				g = g.decided(outcomes)
			}
			decided = newAligner(g)
			f.decided[outcomes] = decided
		}
		aligner = decided
	}
	atEnd := w.ix.EndNs(row) >= w.endNs-1000
	w.key = appendInt(append(w.key[:0], outcomes...), source.line)
	if atEnd {
		w.key = append(w.key, 1)
	}
	w.ids = w.ids[:0]
	for _, c := range w.children {
		id := w.tokens.of(c, aligner.g, source.source)
		w.ids = append(w.ids, id)
		w.key = appendInt(w.key, int(id))
	}
	done, ok := f.done[string(w.key)]
	if !ok {
		work := aligner.work(len(w.ids))
		if f.work+work > maxFunctionWork || w.work+work > maxRunWork {
			return nil
		}
		f.work += work
		w.work += work
		tokens, keys := w.tokens.sequence(w.ids)
		done = aligner.align(tokens, keys, aligner.g.startsAt(source.line, source.resumed, source.source.module.file), atEnd)
		f.done[string(w.key)] = done
	}
	return done
}

// unfit reports whether the source does not explain the calls at all: it is another version of the function.
func (a *alignment) unfit() bool {
	n := len(a.tokens)
	return n > 0 && a.total >= impossible || n >= 3 && a.total/cost(n) > 1600
}

// lookUp interns the places of an alignment.
func (w *frameWalker) lookUp(a *alignment, source *frameSource) *placedFrame {
	file, function := source.source.module.file.Path, functionName(source.fn)
	at := func(p *placed) placeID {
		place := Place{File: file, Line: int(p.line), Function: function, Confidence: p.confidence()}
		if place.Confidence == traceindex.ConfidenceAmbiguous {
			place.Candidates = []int{place.Line}
			for _, l := range p.others {
				place.Candidates = append(place.Candidates, int(l))
			}
			slices.Sort(place.Candidates)
			place.Line = 0
		}
		return w.attribution.places.intern(place)
	}
	loops := source.source.graphs[source.fn].aligner.g.loops
	out := &placedFrame{tokens: make([]placeID, len(a.tokens)), before: make([][]stretch, len(a.before))}
	for i := range a.tokens {
		out.tokens[i] = at(&a.tokens[i])
	}
	for i, visits := range a.before {
		for j, v := range visits {
			if i == 0 && j == 0 && v.begins == 0 && !source.resumed {
				continue // the function's entry is no statement
			}
			id := w.attribution.places.intern(Place{File: file, Line: int(v.line), Function: function, Confidence: traceindex.ConfidenceExact})
			out.before[i] = append(out.before[i], stretch{id, v.steps, v.begins, loops[v.line]})
		}
	}
	return out
}
