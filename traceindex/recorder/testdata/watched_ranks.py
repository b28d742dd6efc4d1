"""Trains data-parallel over gloo; started once a rank. Rank 1's loss goes bad."""
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    loss = model(torch.randn(2, 4)).sum()
    if step == 15 and dist.get_rank() == 1:
        loss = loss * float("inf")
    loss.backward()
    optimizer.step()
    time.sleep(0.05)
dist.destroy_process_group()
