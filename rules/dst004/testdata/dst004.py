import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader):
    model = nn.DataParallel(net).cuda()  # want "nn.DataParallel(net)"
    many = nn.DataParallel(net, device_ids=[0, 1])  # want "DataParallel"
    one = nn.DataParallel(net, device_ids=[0])
    ddp = DistributedDataParallel(net, device_ids=[0])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model(x).mean().backward()
        opt.step()
    return many, one, ddp


@torch.no_grad()
def evaluate(net, loader):
    model = nn.DataParallel(net).cuda()  # want info "DataParallel"
    return [model(x) for x in loader]
