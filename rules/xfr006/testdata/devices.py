# The device of a module, or of a parameter, is where the constant goes.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    @property
    def device(self):
        return next(self.parameters()).device

    def forward(self, x):
        mean = torch.tensor([0.1, 0.1, 0.1], device=self.device)  # want
        return self.fc(x - mean)


def on_gpu(loader):
    model = Net().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        own = torch.tensor([1.0, 2.0, 3.0], device=model.device)  # want
        first = torch.tensor([1.0, 2.0, 3.0], device=next(model.parameters()).device)  # want
        (model(x.cuda()) * own * first).mean().backward()
        opt.step()


def given(model, opt, loader):
    for x in loader:
        weight = torch.tensor([1.0, 2.0, 3.0], device=model.device)  # want
        (model(x.to(model.device)) * weight).mean().backward()
        opt.step()


def unknown(model, opt, loader, other):
    for x in loader:
        weight = torch.tensor([1.0, 2.0, 3.0], device=other.device)
        (model(x.to(model.device)) * weight).mean().backward()
        opt.step()


def on_cpu(loader):
    model = Net().to("cpu")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        own = torch.tensor([1.0, 2.0, 3.0], device=model.device)
        first = torch.tensor([1.0, 2.0, 3.0], device=next(model.parameters()).device)
        then = torch.tensor([1.0, 2.0, 3.0]).to(model.device)
        (model(x) * own * first * then).mean().backward()
        opt.step()


def numbers(loader):
    model = Net().cpu()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        own = torch.tensor([1.0, 2.0, 3.0], device=model.device)
        (model(x.to(model.device)) * own).mean().backward()
        opt.step()
