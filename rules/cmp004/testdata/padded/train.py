import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.backends.cudnn.benchmark = True  # want "padded to its own longest item"


def collate(items):
    return pad_sequence(items, batch_first=True)


def main(dataset):
    model = nn.Conv1d(8, 8, 3).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in DataLoader(dataset, collate_fn=collate, num_workers=2):
        model(x.cuda()).mean().backward()
        opt.step()
