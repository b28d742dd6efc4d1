import torch
import torch.nn as nn


def step_fn(model, x):
    return model(x).mean()


def train(loader, dataset):
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
    for i in range(4):
        layers[i] = torch.compile(layers[i])
    for epoch in range(10):
        model = torch.compile(model)  # want "torch.compile(model)"
        for x in loader:
            fast = torch.compile(step_fn)  # want "torch.compile(step_fn)"
            loss = fast(model, x.cuda())
            loss.backward()
            opt.step()


def outer(loader):
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(model)
    step = None
    for x in loader:
        if step is None:
            step = torch.compile(step_fn)

        @torch.compile  # want "torch.compile"
        def inner(y):
            return y * 2

        loss = inner(compiled(x.cuda())).mean()
        loss.backward()
        opt.step()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.compile(nn.Linear(8, 8))

    def forward(self, x):
        act = torch.compile(torch.nn.functional.gelu)  # want "in every call of `Net.forward`"
        return act(self.fc(x))


@torch.compile
def scaled(x):
    return x * 2
