import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.cached = None
        self.setup = torch.tensor([1.0]).cuda()

    def forward(self, x):
        mean = torch.tensor([0.1, 0.1, 0.1]).to(x.device).view(1, 3)  # want "torch.tensor([0.1, 0.1, 0.1]).to(x.device)"
        std = torch.tensor([0.2, 0.2, -0.2], device=x.device)  # want
        one = x * torch.tensor(1.0, device="cuda")  # want
        data = torch.tensor([x.shape[0], 3], device=x.device)
        host = torch.tensor([1, 2, 3])
        if self.cached is None:
            self.cached = torch.tensor([1.0, 2.0], device=x.device)
        return self.fc((x - mean) / std) * one


def train(model, loader):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    before = torch.tensor([1.0, 2.0]).cuda()
    for step, x in enumerate(loader):
        weight = torch.tensor([1.0, 2.0]).cuda()  # want
        (model(x.cuda()) * weight).mean().backward()
        opt.step()
        if step % 50 == 0:
            late = torch.tensor([1.0]).cuda()
