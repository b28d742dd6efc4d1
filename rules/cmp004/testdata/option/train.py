import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.backends.cudnn.benchmark = True


def main(loader, opt):
    model = nn.Conv2d(3, 8, 3).cuda()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        if opt.multi_scale:
            side = random.randrange(320, 640) // 32 * 32
            x = F.interpolate(x.cuda(), size=side)
        model(x).mean().backward()
        sgd.step()
