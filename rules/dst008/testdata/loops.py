import gc
import time

import torch
import torch.distributed as dist
import torch.nn as nn


def train(loader, rank):
    dist.init_process_group("nccl")
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    gc.collect()
    last = time.time()
    for step, x in enumerate(loader):
        model(x).mean().backward()
        opt.step()
        if rank == 0:
            gc.collect()  # want "on some ranks only"
        if dist.get_rank() == 0 and step % 100 == 0:
            gc.collect()  # want "on some ranks only"
        if torch.cuda.memory_allocated() > 1e10:
            gc.collect()  # want "memory"
        if time.time() - last > 60:
            gc.collect()  # want "clock"
        if step % 100 == 0:
            gc.collect()
        gc.collect()
        try:
            model(x)
        except RuntimeError:
            if rank == 0:
                gc.collect()
