package rules

import (
	"reflect"
	"testing"

	"stepline/pyscan"
)

// TestSameValueComparesEveryField: a value that differs in any field is another one.
func TestSameValueComparesEveryField(t *testing.T) {
	x := &fileIndex{}
	other := map[reflect.Type]any{
		reflect.TypeFor[Kind]():             Loader,
		reflect.TypeFor[bool]():             true,
		reflect.TypeFor[string]():           "torch.nn.Linear",
		reflect.TypeFor[*Value]():           &Value{Kind: Module},
		reflect.TypeFor[[]*Value]():         []*Value{{Kind: Module}},
		reflect.TypeFor[definition]():       definition{index: x},
		reflect.TypeFor[*pyscan.Call]():     &pyscan.Call{},
		reflect.TypeFor[*pyscan.Function](): &pyscan.Function{},
		reflect.TypeFor[*fileIndex]():       x,
	}
	fields := reflect.TypeFor[Value]()
	for i := range fields.NumField() {
		a, b, differs := &Value{}, &Value{}, &Value{}
		value, ok := other[fields.Field(i).Type]
		if !ok {
			t.Fatalf("no value for %s", fields.Field(i).Name)
		}
		reflect.ValueOf(differs).Elem().Field(i).Set(reflect.ValueOf(value))
		if !sameValue(a, b) || sameValue(a, differs) || sameValue(differs, a) {
			t.Errorf("values that differ in %s count as the same, or equal ones as different", fields.Field(i).Name)
		}
	}
	if sameValue(noneValue, &Value{Kind: Host, Path: "None"}) {
		t.Error("None is told from other values by being itself")
	}
}
