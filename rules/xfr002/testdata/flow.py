import numpy as np
import torch


def a(dev, arr):
    torch.from_numpy(arr).to(dev, non_blocking=True)  # want
    x = torch.zeros(8)
    x.to(dev, non_blocking=True)  # want "`x` is in ordinary host memory"
    y = torch.zeros(8, pin_memory=True)
    y.to(dev, non_blocking=True)
    z = torch.zeros(8)
    z = z.pin_memory()
    z.to(dev, non_blocking=True)
    w = torch.zeros(8, device="cuda")
    w.to("cpu", non_blocking=True)
    x.to(dev)


def b(dev, x):
    x.to(dev, non_blocking=True)


def c(dev):
    x = torch.empty(4)
    for _ in range(3):
        x += 1
        x.to(dev, non_blocking=True)  # want
    return [x.cuda(non_blocking=True)]  # want


def d(dev, flag, pin, other):
    x = torch.empty(4)
    x.to(dev, non_blocking=flag)
    y = torch.empty(4, pin_memory=pin)
    y.to(dev, non_blocking=True)
    y = other
    y.to(dev, non_blocking=True)
    for step in range(100):
        if step % 10 == 0:
            x.to(dev, non_blocking=True)
    h = x.to("cpu", non_blocking=True)
    return h
