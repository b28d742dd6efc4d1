# What runs once, or only in trouble, costs nothing that matters.
import math
import sys
import warnings

import torch


class Meter:
    def __init__(self):
        self.first = None
        self.cache = {}
        self.ready = False

    def observe(self, loss, name):
        if self.first is None:
            self.first = loss.item()
        if not hasattr(self, "second"):
            self.second = loss.item()
        if name not in self.cache:
            self.cache[name] = loss.item()
        if not self.ready:
            self.begin(loss.item())
        warnings.warn(f"loss {loss.item()}")
        assert loss.dim() == 0, f"not a scalar: {loss.tolist()}"
        return loss.item()  # want

    def lazily(self, loss):
        if self.scale is not None:
            return self.scale
        self.scale = loss.item()
        return self.scale


def train(model, loader, opt, steps):
    model = model.cuda()
    meter = Meter()
    start = None
    last_step = False
    for step, (x, y) in enumerate(loader):
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
        meter.observe(loss, "loss")
        meter.lazily(loss)
        if start is None:
            start = loss.item()
        if last_step:
            final = loss.item()
        if torch.isnan(loss).any():
            bad = loss.item()
        if not math.isfinite(y):
            worse = loss.item()
            sys.exit(1)
        if step > steps:
            done = loss.item()
            break
        if y.numel() == 0:
            empty = loss.item()
        try:
            model.check()
        except RuntimeError:
            failed = loss.item()
        if y > 3:
            raise ValueError(f"{loss.item()}")
        if model.mask is None:
            masked = loss.item()  # want
        if step != 0:
            often = loss.item()  # want


def attempts(model, loader, opt):
    model = model.cuda()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
        for trial in range(3):
            if trial < x.limit:
                value = loss.item()  # want
                break
