package rules

import (
	"slices"

	"stepline/pyscan"
)

// The rules ask for parts of a file again and again: what lies under a loop, what a function runs, where a name occurs. Tree
// answers without a walk over the whole file, in source order, like Sites.

// link is a site's node, with one more than the place of the site before it that starts at the same offset.
type link struct {
	node   pyscan.Node
	before int32
}

// number gives the sites their places once all are there.
func (t *Tree) number() {
	if t.size == 0 {
		t.size = len(t.File.Text)
	}
	t.first = make([]int32, t.size+1)
	t.links = make([]link, len(t.Sites))
	for i, s := range t.Sites {
		s.at, s.end = int32(i), int32(i+1)
		if start := s.Node.Range().Start - t.origin; start >= 0 && start < len(t.first) {
			t.links[i] = link{s.Node, t.first[start]}
			t.first[start] = int32(i + 1)
		}
	}
	t.listCallees()
	for i := len(t.Sites) - 1; i >= 0; i-- {
		if s := t.Sites[i]; s.Parent != nil && t.holds(s.Parent) {
			s.Parent.end = max(s.Parent.end, s.end)
		}
	}
}

// Site returns a node's site, nil for nodes of other files.
func (t *Tree) Site(n pyscan.Node) *Site {
	s := t.ownSite(n)
	if s == nil && t.base != nil {
		s = t.base.Site(n)
	}
	return s
}

func (t *Tree) ownSite(n pyscan.Node) *Site {
	if n == nil {
		return nil
	}
	start := n.Range().Start - t.origin
	if start < 0 || start >= len(t.first) {
		return nil
	}
	for i := t.first[start]; i > 0; i = t.links[i-1].before {
		if t.links[i-1].node == n {
			return t.Sites[i-1]
		}
	}
	return nil
}

// holds tells whether a site is the tree's own, not of the tree it was put in front of.
func (t *Tree) holds(s *Site) bool {
	return t.base == nil || int(s.at) < len(t.Sites) && t.Sites[s.at] == s
}

// below are a site and the sites under it.
func (t *Tree) below(s *Site) []*Site {
	if !t.holds(s) {
		return t.base.below(s)
	}
	return t.Sites[s.at:s.end]
}

// in are the sites that run in a function (Site.Def), callsIn the calls among them.
func (t *Tree) in(fn *pyscan.Function) []*Site { return t.functionParts(fn).sites }

func (t *Tree) callsIn(fn *pyscan.Function) []*Site { return t.functionParts(fn).calls }

// listCallees notes the callees of Calls, in their order.
func (t *Tree) listCallees() {
	t.callees = make([]*Site, 0, len(t.Calls))
	for _, c := range t.Calls {
		if c.Call().Func != nil {
			t.callees = append(t.callees, t.Sites[c.at+1]) // a call's first part
		}
	}
}

// calleeAfter is the place in callees behind a callee.
func (t *Tree) calleeAfter(s *Site) int {
	i, _ := slices.BinarySearchFunc(t.callees, s.at, func(c *Site, at int32) int { return int(c.at - at) })
	return i + 1
}

// functionPart is what runs in one function.
type functionPart struct {
	sites, calls []*Site
	variables    variables
}

var noPart = &functionPart{}

func (t *Tree) functionParts(fn *pyscan.Function) *functionPart {
	if t.outside(fn) {
		return t.base.functionParts(fn)
	}
	t.partsOnce.Do(func() {
		t.parts = make([]functionPart, len(t.File.Functions))
		sizes := make([]int32, len(t.parts))
		for _, s := range t.Sites {
			if def := s.Def(); def != nil && !t.outside(def) {
				sizes[def.Index]++
			}
		}
		t.places = make([]int32, len(t.Sites))
		room := make([]*Site, len(t.Sites))
		for i, n := range sizes {
			t.parts[i].sites, room = room[:0:n], room[n:]
		}
		for _, s := range t.Sites {
			def := s.Def()
			if def == nil || t.outside(def) {
				continue
			}
			p := &t.parts[def.Index]
			t.places[s.at] = int32(len(p.sites))
			p.sites = append(p.sites, s)
			if _, ok := s.Node.(*pyscan.Call); ok {
				p.calls = append(p.calls, s)
			}
		}
		t.numberVariables()
	})
	if fn == nil || fn.Index >= len(t.parts) || t.File.Functions[fn.Index] != fn {
		return noPart
	}
	return &t.parts[fn.Index]
}

// named are the sites of the names spelled so.
func (t *Tree) named(id string) []*Site {
	if t.base != nil {
		return t.namedAround(id)
	}
	return t.ownNamed(id)
}

// namedUnder are those of them under a site of the tree itself.
func (t *Tree) namedUnder(s *Site, id string) []*Site {
	byPlace := func(s *Site, place int32) int { return int(s.at - place) }
	list := t.ownNamed(id)
	from, _ := slices.BinarySearchFunc(list, s.at, byPlace)
	to, _ := slices.BinarySearchFunc(list, s.end, byPlace)
	return list[from:to]
}

func (t *Tree) ownNamed(id string) []*Site {
	t.namesOnce.Do(func() {
		t.names = map[string][]*Site{}
		for _, s := range t.Sites {
			if n, ok := s.Node.(*pyscan.Name); ok {
				t.names[n.ID] = append(t.names[n.ID], s)
			}
		}
	})
	return t.names[id]
}

// namedAround are the sites of a name in changed definitions and in what is around them.
func (t *Tree) namedAround(id string) []*Site {
	var out []*Site
	for _, s := range t.base.named(id) {
		if !t.index.edit.patch.Replaces(s.Range().Start) {
			out = append(out, s)
		}
	}
	return append(out, t.ownNamed(id)...)
}
