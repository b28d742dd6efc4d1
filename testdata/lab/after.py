"""What still works after the recorder's window: a profiler of the script's own and a CUDA graph.
Run under the recorder (steps 2, warmup 3); prints what each saw."""
import torch
from torch.profiler import ProfilerActivity, profile


def kernels(prof):
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in prof.events())


model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(8, 64, device="cuda")


def step():
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()


for _ in range(12):
    step()
torch.cuda.synchronize()
for turn in range(3):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    print("own profiler, turn", turn, "GPU events", kernels(prof))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = model(data).relu()
for _ in range(5):
    graph.replay()
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    graph.replay()
    torch.cuda.synchronize()
print("CUDA graph replayed, GPU events", kernels(prof))
