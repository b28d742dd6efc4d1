"""Wrappers of the kind that libraries put around modules and functions."""
import functools
import inspect
import random

import torch
import torch.nn as nn


def keep_dtype(function):
    """Runs a function in float32 and gives back the dtype of its first argument."""

    @functools.wraps(function)
    def wrapper(x, *args, **kwargs):
        dtype = x.dtype
        out = function(x.float(), *args, **kwargs)
        return out.to(dtype)

    return wrapper


def with_defaults(**defaults):
    def decorate(cls):
        signature = inspect.signature(cls.__init__)
        init = cls.__init__

        @functools.wraps(init)
        def __init__(self, *args, **kwargs):
            for name, value in defaults.items():
                if name in signature.parameters:
                    kwargs.setdefault(name, value)
            init(self, *args, **kwargs)

        cls.__init__ = __init__
        return cls

    return decorate


class LowRank(nn.Module):
    """A linear layer with a low-rank change beside it."""

    def __init__(self, base, rank=8, scale=2.0):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        self.scale = scale
        nn.init.zeros_(self.up.weight)

    @property
    def weight(self):
        return self.base.weight

    def forward(self, x):
        return self.base(x) + self.scale * self.up(self.down(x))


class DropPath(nn.Module):
    def __init__(self, module, chance):
        super().__init__()
        self.module = module
        self.chance = chance
        self.coin = random.Random(3)

    def forward(self, x, *args):
        if self.training and self.coin.random() < self.chance:
            return x
        if not self.training or self.chance == 0:
            return x + self.module(x, *args)
        y = self.module(x, *args)
        mask = torch.rand(x.shape[0], 1, 1, device=x.device) > self.chance
        return x + y * mask / (1 - self.chance)


class Chain(nn.Sequential):
    """A Sequential whose parts may take more than one argument."""

    def forward(self, x, *args):
        for part in self:
            takes = getattr(part, "takes", 1)
            x = part(x, *args[: takes - 1]) if takes > 1 else part(x)
        return x


class Hooked(nn.Module):
    """Passes attribute access and calls on to what it wraps."""

    def __init__(self, inner, before=None, after=None):
        super().__init__()
        self.inner = inner
        self.before, self.after = before, after

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)

    def forward(self, *args, **kwargs):
        if self.before is not None:
            args = self.before(*args)
        out = self.inner(*args, **kwargs)
        return out if self.after is None else self.after(out)
