package rules

import (
	"testing"

	"stepline/pyscan"
)

// TestVariablesAreNumbered looks at which expressions of a function name one variable, and what hangs on which name.
func TestVariablesAreNumbered(t *testing.T) {
	file := pyscan.Parse("train.py", `
def train(self, state):
    self.model = state["model"]
    self.model.train()
    model, other.model = self.model, state['model']
    print([model for model in state[0]], lambda: model, state[key], state["0"])
    try:
        pass
    except ValueError as failure:
        raise failure
    def model():
        return state
`)
	x := newFileIndex(file, nil).ready()
	train := file.Functions[1]
	byText := map[string]int32{}
	for _, s := range x.tree.in(train) {
		text := x.tree.Text(s.Node)
		n := x.tree.variables[s.at]
		if _, isDef := s.Node.(*pyscan.FunctionDef); isDef {
			text = "def " + s.Node.(*pyscan.FunctionDef).Function.Name
		}
		if before, known := byText[text]; known && before != n {
			t.Errorf("%s is variable %d and variable %d", text, before, n)
		}
		byText[text] = n
	}
	for _, same := range [][2]string{{`state["model"]`, `state['model']`}, {"model", "def model"}, {"state[0]", `state["0"]`}} {
		if a, b := byText[same[0]], byText[same[1]]; a == 0 || a != b {
			t.Errorf("%s is variable %d, %s variable %d", same[0], a, same[1], b)
		}
	}
	for _, other := range [][2]string{{"self.model", "other.model"}, {"self.model", "model"}, {"self.model", "self.model.train"}} {
		if a, b := byText[other[0]], byText[other[1]]; a == 0 || b == 0 || a == b {
			t.Errorf("%s is variable %d, %s variable %d", other[0], a, other[1], b)
		}
	}
	for _, none := range []string{"state[key]", `"model"`, "pass"} {
		if n, known := byText[none]; !known || n != 0 {
			t.Errorf("%s is variable %d (seen: %v)", none, n, known)
		}
	}
	for _, name := range []string{"self", "state", "model", "failure"} {
		if got := x.tree.variableNamed(train, name); got == 0 || name != "self" && got != byText[name] {
			t.Errorf("%s by its name: %d, at its places: %d", name, got, byText[name])
		}
	}
	if got := x.tree.variableNamed(train, "nothing"); got != 0 {
		t.Errorf("a name that the function does not have is variable %d", got)
	}

	parts := &x.tree.functionParts(train).variables
	hanging := map[int32]bool{}
	for part := parts.parts[byText["self"]]; part != 0; part = parts.parts[part] {
		hanging[part] = true
	}
	if len(hanging) != 2 || !hanging[byText["self.model"]] || !hanging[byText["self.model.train"]] {
		t.Errorf("on self hang %v, not self.model (%d) and self.model.train (%d)", hanging, byText["self.model"], byText["self.model.train"])
	}
}
