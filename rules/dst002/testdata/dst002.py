import random

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision
from accelerate import DistributedDataParallelKwargs
from lightning import Trainer
from lightning.pytorch.strategies import DDPStrategy
from torch.nn.parallel import DistributedDataParallel as DDP


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


class Leftover(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.old_head = nn.Linear(8, 1)

    def forward(self, x):
        return self.body(x)


class Optional(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.extra = nn.Linear(8, 8)

    def forward(self, x, use_extra=False):
        x = self.body(x)
        if use_extra:
            x = self.extra(x)
        return x


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            if self.training and random.random() < 0.1:
                continue
            x = layer(x)
        return x


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x, which):
        return self.experts[which](x)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Dropping()

    def forward(self, x):
        return self.inner(x)


def build(rank, unknown, flag):
    dist.init_process_group("nccl")
    a = DDP(Plain().cuda(), device_ids=[rank], find_unused_parameters=True)  # want "`Plain` uses all its layers"
    b = DDP(Leftover().cuda(), device_ids=[rank], find_unused_parameters=True)  # want "self.old_head"
    c = DDP(Optional().cuda(), device_ids=[rank], find_unused_parameters=True)
    d = DDP(Dropping().cuda(), device_ids=[rank], find_unused_parameters=True)
    e = DDP(Experts().cuda(), device_ids=[rank], find_unused_parameters=True)
    f = DDP(Outer().cuda(), device_ids=[rank], find_unused_parameters=True)
    g = DDP(unknown, device_ids=[rank], find_unused_parameters=True)  # want info "unless some parameters"
    h = DDP(Plain().cuda(), device_ids=[rank], find_unused_parameters=flag)
    i = DDP(Plain().cuda(), device_ids=[rank], find_unused_parameters=False)
    j = DDP(Plain().cuda(), device_ids=[rank])
    k = DDP(
        torchvision.models.resnet50().cuda(),
        device_ids=[rank],
        find_unused_parameters=True,  # want info "find_unused_parameters=True"
    )
    return a, b, c, d, e, f, g, h, i, j, k


kwargs = DistributedDataParallelKwargs(find_unused_parameters=True)  # want info "find_unused_parameters=True"
strategy = DDPStrategy(find_unused_parameters=True)  # want info "find_unused_parameters=True"
trainer = Trainer(strategy="ddp_find_unused_parameters_true")  # want info "ddp_find_unused_parameters_true"
plain = Trainer(strategy="ddp")
