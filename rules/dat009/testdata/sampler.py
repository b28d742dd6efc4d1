import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(dataset, model, opt):
    sampler = DistributedSampler(dataset)  # want "same order"
    fixed = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, sampler=sampler, num_workers=4)
    for epoch in range(10):
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()


def single(dataset, model):
    sampler = DistributedSampler(dataset)
    for x in DataLoader(dataset, sampler=sampler):
        model(x.cuda())
