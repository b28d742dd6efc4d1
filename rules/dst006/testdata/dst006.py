import torch
import torch.distributed as dist
import torch.nn as nn


def train(loader, world):
    dist.init_process_group("nccl")
    config = [None]
    dist.broadcast_object_list(config, src=0)
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        opt.step()
        stats = [None] * world
        dist.all_gather_object(stats, {"step": step})  # want "all_gather_into_tensor"
        share(config)
        dist.all_reduce(loss)
        if step % 50 == 0:
            dist.all_gather_object(stats, {"step": step})
    dist.all_gather_object(stats, {"done": True})


def share(config):
    dist.broadcast_object_list(config, src=0)  # want "broadcast_object_list"


@torch.no_grad()
def evaluate(model, loader, world):
    results = [None] * world
    dist.all_gather_object(results, [])
    return results
