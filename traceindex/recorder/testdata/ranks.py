"""Trains data-parallel over gloo; started once a rank."""
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(7):
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
