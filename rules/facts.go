package rules

import (
	"stepline/pyscan"
)

// Facts is what all rules share about one file in one run: the tree, the surroundings, the settings.
type Facts struct {
	*Tree
	// Torch is the torch version range aimed at; the zero value is unknown.
	Torch TorchRange
	// Costs is the loaded trace, nil without one.
	Costs Costs
}

func newFacts(target Target, config Config) *Facts {
	return &Facts{Tree: NewTree(target.File), Torch: config.TargetTorch, Costs: target.Costs}
}

// assignments are the plain assignments of a function in source order, comprehension scopes excluded.
func (t *Tree) assignments(f *pyscan.Function) []*pyscan.Assign {
	if t.assigned == nil {
		t.assigned = map[*pyscan.Function][]*pyscan.Assign{}
		for _, s := range t.Sites {
			if a, ok := s.Node.(*pyscan.Assign); ok {
				def := DefOf(s.Function)
				t.assigned[def] = append(t.assigned[def], a)
			}
		}
	}
	return t.assigned[f]
}
