import random

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.backends.cudnn as cudnn


def main(loader):
    cudnn.benchmark = True  # want "random size"
    model = nn.Conv2d(3, 8, 3).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        side = random.randrange(320, 640) // 32 * 32
        x = F.interpolate(x.cuda(), size=side)
        model(x).mean().backward()
        opt.step()
