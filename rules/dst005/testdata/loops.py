import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def average(value, world):
    dist.all_reduce(value)  # want "dist.all_reduce(value)"
    return (value / world).item()


def reduce_tensor(t, world):
    rt = t.clone()
    dist.all_reduce(rt, op=dist.ReduceOp.SUM)  # want "dist.all_reduce(rt"
    rt /= world
    return rt


def rarely(value):
    dist.all_reduce(value)
    return value.item()


def train(loader, world, rank, log, path):
    dist.init_process_group("nccl")
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for step, x in enumerate(loader):
        num_boxes = torch.as_tensor([len(x)], dtype=torch.float, device="cuda")
        dist.all_reduce(num_boxes)
        loss = model(x).mean() / num_boxes.item()
        bad = torch.isnan(loss.detach())
        dist.all_reduce(bad)
        if bad:
            continue
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        opt.step()
        mean = average(loss.detach(), world)
        shown = reduce_tensor(loss.data, world)
        total += shown
        dist.all_reduce(loss)  # want "dist.all_reduce(loss)"
        log.info("loss %f", loss.item())
        dist.barrier()  # want "dist.barrier()"
        if step % 100 == 0:
            rare = rarely(loss.detach())
            print(rare)
            dist.barrier()
        if rank == 0:
            print(step, mean)


def decides(loader, rank):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best = 1e9
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        opt.step()
        mean_loss = loss.detach()
        dist.all_reduce(mean_loss)
        if mean_loss.item() > 10 * best:
            break
        start = time.time()
        dist.barrier()
        print(time.time() - start)


def shared_loss(loader, rank):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        loss = model(x).mean()
        dist.all_reduce(loss)
        loss.backward()
        opt.step()


def saves(loader, rank, path):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    dist.barrier()
    for x in loader:
        model(x).mean().backward()
        opt.step()
        torch.save(model.state_dict(), path)
        dist.barrier()
