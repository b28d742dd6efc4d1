import torch
from torch.utils.data import DataLoader


def train(dataset, model, opt):
    loader = DataLoader(dataset, batch_size=8, num_workers=4)
    first = next(iter(loader))
    it = iter(loader)
    for step in range(100):
        x = next(iter(loader))  # want "next(iter(loader))"
        y = next(it)
        fresh = DataLoader(dataset, batch_size=8)  # want "DataLoader"
        model(x.cuda()).mean().backward()
        opt.step()
        if step % 10 == 0:
            z = next(iter(loader))
    for epoch in range(3):
        again = DataLoader(dataset, batch_size=8)
        for x in again:
            model(x.cuda()).mean().backward()
            opt.step()


def given(train_loader, model, opt):
    for step in range(100):
        x, y = next(iter(train_loader))  # want
        w = next(iter({1, 2}))
        p = next(iter(model.parameters()))
        model(x.cuda()).mean().backward()
        opt.step()
