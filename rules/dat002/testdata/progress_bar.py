# A name for a progress bar, or for an enumeration, of the loader goes over the loader.
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm


def one_epoch(batches, model, opt):
    bar = tqdm(batches)
    for x in bar:
        model(x.cuda()).mean().backward()
        opt.step()


def names_in(loader):
    return [n for n in loader.dataset.names]


def main(dataset, model, opt, quiet):
    a = DataLoader(dataset, batch_size=8, num_workers=4)  # want
    for epoch in range(10):
        bar = tqdm(a, desc=f"epoch {epoch}")
        for x in bar:
            model(x.cuda()).mean().backward()
            opt.step()
            bar.set_postfix(epoch=epoch)
    b = DataLoader(dataset, batch_size=8, num_workers=4)  # want
    for epoch in range(10):
        with tqdm(enumerate(b), total=len(b)) as steps:
            for i, x in steps:
                model(x.cuda()).mean().backward()
                opt.step()
    c = DataLoader(dataset, batch_size=8, num_workers=4)  # want
    for epoch in range(10):
        numbered = enumerate(c)
        for i, x in numbered:
            model(x.cuda()).mean().backward()
            opt.step()
    d = DataLoader(dataset, batch_size=8, num_workers=4)  # want
    for epoch in range(10):
        one_epoch(d, model, opt)
    # Iterated once.
    e = DataLoader(dataset, batch_size=8, num_workers=4)
    once = tqdm(e)
    for x in once:
        model(x.cuda()).mean().backward()
        opt.step()
    # Made anew in the loop.
    for split in (1, 2):
        f = DataLoader(dataset, batch_size=8, num_workers=4)
        bar = tqdm(f)
        for x in bar:
            model(x.cuda()).mean().backward()
            opt.step()
    # The workers are kept.
    g = DataLoader(dataset, batch_size=8, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        kept = tqdm(g)
        for x in kept:
            model(x.cuda()).mean().backward()
            opt.step()
    # Not the loader's batches.
    h = DataLoader(dataset, batch_size=8, num_workers=4)
    for epoch in range(10):
        found = names_in(h)
        for name in found:
            print(name)
    # Either the loader's bar or something else.
    i = DataLoader(dataset, batch_size=8, num_workers=4)
    for epoch in range(10):
        either = tqdm(i)
        if quiet:
            either = range(3)
        for x in either:
            model(x.cuda()).mean().backward()
            opt.step()
