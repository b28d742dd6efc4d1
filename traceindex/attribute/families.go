package attribute

import "strings"

// moduleFamilies are words in modules' class names with the words that attributes holding such modules are named by.
var moduleFamilies = []struct{ class, names []string }{
	{[]string{"conv"}, []string{"conv"}},
	{[]string{"norm"}, []string{"norm", "bn", "ln", "gn"}},
	{[]string{"linear"}, []string{"linear", "fc", "lin", "dense"}},
	{[]string{"dropout", "droppath"}, []string{"drop"}},
	{[]string{"pool"}, []string{"pool"}},
	{[]string{"embedding"}, []string{"embed", "emb", "wte", "wpe"}},
	{[]string{"attention", "attn"}, []string{"attn", "attention"}},
	{[]string{"relu", "gelu", "silu", "sigmoid", "tanh", "elu", "mish", "swish"}, []string{"relu", "gelu", "act", "silu"}},
}

// familyCost is what it costs to believe that an attribute of unknown class holds a module: little, more if its name speaks of
// another kind of module (`self.bn2` and Conv2d).
func familyCost(class, attribute string) cost {
	class, attribute = strings.ToLower(class), strings.ToLower(attribute)
	of, by := -1, -1
	for i, f := range moduleFamilies {
		for _, w := range f.class {
			if of < 0 && strings.Contains(class, w) {
				of = i
			}
		}
		for _, w := range f.names {
			if by < 0 && (strings.HasPrefix(attribute, w) || strings.HasSuffix(strings.TrimRight(attribute, "0123456789_"), "_"+w)) {
				by = i
			}
		}
	}
	switch {
	case of < 0 || by < 0:
		return 150
	case of == by:
		return 50
	}
	return 700
}
