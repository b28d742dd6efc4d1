# No loader of the project has workers: the collate function runs in the training process.
import torch
from torch.utils.data import DataLoader


def collate(items):
    return torch.stack(items).cuda()


def make(data):
    return DataLoader(data, batch_size=8, collate_fn=collate)
