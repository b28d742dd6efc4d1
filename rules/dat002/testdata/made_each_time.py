# A loader that is made in the outer loop starts its workers once.
import torch
from torch.utils.data import DataLoader


def export(splits, model):
    model = model.cuda()
    for split in splits:
        loader = DataLoader(split, num_workers=8)
        for x in loader:
            model(x.cuda())


def train(data, model, opt):
    model = model.cuda()
    loader = DataLoader(data, num_workers=8)  # want
    for epoch in range(3):
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()
