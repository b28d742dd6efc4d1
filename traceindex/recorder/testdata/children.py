"""Children of every kind: loader workers (forked in the window), a spawned child; argv[1] says which of them train."""
import multiprocessing
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        assert sys.getprofile() is None, "the parent's profiler is in the worker"
        return torch.full((4,), float(i))


def train(rounds):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(rounds):
        for batch in DataLoader(Squares(), batch_size=4, num_workers=1, multiprocessing_context="fork"):
            model(batch).sum().backward()
            optimizer.step()


def child(trains):
    if trains:
        torch.set_num_threads(1)
        train(7)


if __name__ == "__main__":
    who = sys.argv[1]
    process = multiprocessing.get_context("spawn").Process(target=child, args=(who == "child",))
    process.start()
    process.join()
    if who == "parent":
        train(7)
    sys.exit(process.exitcode)
