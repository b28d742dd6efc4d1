import torch

from library import used


def train(model, opt, loader):
    for x in loader:
        used(model)
        model(x.cuda()).mean().backward()
        opt.step()
