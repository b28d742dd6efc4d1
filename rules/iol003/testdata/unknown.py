import torch
import torch as t
from torch import load as tload
import numpy as np, pickle


def f(path, safe, json_mod, **kw):
    a = torch.load(path)  # want "before torch 2.6"
    b = torch.load(path, weights_only=True)
    c = torch.load(path, map_location="cpu", weights_only=False)  # want info "turns the check off"
    d = torch.load(path, weights_only=safe)
    e = torch.jit.load(path)
    g = t.load(path)  # want
    h = tload(path, map_location=lambda s, l: s)  # want
    i = np.load(path)
    j = json_mod.load(path)
    k = torch.load(path, **{"weights_only": True})
    n = torch.load(path, **kw)
    o = torch.load(  # want
        path,
        map_location="cpu",
    )
    # torch.load(path)
    m = "torch.load(path)"
    return a, b, c, d, e, g, h, i, j, k, m


def shadow(torch, path):
    return torch.load(path)


def local(path):
    import fake as torch
    return torch.load(path)


class Model:
    def restore(self, path):
        from torch import load
        self.state = load(path)  # want
