import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(64, 64)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(100, 8, 64):
    with torch.autocast("cuda"):
        loss = model(x.cuda()).mean()
    loss.backward()
    opt.step()
