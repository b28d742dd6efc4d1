package attribute_test

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAccounted makes up traces that no program would leave and checks that nothing panics and no nanosecond is lost.
func TestAccounted(t *testing.T) {
	const source = "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        self.a = torch.nn.Linear(1, 1)\n        self.many = [self.a for _ in range(3)]\n\n" +
		"    @torch.no_grad()\n    def forward(self, x, mask=None):\n        for layer in self.many:\n            x = layer(x) if mask is None else x[mask, 1:]\n        try:\n            with self.lock:\n                return self.a(x) @ x\n        finally:\n            x += 1\n\n" +
		"def parts(xs):\n    for x in xs:\n        yield torch.relu(x)\n\nasync def late(x):\n    await x\n    return [y async for y in x]\n\ndef main(kind):\n    match kind:\n        case [a, *b] if a:\n            return {k: v for k, v in parts(b)}\n        case _:\n            raise ValueError(f'{kind!r:>{kind}}')\n"
	names := []string{"m.py(8): forward", "m.py(12): forward", "m.py(18): parts", "m.py(20): parts", "m.py(22): late", "m.py(24): <listcomp>", "m.py(26): main", "m.py(99): gone", "m.py(1): <module>",
		"m.py(29): <dictcomp>", "m.py(10): torch_dynamo_resume_in_forward_at_10", "nn.Module: Linear_0", "nn.Module: Net_3", "<built-in method relu of type object at 0x1>", "<built-in function len>",
		"torch/nn/modules/module.py(1779): _call_impl", "torch/autograd/graph.py(800): _engine_run_backward", "<built-in method run_backward of torch._C._EngineBase object at 0x1>", "lib.py(3): wrapper"}
	rapid.Check(t, func(r *rapid.T) {
		b := &traceBuilder{}
		var grow func(depth int)
		grow = func(depth int) {
			for range rapid.IntRange(0, 6).Draw(r, "calls") {
				switch rapid.IntRange(0, 5).Draw(r, "what") {
				case 0:
					b.launch()
				case 1:
					start := b.nowUs
					b.nowUs++
					at := len(b.events)
					b.events = append(b.events, traceEvent{})
					name := rapid.SampledFrom([]string{"aten::mul", "aten::index", "Torch-Compiled Region: 0/0", "autograd::engine::evaluate_function: MulBackward0", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"}).Draw(r, "op")
					if depth < 5 {
						grow(depth + 1)
					}
					b.nowUs++
					b.events[at] = traceEvent{"X", "cpu_op", name, 1, 1, start, b.nowUs - start, map[string]any{"Sequence number": rapid.IntRange(0, 3).Draw(r, "sequence"), "Fwd thread id": rapid.IntRange(0, 1).Draw(r, "thread")}}
				default:
					if depth < 5 {
						b.call(rapid.SampledFrom(names).Draw(r, "name"), func() { grow(depth + 1) })
					}
				}
			}
		}
		b.call("m.py(26): main", func() { b.launch(); grow(0) })
		b.costs(t, map[string]string{"m.py": source}) // checks the sums
	})
}
