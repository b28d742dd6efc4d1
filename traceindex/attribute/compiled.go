package attribute

import (
	"strings"

	"stepline/traceindex"
)

// torch.compile runs a function as bytecode of its own: a frame with the function's name whose statements have become one call of a
// compiled graph (torch/_dynamo/eval_frame.py's wrapper around torch/_functorch/aot_autograd.py, as seen in torch 2.11), or several
// with graph breaks. The graph's launches belong to no single statement of the function: they count to the line that called it.

// compiledRegion begins the name of the op that Dynamo records around a compiled frame.
const compiledRegion = "Torch-Compiled Region"

// graphDepth and graphEvents bound the search for a compiled graph below a call.
const (
	graphDepth  = 4
	graphEvents = 60
)

// isDynamo reports whether a frame is Dynamo's own bookkeeping around a compiled graph.
func isDynamo(file string) bool {
	return strings.Contains(file, "torch/_dynamo/") || strings.HasSuffix(file, "torch/_compile.py") || strings.Contains(file, "torch/_functorch/") ||
		strings.HasPrefix(file, "<eval_with_key>") || strings.Contains(file, "torch/_inductor/")
}

// runsGraph reports whether a call runs a compiled graph: AOTAutograd's, Inductor's or Dynamo's own code is right below it.
func (w *frameWalker) runsGraph(e traceindex.EventID) bool {
	l, ok := w.ix.LocationOf(e)
	if !ok || !isDynamo(cleanRecorded(l.File)) {
		return false
	}
	end, seen := w.ix.SubtreeEnd(e), 0
	for row := e; row < end && seen < graphEvents; row++ {
		seen++
		if w.ix.Events.Category[row] == traceindex.CategoryOp && strings.HasPrefix(w.ix.Name(row), "CompiledFunction") {
			return true
		}
		l, ok := w.ix.LocationOf(row)
		if !ok {
			continue
		}
		file := cleanRecorded(l.File)
		if (strings.Contains(file, "torch/_functorch/") || strings.Contains(file, "torch/_inductor/") || strings.HasPrefix(file, "<eval_with_key>")) && w.depth(row, e) <= graphDepth {
			return true
		}
	}
	return false
}

// depth counts the events from one up to another above it.
func (w *frameWalker) depth(row, above traceindex.EventID) int {
	d := 0
	for ; row != above && row != traceindex.NoEvent; row = w.ix.Parent[row] {
		d++
	}
	return d
}

// underRegion reports whether a frame is one that Dynamo runs: right below its region's op, or the rest of a function after a break.
func (w *frameWalker) underRegion(row traceindex.EventID) bool {
	if p := w.ix.Parent[row]; p != traceindex.NoEvent && w.ix.Events.Category[p] == traceindex.CategoryOp && strings.HasPrefix(w.ix.Name(p), compiledRegion) {
		return true
	}
	l, _ := w.ix.LocationOf(row)
	_, _, resumption := dynamoResumption(l.Function)
	return resumption
}

// separateGraphs moves the compiled graphs among a frame's children, and Dynamo's bookkeeping, out of the calls to be aligned. It
// reports whether there were any graphs: then any call of the source may have gone into one.
func (w *frameWalker) separateGraphs(row traceindex.EventID) bool {
	w.graphs = w.graphs[:0]
	if !w.underRegion(row) {
		return false
	}
	found := false
	for _, c := range w.children {
		if w.runsGraph(c) {
			found = true
			break
		}
	}
	if !found {
		return false
	}
	kept := w.children[:0]
	for _, c := range w.children {
		if w.isBookkeeping(c) {
			w.graphs = append(w.graphs, c)
			continue
		}
		kept = append(kept, c)
	}
	w.children = kept
	return true
}

// isBookkeeping reports whether a child of a compiled frame is Dynamo's: a graph, its guards, or the rest of the function.
func (w *frameWalker) isBookkeeping(c traceindex.EventID) bool {
	if w.ix.Events.Category[c] == traceindex.CategoryOp {
		name := w.ix.Name(c)
		return strings.HasPrefix(name, compiledRegion) || strings.HasPrefix(name, "TorchDynamo")
	}
	l, ok := w.ix.LocationOf(c)
	_, _, resumption := dynamoResumption(l.Function)
	return ok && (resumption || isDynamo(cleanRecorded(l.File)))
}

// loosened is the graph for frames whose calls may have gone into a compiled graph: passing any of them silently costs little.
func (g *graph) loosened() *graph {
	d := *g
	d.gates = append([]gate(nil), g.gates...)
	d.out, d.in = make([]adjacency, g.points), make([]adjacency, g.points)
	for i := range d.gates {
		d.gates[i].skip = min(d.gates[i].skip, skipCompiled)
		d.connect(d.gates[i].from, d.gates[i].to, d.gates[i].skip)
	}
	d.tieSubscripts()
	for _, e := range g.flow.Edges {
		d.connect(int32(e.From), int32(e.To), edgeCost(e.Kind))
	}
	return &d
}

// skipCompiled is what passing a call costs that a compiled graph may have taken.
const skipCompiled cost = 20
