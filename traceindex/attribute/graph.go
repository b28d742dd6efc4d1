package attribute

import (
	"slices"

	"stepline/pyscan"
)

// cost is an edit cost in thousandths. Costs are relative to one another: skipping a call that must leave an event costs 2.0,
// taking an optional step silently 0.002. They were set on the traces and workloads that docs/attribution.md lists.
type cost int32

const impossible cost = 1 << 28

const (
	skipCall      cost = 2000 // a call of a Python or C function normally leaves an event
	skipClass     cost = 600  // a class may have no __init__ of its own
	skipGenerator cost = 300  // calling a generator function is silent
	skipOptional  cost = 2
	skipModule    cost = 300 // reading self.linear runs nn.Module.__getattr__
	skipScope     cost = 2000
	skipElement   cost = 300 // `x[a:b]` of a tensor leaves a slice, unless it is the whole of it
	skipOperator  cost = 800 // an operator on the result of a module leaves an event

	skipToken cost = 3000 // an event that nothing in the source explains
	skipOp    cost = 2000
	skipNoise cost = 400

	loopBack  cost = 1
	exception cost = 1400
	raiseOut  cost = 500
	abort     cost = 1400 // the frame ends elsewhere than at its exit: an exception, or recording stopped
	openEnd   cost = 50   // the frame reaches the end of the trace
)

// gate is a site prepared for matching: what it accepts and what passing it silently costs.
type gate struct {
	site     *pyscan.Site
	kind     pyscan.SiteKind
	name     string
	from, to int32
	line     int32
	skip     cost
	repeats  bool
	tensor   bool // of a subscript: its value is a tensor
	callee   callee
	// own is what taking an index element or an attribute costs by itself.
	own cost
	// again is what each further token at a repeating gate costs more than the first.
	again cost
	// accepts are the operators that an index element can emit.
	accepts map[string]bool
	// firstLine and lastLine bound the anonymous function whose frames run here.
	firstLine, lastLine int
	// file is the base name of the file, to tell its own anonymous functions from others'.
	file string
	// sources are the generator functions that may be behind the iterated name; open tells that the iterable can be anything.
	sources []string
	open    bool
}

// callee is what is known about what a call enters.
type callee struct {
	class    bool // looks like a class
	imported bool // an imported or module-level name, or an attribute of one
	variable bool // could be anything: a local, an attribute of a value
	plain    bool // a local name
	// unassigned tells that the class never assigns the attribute of self that is called.
	unassigned bool
	held       bool // an attribute of self that is no method, or the result of a call or subscript
	known      bool // a method of the own class or a function of this module: only its name, or a wrapper, can appear
	classes    classSet
	aliases    []string
	super      bool
}

// graph is a function's flow with costs, ready for the alignment. It is immutable and shared by all frames of the function.
type graph struct {
	function *pyscan.Function
	flow     *pyscan.Flow
	locals   *localFacts
	gates    []gate
	points   int
	lines    []int32
	// edges are the silent passages in order of their source point; incoming the same in order of their target.
	out, in []adjacency
	// starts is the line of the statement that begins at a point, 0 elsewhere.
	starts []int32
	// loops are the lines of loops.
	loops map[int32]bool
	// names are all names that a gate of the function answers to.
	names map[string]bool
	// byName are the calls' gates by name.
	entry, exit int32
	truncated   bool
}

// adjacency is a compressed list of a point's silent neighbours.
type adjacency struct {
	neighbours []neighbour
}

type neighbour struct {
	point int32
	cost  cost
}

// newGraph compiles one function's flow.
func newGraph(module *moduleFacts, fn *pyscan.Function, options pyscan.FlowOptions) *graph {
	flow := module.file.Flow(fn, options)
	g := &graph{function: fn, flow: flow, points: len(flow.Lines), lines: flow.Lines, entry: int32(flow.Entry), exit: int32(flow.Exit), truncated: flow.Truncated, names: map[string]bool{}}
	if g.truncated {
		return g
	}
	locals := newLocalFacts(module, fn)
	g.locals = locals
	g.gates = make([]gate, len(flow.Sites))
	g.out, g.in = make([]adjacency, g.points), make([]adjacency, g.points)
	for i := range flow.Sites {
		c := compiler{module: module, locals: locals, gate: &g.gates[i]}
		c.compile(&flow.Sites[i])
		g.connect(g.gates[i].from, g.gates[i].to, g.gates[i].skip)
		g.addNames(&g.gates[i])
	}
	g.tieSubscripts()
	for _, e := range flow.Edges {
		g.connect(int32(e.From), int32(e.To), edgeCost(e.Kind))
	}
	g.loops = map[int32]bool{}
	for _, e := range flow.Edges {
		if e.Kind == pyscan.EdgeBack {
			g.loops[flow.Lines[e.To]] = true
		}
	}
	g.starts = make([]int32, g.points)
	for _, s := range flow.Statements {
		g.starts[s.Point] = int32(s.Line)
	}
	return g
}

// tieSubscripts lets each subscript be passed silently as a whole, at little cost: on a list it leaves nothing. On a tensor, every
// slice, integer and None of its index leaves an operator; skipping one alone is costly (newGraph has set skipElement).
func (g *graph) tieSubscripts() {
	first := -1
	for i := range g.gates {
		switch x := &g.gates[i]; x.kind {
		case pyscan.SiteIndex:
			if first < 0 {
				first = i
			}
		case pyscan.SiteSubscript:
			if first >= 0 {
				whole := skipOptional
				if x.tensor {
					whole = skipOperator
				}
				g.connect(g.gates[first].from, x.to, whole)
			}
			first = -1
		default:
			first = -1
		}
	}
}

func (g *graph) connect(from, to int32, c cost) {
	g.out[from].neighbours = append(g.out[from].neighbours, neighbour{to, c})
	g.in[to].neighbours = append(g.in[to].neighbours, neighbour{from, c})
}

func edgeCost(kind pyscan.EdgeKind) cost {
	switch kind {
	case pyscan.EdgeBack:
		return loopBack
	case pyscan.EdgeExcept:
		return exception
	case pyscan.EdgeRaise:
		return raiseOut
	}
	return 0
}

func (g *graph) addNames(x *gate) {
	switch x.kind {
	case pyscan.SiteCallback:
		for _, n := range x.site.Names {
			g.names[n] = true
		}
	case pyscan.SiteCall, pyscan.SiteNext, pyscan.SiteAwait, pyscan.SiteAttribute:
		g.names[x.name] = true
		for _, a := range x.sources {
			g.names[a] = true
		}
		for _, a := range x.callee.aliases {
			g.names[a] = true
		}
		for c := range x.callee.classes {
			g.names[c] = true
		}
	}
}

// pointsOf are the points of the statement whose first line is line.
func (g *graph) pointsOf(line int32) []int32 {
	var points []int32
	for p, l := range g.lines {
		if l == line && int32(p) != g.exit {
			points = append(points, int32(p))
		}
	}
	return points
}

// hasLine reports whether any point of the function lies on the line.
func (g *graph) hasLine(line int32) bool { return slices.Contains(g.lines, line) }
