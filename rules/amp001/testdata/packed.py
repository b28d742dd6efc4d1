"""No blank line after the imports."""
import torch
import torch.nn as nn  # layers
model = nn.Sequential(nn.Linear(64, 64)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(100, 8, 64):  # want "full float32"
    model(x.cuda()).mean().backward()
    opt.step()
