import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(64, 64)).cuda()
for x in torch.randn(100, 8, 64):
    model(x.cuda())
