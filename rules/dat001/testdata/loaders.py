import os

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info


class Photos(Dataset):
    def __init__(self, root):
        self.paths = sorted(os.listdir(root))

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class InMemory(Dataset):
    def __init__(self, n):
        self.data = torch.randn(n, 3)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


class Stream(IterableDataset):
    def __iter__(self):
        for line in open("data.txt"):
            yield line


class Sharded(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        for i, line in enumerate(open("data.txt")):
            if info is None or i % info.num_workers == info.id:
                yield line


def run(loader, model, opt):
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()


def main(root, model, opt, workers, cfg, kwargs, dataset):
    run(DataLoader(Photos(root), batch_size=64, shuffle=True), model, opt)  # want "num_workers"
    run(DataLoader(Photos(root), batch_size=64, num_workers=0), model, opt)  # want "num_workers=0"
    loader = DataLoader(  # want "num_workers"
        Photos(root),
        batch_size=64,
    )
    run(loader, model, opt)
    run(DataLoader(Sharded(), batch_size=64), model, opt)  # want
    run(DataLoader(InMemory(100), batch_size=64), model, opt)
    run(DataLoader(TensorDataset(torch.randn(100, 3)), batch_size=64), model, opt)
    run(DataLoader(Stream(), batch_size=64), model, opt)
    run(DataLoader(Photos(root), batch_size=64, num_workers=workers), model, opt)
    run(DataLoader(Photos(root), batch_size=64, num_workers=cfg.workers), model, opt)
    run(DataLoader(Photos(root), 64, False, None, None, 4), model, opt)
    run(DataLoader(Photos(root), **kwargs), model, opt)
    if cfg.debug:
        run(DataLoader(Photos(root), batch_size=2), model, opt)
