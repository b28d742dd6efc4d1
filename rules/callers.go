package rules

import (
	"slices"
	"strings"

	"stepline/pyscan"
)

// Who calls a function is asked of every function whose parameters or contexts matter. A project has many functions of one
// name (`forward_step`, `encode_prompt` of three hundred pipelines) and as many calls of it, so the calls of a name are
// resolved once, together, and each function then picks its own.

// callSite is a call of a function somewhere in the project.
type callSite struct {
	index *fileIndex
	site  *Site
	// skip is the number of leading parameters the call does not pass (self).
	skip int
	// order is the call's place among the calls of the name.
	order int
}

// namedCalls are the calls of one name, by what they call.
type namedCalls struct {
	resolved
	// functions are called by name, classes made.
	functions map[*pyscan.Function][]callSite
	classes   map[*pyscan.Class][]callSite
	// own are the methods' calls on self by the class they are in; inherited the same by the method of that class.
	own       map[*pyscan.Class][]callSite
	inherited map[*pyscan.Function][]callSite
	// objects are calls on any other object: whose method it is, is not known.
	objects []callSite
}

// callsOf are the calls of a name.
func (p *Project) callsOf(name string) *namedCalls {
	n := p.knownCalls(name)
	p.notes.callsOf(name, n)
	return n
}

func (p *Project) sortCalls(name string, n *namedCalls) {
	n.functions, n.classes = map[*pyscan.Function][]callSite{}, map[*pyscan.Class][]callSite{}
	n.own, n.inherited = map[*pyscan.Class][]callSite{}, map[*pyscan.Function][]callSite{}
	owners := map[*pyscan.Class]*fileIndex{}
	order := 0
	for _, x := range n.files {
		for _, site := range x.calls[name] {
			order++
			c := callSite{index: x, site: site, order: order}
			callee := site.Call().Func
			d := p.define(x, callee, site.Function, 0)
			if d.def != nil {
				n.functions[d.def] = append(n.functions[d.def], c)
				continue
			}
			c.skip = 1
			if d.class != nil {
				n.classes[d.class] = append(n.classes[d.class], c)
			}
			attr, ok := callee.(*pyscan.Attribute)
			if !ok || x.resolve(callee, site.Function, 0) != "" {
				continue
			}
			if object, isName := attr.Value.(*pyscan.Name); isName && site.Def() != nil && selfOf(site.Def()) == object.ID {
				if class := methodClass(site.Def()); class != nil {
					n.own[class] = append(n.own[class], c)
					owners[class] = x
				}
				continue
			}
			n.objects = append(n.objects, c)
		}
	}
	for class, calls := range n.own {
		if m, _ := p.method(definition{index: owners[class], class: class}, name, 0); m != nil {
			n.inherited[m] = append(n.inherited[m], calls...)
		}
	}
}

// callersOf finds the calls of a function: by name, then by what the callee names. A method called on an object counts when
// it is called on self in its own class (or in one that it is inherited by, or overrides), or when the project defines the
// name only once.
func (a *analysis) callersOf(x *fileIndex, fn *pyscan.Function) []callSite {
	x, fn, other := a.elsewhere(x, fn)
	if other {
		return a.before.callersOf(x, fn)
	}
	if c, ok := a.callers[fn]; ok {
		a.notes.useAnswer(a.kept.callers[fn])
		return c
	}
	out := a.askCallers(x, fn)
	a.callers[fn] = out
	return out
}

func (a *analysis) findCallers(x *fileIndex, fn *pyscan.Function) []callSite {
	name := fn.Name
	switch {
	case name == "<lambda>" || name == "<module>" || name == "forward":
		return nil
	case name == "__init__" && fn.Class != nil:
		if strings.HasPrefix(fn.Class.Name, "__") {
			return nil
		}
		if a.before != nil {
			return a.editedCallers(fn)
		}
		return a.project.callsOf(fn.Class.Name).classes[fn.Class]
	case strings.HasPrefix(name, "__"):
		return nil
	}
	if a.before != nil {
		return a.editedCallers(fn)
	}
	n := a.project.callsOf(name)
	out := n.functions[fn]
	if fn.Class == nil {
		return out
	}
	out = slices.Clone(out)
	if len(n.own) > 0 {
		out = append(out, n.inherited[fn]...)
		a.eachAncestor(definition{index: x, class: fn.Class}, 0, func(c *pyscan.Class) { out = append(out, n.own[c]...) })
	}
	if len(n.objects) > 0 && !commonMethods[name] && a.project.defining(name) == 1 {
		out = append(out, n.objects...)
	}
	slices.SortFunc(out, func(a, b callSite) int { return a.order - b.order })
	return slices.CompactFunc(out, func(a, b callSite) bool { return a.order == b.order })
}

// eachAncestor visits a class and the project's classes it derives from.
func (a *analysis) eachAncestor(c definition, depth int, visit func(*pyscan.Class)) {
	if depth > 8 {
		return
	}
	visit(c.class)
	for _, b := range a.basesOf(c) {
		a.eachAncestor(b, depth+1, visit)
	}
}

// commonMethods are names that containers, text, tensors, modules and files share: a call of one says nothing about whose it is.
var commonMethods = wordSet(`get items keys values update append extend insert add remove pop clear copy sort index count join split strip format encode
	decode read write close open flush seek load save dump step train eval to cpu cuda half float parameters state_dict load_state_dict zero_grad
	backward item mean sum max min log exp abs pow view reshape reset start stop run call apply set put send recv fit predict transform
	size shape dim name type print info debug warning error next iter map filter reduce register build create make init setup main`)
