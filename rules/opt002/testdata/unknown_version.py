import torch
from torch.optim import AdamW
from torch import optim


def make(model, flag, kwargs, opts):
    model = model.cuda()
    a = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)  # want "`foreach=False` makes `AdamW`"
    b = AdamW(
        model.parameters(),
        lr=1e-3,
        foreach=False,  # want
    )
    c = optim.SGD(model.parameters(), foreach=False, lr=0.1)  # want
    d = optim.RMSprop(model.parameters(), foreach=False)  # want
    e = optim.SGD(model.parameters(), foreach=True, lr=0.1)
    f = optim.AdamW(model.parameters(), foreach=False, fused=True)
    g = optim.AdamW(model.parameters(), foreach=flag)
    h = optim.AdamW(model.parameters(), **kwargs)
    i = optim.AdamW(model.parameters())  # want info
    j = opts.AdamW(model.parameters(), foreach=False)
    k = optim.LBFGS(model.parameters())
    return a, b, c, d, e, f, g, h, i, j, k
