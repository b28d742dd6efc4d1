import numpy as np
import torch


def f(model, x, out):
    h = model.cuda()
    y = torch.randn(4, device="cuda")
    a = y.to("cpu", non_blocking=True)  # want "line 11"
    out.append(a)

    print(a)
    b = y.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    print(b)
    c = y.to("cpu", non_blocking=True)
    out.append(c)
    d = y.to("cpu", non_blocking=True).numpy()  # want
    e = y.to("cpu")
    print(e)
    g = y.to("cpu", non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    event.synchronize()
    total = g + 1
    k = y.to("cpu", non_blocking=True)  # want
    total = k + 1
    return c


def unknown(y):
    a = y.to("cpu", non_blocking=True)
    print(a)
