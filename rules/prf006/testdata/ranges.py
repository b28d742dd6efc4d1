import torch
import torch.nn as nn


def one(model, x):
    for _ in range(3):
        torch.cuda.nvtx.range_push("forward")  # want "range_push"
        model(x.cuda())


def several(model, x):
    torch.cuda.nvtx.range_push("step")  # want "nothing closes"
    y = model(x.cuda())
    y.mean().backward()
    return y


def balanced(model, x):
    torch.cuda.nvtx.range_push("outer")
    torch.cuda.nvtx.range_push("inner")
    y = model(x.cuda())
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("forward"):
        model(x)
    return y
