import torch

from library import clip


def test_clip(model, opt):
    for step in range(3):
        clip(model)
        model(torch.ones(1)).mean().backward()
        opt.step()
