import torch
import torch.nn as nn

torch.backends.cudnn.benchmark = True
model = nn.Conv2d(3, 8, 3).cuda()
