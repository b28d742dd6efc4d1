package attribute_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// node is a call of a made-up trace: its event name and what it calls. A node without calls launches one kernel.
type node struct {
	name  string
	calls []node
}

func call(name string, calls ...node) node { return node{name, calls} }

// silent is a call that launches nothing.
func silent(name string) node { return node{name, []node{}} }

func (b *traceBuilder) tree(nodes []node) {
	for _, n := range nodes {
		if n.calls == nil {
			b.call(n.name, nil)
			continue
		}
		b.call(n.name, func() { b.tree(n.calls) })
	}
}

const (
	relu = "<built-in method relu of type object at 0x7f00>"
	tanh = "<built-in method tanh of type object at 0x7f00>"
)

// TestFeatures attributes small traces that show one thing each: kernels per line, as "line:count".
func TestFeatures(t *testing.T) {
	for _, c := range []struct {
		name, source string
		trace        []node
		want         string
	}{
		{
			"qualified names", // CPython 3.11 and later know them
			"class Net:\n    def forward(self, x):\n        y = torch.relu(x)\n        return torch.tanh(y)\nclass Other:\n    def forward(self, x):\n        return torch.relu(x)\n",
			[]node{call("m.py(2): Net.forward", call(relu), call(tanh)), call("m.py(6): Other.forward", call(relu))},
			"3:1 4:1 7:1",
		},
		{
			"locals in qualified names",
			"def outer(x):\n    def inner(y):\n        return torch.relu(y)\n    return inner(x)\n",
			[]node{call("m.py(1): outer", call("m.py(2): outer.<locals>.inner", call(relu)))},
			"3:1",
		},
		{
			"decorated function: the decorator's line is its first",
			"@torch.no_grad()\n@twice\ndef step(x):\n    a = torch.relu(x)\n    return torch.tanh(a)\n",
			[]node{call("torch/utils/_contextlib.py(113): decorate_context", call("m.py(1): step", call(relu), call(tanh)))},
			"4:1 5:1",
		},
		{
			"call through a decorator's wrapper",
			"from lib import work, other\ndef main(x):\n    other(x)\n    work(x)\n    other(x)\n",
			[]node{call("m.py(2): main", call("lib.py(1): other"), call("lib.py(9): _timed", call("lib.py(5): work")), call("lib.py(1): other"))},
			"3:1 4:1 5:1",
		},
		{
			"list comprehension with a frame, before 3.12",
			"def main(xs):\n    a = torch.tanh(xs)\n    ys = [torch.relu(x) for x in xs]\n    return torch.tanh(ys)\n",
			[]node{call("m.py(1): main", call(tanh), call("m.py(3): <listcomp>", call(relu), call(relu)), call(tanh))},
			"2:1 3:2 4:1",
		},
		{
			"list comprehension in line, from 3.12",
			"def main(xs):\n    a = torch.tanh(xs)\n    ys = [torch.relu(x) for x in xs]\n    return torch.tanh(ys)\n",
			[]node{call("m.py(1): main", call(tanh), call(relu), call(relu), call(tanh))},
			"2:1 3:2 4:1",
		},
		{
			"generator: each resumption names its yield's line",
			"def parts(xs):\n    for x in xs:\n        y = torch.relu(x)\n        yield y\n        torch.tanh(y)\n\ndef main(xs):\n    for p in parts(xs):\n        torch.exp(p)\n",
			[]node{call("m.py(7): main", call("m.py(1): parts", call(relu)), call("<built-in method exp of type object at 0x1>"), call("m.py(4): parts", call(tanh), call(relu)), call("<built-in method exp of type object at 0x1>"), call("m.py(4): parts", call(tanh)))},
			"3:2 5:2 9:2",
		},
		{
			"generator through a variable",
			"def parts(xs):\n    for x in xs:\n        yield torch.relu(x)\n\ndef main(xs):\n    g = parts(xs)\n    for p in g:\n        torch.tanh(p)\n",
			[]node{call("m.py(5): main", call("m.py(1): parts", call(relu)), call(tanh), call("m.py(3): parts", call(relu)), call(tanh), silent("m.py(3): parts"))},
			"3:2 8:2",
		},
		{
			"async: awaited coroutines",
			"async def fetch(x):\n    return torch.relu(x)\n\nasync def main(x):\n    a = await fetch(x)\n    torch.tanh(a)\n    b = await fetch(a)\n    return b\n",
			[]node{call("m.py(4): main", call("m.py(1): fetch", call(relu)), call(tanh), call("m.py(1): fetch", call(relu)))},
			"2:2 6:1",
		},
		{
			"match: the case that ran",
			"def pick(kind, x):\n    match kind:\n        case 'a':\n            return torch.relu(x)\n        case 'b' if x.big():\n            return torch.tanh(x)\n        case _:\n            return torch.exp(x)\n",
			[]node{call("m.py(1): pick", call(tanh)), call("m.py(1): pick", call(relu)), call("m.py(1): pick", call("<built-in method exp of type object at 0x1>"))},
			"4:1 6:1 8:1",
		},
		{
			"renamed callable",
			"from lib import long_name as short\ndef main(x):\n    f = torch.relu if x else torch.tanh\n    f(x)\n    short(x)\n",
			[]node{call("m.py(2): main", call(tanh), call("lib.py(3): long_name"))},
			"4:1 5:1",
		},
		{
			"twin branches decided by what the caller passed",
			"def attend(x, memory=None):\n    if memory is not None:\n        k = torch.relu(memory)\n    else:\n        k = torch.relu(x)\n    return k\n\ndef main(x):\n    attend(x)\n    attend(x, memory=[x])\n",
			[]node{call("m.py(8): main", call("m.py(1): attend", call(relu)), call("m.py(1): attend", call(relu)))},
			"3:1 5:1",
		},
		{
			"finally and with run their exits",
			"def main(x):\n    try:\n        with lock(x):\n            return torch.relu(x)\n    finally:\n        torch.tanh(x)\n",
			[]node{call("m.py(1): main", call("lib.py(1): lock"), call("lib.py(3): __enter__"), call(relu), call("lib.py(5): __exit__"), call(tanh))},
			"3:3 4:1 6:1",
		},
		{
			"exception handler",
			"def main(x):\n    try:\n        torch.relu(x)\n        torch.exp(x)\n    except ValueError:\n        torch.tanh(x)\n",
			[]node{call("m.py(1): main", call(relu), call(tanh))},
			"3:1 6:1",
		},
		{
			"lambda counts to its statement",
			"def main(xs):\n    torch.tanh(xs)\n    apply(\n        lambda x: torch.relu(x),\n        xs,\n    )\n",
			[]node{call("m.py(1): main", call(tanh), call("lib.py(1): apply", call("m.py(4): <lambda>", call(relu))))},
			"2:1 3:1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &traceBuilder{}
			b.tree(c.trace)
			costs := b.costs(t, map[string]string{"m.py": c.source})
			var got []string
			for _, l := range costs.Lines {
				if l.Kernels > 0 {
					got = append(got, fmt.Sprintf("%03d:%d", l.Line, l.Kernels))
				}
			}
			sort.Strings(got)
			for i := range got {
				got[i] = strings.TrimLeft(got[i], "0")
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s\nunattributed %+v", diff, costs.Unattributed)
			}
		})
	}
}
