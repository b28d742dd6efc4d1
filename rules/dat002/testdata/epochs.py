import torch
from torch.utils.data import DataLoader


def one_epoch(loader, model, opt):
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()


def main(dataset, model, opt, workers):
    a = DataLoader(dataset, batch_size=8, num_workers=4)  # want "persistent_workers=True"
    for epoch in range(10):
        for step, x in enumerate(a):
            model(x.cuda()).mean().backward()
            opt.step()
    b = DataLoader(dataset, batch_size=8, num_workers=4)  # want
    for epoch in range(10):
        one_epoch(b, model, opt)
    c = DataLoader(dataset, batch_size=8, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        one_epoch(c, model, opt)
    d = DataLoader(dataset, batch_size=8, num_workers=4)
    one_epoch(d, model, opt)
    e = DataLoader(dataset, batch_size=8)
    f = DataLoader(dataset, batch_size=8, num_workers=workers)
    for epoch in range(10):
        one_epoch(e, model, opt)
        one_epoch(f, model, opt)
    g = DataLoader(dataset, batch_size=8, num_workers=4)
    for epoch in range(10):
        dataset.resample(epoch)
        one_epoch(g, model, opt)
